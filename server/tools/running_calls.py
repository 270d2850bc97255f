"""Tool calls that run in this process, and what happens to them when their run ends early.

When a run is cut, its repeatable calls end with it. Other calls get a grace period to finish, and
their result is kept on this host (execution_claims.py), so that the next POST of the session gets
the result instead of a question (docs/reference/session.md, "Resume rules"). When a client comes
back, the grace period is over and the live output goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

from ..json_types import Event
from ..lib.runtime.event_loop import cancel_all
from ..lib.strict_json import dumps
from ..session import events
from ..session.limits import LimitCeilings
from .execution_claims import Claims, Locks

SessionKey = tuple[str, str]  # owner, session id
Key = tuple[SessionKey, str, int]  # session, call id, attempt
Listener = Callable[[Event | None], None]  # called with each event, then with None
Work = Callable[[Callable[[Event], None]], Awaitable[None]]  # runs a call; gets `emit`

POLL_S = 0.1  # interval for polling a call that another process of this host runs
KEPT_OUTPUT = 50_000  # characters of live output kept for a client that comes back
TOLD_OUTPUT = 4_000  # characters of it in the result of a stopped call

LIVE = ("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")  # live output; not part of the result


class Aftermath(Protocol):
    """What is done after a call has ended, and before its result is kept or told.

    That is the record of the files it changed.
    """

    async def complete(self, result: Event) -> Event:
        """Return the TOOL_CALL_RESULT with what was found out after the call."""
        ...

    def abandon(self) -> None:
        """Clean up after a call, which may have ended without a result."""
        ...


async def complete(aftermath: Aftermath, result: Event, stopping: Callable[[], bool]) -> Event:
    """Return the complete result of a call.

    Not cut by cancelling unless the server stops: the call has ended, and what it did must not be
    forgotten.
    """
    task = asyncio.ensure_future(aftermath.complete(result))
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if stopping() or task.cancelled():
                task.cancel()
                raise
    return task.result()


@dataclass(eq=False)
class Execution:
    """A running call.

    lasting   it may not run twice, so it outlives its listener for a grace period
    stopped   why a person stopped it; "" if it was not stopped
    result    its TOOL_CALL_RESULT; None while it runs
    """

    key: Key
    name: str
    fingerprint: str
    lasting: bool
    aftermath: Aftermath | None = None
    listener: Listener | None = None
    task: asyncio.Task[None] = field(init=False)
    grace: asyncio.TimerHandle | None = None
    stopped: str = ""
    result: Event | None = None
    began: float = field(default_factory=time.monotonic)
    output: list[str] = field(default_factory=list)
    output_size: int = 0
    lines: int = 0  # ends of lines in all of its output

    def tell(self, event: Event | None) -> None:
        """Send an event to the listener, if there is one."""
        if self.listener is not None:
            self.listener(event)

    def keep_output(self, text: str) -> None:
        """Keep live output for clients that attach later, up to KEPT_OUTPUT characters."""
        self.output.append(text)
        self.lines += text.count("\n")
        self.output_size += len(text)
        if self.output_size > 2 * KEPT_OUTPUT:
            self.output = ["".join(self.output)[-KEPT_OUTPUT:]]
            self.output_size = len(self.output[0])

    def output_so_far(self) -> str:
        """Return the kept output."""
        return "".join(self.output)[-KEPT_OUTPUT:]


class Executions:
    """The running calls of this process. `grace_s`: grace period of lasting calls, in seconds.

    `former`: those of an earlier configuration of this process; their calls are known here too.
    """

    def __init__(
        self,
        claims: Claims,
        grace_s: float,
        ceilings: LimitCeilings,
        locks: Locks,
        former: Executions | None = None,
    ) -> None:
        self.claims, self.grace_s, self.locks = claims, grace_s, locks
        self._ceilings = ceilings
        self.stopping = False  # the server stops: no further call may begin
        self._running: dict[Key, Execution] = former._running if former else {}
        self._own: set[Execution] = set()  # those that began here

    def limit_of(self, owner: str) -> int:
        """Return how many calls one run of this owner may have running at once."""
        return int(self._ceilings.of(owner)["max_parallel_calls"])

    def can_attach(self, key: Key, fingerprint: str) -> bool:
        """Return whether `attach` may yield something.

        The call runs on this host, or its result is kept.
        """
        execution = self._running.get(key)
        if execution is not None and (execution.result or not execution.task.done()):
            return execution.fingerprint == fingerprint
        if self._kept_result(key, fingerprint) is not None:
            return True
        here = self.claims.claimed_as(*key) in (fingerprint, "")
        return here and self.locks.is_held(_call_lock(key))

    async def attach(self, key: Key, fingerprint: str) -> AsyncGenerator[Event, None]:
        """Yield the live output of a lasting call that runs on this host, then its result.

        Yields nothing for an unknown call. The call's grace period does not run while this is open.
        """
        execution = self._running.get(key)
        if execution is None:
            with self._listening(key):
                while self.locks.is_held(_call_lock(key)):
                    await asyncio.sleep(POLL_S)
        else:
            async with aclosing(self._listen(execution)) as output:
                async for event in output:
                    yield event
            if execution.result is not None:
                yield execution.result
                return
        if (result := self._kept_result(key, fingerprint)) is not None:
            yield result

    async def _listen(self, execution: Execution) -> AsyncGenerator[Event, None]:
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        execution.listener = queue.put_nowait
        if execution.grace is not None:
            execution.grace.cancel()
            execution.grace = None
        try:
            if text := execution.output_so_far():
                yield events.tool_output(execution.key[1], text, first=True)
            while not execution.task.done() or not queue.empty():
                if (event := await queue.get()) is None:
                    return
                if event["type"] in LIVE:
                    yield event
        finally:
            self.leave(execution)

    def begin(self, execution: Execution, work: Work) -> None:
        """Start a call as a task; its listener is called with its events, then with None."""
        execution.task = asyncio.create_task(self._run(execution, work))
        self._running[execution.key] = execution
        self._own.add(execution)
        if execution.lasting:
            self.locks.take(_call_lock(execution.key))
        execution.task.add_done_callback(lambda _: self._end(execution))

    def leave(self, execution: Execution) -> None:
        """Remove the listener of a call, and end the call: at once, or after its grace period."""
        execution.listener = None
        if execution.task.done():
            return
        if execution.lasting and not execution.stopped:
            loop = asyncio.get_running_loop()
            execution.grace = loop.call_later(self.grace_s, self._expire, execution)
            self.locks.take(_left_lock(execution.key[0]))
        else:
            execution.task.cancel()

    def runs_elsewhere(self, session: SessionKey) -> bool:
        """Return whether calls that a run has left still run in another process of this host."""
        return self.locks.is_held(_left_lock(session))

    def stop(self, session: SessionKey, why: str, call_id: str | None = None) -> int:
        """Stop the running calls of a session, or one of them, and return their number.

        `why` begins the text of their results.
        """
        ended = [
            execution
            for key, execution in self._running.items()
            if key[0] == session and call_id in (None, key[1])
        ]
        for execution in ended:
            execution.stopped = execution.stopped or why
            execution.task.cancel()
        return len(ended)

    def tasks(self, session: SessionKey) -> list[asyncio.Task[None]]:
        """Return the calls of this session that run in this process."""
        return [each.task for key, each in self._running.items() if key[0] == session]

    @property
    def sessions(self) -> set[SessionKey]:
        """Return the sessions with calls that run in this process."""
        return {key[0] for key in self._running}

    @property
    def busy(self) -> bool:
        """Return whether a call that began here still runs."""
        return bool(self._own)

    async def close(self) -> None:
        """Cancel all calls that began here and wait for their end."""
        await cancel_all([execution.task for execution in self._own])

    async def _run(self, execution: Execution, work: Work) -> None:
        results: list[Event] = []

        def emit(event: Event) -> None:
            """Tell the listener, but of a result only once it is complete."""
            if event["type"] == "TOOL_CALL_RESULT":
                results.append(event)
                return
            if event["type"] in LIVE:
                execution.keep_output(_output_of(event))
            execution.tell(event)

        try:
            await work(emit)
        except asyncio.CancelledError:
            if not execution.stopped:
                raise
            results = results or [_stop_result(execution)]
        for result in results:
            if execution.aftermath is not None:
                result = await complete(execution.aftermath, result, lambda: self.stopping)
            self._keep(execution, result)
            execution.tell(result)
        execution.tell(None)  # not in `_end`, which is one turn of the loop later

    def _keep(self, execution: Execution, result: Event) -> None:
        execution.result = result
        if execution.lasting:
            kept = {"fingerprint": execution.fingerprint, "result": result}
            with suppress(OSError):  # a full disk: after a lost connection the call is asked about
                self.claims.store(*execution.key, kept)

    def _kept_result(self, key: Key, fingerprint: str) -> Event | None:
        """Return the kept result of this call, if the fingerprint fits; else None."""
        record = self.claims.fetch(*key)
        if record is None or record.get("fingerprint") != fingerprint:
            return None
        if not isinstance(record.get("result"), dict):
            return None
        result: Event = record["result"]
        return result

    def _end(self, execution: Execution) -> None:
        """Clean up after the task of a call, however it ended."""
        self._own.discard(execution)
        if execution.grace is not None:
            execution.grace.cancel()
        if execution.aftermath is not None:
            execution.aftermath.abandon()
        if execution.stopped and execution.task.cancelled() and execution.result is None:
            result = _stop_result(execution)
            self._keep(execution, result)
            execution.tell(result)
        if self._running.get(execution.key) is execution:  # not a later execution of the call
            del self._running[execution.key]
            self.locks.free(_call_lock(execution.key))
            if execution.key[0] not in self.sessions:
                self.locks.free(_left_lock(execution.key[0]))
        if execution.task.cancelled() or execution.task.exception() is not None:
            execution.tell(None)

    def _expire(self, execution: Execution) -> None:
        """End a call after its grace period, unless another process of this host waits for it."""
        if self.locks.is_held(_listener_lock(execution.key)):
            loop = asyncio.get_running_loop()
            execution.grace = loop.call_later(POLL_S, self._expire, execution)
        else:
            execution.task.cancel()

    @contextmanager
    def _listening(self, key: Key) -> Iterator[None]:
        """Hold the lock that tells other processes of this host about a waiting client."""
        self.locks.take(_listener_lock(key))
        try:
            yield
        finally:
            self.locks.free(_listener_lock(key))


@dataclass
class _Member:
    execution: Execution
    held: list[Event] = field(default_factory=list)
    ended: bool = False


class Batch:
    """Calls that run side by side: `with Batch(executions) as batch`.

    Live output comes as it is printed, other events in the order in which the calls began. Leaving
    the `with` block leaves the calls that still run.
    """

    def __init__(self, executions: Executions) -> None:
        self._executions = executions
        self._members: list[_Member] = []
        self._front = 0  # index of the first call that has not ended
        self.running_count = 0  # number of calls that have not ended
        self._said: asyncio.Queue[tuple[int, Event | None]] = asyncio.Queue()

    def begin(self, execution: Execution, work: Work) -> None:
        """Start a call; see `Executions.begin`."""
        number = len(self._members)
        execution.listener = lambda event: self._said.put_nowait((number, event))
        self._executions.begin(execution, work)
        self._members.append(_Member(execution))
        self.running_count += 1

    async def next(self) -> list[Event]:
        """Wait for an event and return the events that are due, possibly none.

        Raises what the call's own code raised.
        """
        number, event = await self._said.get()
        member = self._members[number]
        if event is None:
            member.ended = True
            self.running_count -= 1
            task = member.execution.task
            if not (task.cancelled() and member.execution.stopped):
                task.result()
        elif event["type"] in LIVE:
            return [event]
        else:
            member.held.append(event)
        due: list[Event] = []
        for member in self._members[self._front :]:
            due += member.held
            member.held = []
            if not member.ended:
                break
            self._front += 1
        return due

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, *_: object) -> None:
        for member in self._members:
            self._executions.leave(member.execution)


def session_lock(session: SessionKey) -> str:
    """Return the lock name of a session's run.

    Names of locks of different kinds differ in their first word, so that no session id can be the
    name of a call's lock.
    """
    return f"session {dumps(session)}"


def _call_lock(key: Key) -> str:
    return f"call {dumps(key)}"


def _left_lock(session: SessionKey) -> str:
    """Return the name of the lock that is held while calls run that their run has left."""
    return f"left {dumps(session)}"


def _listener_lock(key: Key) -> str:
    return f"listener {dumps(key)}"


def _output_of(event: Event) -> str:
    """Return the text of a live output event."""
    with suppress(KeyError, IndexError, TypeError):
        if event["type"] == "ACTIVITY_SNAPSHOT":
            return "".join(event["content"]["chunks"])
        return "".join(each["value"] for each in event["patch"])
    return ""


def _stop_result(execution: Execution) -> Event:
    """Return the TOOL_CALL_RESULT of a call that a person stopped."""
    text = f"{execution.stopped} It had begun and may have had part of its effect."
    if output := execution.output_so_far()[-TOLD_OUTPUT:]:
        text = f"{text}\nIts output until then:\n{output}"
    lines = execution.lines + (bool(output) and not output.endswith("\n"))
    return events.tool_result(
        execution.key[1],
        execution.name,
        text,
        time.time_ns() // 1_000_000,
        state="failed",
        is_error=True,
        result={
            "status": "stopped",
            "error": {"type": "stopped", "message": text, "details": {"lines": lines}},
            "duration_ms": round((time.monotonic() - execution.began) * 1000),
        },
    )
