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

import asyncio
import copy
import inspect
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..settings import owner_code
from ..strict_json import dumps
from ..telemetry import log, spans

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


class HookFailed(Exception):
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
    session: Callable[[], dict[str, Any]]
    owner: str = ""


@dataclass
class Hook:
    """One function at one point."""

    name: str  # file and function
    point: str
    priority: int
    timeout_s: float
    function: Function
    stuck: int = 0

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
    def watched(self) -> dict[str, str]:
        """Return the event types that are shown to hooks, each with its point."""
        return {kind: point for point in self._at for kind in POINTS[point]}

    def at(self, point: str) -> list[Hook]:
        """Return the hooks of a point, in their order."""
        return self._at.get(point, [])

    def info(self) -> dict[str, Any]:
        """Return `{loaded, problems}` for `/info` and the start of the server."""
        loaded = [
            {"name": each.name, "point": point, "priority": each.priority}
            for point in POINTS
            for each in self.at(point)
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


class Calls:
    """The hooks of a server, called by one run."""

    def __init__(self, hooks: Hooks, session: dict[str, Any], about: Mapping[str, str]) -> None:
        self._hooks, self._session, self._about = hooks, session, dict(about)
        self._off: set[str] = set()  # chunk hooks that have failed in this run

    def any(self, point: str) -> bool:
        """Return whether the point has hooks."""
        return bool(self._hooks.at(point))

    async def ask(self, point: str, value: Any, fits: Callable[[Any], str] | None = None) -> Any:
        """Return `value` as changed by the hooks of a point.

        `fits` returns what is wrong with a replacement, "" if nothing; without `fits` nothing may
        be replaced. Raises HookFailed if a hook of the security band fails.
        """
        for each in self._hooks.at(point):
            if each.name in self._off:
                continue
            given, why, error = await _called(each, copy.deepcopy(value), self._context(point))
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
            raise HookFailed(
                f"The run was stopped: the security hook {each.name} {why.split(':')[0]}."
                f" The server's log has the details under {incident}."
            )

    def _context(self, point: str) -> HookContext:
        session = self._session
        trace = spans.current.get()
        return HookContext(
            point,
            session_id=str(session.get("id", "")),
            agent=str(session.get("agent", "")),
            trace=trace.trace_id if trace else "",
            session=lambda: copy.deepcopy(session),
            **self._about,
        )


async def _called(
    each: Hook, value: Any, context: HookContext
) -> tuple[Any, str, BaseException | None]:
    """Return (the hook's value, what went wrong or "", its exception)."""
    if each.stuck >= MOST_STUCK:
        return None, f"is not called: {each.stuck} earlier calls have not come back", None
    is_async = inspect.iscoroutinefunction(each.function)
    call = owner_code.awaited if is_async else owner_code.in_thread
    task = asyncio.ensure_future(call(each.function, value, context))
    try:
        await asyncio.wait({task}, timeout=each.timeout_s)
    finally:
        if not task.done():
            _abandon(each, task, is_async)
    if not task.done() or task.cancelled():
        return None, f"took longer than {each.timeout_s:g} s", None
    outcome = task.result()
    if error := outcome.error:
        return None, f"failed: {type(error).__name__}", error
    return outcome.value, "", None


def _abandon(each: Hook, task: asyncio.Future[owner_code.Outcome], is_async: bool) -> None:
    """Stop waiting for a call and count it until it ends: a thread cannot be killed."""
    each.stuck += 1

    def back(_: Any) -> None:
        """Count a call that has ended after all."""
        each.stuck -= 1

    task.add_done_callback(back)
    if is_async:
        task.cancel()


# -- what fits ------------------------------------------------------------------------------------


def has(*fields: tuple[str, type]) -> Callable[[Any], str]:
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
