"""A file of lines with rotation, safe for several writing processes.

Used for the log and the traces. A line is one append, so that lines of several processes never mix.
Before each write the path is looked up again, so that another process, or logrotate, can rename the
file without a signal. The process that renames holds a lock on the file.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class Rotation(NamedTuple):
    """Bytes of a file before the next one is begun, and the number of older files kept."""

    most: int
    keep: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Rotation:
        """Return the rotation of the configuration's `server.log`."""
        return cls(round(config["max_mb"] * 1024 * 1024), config["keep"])


class Rotated:
    """A file at `<path>`; `<path>.1` is its predecessor, `<path>.2` the one before."""

    def __init__(self, path: Path, rotation: Rotation) -> None:
        self.path = path
        self._rotation = rotation
        self._descriptor = -1
        self._torn = False  # the last line is incomplete: the disk became full

    def write(self, line: bytes) -> None:
        """Append a line, with its line feed. Raises OSError; then it is lost or incomplete."""
        if not self._is_named():
            self._reopen()
        size = os.fstat(self._descriptor).st_size
        if size and size + len(line) > self._rotation.most:
            self._rotate()
        data = b"\n" + line if self._torn else line
        self._torn = True
        while data:
            data = data[os.write(self._descriptor, data) :]
        self._torn = False

    def close(self) -> None:
        """Close the file; the next write opens it again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _is_named(self) -> bool:
        """Return whether the open file is still the one at the path."""
        if self._descriptor < 0:
            return False
        try:
            named, held = self.path.lstat(), os.fstat(self._descriptor)
        except FileNotFoundError:
            return False
        return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)

    def _reopen(self) -> None:
        self.close()
        self._descriptor = os.open(self.path, _FLAGS, 0o600)
        self._torn = False

    def _rotate(self) -> None:
        """Give every file the next number, unless another process has done so."""
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX)  # not flock: workers share open files
        try:
            if self._is_named():
                self._shift()
        finally:
            self._reopen()  # releases the lock

    def _shift(self) -> None:
        keep = self._rotation.keep
        for number in range(keep - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                self._numbered(number).replace(self._numbered(number + 1))
        if keep:
            self.path.replace(self._numbered(1))
        else:
            self.path.unlink()

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")
