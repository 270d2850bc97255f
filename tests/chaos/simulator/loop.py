"""An event loop whose time is that of its timers, and processes that can be killed in it."""

from __future__ import annotations

import asyncio
import contextvars
import errno
import hashlib
import heapq
import os
import random
from collections.abc import Callable
from typing import Any

PROCESS: contextvars.ContextVar[Process | None] = contextvars.ContextVar("process", default=None)


class Killed(BaseException):
    """Ends what a killed process does between two effects."""


class Quiet(Exception):
    """Nothing will happen any more: somebody waits for what never comes."""


class Process:
    """What is killed as one: every handle that was made in its context.

    effects    writes to disk or network and beginnings of tools so far
    kill_at    the effect before which it is killed, -1 for none
    full_at    the effect from which on the disk is full, None for none
    after      called with the number of each effect
    steps      handles that were run
    past       a hash of all that it was told, and when: a live process is a function of that
    """

    def __init__(self, name: str) -> None:
        self.name, self.dead, self.ended = name, False, False
        self.effects = self.steps = 0
        self.past = hashlib.sha256()
        self.kill_at = -1
        self.full_at: int | None = None
        self.after: Callable[[int], None] = lambda count: None
        self.graveyard: list[Any] = []  # handles that were not run
        self.on_death: list[Callable[[], None]] = []
        self.context = contextvars.copy_context()
        self.context.run(PROCESS.set, self)

    def note(self, *what: Any) -> None:
        """Note what the process is told now."""
        self.past.update(repr((self.steps, what)).encode())

    def effect(self) -> None:
        """Count an effect. Raises Killed if the process is dead, or dies now."""
        if self.ended:
            return
        if self.effects == self.kill_at:
            self.kill()
        if self.dead:
            raise Killed
        self.effects += 1
        self.after(self.effects)

    def disk_effect(self) -> None:
        """Count a write to the disk. Raises OSError if that is full."""
        self.effect()
        if self.full_at is not None and self.effects > self.full_at and not self.ended:
            self.note("full")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def kill(self) -> None:
        """Kill the process: none of its handles runs any more."""
        if not self.dead:
            self.dead = True
            for tell in self.on_death:
                tell()


class Timer(asyncio.TimerHandle):
    """A timer that goes off behind those of the same time that were set before."""

    def __init__(self, number: int, when: float, *more: Any) -> None:
        super().__init__(when, *more)
        self._number = number

    def __lt__(self, other: Any) -> bool:
        return (self._when, self._number) < (other._when, other._number)  # type: ignore[attr-defined]


class Loop(asyncio.BaseEventLoop):
    """An event loop without a selector. `now` jumps to the next timer.

    `chance` decides which process goes on; within one the order is asyncio's.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.most_s = 10.0**9
        self.chance: random.Random | None = None
        self.complaints: list[str] = []
        self._timers = 0
        self.set_exception_handler(self._complain)

    def time(self) -> float:
        """Return the world's time in seconds."""
        return self.now

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> Timer:
        """Call `callback` at a time, as the process that asks, also in a context without one."""
        if context is not None and PROCESS not in context:
            context.run(PROCESS.set, PROCESS.get())
        self._timers += 1
        timer = Timer(self._timers, when, callback, args, self, context)
        heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined]
        timer._scheduled = True  # type: ignore[attr-defined]
        return timer

    def left(self) -> list[Any]:
        """Return the handles that will be run, if no process is killed."""
        handles = (*self._ready, *self._scheduled)  # type: ignore[attr-defined]
        processes = [each._context.get(PROCESS) for each in handles]
        return [
            handle
            for handle, process in zip(handles, processes, strict=True)
            if not handle._cancelled and not (process is not None and process.dead)
        ]

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Any, *args: Any
    ) -> Any:
        """Run `func` at once: threads have no virtual time."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def run_forever(self) -> None:
        """Run handles until `stop`. Raises Quiet if none is left."""
        asyncio.events._set_running_loop(self)
        try:
            while not self._stopping:  # type: ignore[has-type]
                self._run_once()
        finally:
            self._stopping = False
            asyncio.events._set_running_loop(None)

    def drain(self, handles: list[Any], most: int = 2000) -> None:
        """Run what is left at the end of a world."""
        self._ready.extend(handles)  # type: ignore[attr-defined]
        self._stopping, self.most_s = False, self.now + 5
        asyncio.events._set_running_loop(self)
        try:
            for _ in range(most):
                if not self._ready:  # type: ignore[attr-defined]
                    break
                self._run_once()
        except (Quiet, Killed, Exception):
            pass
        finally:
            asyncio.events._set_running_loop(None)

    def _complain(self, loop: Any, about: dict[str, Any]) -> None:
        if not isinstance(about.get("exception"), Killed):
            self.complaints.append(f"{about.get('message')}: {about.get('exception')!r}")

    def _process_events(self, events: Any) -> None: ...

    def _write_to_self(self) -> None: ...

    def _run_once(self) -> None:
        ready: Any = self._ready  # type: ignore[attr-defined]
        timers: Any = self._scheduled  # type: ignore[attr-defined]
        if not ready:
            while timers and timers[0]._cancelled:
                heapq.heappop(timers)._scheduled = False
            if not timers or timers[0]._when > self.most_s:
                raise Quiet
            self.now = max(self.now, timers[0]._when)
            while timers and timers[0]._when <= self.now:
                timer = heapq.heappop(timers)
                timer._scheduled = False
                ready.append(timer)
        handle = ready.popleft() if self.chance is None else self._any_of(ready, self.chance)
        if handle._cancelled:
            return
        process = handle._context.get(PROCESS)
        if process is not None and process.dead:
            process.graveyard.append(handle)
            return
        if process is not None:
            process.steps += 1
        handle._run()

    @staticmethod
    def _any_of(ready: Any, chance: random.Random) -> Any:
        """Take the oldest handle of some process."""
        oldest: dict[Any, int] = {}
        for index, handle in enumerate(ready):
            oldest.setdefault(handle._context.get(PROCESS), index)
        index = chance.choice(list(oldest.values()))
        handle = ready[index]
        del ready[index]
        return handle
