"""Pause the garbage collector while a large object is built.

The collector stops all threads and visits every container, repeatedly while a large document grows:
most of the time to parse one. After a pause, the new objects are moved to the oldest generation
without a visit.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LARGE = 100_000  # bytes of JSON; below it a pause saves nothing

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
