"""Notice that files and folders have changed, without reading them.

What runs look at when they begin (skills, tools, agents) seldom changes. As long as the stamps of
its files and folders are those from before it was read, it need not be read again: a microsecond
for each on the event loop, instead of a thread for each run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

Stamp = tuple[int, ...]  # (mtime_ns, ctime_ns, size, inode) of what is there; () for nothing

MOST = 256  # files and folders that may be looked at on the event loop
SECOND_NS = 1_000_000_000
# So long after a change another one may leave the same time: Linux counts in steps of 10 ms at
# most, old file systems in one or two seconds.
STEP_NS, LONG_STEP_NS = 100_000_000, 2 * SECOND_NS


def stamp_of(path: str | Path) -> Stamp:
    """Return what differs after a file or folder has changed; () if it is not there.

    The stamp of a folder differs after something was put into it, taken out or renamed.
    """
    try:
        about = os.stat(path)  # noqa: PTH116
    except OSError:
        return ()
    return about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_ino


class FileStamps:
    """The stamps of files and folders. Make it before you read them: changes meanwhile count."""

    def __init__(self, paths: Iterable[str], now_ns: int | None = None) -> None:
        """Look at the paths, which need not exist. `now_ns`: None for the time of the clock."""
        self._stamps = {path: stamp_of(path) for path in paths}
        now = time.time_ns() if now_ns is None else now_ns
        is_new = any(_is_new(stamp[0], now) for stamp in self._stamps.values() if stamp)
        self._usable = len(self._stamps) <= MOST and not is_new

    def are_current(self) -> bool:
        """Return whether nothing has changed; False also if that cannot be told.

        It cannot just after a change, nor for more than MOST paths.
        """
        if not self._usable:
            return False
        for path, stamp in self._stamps.items():
            if stamp_of(path) != stamp:
                return False
        return True


def _is_new(changed_ns: int, now_ns: int) -> bool:
    return abs(now_ns - changed_ns) < (STEP_NS if changed_ns % SECOND_NS else LONG_STEP_NS)
