"""Pools whose workers wait while their tools are offered or called, and end after an idle time.

Three waiting workers and their zygote take 32 MiB. A server at rest has none of these processes:
they are started when a tool is first offered to a model, which takes longer to answer than they
take to start.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass

from .worker_pool import WorkerPool, reap

OFFERED = 1  # workers that wait before there was a call; most offers lead to none


@dataclass
class _Use:
    """The use of a pool. `last`: its time by time.monotonic(). `waiting`: workers wanted."""

    last: float
    waiting: int = 0


class WarmPools:
    """The pools that have processes, each until it had neither offer nor call for `idle_s` seconds.

    Does nothing before `open` and after `close`.
    """

    def __init__(self) -> None:
        self._idle_s = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._used: dict[WorkerPool, _Use] = {}
        self._timer: asyncio.TimerHandle | None = None

    def open(self, idle_s: float) -> None:
        """Begin to count idle times, in the running event loop."""
        self._idle_s = idle_s
        self._loop = asyncio.get_running_loop()

    def offer(self, pools: Iterable[WorkerPool]) -> None:
        """Have a worker wait in each of these pools: a call may follow. For any thread."""
        loop = self._loop
        for pool in pools:
            use = self._used.get(pool)
            if use is not None and use.waiting:
                use.last = time.monotonic()
            elif loop is not None:
                loop.call_soon_threadsafe(self.touch, pool, OFFERED)

    def touch(self, pool: WorkerPool, waiting: int = 0) -> None:
        """Begin the pool's idle time anew, and have so many workers wait for the next calls."""
        if self._loop is None:
            return
        use = self._used.setdefault(pool, _Use(0.0))
        if waiting:
            use.waiting = waiting
            pool.warm(waiting)
        use.last = time.monotonic()  # not before it has processes
        if self._timer is None:
            self._timer = self._loop.call_later(self._idle_s, self._look)

    def _look(self) -> None:
        self._timer = None
        self.release(self._idle_s)
        if self._used and self._loop is not None:
            first = min(use.last for use in self._used.values()) + self._idle_s
            self._timer = self._loop.call_later(first - time.monotonic(), self._look)

    def release(self, idle_s: float = 0.0) -> None:
        """End the processes of pools that are idle for so long.

        A pool with a running call, or a process of a stateful toolkit, begins a new idle time.
        """
        now = time.monotonic()
        for pool, use in list(self._used.items()):
            if pool.is_in_use:
                use.last = now
            elif now - use.last >= idle_s:
                del self._used[pool]
                if (zygote := pool.release()) and self._loop is not None:
                    self._loop.run_in_executor(None, reap, zygote)

    def close(self) -> None:
        """Count no more; the pools are closed by their owner."""
        if self._timer is not None:
            self._timer.cancel()
        self._loop = self._timer = None
        self._used.clear()
