"""Write files of the home folder: readable by their owner only, and all of a file or nothing."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
DRAFT = ".draft"  # ends the name of a file that is not complete


def write(path: Path, data: bytes, *, replace: bool = True, durable: bool = False) -> bool:
    """Write a file atomically, and make its folder. Return False if nothing was written.

    replace   False: a file that is already there stays, and False is returned
    durable   True: a power failure leaves the old content or the new
    Raises OSError; the file is then as it was.
    """
    draft = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}{DRAFT}")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with os.fdopen(os.open(draft, FLAGS, 0o600), "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if replace:
            draft.replace(path)
            return True
        return _link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def remove_old(folder: Path, most_s: float, now: float, ending: str = "") -> int:
    """Remove the files of a folder that are older; return how many are left.

    `ending`: of the names of those that are meant. One of a time to come counts as old: it is of a
    clock that was wrong.
    """
    left = 0
    with suppress(OSError):
        for path in folder.glob(f"*{ending}"):
            with suppress(OSError):
                if abs(now - path.stat().st_mtime) > most_s:
                    path.unlink()
                else:
                    left += 1
    return left


def _link(draft: Path, path: Path) -> bool:
    """Give the file its name, unless there is one of that name. Return whether it was given."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        if path.exists():
            return False
        draft.replace(path)
    return True
