"""A disk that refuses: what this process asks of the file system fails at a chosen call.

The product calls `os` and `open` in many places, in C too. Inside `refusing` these functions are
replaced; a file that is opened for writing refuses in `write`, `flush` and `close` as well.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Those that need room, and those that also a full disk does.
GROWING = ("mkdir", "rename", "replace", "link", "symlink", "fsync", "write")
ANY = (*GROWING, "unlink", "remove", "rmdir", "chmod", "fchmod", "utime", "truncate", "ftruncate")
WRITES = os.O_WRONLY | os.O_RDWR
FOREVER = 1_000_000_000


class Refusal:
    """Which calls fail: the `first` and the `count` - 1 after it. `calls`: how many there were."""

    def __init__(self, number: int, first: int, count: int, names: tuple[str, ...]) -> None:
        self.number, self.first, self.count, self.names = number, first, count, names
        self.calls = 0

    def take(self) -> None:
        """Count a call. Raises OSError."""
        self.calls += 1
        if self.first <= self.calls < self.first + self.count:
            raise OSError(self.number, os.strerror(self.number), "a file")


@contextlib.contextmanager
def refusing(refusal: Refusal) -> Iterator[None]:
    """Let calls fail inside."""
    replaced: list[tuple[Any, str, Any]] = []

    def wrap(owner: Any, name: str, asks: Callable[..., bool]) -> None:
        real = getattr(owner, name)

        def call(*args: Any, **named: Any) -> Any:
            if asks(*args, **named):
                refusal.take()
            return real(*args, **named)

        replaced.append((owner, name, real))
        setattr(owner, name, call)

    def wrap_files(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def call(file: Any, mode: str = "r", *args: Any, **named: Any) -> Any:
            is_written = bool(set(mode) & set("wxa+"))
            if is_written and not isinstance(file, int) and "opener" not in named:
                refusal.take()
            made = real(file, mode, *args, **named)
            return weaken(made, refusal) if is_written else made

        replaced.append((owner, name, real))
        setattr(owner, name, call)

    for name in refusal.names:
        wrap(os, name, is_file if name == "write" else lambda *_, **__: True)
    wrap(os, "open", lambda _path, flags, *_, **__: bool(flags & WRITES))
    for owner, name in ((os, "fdopen"), (builtins, "open"), (io, "open")):
        wrap_files(owner, name)
    try:
        yield
    finally:
        for owner, name, real in reversed(replaced):
            setattr(owner, name, real)


def is_file(descriptor: int, *_: Any) -> bool:
    """Return whether a descriptor is one of a regular file."""
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


def weaken(file: Any, refusal: Refusal) -> Any:
    """Let the methods of an open file fail that write, too."""
    for name in ("write", "flush", "close"):
        real = getattr(file, name)

        def call(*args: Any, real: Any = real, name: str = name) -> Any:
            if file.closed:
                return real(*args)
            try:
                refusal.take()
            except OSError:
                if name == "close":  # what was buffered is lost, the descriptor is closed
                    real()
                raise
            return real(*args)

        setattr(file, name, call)
    return file


def contents(top: Path) -> dict[str, Any]:
    """Return all that is below a folder: modes, bytes and targets by path."""
    found: dict[str, Any] = {}
    for path in sorted(top.rglob("*")):
        about = path.lstat()
        mode = stat.S_IMODE(about.st_mode)
        name = str(path.relative_to(top))
        if stat.S_ISLNK(about.st_mode):
            found[name] = ("l", str(path.readlink()))
        elif stat.S_ISDIR(about.st_mode):
            found[name] = ("d", mode)
        else:
            found[name] = ("f", mode, path.read_bytes())
    return found
