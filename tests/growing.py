"""Bodies that grow: for each key of a session and each list of each route, one of any size.

A `Growing` makes the body of n entries. Those of a session's keys are made from the tables that the
shape check reads (server/session/schema.py), so a new key is tried as soon as it is checked.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, is_typeddict

from server.lib.json_schema.field_types import Kind
from server.session import schema
from server.session.config_schema import CONFIG
from server.session.limits import MOST
from server.session.schema import check

from .extensions import rows_for

Json = dict[str, Any]

SESSION = "/session"
RESULT = {"status": "ok", "result": "2"}


@dataclass(frozen=True)
class Growing:
    """`most`: how many entries are accepted, where there is a limit. `growth`: how much more work
    eight times the entries are, where it is more than usual; only with a limit."""

    name: str
    body: Callable[[int], Json]
    path: str = SESSION
    most: int = 1 << 30
    growth: int = 16


def user(number: int = 0, content: Any = "x") -> Json:
    return {"id": f"u{number}", "role": "user", "content": content}


def call(number: int, name: str = "calculator", arguments: str = '{"expression":"1+1"}') -> Json:
    return {
        "id": f"c{number}",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def asked(number: int, *calls: Json) -> Json:
    return {"id": f"a{number}", "role": "assistant", "content": "", "tool_calls": [*calls]}


def result(number: int, **more: Any) -> Json:
    about = {"id": f"r{number}", "role": "tool", "tool_call_id": f"c{number}", "name": "calculator"}
    return {**about, "content": "2", "result": RESULT, **more}


def entry(name: str = "calculator", state: str = "proposed") -> Json:
    return {"name": name, "state": state, "attempt": 0}


def approval(number: int, **more: Any) -> Json:
    about = {"id": f"int-c{number}", "reason": "tool_call", "call_id": f"c{number}"}
    return {**about, "tool": "shell", "args": {"command": "ls"}, "message": "Allow?", **more}


# -- every key of a session ------------------------------------------------------------------------

OPS = {
    "stub": {"op": "stub", "ids": ["r0"]},
    "preview": {"op": "preview", "id": "u0", "head": 1, "tail": 1},
    "args": {"op": "args", "id": "a0", "keep": 1},
    "summary": {"op": "summary", "id": "u0", "text": "t"},
    "fold": {"op": "fold", "from": "u0", "to": "u0", "text": "t"},
    "pin": {"op": "pin", "ids": ["u0"]},
    "unpin": {"op": "unpin", "ids": ["u0"]},
    "expire": {"op": "expire", "ids": ["r0"], "after": 1},
}
# One of everything, in which each key has a place.
BASE: Json = {
    "messages": [user(), asked(0, call(0)), result(0), asked(1, call(1, "shell")), user(1)],
    "calls": {"c0": entry(state="done"), "c1": entry("shell", "asking")},
    "interrupts": [approval(1)],
    "grants": [{"tool": "shell", "match": {"command": "ls"}, "decision": "allow"}],
    "tools": [{"name": "page_title"}],
    "plan": {"tasks": [{"id": "1", "title": "t", "status": "todo"}]},
    "usage": {},
    "context": {
        "ops": [*OPS.values()],
        "events": [{"id": "c1", "trigger": "size", "at": 1, "after": 9, "before": 10}],
        "calib": {"m": {"ratio": 1, "n": 1}},
    },
    "config": {
        **{name: {} for name in CONFIG.fields},
        "llm_api": {"provider": {"name": "auto"}},
        "tool": {"shell": {}},
        "agent": {"name": "mine", "tools": ["*"]},
    },
    "agent": "mine",
    "workspace": {"folder": "notes"},
    "skills": {"used": {"pdf": {"text": "t"}}},
    "instructions": {},
}
# Where the keys of each table stand.
PLACES: dict[str, tuple[tuple[Any, ...], ...]] = {
    "Session": ((),),
    "Message": (("messages", 0), ("messages", 1), ("messages", 2)),
    "ToolCall": (("messages", 1, "tool_calls", 0),),
    "ToolFunction": (("messages", 1, "tool_calls", 0, "function"),),
    "LedgerEntry": (("calls", "c0"), ("calls", "c1")),
    "Interrupt": (("interrupts", 0),),
    "Answer": (("interrupts", 0, "answer"),),
    "Grant": (("grants", 0),),
    "ClientTool": (("tools", 0),),
    "Usage": (("usage",),),
    "ContextState": (("context",),),
    "Calibration": (("context", "calib", "m"),),
    "SessionWorkspace": (("workspace",),),
    "SessionSkills": (("skills",),),
    "UsedSkill": (("skills", "used", "pdf"),),
    "Instructions": (("instructions",),),
    "CompactionRecord": (("context", "events", 0),),
    "Op": tuple(("context", "ops", number) for number in range(len(OPS))),
    "PROVIDER": (("config", "llm_api", "provider"),),
    "TOOL": (("config", "tool", "shell"),),
    **{f"CONFIG.{name}": (("config", name),) for name in CONFIG.fields},
}
# Entries of lists and objects; the first that a key accepts is the one that it grows by.
ENTRIES: tuple[Callable[[int], Any], ...] = (
    lambda n: {"id": f"x{n}", "role": "user", "content": "x"},
    lambda n: {"id": f"int-x{n}", "reason": "limit", "message": "m"},
    lambda n: {"tool": "shell", "match": {"command": f"a{n}*b"}, "decision": "allow"},
    lambda n: {"name": f"tool_{n}", "parameters": {"type": "object"}},
    lambda n: {"op": "stub", "ids": [f"u{n}"], "id": f"c{n}", "at": 1, "after": 5},
    lambda n: call(100 + n),
    lambda n: {"type": "text", "text": "x"},
    lambda n: {"id": f"x{n}", "title": "t", "status": "todo"},
    lambda n: entry(),
    lambda n: {"ratio": 1, "n": 1},
    lambda n: {"name": f"s{n}", "description": "d"},
    lambda n: {"text": f"t{n}"},
    lambda n: {"chars": n},
    lambda n: f"text {n} *",
    lambda n: "tool_invocation_compress",
    lambda n: n % 2,
)
# Lists and objects that the tables do not name, by their place.
DEEPER: dict[str, tuple[tuple[Any, ...], Callable[[int], Any]]] = {
    "plan.tasks": (("plan", "tasks"), ENTRIES[7]),
    "config.agent.tools": (("config", "agent", "tools"), lambda n: f"*ab{n}*"),
    "config.agent.policy": (("config", "agent", "policy"), lambda n: "ask"),
    "config.agent.prompt": (("config", "agent", "prompt"), lambda n: "x"),
    "config.prompt": (("config", "prompt"), lambda n: "x {y}"),
    "config.tool": (("config", "tool"), lambda n: {"deny": True}),
    "grants.match": (("grants", 0, "match"), lambda n: "*a*"),
    "messages.details": (("messages", 1, "reasoning"), lambda n: {"text": "x"}),
    "run.warnings": (("run",), lambda n: "x"),
    "ext": (("ext",), lambda n: [n]),
    "unknown": (("something",), lambda n: {"a": n}),
}
OBJECTS: tuple[str, ...] = (
    "config.agent.policy",
    "config.agent.prompt",
    "config.prompt",
    "config.tool",
)
OBJECTS += ("grants.match", "messages.details", "run.warnings", "ext")


def tables() -> dict[str, Mapping[str, Kind]]:
    """Every table of the shape check by its name, without keys that may have any value."""
    found: dict[str, Mapping[str, Kind]] = {
        form.__name__: kind.fields for form, kind in schema.KINDS.items() if is_typeddict(form)
    }
    found |= {f"CONFIG.{name}": kind.fields for name, kind in CONFIG.fields.items()}
    found["PROVIDER"] = CONFIG.fields["llm_api"].fields["provider"].fields
    tool = CONFIG.fields["tool"].each
    assert tool is not None
    found["TOOL"] = tool.fields
    return {
        name: {key: kind for key, kind in table.items() if kind.schema}
        for name, table in found.items()
    }


def texts() -> Iterator[Growing]:
    """For each key of each table that takes a text of any length."""
    for table, rows in tables().items():
        for place in PLACES[table]:
            for key, kind in rows.items():
                if kind.fits("x" * 1_000):
                    where = (*place, key)
                    yield Growing(".".join(map(str, where)), _text(where))


def keys() -> Iterator[Growing]:
    """For each key of each table: an array and an object that grow, as far as it takes one."""
    for table, rows in tables().items():
        for place in PLACES[table]:
            for key, expected in rows.items():
                where = (*place, key)
                name = ".".join(map(str, where))
                for kind in (list, dict):
                    if expected.fits(kind()):
                        most = MOST.get(_path(where), 1 << 30)
                        yield Growing(f"{name}: {kind.__name__}", _grown(where, kind()), most=most)
    for name, (where, made) in DEEPER.items():
        body = _filled(where, made, {} if name in OBJECTS else [])
        yield Growing(name, body, most=MOST.get(_path(where), 1 << 30))


def _path(where: tuple[Any, ...]) -> str:
    return "/".join("*" if isinstance(part, int) else part for part in where)


def _text(where: tuple[Any, ...]) -> Callable[[int], Json]:
    return lambda n: put(where, "{a} *" * n)


def _grown(where: tuple[Any, ...], empty: Any) -> Callable[[int], Json]:
    """The body with a list or an object of the first entries that fit there."""
    for made in ENTRIES:
        body = _filled(where, made, empty)
        if not check(body(2)):
            return body
    raise AssertionError(f"no entry of ENTRIES fits into {where}")


def _filled(
    where: tuple[Any, ...], made: Callable[[int], Any], empty: Any
) -> Callable[[int], Json]:
    def body(n: int) -> Json:
        entries = [made(number) for number in range(n)]
        if isinstance(empty, list):
            return put(where, [*(kept(where) or []), *entries])
        return put(where, {**(kept(where) or {}), **{f"k{m}": e for m, e in enumerate(entries)}})

    return body


def kept(where: tuple[Any, ...]) -> Any:
    """What BASE has there, and the other entries may need."""
    node: Any = BASE
    for part in where:
        inside = isinstance(node, list) or (isinstance(node, dict) and part in node)
        node = node[part] if inside else None
    return node if isinstance(node, list | dict) else None


def put(where: tuple[Any, ...], value: Any) -> Json:
    """BASE with another value somewhere."""
    document = copy.deepcopy(BASE)
    node: Any = document
    for part in where[:-1]:
        node = node.setdefault(part, {}) if isinstance(node, dict) else node[part]
    node[where[-1]] = value
    return document


# -- lists that are held against each other --------------------------------------------------------


def rows() -> Iterator[Growing]:
    """Sessions in which each of many entries could be looked up in all others."""
    calls, lists = MOST["messages/*/tool_calls"], 1 << 30
    made: list[tuple[str, int, Callable[[int], list[Json]], Json]] = [
        ("calls that a message supersedes", schema.MAX_OPEN_CALLS, superseded, {}),
        ("calls of one message, superseded", calls, lambda n: [*together(n), user(1)], {}),
        ("calls that run", calls, together, {}),
        ("unknown calls", calls, lambda n: together(n, "calculater"), {}),
        ("other unknown calls", calls, _unknown, {}),
        ("calls that ask", calls, lambda n: together(n, "shell", '{"command":"ls"}'), {}),
        ("calls of the page", calls, lambda n: together(n, "page"), {"tools": [{"name": "page"}]}),
        ("calls in a mode with a limit", calls, together, {"config": {"yaa": {"mode": "plain"}}}),
        ("calls that fail", calls, lambda n: together(n, "calculator", '{"expression":"x"}'), {}),
        ("calls that are misspelt", calls, lambda n: together(n, "calculator", "{"), {}),
        ("results of one message", calls, lambda n: [*together(n), *map(result, range(n))], {}),
        ("results in turns", lists, turns, {}),
        ("results that failed", lists, lambda n: turns(n, is_error=True, result=None), {}),
        ("results of other tools that failed", lists, _failures, {}),
        ("results of no call", lists, lambda n: [user(), *map(result, range(n)), user(1)], {}),
        ("results of one call", lists, _repeated, {}),
        ("values that nothing has", calls, lambda n: [*turns(n), *_values(n)], {}),
        ("answers in words", lists, _words, {"config": {"yaa": {"output_schema": {}}}}),
        ("messages without ids", lists, lambda n: [{"role": "user", "content": "x"}] * n, {}),
        (
            "messages of another spelling",
            lists,
            lambda n: [{"role": "human", "content": ""}] * n,
            {},
        ),
        ("messages of a model", lists, _words, {}),
    ]
    for name, most, messages, more in made:
        yield Growing(name, _session(messages, more), most=most)
    # Each is judged when the one before has its result, which is a step of its own.
    yield Growing("values of earlier results", _session(_chain, {}), most=calls, growth=40)
    # The tokens of many are estimated one by one, those of few are only bounded.
    react = _session(together, {"config": {"yaa": {"mode": "react"}}})
    yield Growing("calls in a mode", react, most=calls, growth=32)
    yield from _asked()
    yield from _shortened()
    yield Growing("grants of the tool", lambda n: _granted(n, "shell"), most=MOST["grants"])
    yield Growing("grants of other tools", lambda n: _granted(n, "other"), most=MOST["grants"])
    yield Growing("a pattern", _pattern, most=schema.MAX_PATTERN // 2)
    yield Growing("a ledger of lost calls", lambda n: {**_ledger(n), "messages": superseded(9)})
    yield Growing("begun calls", _begun, most=schema.MAX_OPEN_CALLS)


def _session(messages: Callable[[int], list[Json]], more: Json) -> Callable[[int], Json]:
    return lambda n: {**copy.deepcopy(more), "messages": messages(n)}


def together(n: int, *more: str) -> list[Json]:
    return [user(), asked(0, *(call(number, *more) for number in range(n)))]


def _unknown(n: int) -> list[Json]:
    return [user(), asked(0, *(call(number, f"calculator{number}") for number in range(n)))]


def superseded(n: int) -> list[Json]:
    return [user(), *(asked(number, call(number)) for number in range(n)), user(1)]


def turns(n: int, **more: Any) -> list[Json]:
    pairs = ((asked(number, call(number)), result(number, **more)) for number in range(n))
    return [user(), *(message for pair in pairs for message in pair)]


def _failures(n: int) -> list[Json]:
    messages = [user()]
    for number in range(n):
        name = f"tool{number // 3}"
        failed = result(number, name=name, is_error=True, result=None)
        messages += [asked(number, call(number, name)), failed]
    return messages


def _repeated(n: int) -> list[Json]:
    results = [{**result(0), "id": f"r{number}"} for number in range(n)]
    return [*together(99), *results, user(1)]


def _chain(n: int) -> list[Json]:
    """Calls of one message, each of which waits for the one before."""
    return together(n, "calculator", '{"expression":"{{calculator.x}}"}')


def _values(n: int) -> list[Json]:
    """Calls that name what no earlier result has."""
    arguments = '{"expression":"{{calculator.y}}"}'
    made = (call(10_000 + number, f"t{number}", arguments) for number in range(n))
    return [asked(10_000, *made)]


def _words(n: int) -> list[Json]:
    said = ({"id": f"a{number}", "role": "assistant", "content": "no"} for number in range(n))
    return [user(), *said]


def _asked() -> Iterator[Growing]:
    """Approvals of the calls of one message, answered in every way."""
    answers: dict[str, Json] = {
        "no answer": {},
        "a no": {"answer": {"status": "cancelled"}},
        "a denial": {"answer": {"status": "resolved", "payload": {"approved": False}}},
    }
    for name, answer in answers.items():

        def body(n: int, answer: Json = answer) -> Json:
            ledger = {f"c{number}": entry("shell", "asking") for number in range(n)}
            interrupts = [approval(number, **answer) for number in range(n)]
            messages = together(n, "shell", '{"command":"ls"}')
            return {"messages": messages, "calls": ledger, "interrupts": interrupts}

        calls = MOST["messages/*/tool_calls"]
        # Each result takes its interrupt out of the list of all, as a client does.
        yield Growing(f"interrupts with {name}", body, most=calls, growth=24)
    payload = {"status": "resolved", "payload": {"continue": True}}
    about = {"reason": "limit", "limit": "max_steps", "allowed": 3, "answer": payload}
    yield Growing(
        "answers to limits",
        lambda n: {
            "messages": [user()],
            "interrupts": [{"id": f"i{m}", **about} for m in range(n)],
        },
        most=MOST["interrupts"],
    )


def _shortened() -> Iterator[Growing]:
    """Operations on as many messages: each alone, neighbours, all in all."""
    folds: dict[str, Callable[[int, int], tuple[int, int]]] = {
        "beside each other": lambda m, n: (m, m),
        "one in the other": lambda m, n: (m // 2, n - 1 - m // 2),
        "over each other": lambda m, n: (m // 2, min(m // 2 + n // 2, n - 1)),
    }
    for name, span in folds.items():

        def body(n: int, span: Callable[[int, int], tuple[int, int]] = span) -> Json:
            spans = (span(number, n) for number in range(n))
            ops = [
                {"op": "fold", "from": f"u{first}", "to": f"u{last}", "text": "t"}
                for first, last in spans
            ]
            return {"messages": [user(m) for m in range(n)], "context": {"ops": ops}}

        yield Growing(f"folds {name}", body)
    config = {"context": {"budget": 200}, "yaa": {"max_context": 100_000}}
    yield Growing("what is to be compacted", lambda n: {"messages": turns(n), "config": config})
    yield Growing("turns to be folded", lambda n: {"messages": _spoken(n), "config": config})


def _spoken(n: int) -> list[Json]:
    return [user(m) if m % 2 == 0 else {**asked(m), "content": "well " * 20} for m in range(n)]


def _granted(n: int, tool: str) -> Json:
    match = ({"command": f"*a{number}*b"} for number in range(n))
    grants = [{"tool": tool, "match": each, "decision": "allow"} for each in match]
    return {"messages": together(20, "shell", '{"command":"ls"}'), "grants": grants}


def _pattern(n: int) -> Json:
    grant = {"tool": "shell", "match": {"command": "*a" * n}, "decision": "allow"}
    arguments = '{"command":"' + "a" * n + '"}'
    return {"messages": together(20, "shell", arguments), "grants": [grant]}


def _ledger(n: int) -> Json:
    return {"calls": {f"c{number}": entry(state="started") for number in range(n)}}


def _begun(n: int) -> Json:
    return {**_ledger(n), "messages": superseded(n)}


# -- every route -----------------------------------------------------------------------------------

EVENTS = "/session/events"


def small() -> set[str]:
    """Addresses in whose bodies nothing is looked through here: paths are for another process, a
    recording for another server."""
    verbs = ("apply", "discard", "move", "record", "restore")
    files = {f"/workspaces/default/{verb}" for verb in verbs}
    own = {
        "/sign-in",
        "/sign-in/link",
        "/files",
        "/session/stop",
        "/objects/missing",
    }
    own |= files
    return own.union(*rows_for("PASSED_ON"), *rows_for("SMALL"))


def routed() -> Iterator[Growing]:
    """Bodies of the other routes."""
    for bodies in rows_for("growing"):
        yield from bodies()
    for name, messages in {"turns": turns, "words": _words, "calls": superseded}.items():
        most = schema.MAX_OPEN_CALLS if messages is superseded else 1 << 30
        yield Growing(f"{EVENTS}: {name}", _session(messages, {}), EVENTS, most)
    yield Growing("/: messages", _session(_words, {}), "/")


def brought(messages: Callable[[int], list[Json]], more: Json) -> Callable[[int], Json]:
    def body(n: int) -> Json:
        waiting = [user(7), asked(10_000, call(10_000, "shell"))]
        interrupts = [{**approval(10_000), "id": "c1"}]
        session = {"messages": [*messages(n), *waiting], "interrupts": interrupts}
        return {**more, "session": session}

    return body
