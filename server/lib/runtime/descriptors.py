"""Descriptors of files and folders that are open for a while."""

from __future__ import annotations

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
