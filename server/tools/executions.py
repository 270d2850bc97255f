"""Calls that are running in this process, and what becomes of them when nobody listens any more.

When a run is cut, its repeatable calls end with it. Other calls have a grace in which to end, and
their result is kept on this host (claims.py), so that the next POST of the session finds a result
and not a question (resume rule 9).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from .claims import Claims
from .locks import Locks

Event = dict[str, Any]
Key = tuple[str, str, int]  # session id, call id, attempt
Tell = Callable[[Event | None], None]

POLL_S = 0.1  # between two looks at a call that another process of this host runs

LIVE = ("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")  # output: shown at once, part of no result


class Executions:
    """`most`: calls of one run that may go on side by side."""

    def __init__(self, claims: Claims, grace_s: float, most: int, locks: Locks) -> None:
        self.claims, self.grace_s, self.most, self.locks = claims, grace_s, most, locks
        self.stopping = False  # no call is begun any more
        self._running: dict[Key, asyncio.Task[None]] = {}

    def knows(self, key: Key) -> bool:
        """Whether `result` may have something: it runs on this host, or ran and was kept."""
        if key in self._running or self.claims.fetch(*key) is not None:
            return True
        return self.locks.held(repr(key))

    async def result(self, key: Key) -> Event | None:
        """The kept TOOL_CALL_RESULT of a lasting call, waiting for it while it still runs."""
        if task := self._running.get(key):
            await asyncio.wait([task])
        while self.locks.held(repr(key)):
            await asyncio.sleep(POLL_S)
        return self.claims.fetch(*key)

    def begin(
        self, key: Key, source: AsyncGenerator[Event, None], tell: Tell, *, lasting: bool
    ) -> asyncio.Task[None]:
        """Run a call beside the caller. `tell` gets its events, and None when it has ended."""
        task = asyncio.create_task(self._pump(key, source, tell, lasting))
        self._running[key] = task
        if lasting:
            self.locks.take(repr(key))
        task.add_done_callback(lambda ended: self._forget(key, ended))
        return task

    def leave(self, task: asyncio.Task[None], *, lasting: bool) -> None:
        """Nobody listens to this call any more."""
        if lasting and not task.done():
            asyncio.get_running_loop().call_later(self.grace_s, task.cancel)
        else:
            task.cancel()

    def _forget(self, key: Key, ended: asyncio.Task[None]) -> None:
        if self._running.get(key) is ended:  # and not a later one of the same call
            del self._running[key]
            self.locks.free(repr(key))

    async def close(self) -> None:
        """Kill what still runs and wait until it is gone."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _pump(
        self, key: Key, source: AsyncGenerator[Event, None], tell: Tell, lasting: bool
    ) -> None:
        try:
            async with aclosing(source) as events:
                async for event in events:
                    if lasting and event["type"] == "TOOL_CALL_RESULT":
                        self.claims.store(*key, event)
                    tell(event)
        finally:
            tell(None)


@dataclass
class _Member:
    task: asyncio.Task[None]
    lasting: bool
    held: list[Event] = field(default_factory=list)
    ended: bool = False


class Batch:
    """Calls side by side: `with Batch(executions) as batch`, which ends whatever still runs when
    it is left. Output comes as it is printed; all else in the order in which the calls began,
    whichever of them is done first."""

    def __init__(self, executions: Executions) -> None:
        self._executions = executions
        self._members: list[_Member] = []
        self._front = 0  # the first one that has not ended
        self._said: asyncio.Queue[tuple[int, Event | None]] = asyncio.Queue()

    @property
    def running(self) -> int:
        return sum(not member.ended for member in self._members)

    def begin(self, key: Key, source: AsyncGenerator[Event, None], *, lasting: bool) -> None:
        number = len(self._members)
        task = self._executions.begin(
            key, source, lambda event: self._said.put_nowait((number, event)), lasting=lasting
        )
        self._members.append(_Member(task, lasting))

    async def next(self) -> list[Event]:
        """The next events that may be told. Raises what a call's own code raised."""
        number, event = await self._said.get()
        member = self._members[number]
        if event is None:
            member.ended = True
            await member.task
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
            self._executions.leave(member.task, lasting=member.lasting)
