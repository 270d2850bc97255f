"""Descriptors of files and folders that are open for a while, and locks on them."""

from __future__ import annotations

import fcntl
import os


class open_fd:
    """Open a file or folder as os.open does; the end of `with` closes it. Raises OSError.

    No generator: a folder of many files is read with one of these for each.
    """

    def __init__(self, path: str | os.PathLike[str], flags: int, mode: int = 0o600, **at: int):
        self._descriptor = os.open(path, flags, mode, **at)

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def try_lock(descriptor: int, *, exclusive: bool = True) -> bool:
    """Lock an open file if nobody holds it otherwise; return whether that was so.

    The lock ends when the file is closed, as each file of a process that ended is. Raises OSError.
    """
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
