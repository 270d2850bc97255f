"""Descriptors of files and folders that are open for a while."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def open_fd(
    path: str | os.PathLike[str], flags: int, mode: int = 0o600, *, dir_fd: int | None = None
) -> Iterator[int]:
    """Open a file or folder as os.open does; it is closed whatever happens. Raises OSError."""
    descriptor = os.open(path, flags, mode, dir_fd=dir_fd)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
