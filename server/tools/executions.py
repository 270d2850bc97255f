"""Calls that are running in this process, and what becomes of them when nobody listens any more.

When a run is cut, its repeatable calls end with it. Other calls have a grace in which to end, and
their result is kept on this host (execution_claims.py), so that the next POST of the session finds
a result and not a question (resume rule 9). A client that comes back listens again: the grace is
over, and the live output goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from ..session import events
from ..session.limits import Ceilings
from ..strict_json import dumps
from .execution_claims import Claims
from .execution_locks import Locks

Event = dict[str, Any]
SessionKey = tuple[str, str]  # owner, session id
Key = tuple[SessionKey, str, int]  # session, call id, attempt
Listener = Callable[[Event | None], None]  # gets each event, then None

POLL_S = 0.1  # between two looks at a call that another process of this host runs
KEPT_OUTPUT = 50_000  # characters of live output, for a client that comes back
TOLD_OUTPUT = 4_000  # of these, what the model reads of a call that was stopped

LIVE = ("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")  # output: shown at once, part of no result


@dataclass(eq=False)
class Execution:
    """One running call.

    lasting   it may not run twice, so it outlives its listener for a while
    stopped   why a person ended it; empty while nobody did
    result    its TOOL_CALL_RESULT, once there is one
    """

    key: Key
    name: str
    fingerprint: str
    lasting: bool
    listener: Listener | None
    task: asyncio.Task[None] = field(init=False)
    grace: asyncio.TimerHandle | None = None
    stopped: str = ""
    result: Event | None = None
    output: list[str] = field(default_factory=list)
    output_size: int = 0

    def tell(self, event: Event | None) -> None:
        if self.listener is not None:
            self.listener(event)

    def keep_output(self, text: str) -> None:
        self.output.append(text)
        self.output_size += len(text)
        if self.output_size > 2 * KEPT_OUTPUT:
            self.output = ["".join(self.output)[-KEPT_OUTPUT:]]
            self.output_size = len(self.output[0])

    def output_so_far(self) -> str:
        return "".join(self.output)[-KEPT_OUTPUT:]


class Executions:
    """The calls of one process."""

    def __init__(self, claims: Claims, grace_s: float, ceilings: Ceilings, locks: Locks) -> None:
        self.claims, self.grace_s, self.locks = claims, grace_s, locks
        self._ceilings = ceilings
        self.stopping = False  # no call is begun any more
        self._running: dict[Key, Execution] = {}

    def most(self, owner: str) -> int:
        """Calls of one run of this owner that may go on side by side."""
        return int(self._ceilings.of(owner)["max_parallel_calls"])

    def knows(self, key: Key, fingerprint: str) -> bool:
        """Say whether `attach` may have something: the call runs on this host, or ran and its
        result is kept."""
        execution = self._running.get(key)
        if execution is not None and (execution.result or not execution.task.done()):
            return execution.fingerprint == fingerprint
        if self._kept(key, fingerprint) is not None:
            return True
        here = self.claims.claimed_as(*key) in (fingerprint, "")
        return here and self.locks.held(_call_lock(key))

    async def attach(self, key: Key, fingerprint: str) -> AsyncGenerator[Event, None]:
        """Yield the live output of a lasting call that runs on this host, and its result when it
        has one. Nothing if it is not known. While this is open the call's grace does not run."""
        execution = self._running.get(key)
        if execution is None:
            with self._listening(key):
                while self.locks.held(_call_lock(key)):
                    await asyncio.sleep(POLL_S)
        else:
            async with aclosing(self._listen(execution)) as output:
                async for event in output:
                    yield event
            if execution.result is not None:
                yield execution.result
                return
        if (found := self._kept(key, fingerprint)) is not None:
            yield found

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

    def begin(
        self,
        key: Key,
        name: str,
        fingerprint: str,
        source: AsyncGenerator[Event, None],
        listener: Listener,
        *,
        lasting: bool,
    ) -> Execution:
        """Run a call beside the caller. `listener` gets its events, and None when it has ended."""
        execution = Execution(key, name, fingerprint, lasting, listener)
        execution.task = asyncio.create_task(self._run(execution, source))
        self._running[key] = execution
        if lasting:
            self.locks.take(_call_lock(key))
        execution.task.add_done_callback(lambda _: self._end(execution))
        return execution

    def leave(self, execution: Execution) -> None:
        """End a call that nobody listens to any more: at once, or after its grace."""
        execution.listener = None
        if execution.task.done():
            return
        if execution.lasting and not execution.stopped:
            loop = asyncio.get_running_loop()
            execution.grace = loop.call_later(self.grace_s, self._expire, execution)
        else:
            execution.task.cancel()

    def stop(self, session: SessionKey, why: str, call_id: str | None = None) -> int:
        """End the running calls of a session at once, or one of them, because a person wants that.
        Their result says why. Returns how many there were."""
        ended = [
            execution
            for key, execution in self._running.items()
            if key[0] == session and call_id in (None, key[1])
        ]
        for execution in ended:
            execution.stopped = execution.stopped or why
            execution.task.cancel()
        return len(ended)

    def runs(self, session: SessionKey) -> bool:
        """Say whether a call of this session runs in this process."""
        return any(key[0] == session for key in self._running)

    @property
    def sessions(self) -> set[SessionKey]:
        """The sessions whose calls run in this process."""
        return {key[0] for key in self._running}

    async def close(self) -> None:
        """Kill what still runs and wait until it is gone."""
        tasks = [execution.task for execution in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, execution: Execution, source: AsyncGenerator[Event, None]) -> None:
        async with aclosing(source) as found:
            async for event in found:
                if event["type"] in LIVE:
                    execution.keep_output(_output_of(event))
                elif event["type"] == "TOOL_CALL_RESULT":
                    self._keep(execution, event)
                execution.tell(event)

    def _keep(self, execution: Execution, result: Event) -> None:
        execution.result = result
        if execution.lasting:
            kept = {"fingerprint": execution.fingerprint, "result": result}
            self.claims.store(*execution.key, kept)

    def _kept(self, key: Key, fingerprint: str) -> Event | None:
        """The result of this very call, if it is kept."""
        found = self.claims.fetch(*key)
        if found is None or found.get("fingerprint") != fingerprint:
            return None
        result = found.get("result")
        return result if isinstance(result, dict) else None

    def _end(self, execution: Execution) -> None:
        """What follows when the task of a call is done, however it ended."""
        if execution.grace is not None:
            execution.grace.cancel()
        if execution.stopped and execution.task.cancelled() and execution.result is None:
            result = _stopped(execution)
            self._keep(execution, result)
            execution.tell(result)
        if self._running.get(execution.key) is execution:  # and not a later one of the same call
            del self._running[execution.key]
            self.locks.free(_call_lock(execution.key))
        execution.tell(None)

    def _expire(self, execution: Execution) -> None:
        """The grace of a call is over. A client may wait for it at another process of this host."""
        if self.locks.held(_listener_lock(execution.key)):
            loop = asyncio.get_running_loop()
            execution.grace = loop.call_later(POLL_S, self._expire, execution)
        else:
            execution.task.cancel()

    @contextmanager
    def _listening(self, key: Key) -> Iterator[None]:
        """Let other processes of this host know that somebody waits for a call of theirs."""
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
    """Calls side by side: `with Batch(executions) as batch`, which leaves whatever still runs.
    Output comes as it is printed; all else in the order in which the calls began, whichever of
    them is done first."""

    def __init__(self, executions: Executions) -> None:
        self._executions = executions
        self._members: list[_Member] = []
        self._front = 0  # the first one that has not ended
        self._said: asyncio.Queue[tuple[int, Event | None]] = asyncio.Queue()

    @property
    def running(self) -> int:
        return sum(not member.ended for member in self._members)

    def begin(
        self,
        key: Key,
        name: str,
        fingerprint: str,
        source: AsyncGenerator[Event, None],
        *,
        lasting: bool,
    ) -> None:
        number = len(self._members)
        execution = self._executions.begin(
            *(key, name, fingerprint, source),
            lambda event: self._said.put_nowait((number, event)),
            lasting=lasting,
        )
        self._members.append(_Member(execution))

    async def next(self) -> list[Event]:
        """Return the next events that may be told. Raises what a call's own code raised."""
        number, event = await self._said.get()
        member = self._members[number]
        if event is None:
            member.ended = True
            task = member.execution.task
            if not (task.cancelled() and member.execution.stopped):
                task.result()
        elif event["type"] in LIVE:
            return [event]
        else:
            member.held.append(event)
        told: list[Event] = []
        for member in self._members[self._front :]:
            told += member.held
            member.held = []
            if not member.ended:
                break
            self._front += 1
        return told

    def __enter__(self) -> Batch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for member in self._members:
            self._executions.leave(member.execution)


def session_lock(session: SessionKey) -> str:
    """The name of the lock of a session's run. Each kind of lock has names of its own, so that no
    session id is ever the name of a call's."""
    return f"session {dumps(session)}"


def _call_lock(key: Key) -> str:
    return f"call {dumps(key)}"


def _listener_lock(key: Key) -> str:
    return f"listener {dumps(key)}"


def _output_of(event: Event) -> str:
    """The text of a live output event."""
    with suppress(KeyError, IndexError, TypeError):
        if event["type"] == "ACTIVITY_SNAPSHOT":
            return "".join(event["content"]["chunks"])
        return "".join(each["value"] for each in event["patch"])
    return ""


def _stopped(execution: Execution) -> Event:
    """The result of a call that a person ended."""
    text = f"{execution.stopped} It had begun and may have had part of its effect."
    if output := execution.output_so_far()[-TOLD_OUTPUT:]:
        text = f"{text}\nIts output until then:\n{output}"
    return events.tool_result(
        execution.key[1],
        execution.name,
        text,
        time.time_ns() // 1_000_000,
        state="failed",
        is_error=True,
        result={"status": "stopped", "error": {"type": "stopped", "message": text}},
    )
