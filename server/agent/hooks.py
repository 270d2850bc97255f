"""Hooks: the owner's functions in `hooks/*.py`, called at eleven points of a run.

The folder is in the server's home folder. Hooks run in the server's process and may do whatever the
server may, so a file that others can write is refused. They are loaded once, at start, so that all
of a run uses one version.

A hook gets a copy and returns a replacement or None. If it fails, takes too long or returns an
unfit value, that is logged under an incident id and the hook is skipped. If a hook of the security
band (priority 0-50) fails, the run ends, except at the point `error`: what it guards must not
happen unguarded.
"""

from __future__ import annotations

import copy
import inspect
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..context.view import pairing_errors
from ..json_types import (
    Change,
    CompactionRecord,
    Event,
    Interrupt,
    Json,
    LedgerEntry,
    Message,
    Op,
    Session,
)
from ..lib.strict_json import dumps
from ..session import events
from ..session.call_actions import Execute, Job, Reply, Toolbox
from ..settings import owner_code
from ..telemetry import log, trace_context
from ..tools.result import BY_HOOK
from .call_decisions import with_args

SECURITY = 50  # bands: 0-50 security, 51-100 system, 101-500 usual, 501-1000 last
PRIORITIES = range(1001)
TIMEOUT_S = 5.0
MOST_STUCK = 4  # abandoned calls of one hook that may still run, before it is skipped
MARK = "__yaa_hooks__"

# point -> the event types at which it is called
POINTS: dict[str, tuple[str, ...]] = {
    "pre_call": (),
    "post_call": (),
    "pre_reasoning": (),
    "reasoning_chunk": (
        *("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS"),
        "TOOL_CALL_START",
    ),
    "post_reasoning": (),
    "pre_acting": (),
    "acting_chunk": ("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"),
    "post_acting": ("TOOL_CALL_RESULT",),
    "pre_compress": (),
    "on_interrupt": (),
    "error": ("RUN_ERROR",),
}
CHUNKS = ("reasoning_chunk", "acting_chunk")

logger = log.get("hooks")

Function = Callable[[Any, "HookContext"], Any]


class HookError(Exception):
    """A hook of the security band failed, so the run ends. The text is for the client."""


@dataclass(frozen=True)
class HookContext:
    """Where a hook is called.

    `session()` returns a copy of the document as it is now. `owner` is that of the API key
    (api.auth.Key): a session id is unique only together with it.
    """

    point: str
    run: str
    session_id: str
    agent: str
    model: str
    key_name: str
    trace: str
    session: Callable[[], Session]
    owner: str = ""


@dataclass
class Hook:
    """One function at one point."""

    name: str  # file and function
    point: str
    priority: int
    timeout_s: float
    function: Function

    @property
    def guards(self) -> bool:
        """Return whether it is of the security band."""
        return self.priority <= SECURITY


def hook(
    point: str, *, priority: int = 100, timeout_s: float = TIMEOUT_S
) -> Callable[[Function], Function]:
    """Mark a function `(value, ctx)`, sync or async, to be called at a point.

    Lower priorities run first. Raises ValueError for an unknown point or an invalid priority or
    timeout.
    """
    if point not in POINTS:
        raise ValueError(f"there is no point {point!r}; there are {', '.join(POINTS)}")
    if priority not in PRIORITIES or not timeout_s > 0:
        raise ValueError("a priority is a whole number from 0 to 1000, timeout_s is above 0")

    def mark(function: Function) -> Function:
        """Add the mark to the function."""
        vars(function).setdefault(MARK, []).append((point, priority, timeout_s))
        return function

    return mark


# -- loading --------------------------------------------------------------------------------------


class Hooks:
    """The hooks of a server: `load` them once. `problems`: refused files, with the reason."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._at: dict[str, list[Hook]] = {}

    def load(self, folder: Path) -> None:
        """Load the hooks of all files in a folder."""
        for path in sorted(folder.glob("*.py")):
            found = _load(path)
            if isinstance(found, str):
                self.problems.append(f"hooks/{path.name}: {found}")
                logger.warning("hooks/%s is refused: %s", path.name, found)
                continue
            for each in found:
                self._at.setdefault(each.point, []).append(each)
        for hooks in self._at.values():
            hooks.sort(key=lambda each: each.priority)  # stable: ties by file, then by place in it

    @property
    def event_points(self) -> dict[str, str]:
        """Return the event types that are shown to hooks, each with its point."""
        return {kind: point for point in self._at for kind in POINTS[point]}

    def hooks_at(self, point: str) -> list[Hook]:
        """Return the hooks of a point, in their order."""
        return self._at.get(point, [])

    def info(self) -> Json:
        """Return `{loaded, problems}` for `/info` and the start of the server."""
        loaded = [
            {"name": each.name, "point": point, "priority": each.priority}
            for point in POINTS
            for each in self.hooks_at(point)
        ]
        return {"loaded": loaded, "problems": self.problems}


def _load(path: Path) -> list[Hook] | str:
    """Return the hooks of one file, or the reason why it is refused."""
    module = owner_code.load(path, "hooks")
    if isinstance(module, str):
        return module
    found = [
        Hook(f"{path.name}:{name}", point, priority, timeout_s, function)
        for name, function in vars(module).items()
        for point, priority, timeout_s in getattr(function, MARK, ())
        if getattr(function, "__module__", "") == module.__name__
    ]
    return found or "there is no hook in it: put @hook above a function (from yaa import hook)"


# -- calling --------------------------------------------------------------------------------------


class HookCaller:
    """The hooks of a server, called by one run."""

    def __init__(self, hooks: Hooks, session: Session, about: Mapping[str, str]) -> None:
        self._hooks, self._session, self._about = hooks, session, dict(about)
        self._off: set[str] = set()  # chunk hooks that have failed in this run

    def has_hooks(self, point: str) -> bool:
        """Return whether the point has hooks."""
        return bool(self._hooks.hooks_at(point))

    async def apply(self, point: str, value: Any, fits: Callable[[Any], str] | None = None) -> Any:
        """Return `value` as changed by the hooks of a point.

        `fits` returns what is wrong with a replacement, "" if nothing; without `fits` nothing may
        be replaced. Raises HookError if a hook of the security band fails.
        """
        for each in self._hooks.hooks_at(point):
            if each.name in self._off:
                continue
            given, why, error = await _called(each, value, self._context(point))
            if not why and given is not None and fits is not None:
                why = fits(given)
            if why:
                self._failed(each, why, error)
            elif given is not None and fits is not None:
                value = given
        return value

    def _failed(self, each: Hook, why: str, error: BaseException | None) -> None:
        incident = secrets.token_hex(6)
        logger.error("hook %s %s (incident %s)", each.name, why, incident, exc_info=error)
        if each.point in CHUNKS:
            self._off.add(each.name)  # it would fail again for each chunk
        if each.guards and each.point != "error":
            raise HookError(
                f"The run was stopped: the security hook {each.name} {why.split(':')[0]}."
                f" The server's log has the details under {incident}."
            )

    def _context(self, point: str) -> HookContext:
        session = self._session
        trace = trace_context.current.get()
        return HookContext(
            point,
            session_id=str(session.get("id", "")),
            agent=str(session.get("agent", "")),
            trace=trace.trace_id if trace else "",
            session=lambda: copy.deepcopy(session),
            **self._about,
        )


_unfinished = owner_code.UnfinishedCalls(MOST_STUCK)


async def _called(
    each: Hook, value: Any, context: HookContext
) -> tuple[Any, str, BaseException | None]:
    """Return (the hook's value, what went wrong or "", its exception)."""
    if refusal := _unfinished.refusal(each):
        return None, refusal, None
    is_async = inspect.iscoroutinefunction(each.function)
    call = each.function, copy.deepcopy(value), context
    outcome = await _unfinished.call(each, *call, is_async=is_async, limit_s=each.timeout_s)
    if outcome is None:
        return None, f"took longer than {each.timeout_s:g} s", None
    if error := outcome.error:
        return None, f"failed: {type(error).__name__}", error
    return outcome.value, "", None


# -- what fits ------------------------------------------------------------------------------------


def has_fields(*fields: tuple[str, type]) -> Callable[[Any], str]:
    """Return a check that a replacement is a JSON object with these members of these types."""

    def fits(given: Any) -> str:
        """Return what is wrong with a replacement, "" if nothing."""
        if not isinstance(given, dict):
            return f"gave {type(given).__name__}, wanted an object"
        wrong = [name for name, kind in fields if not isinstance(given.get(name), kind)]
        return f"gave no proper {', '.join(wrong)}" if wrong else is_json(given)

    return fits


def is_json(value: Any) -> str:
    """Return what is wrong with a value that is not JSON, "" if nothing."""
    with suppress(TypeError, ValueError, RecursionError):
        dumps(value).encode()  # fails for a lone surrogate, which is invalid too
        return ""
    return "gave what is not JSON"


# -- hook points ----------------------------------------------------------------------------------
# The hook points of a run: the value that each passes to its hooks, and how replacements apply.
#
# Used by the loop, which reaches hooks.py only through this. A replacement is either an event that
# is folded, like every other change, or it changes a request that is never stored.


class RunHooks:
    """The points of one run."""

    def __init__(
        self, hooks: Hooks, session: Session, toolbox: Toolbox, about: Mapping[str, str]
    ) -> None:
        self._calls = HookCaller(hooks, session, about)
        self._session, self._toolbox = session, toolbox
        self.watched = hooks.event_points

    async def pre_call(self) -> None:
        """Call pre_call with the messages of the session, before anything is done."""
        if self._calls.has_hooks("pre_call"):
            await self._calls.apply("pre_call", {"messages": self._session["messages"]})

    async def pre_reasoning(self, messages: list[Message]) -> list[Message]:
        """Call pre_reasoning with the request, system prompt first; return it. It is not stored."""
        return list(await self._calls.apply("pre_reasoning", messages, _is_request))

    async def post_reasoning(self, message_id: str) -> list[Event]:
        """Call post_reasoning with the model's message, before its calls are decided.

        Returns the event that replaces it, if any.
        """
        return await self._rewritten("post_reasoning", message_id)

    async def pre_acting(self, jobs: Iterable[Job]) -> tuple[Job, ...]:
        """Call pre_acting for every call that is about to be executed; return the jobs.

        A hook may change the arguments or refuse the call.
        """
        if not self._calls.has_hooks("pre_acting"):
            return tuple(jobs)
        return tuple([await self._pre_acting(job) for job in jobs])

    async def on_event(self, event: Event) -> Event:
        """Call the point of an event, if its type has one. Return the event, not yet folded."""
        point = self.watched[event["type"]]
        if point == "post_acting":
            return await self._result(event)
        if point == "error":
            told = {"code": event["code"], "message": event["message"]}
            await self._calls.apply(point, told)
        else:
            await self._calls.apply(point, event)
        return event

    async def pre_compress(self, ops: list[Op], record: CompactionRecord) -> None:
        """Call pre_compress with the operations that make the view smaller."""
        await self._calls.apply("pre_compress", {"ops": ops, "record": record})

    async def on_end(self, status: str, interrupts: list[Interrupt]) -> list[Event]:
        """Call on_interrupt if there are interrupts, post_call if the run is completed.

        post_call gets the final message. Returns the event that replaces it, if any.
        """
        if interrupts:
            await self._calls.apply("on_interrupt", {"status": status, "interrupts": interrupts})
        last = self._session["messages"][-1:]
        if status == "completed" and last and last[0]["role"] == "assistant":
            return await self._rewritten("post_call", last[0]["id"])
        return []

    async def _rewritten(self, point: str, message_id: str) -> list[Event]:
        if not self._calls.has_hooks(point):
            return []
        messages = self._session["messages"]
        found = [n for n, message in enumerate(messages) if message["id"] == message_id]
        message = messages[found[-1]]
        keys = ("content", "tool_calls") if point == "post_reasoning" else ("content",)
        document: Mapping[str, Any] = message
        before: Json = {key: document[key] for key in keys if document.get(key)}
        before["id"] = message_id
        before.setdefault("content", "")
        after = await self._calls.apply(point, before, lambda given: _is_answer(given, before))
        changes = [
            _change(f"/{found[-1]}/{key}", after.get(key))
            for key in keys
            if after.get(key) != before.get(key)
        ]
        return [events.messages_filled(changes)] if changes else []

    async def _pre_acting(self, job: Job) -> Job:
        if not isinstance(job, Execute):
            return job
        name = job.like or job.call["function"]["name"]  # one name for all tools that act alike
        told = {"id": job.call["id"], "name": name, "args": job.args}
        given = await self._calls.apply("pre_acting", told, has_fields(("args", dict)))
        if refused := given.get("refused"):
            return Reply(job.call, f"not run: {refused}", "denied", status="denied")
        if given["args"] == job.args:
            return job
        verdict = self._toolbox.verdict(self._session, with_args(job.call, given["args"]))
        if verdict.action in ("deny", "error", "wait"):
            return Reply(job.call, verdict.reason, "failed", status=verdict.status)
        entry: LedgerEntry = {
            **job.entry,
            "args": given["args"],
            "args_by": BY_HOOK,
            "fingerprint": verdict.fingerprint,
        }
        repairs = tuple(verdict.repairs)
        return replace(job, args=verdict.args or {}, entry=entry, repairs=repairs)

    async def _result(self, event: Event) -> Event:
        ours = event["metadata"]["yaa"]
        told = {"id": event["toolCallId"], "name": ours["name"], "content": event["content"]}
        told |= {"is_error": bool(ours.get("is_error")), "result": ours.get("result")}
        fits = has_fields(("content", str), ("is_error", bool))
        given = await self._calls.apply("post_acting", told, fits)
        if given == told:
            return event
        ours = {k: v for k, v in ours.items() if k not in ("is_error", "result")}
        ours |= {"is_error": True} if given["is_error"] else {}
        if given.get("result") is not None:
            ours["result"] = given["result"]
        elif told["result"] is not None:
            ours["result"] = told["result"]
        return {**event, "content": given["content"], "metadata": {"yaa": ours}}


def _change(path: str, value: Any) -> Change:
    if value is None:
        return {"op": "remove", "path": path}
    return {"op": "add", "path": path, "value": value}


def _is_request(given: Any) -> str:
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        return "gave no list of messages"
    if any(not isinstance(each.get("role"), str) or "content" not in each for each in given):
        return "gave a message without role or content"
    if why := is_json(given):
        return why
    wrong = pairing_errors(given)
    return f"gave messages that do not fit: {wrong[0]}" if wrong else ""


def _is_answer(given: Any, before: Json) -> str:
    """Return what is wrong with a replaced answer, "" if nothing.

    Calls may be left out or have other arguments, but none may be added.
    """
    if why := has_fields(("content", str))(given):
        return why
    known = {call["id"]: call["function"]["name"] for call in before.get("tool_calls") or ()}
    for call in given.get("tool_calls") or ():
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or known.get(call.get("id")) != function.get("name"):
            return "gave a call that the model has not made"
        if not isinstance(function.get("arguments"), str):
            return "gave a call whose arguments are no text"
    return ""
