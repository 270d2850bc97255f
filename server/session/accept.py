"""Check a session document from a client, fill in what is missing and reconcile its parts.

Only `accept_for_run` changes the document. What is filled in, renamed or dropped is returned as the
opening events of the run, so that the client's copy changes in the same steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from ..errors import Problem
from ..schema.validate import SchemaError, Schemas
from ..strict_json import LARGEST_COUNT
from . import agent_definition, content_blocks, prompts, snapshot
from .events import Event, Patch, drop, messages_filled, pointer, put, run_started, state_delta
from .schema import MAX_ERRORS, MAX_PATTERN, MOST, ROLE_ALIASES, VERSION, check, role_of

# -- client tools ---------------------------------------------------------------------------------
# Check the tools that a session declares for its client. Pure.
#
# Part of `accept`: a tool that a provider would refuse, or whose arguments could not be validated,
# is refused before any side effect.

Error = dict[str, str]

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # OpenAI's rule, which every provider accepts
MAX_TOOLS = 256


def misfits(tools: list[dict[str, Any]], schemas: Schemas | None = None) -> Iterator[Error]:
    """Yield the errors of a session's `tools`, which have the right shape already.

    `schemas` is the request's budget for schemas, None for a new one.
    """
    schemas = schemas or Schemas()
    if len(tools) > MAX_TOOLS:
        yield _error((), f"expected at most {MAX_TOOLS} tools, got {len(tools)}")
        return
    seen: set[str] = set()
    for index, tool in enumerate(tools):
        name, schema = tool["name"], tool.get("parameters", {})
        if not NAME.fullmatch(name):
            yield _error((index, "name"), "expected 1 to 64 letters a-z, digits, _ or -")
        elif name in seen:
            yield _error((index, "name"), f"there is a tool named {name} already")
        seen.add(name)
        if schema.get("type", "object") != "object":
            yield _error((index, "parameters", "type"), "expected an object: arguments are one")
        try:
            schemas.validator(schema)  # each call's arguments are validated with it
        except SchemaError as error:
            yield _error((index, "parameters"), str(error))


def _error(place: tuple[str | int, ...], detail: str) -> Error:
    return {"pointer": pointer("tools", *place), "detail": detail}


# -- interrupt answers ----------------------------------------------------------------------------
# JSON Schemas of the answers to interrupts, one for each reason.
#
# An interrupt carries the schema (`response_schema`), and `accept` checks the answer with the same
# one. `input_required` carries a schema of its own. Pure.

_text = {"type": "string"}
ANSWERS: dict[str, dict[str, Any]] = {
    "tool_call": {
        "type": "object",
        "properties": {
            "approved": {"type": "boolean"},
            "edited_args": {"type": "object"},
            "remember": {"enum": ["once", "session"]},
            "match": {
                "type": "object",
                "additionalProperties": {"type": "string", "maxLength": MAX_PATTERN},
                "maxProperties": MOST["grants/*/match"],
            },
            "policy": {
                "type": "object",
                "properties": {
                    "network": {"enum": ["off", "proxy"]},
                    "hosts": {"type": "array", "items": _text},
                },
                "additionalProperties": False,
            },
            "reason": _text,
        },
        "required": ["approved"],
    },
    "client_tool": {
        "type": "object",
        "properties": {"content": {}, "is_error": {"type": "boolean"}},
        "required": ["content"],
    },
    "indeterminate": {
        "type": "object",
        "properties": {"action": {"enum": ["retry", "skip", "result"]}, "content": _text},
        "required": ["action"],
    },
    "limit": {
        "type": "object",
        "properties": {
            "continue": {"type": "boolean"},
            "extend": {
                "type": "object",
                "additionalProperties": {"type": "number", "exclusiveMinimum": 0},
            },
        },
        "required": ["continue"],
    },
    "model_error": {
        "type": "object",
        "properties": {"retry": {"type": "boolean"}},
        "required": ["retry"],
    },
}


# -- accept ---------------------------------------------------------------------------------------

Session = dict[str, Any]

_FILE = re.compile(r'<file name="([^"\n]*)">\n')  # a text file as the web page sends it
TITLE_LENGTH = 30  # characters
RUN_LEVEL = ("limit", "model_error")  # interrupts of the run, not of one call
COUNTERS = ("step", "tokens", "cost_micro", "wall_ms", "forgiven")
SPENT = {  # limit -> its counter, and the counter's units in one of the limit
    "max_steps": ("step", 1),
    "max_tokens": ("tokens", 1),
    "max_cost_micro": ("cost_micro", 1),
    "max_wall_s": ("wall_ms", 1000),
}


def accept(document: Any) -> Session:
    """Return the document unchanged if it is a session that this server can run.

    Content blocks stay. Raises Problem session_invalid or answer_invalid with the place of every
    error, or session_version, before any side effect.
    """
    _check(document)
    session: Session = document
    return session


def accept_for_run(document: Any) -> tuple[Session, list[Event]]:
    """Return (accepted document, events for the client) with messages in place of content blocks.

    The document is changed, and without content blocks there are no events. Raises as `accept`.
    """
    messages = _check(document)
    session: Session = document
    if messages is None:
        return session, []
    session["messages"] = messages
    return session, [snapshot.messages(session)]


def _check(document: Any) -> list[dict[str, Any]] | None:
    """Return the messages that content blocks become, None without any. Raises Problem."""
    if not isinstance(document, dict):
        raise Problem("session_invalid", "The body must be a session, a JSON object.")
    version = document.get("version", VERSION)
    if isinstance(version, int) and version > VERSION:
        raise Problem(
            "session_version",
            f"The session has version {version}; this server reads up to {VERSION}. Update it.",
            errors=[{"pointer": "/version", "detail": f"expected at most {VERSION}"}],
        )
    messages, places = None, list[int]()
    if (found := content_blocks.settled(document)) is not None:
        messages, places = found
        document = {**document, "messages": messages}
    if errors := check(document):
        errors = [_as_sent(error, places) for error in errors]
        raise Problem("session_invalid", _summary(errors), errors=errors)
    schemas = Schemas()
    tools = document.get("tools", [])
    if errors := list(islice(misfits(tools, schemas), MAX_ERRORS)):
        raise Problem("session_invalid", _summary(errors), errors=errors)
    if errors := list(islice(_bad_answers(document, schemas), MAX_ERRORS)):
        raise Problem("answer_invalid", _summary(errors), errors=errors)
    return messages


def _as_sent(error: dict[str, str], places: list[int]) -> dict[str, str]:
    """Return an error with the index its message had before content blocks were converted."""
    parts = error["pointer"].split("/")
    if places and parts[1:2] == ["messages"] and len(parts) > 2 and parts[2].isdecimal():
        parts[2] = str(places[int(parts[2])])
    return {**error, "pointer": "/".join(parts)}


def opening(
    session: Session,
    defaults: Session,
    agent: dict[str, Any],
    run_id: str,
    now_ms: int,
    new_id: Callable[[str], str],
    host: str = "",
    remarks: Iterable[dict[str, Any]] = (),
) -> list[Event]:
    """Return the events that open a run: RUN_STARTED, then what was filled in and reconciled.

    `defaults` is the session half of the configuration, `agent` the definition for this run,
    `new_id("msg")` makes an id, `host` describes where the server's tools run, `remarks` are
    warnings found earlier.
    """
    session_id = session.get("id") or new_id("ses")
    filled = list(_filled_messages(session.get("messages") or [], new_id))
    user = _last_user(session, filled)
    mode = _mode(session, defaults)
    changes = [
        *([] if "id" in session else [put("id", value=session_id)]),
        *_filled(session, defaults, now_ms),
        *_missing(session, _with_limits(defaults, agent, mode)),
        *_other_limits(session, defaults, agent, mode),
        *([put("config", "agent", value=agent)] if agent_definition.of(session) != agent else []),
        *_ledger(session),
        *_open_interrupts(session),
        *_compactions(session),
    ]
    run = _run(session, user, run_id, now_ms)
    if host:
        run["host"] = host
    if mode:
        run["mode"] = mode
    said = [*remarks, *prompts.remarks(session.get("config", {}).get("prompt") or {})]
    if said:
        run["warnings"] = said
    if "output" in session and session.get("run", {}).get("message") != user:
        changes.append(drop("output"))
    events = [run_started(session_id, run, now_ms)]
    if filled:
        events.append(messages_filled(filled))
    if changes:
        events.append(state_delta(*changes))
    return events


# -- check ----------------------------------------------------------------------------------------


def _bad_answers(session: Session, schemas: Schemas) -> Iterator[dict[str, str]]:
    """Yield errors of answers whose interrupt is not open or whose payload misses its schema."""
    interrupts = session.get("interrupts", ())
    waiting = _unanswered_ids(session) if interrupts else set()
    answered: set[str] = set()
    for index, interrupt in enumerate(interrupts):
        answer = interrupt.get("answer")
        if answer is None:
            continue
        place = pointer("interrupts", index, "answer")
        reason = interrupt["reason"]
        call_id = interrupt.get("call_id")
        if call_id in answered:
            yield {"pointer": place, "detail": "another interrupt of this call has an answer too"}
        elif call_id is not None:
            answered.add(call_id)
        if reason not in RUN_LEVEL and call_id not in waiting:
            yield {"pointer": place, "detail": "this interrupt is not open: its call needs nothing"}
        elif answer["status"] == "resolved":
            schema = ANSWERS.get(reason) or interrupt.get("response_schema", True)
            if reason != "input_required" and "payload" not in answer:
                yield {"pointer": place, "detail": "a resolved answer needs a payload"}
                continue
            yield from _misfits(answer.get("payload"), schema, f"{place}/payload", schemas)


def _misfits(payload: Any, schema: Any, place: str, schemas: Schemas) -> Iterator[dict[str, str]]:
    try:
        for error in schemas.errors(payload, schema):
            yield {"pointer": place + error.pointer, "detail": error.message}
    except SchemaError as error:
        yield {"pointer": place, "detail": f"its response_schema cannot be used: {error}"}


def _unanswered_ids(session: Session) -> set[str]:
    results: set[str] = set()
    waiting: set[str] = set()
    for message in reversed(session.get("messages", ())):
        if role_of(message) == "tool":
            results.add(message["tool_call_id"])
        elif (calls := message.get("tool_calls")) and not message.get("open"):
            waiting |= {call["id"] for call in calls} - results
    return waiting


def _summary(errors: list[dict[str, str]]) -> str:
    first = errors[0]
    more = f" ({len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{first['pointer'] or '/'}: {first['detail']}{more}"


# -- fill -----------------------------------------------------------------------------------------


def _filled(session: Session, defaults: Session, now_ms: int) -> Iterator[dict[str, Any]]:
    if not session.get("start_time"):
        now = datetime.fromtimestamp(now_ms // 1000, UTC)
        value = session.get("startTime") or now.strftime("%Y-%m-%dT%H:%M:%SZ")
        yield put("start_time", value=value)
    for name, empty in (("calls", {}), ("interrupts", []), ("grants", []), ("context", {})):
        if name not in session:
            yield put(name, value=empty)
    for name, number in (("version", VERSION), ("rev", 0)):
        if name not in session:
            yield put(name, value=number)
    yaa = {**defaults["config"]["yaa"], **session.get("config", {}).get("yaa", {})}
    if not session.get("title") and not yaa["auto_title"]:
        if text := title(session.get("messages") or []):
            yield put("title", value=text)


def title(messages: list[dict[str, Any]]) -> str:
    """Return the beginning of the first user message, white space collapsed; "" without one.

    Of several parts the first that is not blank: words come before attached files, and of a file
    only the name is taken.
    """
    for message in messages:
        if role_of(message) == "user":
            content = message.get("content") or ""
            if not isinstance(content, str):
                texts = (str(part.get("text", "")) for part in content)
                content = next((text for text in texts if text.strip()), "")
                if file := _FILE.match(content):
                    content = file[1]
            return " ".join(content[: TITLE_LENGTH * 20].split())[:TITLE_LENGTH].strip()
    return ""


def _missing(node: Session, defaults: Session, *path: str) -> Iterator[dict[str, Any]]:
    """Yield the operations that add defaults for missing keys, at every depth.

    A provider is one unit: a session's provider is never completed from the server's.
    """
    for key, value in defaults.items():
        if key not in node or (node[key] is None and value is not None and not path):
            yield put(*path, key, value=value)
        elif isinstance(value, dict) and isinstance(node[key], dict) and key != "provider":
            yield from _missing(node[key], value, *path, key)


def _mode(session: Session, defaults: Session) -> str:
    """Return the mode that is set in the session or the configuration, "" to use the agent's."""
    own = session.get("config", {}).get("yaa", {})
    return str(own.get("mode", defaults["config"]["yaa"].get("mode")) or "")


def _with_limits(defaults: Session, agent: dict[str, Any], mode: str) -> Session:
    config = defaults["config"]
    limits = agent_definition.limits(agent, config["limits"], mode)
    return {**defaults, "config": {**config, "limits": limits}}


def _other_limits(
    session: Session, defaults: Session, agent: dict[str, Any], mode: str
) -> Iterator[dict[str, Any]]:
    """Yield changes of limits that another agent or mode filled in and that are unchanged since."""
    own = session.get("config", {}).get("limits") or {}
    wanted = defaults["config"]["limits"]
    chosen = str(session.get("run", {}).get("mode") or "")
    before = agent_definition.limits(agent_definition.of(session), wanted, chosen)
    now = agent_definition.limits(agent, wanted, mode)
    for name, limit in now.items():
        if name in own and own[name] == before.get(name) != limit:
            yield put("config", "limits", name, value=limit)


def _filled_messages(
    messages: list[dict[str, Any]], new_id: Callable[[str], str]
) -> Iterator[dict[str, Any]]:
    for index, message in enumerate(messages):
        if "id" not in message:
            yield {"op": "add", "path": pointer(index, "id"), "value": new_id("msg")}
        if message["role"] in ROLE_ALIASES:
            role = ROLE_ALIASES[message["role"]]
            yield {"op": "replace", "path": pointer(index, "role"), "value": role}


# -- settle ---------------------------------------------------------------------------------------


def _ledger(session: Session) -> Iterator[dict[str, Any]]:
    """Yield a call log entry for each call without one, except calls of unfinished messages."""
    ledger = session.get("calls", {})
    results: dict[str, bool] = {}
    for message in reversed(session.get("messages") or []):
        if "tool_call_id" in message and role_of(message) == "tool":
            results[message["tool_call_id"]] = message.get("is_error", False)
        elif (calls := message.get("tool_calls")) and not message.get("open"):
            for call in calls:
                if call["id"] not in ledger:
                    yield put("calls", call["id"], value=_entry(call, results.get(call["id"])))


def _entry(call: dict[str, Any], failed: bool | None) -> dict[str, Any]:
    state = "proposed" if failed is None else "failed" if failed else "done"
    return {"name": call["function"]["name"], "state": state, "attempt": 0}


def _open_interrupts(session: Session) -> Iterator[dict[str, Any]]:
    """Drop interrupts whose call has a result, and those of the run.

    The latter are raised again if still needed.
    """
    interrupts = session.get("interrupts") or []
    waiting = _unanswered_ids(session) if interrupts else set()
    kept = [item for item in interrupts if item.get("call_id") in waiting]
    if len(kept) < len(interrupts):
        yield put("interrupts", value=kept)


def _compactions(session: Session) -> Iterator[dict[str, Any]]:
    """Drop compaction records beyond the last message: the client went back to an earlier one."""
    records = session.get("context", {}).get("events") or []
    there = len(session.get("messages") or ())
    kept = [record for record in records if record["at"] <= there]
    if len(kept) < len(records):
        yield put("context", "events", value=kept)


def _last_user(session: Session, filled: Patch) -> str:
    messages = session.get("messages") or []
    for index in range(len(messages) - 1, -1, -1):
        if role_of(messages[index]) == "user":
            made = {change["path"]: change["value"] for change in filled}
            return str(messages[index].get("id") or made[pointer(index, "id")])
    return ""


def _run(session: Session, user: str, run_id: str, now_ms: int) -> dict[str, Any]:
    """Return the new `run` object.

    The counters of the same user message go on, whichever server counted them, unless a person has
    answered a limit with more.
    """
    run = {"id": run_id, "message": user, "started_at": now_ms, **dict.fromkeys(COUNTERS, 0)}
    before = session.get("run", {})
    if before.get("message") == user:
        run |= {name: _counter(before.get(name)) for name in COUNTERS}
        if isinstance(summary := before.get("summary"), str):
            run["summary"] = summary
    elif "message" in before:  # a newer user message: answers to earlier limits no longer count
        return run
    for interrupt in session.get("interrupts", ()):
        answer = interrupt.get("answer")
        if answer is None or interrupt["reason"] not in RUN_LEVEL:
            continue
        payload = answer["payload"] if answer["status"] == "resolved" else {}
        if interrupt["reason"] == "model_error":
            if payload.get("retry") is not True:
                run["declined"] = "failed"
        elif payload.get("continue") is not True:
            run["declined"] = "limit"
        else:
            run |= _extended(run, interrupt, payload.get("extend", {}))
    return run


def _extended(
    run: dict[str, Any], interrupt: dict[str, Any], extend: dict[str, Any]
) -> dict[str, Any]:
    """Return the counters after "continue", with room for the extension or the whole limit."""
    name, allowed = interrupt.get("limit"), _counter(interrupt.get("allowed"))
    if name == "max_consecutive_errors":
        return {"forgiven": run["forgiven"] + _counter(interrupt.get("observed"))}
    if name not in SPENT:
        return {}
    counter, unit = SPENT[name]
    room = min(extend.get(name, allowed), LARGEST_COUNT)
    return {counter: max(0, int((allowed - room) * unit))}


def _counter(value: Any) -> int:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(max(0, min(value, LARGEST_COUNT))) if number else 0
