"""Calls that are running in this process, and what becomes of them when nobody listens any more.

A run that is cut takes its repeatable calls with it. A call that is neither read-only nor
idempotent gets a grace to finish into the host's result cache (claims.py), so that the next POST
of the session finds its result instead of a question (resume rule 9).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from .claims import Claims

Event = dict[str, Any]
Key = tuple[str, str, int]  # session id, call id, attempt


class Executions:
    def __init__(self, claims: Claims, grace_s: float) -> None:
        self.claims = claims
        self.grace_s = grace_s
        self._running: dict[Key, asyncio.Task[None]] = {}

    def knows(self, key: Key) -> bool:
        """Whether `result` will have something: it runs here, or ran and was kept."""
        return key in self._running or self.claims.fetch(*key) is not None

    async def result(self, key: Key) -> Event | None:
        """The kept TOOL_CALL_RESULT of a lasting call, waiting for it while it still runs."""
        if task := self._running.get(key):
            await asyncio.wait([task])
        return self.claims.fetch(*key)

    async def run(
        self, key: Key, source: AsyncGenerator[Event, None], *, lasting: bool
    ) -> AsyncGenerator[Event, None]:
        """The events of one call as they come. If the caller goes away the call is killed at once,
        or, where it is `lasting`, after the grace; its result is kept."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        task = asyncio.create_task(self._pump(key, source, queue, lasting))
        self._running[key] = task
        task.add_done_callback(lambda _: self._running.pop(key, None))
        try:
            while (event := await queue.get()) is not None:
                yield event
            await task  # its exception, if it had one, is ours
        finally:
            if lasting and not task.done():
                asyncio.get_running_loop().call_later(self.grace_s, task.cancel)
            else:
                task.cancel()

    async def close(self) -> None:
        """Kill what still runs and wait until it is gone."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _pump(
        self,
        key: Key,
        source: AsyncGenerator[Event, None],
        queue: asyncio.Queue[Event | None],
        lasting: bool,
    ) -> None:
        try:
            async with aclosing(source) as events:
                async for event in events:
                    if lasting and event["type"] == "TOOL_CALL_RESULT":
                        self.claims.store(*key, event)
                    queue.put_nowait(event)
        finally:
            queue.put_nowait(None)
