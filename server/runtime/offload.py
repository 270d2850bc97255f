"""Work over something large, beside the event loop.

Pure Python in a thread lets the loop run every few milliseconds. One long call into C does not, so
what is done here must not be one, or a bounded one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from .gc_pause import LARGE, collector_paused

P = ParamSpec("P")
T = TypeVar("T")


async def offload(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return `work(*args, **kwargs)`, done in a thread where it concerns `size` >= LARGE bytes."""
    if size < LARGE:
        return work(*args, **kwargs)

    def uncollected() -> T:
        with collector_paused(size):
            return work(*args, **kwargs)

    return await asyncio.to_thread(uncollected)
