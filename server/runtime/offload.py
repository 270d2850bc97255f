"""Run work on large data in a thread, beside the event loop.

Pure Python in a thread lets the loop run every few milliseconds. A long call into C does not, so
the work must not contain an unbounded one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from .gc_pause import LARGE, collector_paused

P = ParamSpec("P")
T = TypeVar("T")


async def offload(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return `work(*args, **kwargs)`, run in a thread if `size` >= LARGE bytes."""
    if size < LARGE:
        return work(*args, **kwargs)

    def uncollected() -> T:
        """Do the work without garbage collection."""
        with collector_paused(size):
            return work(*args, **kwargs)

    return await asyncio.to_thread(uncollected)
