"""Locks that show to other processes of this host what a process is doing.

A lock is one byte of a file, at an offset derived from the hash of its name. These are fcntl(2)
record locks (F_SETLK): the kernel frees them when their process ends, so none is ever stale. They
have no effect within one process.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path


class Locks:
    """The locks of one file, which is created on demand and opened once.

    Closing the file would free every lock. With `file` None, or on a file system without locks,
    every lock counts as free.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._descriptor = -1
        self._mine: set[str] = set()

    def take(self, name: str) -> bool:
        """Take a lock and return True; return False if another process holds it."""
        if self._set(name, fcntl.LOCK_EX | fcntl.LOCK_NB):
            self._mine.add(name)
            return True
        return False

    def free(self, name: str) -> None:
        """Release a lock of this process."""
        if name in self._mine:
            self._mine.discard(name)
            self._set(name, fcntl.LOCK_UN)

    def held(self, name: str) -> bool:
        """Return whether another process holds this lock."""
        if name in self._mine:
            return False
        free = self.take(name)
        self.free(name)
        return not free

    def close(self) -> None:
        """Release all locks of this process."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        self._mine.clear()

    def _set(self, name: str, how: int) -> bool:
        if self._file is None:
            return True
        if self._descriptor < 0:
            try:
                self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
            except OSError:
                return True
        try:
            fcntl.lockf(self._descriptor, how, 1, _place(name))
        except (BlockingIOError, PermissionError):  # EAGAIN or EACCES; POSIX allows both
            return False
        except OSError:
            return True
        return True


def _place(name: str) -> int:
    """Return the offset of a lock's byte, out of 2^62; collisions are negligible."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8]) >> 2
