"""A file of lines that is renamed when it is large enough, however many processes write it.

The log and the traces are such files. The rules of the file: a line is one write at the end, so
that lines of several processes never mix. Before each write the name is looked up again, so that
another process, or logrotate, may rename the file without a signal. The process that renames holds
a lock on the file. OSError is raised: the caller says what a full disk means.
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
    """Bytes of a file before the next one is begun, and how many older ones are kept."""

    most: int
    keep: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Rotation:
        """From the configuration's `server.log`."""
        return cls(round(config["max_mb"] * 1024 * 1024), config["keep"])


class Rotated:
    """`<path>` is written, `<path>.1` is the last one before it, `<path>.2` the one before that."""

    def __init__(self, path: Path, rotation: Rotation) -> None:
        self.path = path
        self._rotation = rotation
        self._descriptor = -1
        self._torn = False  # the last line is not whole: the disk was full in the middle of it

    def write(self, line: bytes) -> None:
        """Append a line, which brings its line end. Raises OSError: then it is lost, or torn."""
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
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _is_named(self) -> bool:
        """Whether what is open is still what has the name."""
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
        """Give every file the next number, unless another process was first."""
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX)  # of the process: workers share descriptors
        try:
            if self._is_named():
                self._shift()
        finally:
            self._reopen()  # which ends the lock

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
