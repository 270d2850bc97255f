"""Run work on large data in a thread, beside the event loop.

Pure Python in a thread lets the loop run every few milliseconds. A long call into C does not, so
the work must not contain an unbounded one.
"""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from .accounts import Pool

# -- gc pause -------------------------------------------------------------------------------------
# Pause the garbage collector while a large object is built.
#
# The collector stops all threads and visits every container, repeatedly while a large document
# grows: most of the time to parse one. After a pause, the new objects are moved to the oldest
# generation without a visit.

LARGE = 64_000  # bytes of JSON; below it a pause saves nothing

_lock = threading.Lock()
_pauses = 0
_resume = False  # whether the collector was enabled before the first pause


@contextmanager
def collector_paused(size: int) -> Iterator[None]:
    """Pause the garbage collector for work on `size` >= LARGE bytes; pauses may overlap."""
    global _pauses, _resume
    if size < LARGE:
        yield
        return
    with _lock:
        if not _pauses:
            _resume = gc.isenabled()
            gc.disable()
        _pauses += 1
    try:
        yield
    finally:
        with _lock:
            _pauses -= 1
            if not _pauses and _resume:
                gc.freeze()
                gc.unfreeze()
                gc.enable()


# -- offload --------------------------------------------------------------------------------------

THREADS = 2  # each makes the event loop wait longer for its turn of the interpreter
RESTS = 2  # times as long as it took, after work of whoever has more waiting beside others
_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, Pool] = WeakKeyDictionary()

P = ParamSpec("P")
T = TypeVar("T")


async def offload(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return `work(*args, **kwargs)`, run in a thread if `size` >= LARGE bytes.

    People take turns: at most THREADS at once, of which one person has half.

    A thread cannot be stopped: if this is cancelled, it ends when the work has, so that whoever
    counts the memory of the work counts it as long as it is used.
    """
    if size < LARGE:
        return work(*args, **kwargs)
    turns = _turns.setdefault(asyncio.get_running_loop(), Pool(THREADS))
    turns.rests = RESTS
    async with turns.turn():
        return await _in_thread(size, partial(work, *args, **kwargs))


async def _in_thread(size: int, work: Callable[[], T]) -> T:
    loop, ended, begun = asyncio.get_running_loop(), asyncio.Event(), False

    def work_without_collector() -> T:
        """Do the work without garbage collection."""
        nonlocal begun
        begun = True
        try:
            with collector_paused(size):
                return work()
        finally:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(ended.set)

    try:
        return await asyncio.to_thread(work_without_collector)
    except asyncio.CancelledError:
        if begun:
            await ended.wait()
        raise
