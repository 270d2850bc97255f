"""Stand-ins at the borders: a scripted model, counting tools, a clock that is set by hand."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from server.agent.loop import BaseAgent
from server.agent.run_parts import MakePart
from server.agent.run_records import RunRecords, StopSignals
from server.config import Config, defaults
from server.errors import Problem
from server.json_types import Event, Session, ToolResult
from server.lib.strict_json import canonical
from server.models import BaseAPI, Options
from server.session import events
from server.session.agents import Agents
from server.session.call_actions import Verdict
from server.session.json_patch import copy_json
from server.session.limits import LimitCeilings
from server.tools.execution_claims import Locks, Scope
from server.tools.session_files import SessionFiles
from server.workspace.errors import WorkspaceError

Script = Callable[[list[dict[str, Any]]], list[Event]]

NOWHERE = Path("/dev/null/home")  # a home folder that nobody, root included, can make
DEFAULTS = defaults()


class Ids:
    """Identifiers that count, so that two runs of one test are the same."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix, self.count = prefix, itertools.count(1)

    def __call__(self, kind: str) -> str:
        return f"{kind}_{self.prefix}{next(self.count)}"


class ManualClock:
    """Milliseconds that pass when they are told to."""

    def __init__(self, now: int = 1_700_000_000_000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


class ScriptedModel(BaseAPI):
    """Answers from a function of the messages: text, thought and calls, delta by delta.

    `script(messages)` returns a list of ("text", str) | ("think", str) | ("call", name, args) |
    ("error", message[, code[, details]]) | ("made", item of `media`).
    """

    model = name = "scripted"
    facts: dict[str, Any] = {}

    def __init__(self, script: Callable[[list[dict[str, Any]]], list[tuple[Any, ...]]]) -> None:
        self.script = script
        self.requests: list[list[dict[str, Any]]] = []
        self.tools: list[list[dict[str, Any]]] = []
        self.choices: list[str | None] = []
        self.providers: list[dict[str, Any]] = []
        self.costs: dict[str, Any] = {}  # of each answer, beside its tokens
        self.reason = "stop"  # why it ends, without calls
        self.closed = 0
        self.clock: Callable[[], int] = lambda: 1  # when a message begins

    @property
    def api(self) -> ScriptedModel:
        return self

    def provider_facts(self) -> dict[str, str]:
        return {}

    def resolve(self, provider: dict[str, Any], owner: str = "") -> ScriptedModel:
        self.providers.append(provider)
        return self

    def check_session(self, config: Any) -> list[Any]:
        return []

    async def stream(
        self, messages: list[Any], tools: list[Any], options: Options
    ) -> AsyncGenerator[Event, None]:
        self.requests.append(copy_json(messages))
        self.tools.append(tools)
        self.choices.append(options.tool_choice)
        message_id = options.message_id
        parts = self.script(messages)
        ended = False
        try:
            opened = False
            for part in parts:
                await asyncio.sleep(0)
                kind = part[0]
                if kind == "error":
                    code = part[2] if len(part) > 2 else "upstream_error"
                    more = part[3] if len(part) > 3 else {}
                    yield events.run_error(part[1], code, retryable=True, **more)
                    ended = True
                    return
                if kind == "think":
                    thought = options.reasoning_id
                    for event in events.think_start(thought, message_id, "reasoning", 1):
                        yield event
                    for delta in part[1]:
                        yield events.think_delta(options.reasoning_id, delta)
                    for event in events.think_end(options.reasoning_id):
                        yield event
                    continue
                if kind == "made":
                    continue
                if not opened:
                    opened = True
                    yield events.text_start(message_id, self.clock())
                if kind == "text":
                    for delta in part[1]:
                        yield events.text_delta(message_id, delta)
                else:
                    for event in self.call(options, part[1], part[2]):
                        yield event
            if not opened:
                yield events.text_start(message_id, self.clock())
            usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18, **self.costs}
            reason = "tool_calls" if any(part[0] == "call" for part in parts) else self.reason
            meta: Any = {"model": "scripted", "usage": usage, "finish_reason": reason}
            made = [part[1] for part in parts if part[0] == "made"]
            yield events.text_end(message_id, meta, 2, media=made)
            ended = True
        finally:
            self.closed += not ended

    def call(self, options: Options, name: str, deltas: Iterable[str]) -> Iterator[Event]:
        call_id = options.new_id("call")
        yield events.tool_start(call_id, name, options.message_id)
        for delta in deltas:
            yield events.tool_args(call_id, delta)
        yield events.tool_end(call_id)


class NoModes:
    """The permission modes of a toolbox without a sandbox: it asks."""

    def remarks(self, session: Session, defaults: Any) -> list[dict[str, Any]]:
        return []


class CountingToolbox:
    """Tools that only count: `counts[(name, call id)]` executions, whoever asked for them.

    `tools` maps a name to "read" (runs, repeatable), "write" (asks), "auto" (runs, not
    repeatable), "page" (client), "action" (send), "question" or "deny"; with the word "safe" behind
    it, it may run beside others, with "slow" it takes its time, with "again" it may run twice, with
    "asks" it may ask in the middle of a call.
    """

    host = ""
    permissions = NoModes()

    def __init__(self, tools: dict[str, str], counts: dict[tuple[str, str], int]) -> None:
        self.tools, self.counts = tools, counts
        self.gate: asyncio.Event | None = None  # a tool that is running waits for it
        self.cancelled: list[str] = []
        self.patience: dict[str, float] = {}  # seconds that a tool was given
        self.running = self.most = 0  # at once
        self.envelope: ToolResult = {}  # what results have instead of their text
        self.effect: Callable[[Session, Any, str], None] = lambda *_: None  # session, args, owner

    def admit(self, session: Session) -> None:
        """Any session is fine."""

    def look_again(self) -> None:
        pass

    def judge(self, session: Session) -> CountingToolbox:
        return self

    def names(self) -> frozenset[str]:
        return frozenset(self.tools)

    def declarations(self, session: Session) -> list[dict[str, Any]]:
        return [{"type": "function", "function": {"name": name}} for name in self.tools]

    def declaration_digest(self, session: Session, name: str) -> dict[str, Any]:
        return {}

    def verdict(self, session: Session, call: Any) -> Verdict:
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        try:
            args = arguments if isinstance(arguments, dict) else json.loads(arguments or "{}")
        except ValueError as error:
            return Verdict("error", f"bad arguments: {error}")
        text = f"{name}\n{canonical(args)}"
        fingerprint = f"sha256:{sha256(text.encode()).hexdigest()}"
        kind, *words = self.tools.get(name, "unknown").split()
        granted = any(grant["tool"] == name for grant in session["grants"])
        action = {
            "read": "run",
            "auto": "run",
            "write": "run" if granted else "ask",
            "page": "client",
            "action": "send",
            "question": "question",
            "deny": "deny",
            "unknown": "error",
        }[kind]
        may = (kind == "read" or "again" in words, "safe" in words)
        access = "write" if "writes" in words else "read" if "reads" in words else ""
        more: Any = {"may_ask": "asks" in words, "file_access": access}
        return Verdict(action, f"{name}: {action}", args, fingerprint, *may, **more)

    async def execute(
        self,
        session: Session,
        call: Any,
        args: dict[str, Any],
        entry: dict[str, Any],
        emit: Callable[[Event], None],
        *,
        repairs: Iterable[str] = (),
        seconds: float = math.inf,
        owner: str = "",
    ) -> None:
        self.patience[call["function"]["name"]] = seconds
        name, call_id = call["function"]["name"], call["id"]
        key = (name, call_id)
        self.counts[key] = self.counts.get(key, 0) + 1
        self.running += 1
        self.most = max(self.most, self.running)
        emit(events.tool_output(call_id, "working\n", first=True))
        try:
            if self.gate is not None:
                await self.gate.wait()
            for _ in range(20 if "slow" in self.tools[name] else 0):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled.append(call_id)
            raise
        finally:
            self.running -= 1
            if {"writes", "reads"} & set(self.tools[name].split()):
                self.effect(session, args, owner)
        text = f"{name} did {canonical(args)}"
        result: ToolResult = {"status": "ok", "result": text, **self.envelope}
        emit(events.tool_result(call_id, name, text, 3, result=result))


async def call_server(servers: Any, *call: Any) -> list[Any]:
    """What one call says, then its end: `call` as in `mcp.servers.Servers.call`, without `emit`."""
    found: list[Any] = []
    end = await servers.call(*call, found.append)
    return [*found, end]


async def events_of(toolbox: Any, *call: Any, **more: Any) -> list[Event]:
    """The events of one call: `call` as in `Toolbox.execute`, without `emit`."""
    found: list[Event] = []
    await toolbox.execute(*call, found.append, **more)
    return found


class MemoryClaims:
    """Claims of one host, without its disk."""

    def __init__(self) -> None:
        self.taken: dict[tuple[Scope, str, int], tuple[str, int]] = {}
        self.results: dict[tuple[Scope, str, int], Event] = {}
        self.expired = 0  # what `horizon` returns

    def take(
        self, scope: Scope, call_id: str, attempt: int, fingerprint: str = "", since_ms: int = 0
    ) -> bool:
        key = (scope, call_id, attempt)
        if key in self.taken:
            return False
        self.taken[key] = (fingerprint, since_ms)
        return True

    def claimed_as(self, scope: Scope, call_id: str, attempt: int) -> str | None:
        found = self.taken.get((scope, call_id, attempt))
        return None if found is None else found[0]

    def release(self, scope: Scope, call_id: str, attempt: int) -> None:
        self.taken.pop((scope, call_id, attempt), None)

    def store(self, scope: Scope, call_id: str, attempt: int, result: Event) -> None:
        self.results[scope, call_id, attempt] = result

    def fetch(self, scope: Scope, call_id: str, attempt: int) -> Event | None:
        return self.results.get((scope, call_id, attempt))

    def horizon(self, owner: str) -> int:
        return self.expired

    def expire(self) -> None:
        """Forget every claim and result, as a sweep does when they are old."""
        self.expired = max([self.expired, *(since_ms for _, since_ms in self.taken.values())])
        self.taken.clear()
        self.results.clear()


class FakeWorkspaces:
    """Workspaces of one server, without processes: files are texts by path.

    `folders` are the modes of the owner's, by name. `objects` may be shared by servers that got
    them from clients. `refuse`: what an operation has to raise, by name. `log`: operations.
    """

    def __init__(self, folders: dict[str, str] | None = None) -> None:
        self.folders = folders or {}
        self.objects: dict[str, dict[str, str]] = {}  # tree -> its files
        self.found: dict[tuple[str, str], FakeWorkspace] = {}
        self.refuse: dict[str, Exception] = {}
        self.log: list[str] = []
        self.place = ""  # what a model is told of the place

    def get(self, owner: str, session_id: str, folder_name: str | None = None) -> FakeWorkspace:
        if folder_name is not None and folder_name not in self.folders:
            raise Problem("folder_unknown", f"There is no folder {folder_name}.")
        mode = "own" if folder_name is None else self.folders[folder_name]
        key = ("", folder_name or "") if mode in ("write", "read") else (owner, session_id)
        if key not in self.found:
            self.found[key] = FakeWorkspace(self, mode)
        return self.found[key]


class FakeWorkspace:
    """One workspace; `files` are changed by tools and people, `state` is what state.json has."""

    def __init__(self, host: FakeWorkspaces, mode: str) -> None:
        self.host, self.mode, self.is_recorded = host, mode, mode != "read"
        self.files: dict[str, str] = {}
        self.tree: str | None = None
        self.call = ""
        self.seen: dict[str, str] = {}
        self.restoring = ""  # the tree of a restore that was cut; a record finishes it
        self.real: dict[str, str] = {}  # the folder below an overlay
        self.base: str | None = None
        self.bases: dict[str, str | None] = {}  # tree -> base
        self.blocked: dict[str, str] = {}  # files that no restore can remove

    def exists(self) -> bool:
        return True

    def describe(self, session: Any) -> str:
        return self.host.place

    async def request(self, name: str, **arguments: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        self.host.log.append(name)
        if (error := self.host.refuse.get(name)) is not None:
            raise error
        first, second = arguments.pop("from", None), arguments.pop("to", None)
        if name == "diff":
            return self.diff(first, second)
        found: dict[str, Any] = await getattr(self, name)(**arguments)
        return found

    async def state(self, session: str = "") -> dict[str, Any]:
        found = {"tree": self.tree, "call": self.call, "seen": self.seen.get(session)}
        found |= {"base": self.base, "restoring": self.restoring}
        return {name: value for name, value in found.items() if value}

    async def record(
        self, session: str = "", call: str = "", began_ms: int | None = None
    ) -> dict[str, Any]:
        if self.restoring:
            self.files, self.tree = dict(self.load(self.restoring)), self.restoring
            self.restoring = ""
        before = self.tree
        after = self.tree = self.now()
        self.bases[after] = self.base
        if session:
            self.seen[session] = after
        if before != after:
            self.call = call
        changed = self.diff(before, after) if before else {"files": [], "count": 0}
        found = {"before": before or after, "after": after}
        return {**found, "changed": changed["files"], "changed_count": changed["count"]}

    async def restore(self, session: str, tree: str, start: str | None = None) -> dict[str, Any]:
        replaced, self.restoring = self.now(), ""
        self.files = {**self.load(tree), **self.blocked}
        self.tree = self.seen[session] = self.now()
        self.call, self.base = "", self.bases.get(tree, self.base)
        blocked = {"blocked": [*self.blocked]} if self.blocked else {}
        return {"tree": self.tree, "replaced": replaced, "changed_count": 1, **blocked}

    async def refresh(self, session: str) -> dict[str, Any]:
        base = sha256(canonical(self.real).encode()).hexdigest()
        self.host.objects[base] = dict(self.real)
        old = self.load(self.base) if self.base else {}
        for path in {*old, *self.real}:
            if self.real.get(path) != old.get(path) and self.files.get(path) == old.get(path):
                self.files.pop(path, None)
                self.files |= {path: self.real[path]} if path in self.real else {}
        self.base, self.tree = base, self.now()
        self.bases[self.tree] = base
        self.seen[session] = self.tree
        return {"tree": self.tree, "base": base, "taken": [], "conflicts": []}

    async def missing(self, tree: str, most: int) -> dict[str, Any]:
        lacks = [] if tree in self.host.objects else [{"sha256": tree, "bytes": 5, "path": ""}]
        return {"objects": lacks[:most], "count": len(lacks), "bytes": 5 * len(lacks)}

    def now(self) -> str:
        """The tree of the files as they are; its objects are stored."""
        tree = sha256(canonical(self.files).encode()).hexdigest()
        self.host.objects[tree] = dict(self.files)
        return tree

    def load(self, tree: str) -> dict[str, str]:
        if tree not in self.host.objects:
            raise WorkspaceError("missing_objects", "objects are missing")
        return self.host.objects[tree]

    def diff(self, first: str, second: str) -> dict[str, Any]:
        old, new = self.load(first), self.load(second)
        found = []
        for path in sorted({*old, *new}):
            if old.get(path) != new.get(path):
                kinds = {(False, True): "added", (True, False): "deleted"}
                change = kinds.get((path in old, path in new), "modified")
                found.append({"path": path, "change": change, "bytes_after": 1})
        return {"files": found, "count": len(found)}


def config_with(
    limits: dict[str, Any] | None, log: dict[str, Any] | None, home: Path = NOWHERE
) -> Config:
    """Return the defaults with other limits, another log and home folder."""
    server = {**DEFAULTS["server"]}  # Config takes a copy of all of it
    server["limits"] = {**server["limits"], **(limits or {})}
    server["log"] = {**server["log"], **(log or {})}
    return Config(server, DEFAULTS["session"], home)


USUAL = config_with(None, None)


def agent(
    model: ScriptedModel,
    toolbox: CountingToolbox,
    *,
    claims: MemoryClaims | None = None,
    ids: Callable[[str], str] | None = None,
    clock: Callable[[], int] | None = None,
    limits: dict[str, Any] | None = None,
    log: dict[str, Any] | None = None,
    records: RunRecords | None = None,
    signals: StopSignals | None = None,
    workspaces: FakeWorkspaces | None = None,
    home: Path = USUAL.home,
    parts: Sequence[MakePart] = (),
) -> BaseAgent:
    """An agent on a host of its own."""
    changed = limits or log or home != USUAL.home
    config = config_with(limits, log, home) if changed else USUAL
    return BaseAgent(
        config,
        model,  # type: ignore[arg-type]
        toolbox,  # type: ignore[arg-type]
        claims or MemoryClaims(),  # type: ignore[arg-type]
        agents=Agents(limits=config.session["config"]["limits"]),
        ceilings=LimitCeilings(config.server["limits"], {}),
        workspaces=workspaces or SessionFiles(config.home),
        locks=Locks(),
        ids=ids or Ids(),
        clock=(time := clock or ManualClock()),
        stopwatch=time,
        records=records or RunRecords(),
        signals=signals or StopSignals(),
        parts=parts,
    )


def user(text: str, message_id: str = "u1") -> Any:
    return {"id": message_id, "role": "user", "content": text}


def answer(session: Session, reason: str, payload: Any) -> None:
    """Answer every open interrupt of one reason, as a client does."""
    for interrupt in session["interrupts"]:
        if interrupt["reason"] == reason:
            interrupt["answer"] = {"status": "resolved", "payload": payload}
