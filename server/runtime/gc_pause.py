"""A pause of Python's garbage collector while something large is made.

The collector stops all threads and looks at every container there is, again and again while a large
document grows: that is most of the time of parsing one. After a pause, what was made meanwhile goes
to its oldest generation without being looked at.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LARGE = 100_000  # bytes of JSON; below it a pause changes nothing

_lock = threading.Lock()
_pauses = 0
_resume = False  # whether the collector was on before the first of the pauses


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
