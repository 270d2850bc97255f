"""The folders on this host that calls get: made for the user of tools, told from one another."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from .policy import Mount


def make_folders(mounts: Iterable[Mount], run_as: int) -> None:
    """Make those of these folders that belong to the server, for the user of tools. Raises OSError.

    `run_as`: that user if the server is root, else 0.
    """
    for mount in mounts:
        if not mount.own:
            continue
        folder = Path(mount.path)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o700 != 0o700:  # changed by a tool
            folder.chmod(0o700)
        with suppress(OSError):  # unused ones are removed by this time
            os.utime(folder)
        if run_as:  # safe by path: nobody else may write in the parent folder
            os.chown(folder, run_as, run_as, follow_symlinks=False)


def identities(mounts: Iterable[Mount]) -> str:
    """Return what tells these folders from others that take their places. Raises OSError."""
    return repr([(about.st_dev, about.st_ino) for about in map(os.lstat, (m.path for m in mounts))])
