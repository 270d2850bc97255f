"""What a process of this host is doing right now, so that another one waits instead of guessing.

A lock is one byte of a file, at a place made from a name's hash: locks of the system, which belong
to a process and end with it however it ends, so that none is ever stale (fcntl(2), F_SETLK). Within
one process they say nothing; there its own memory knows better.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path


class Locks:
    """`file` is made on demand, and opened once: closing it would free every lock. None: there is
    only this process. Where the file system knows no locks, nothing is ever locked."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._descriptor = -1
        self._mine: set[str] = set()

    def take(self, name: str) -> bool:
        """Whether no other process has it; ours then, until `free`."""
        if self._set(name, fcntl.LOCK_EX | fcntl.LOCK_NB):
            self._mine.add(name)
            return True
        return False

    def free(self, name: str) -> None:
        if name in self._mine:
            self._mine.discard(name)
            self._set(name, fcntl.LOCK_UN)

    def held(self, name: str) -> bool:
        """Whether another process has it."""
        if name in self._mine:
            return False
        free = self.take(name)
        self.free(name)
        return not free

    def close(self) -> None:
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
        except (BlockingIOError, PermissionError):  # EAGAIN or EACCES, as the system likes
            return False
        except OSError:
            return True
        return True


def _place(name: str) -> int:
    """A byte's place among 2^62: two names meet there once in the life of nobody's server."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8]) >> 2
