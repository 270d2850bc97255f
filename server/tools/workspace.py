"""The session's folder as a call sees it: the current one, and nothing outside of it.

Every path is resolved, links included, and must end up inside the folder; the last step is opened
without following a link. This guards against mistakes and simple tricks. It is no proof against a
program that changes links at the same moment: that is the sandbox's part. The rule of the file: it
runs in the child only, for the server opens no path in such a folder.
"""

from __future__ import annotations

import base64
import mimetypes
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any

from .tool import Context, ToolError

PIECE = 1536 * 1024  # bytes read at once, 2 MiB as base64: one process each, and 10 ms of parsing
MOST_MADE = 10  # files of one call that are worth naming; more is a build or a checkout
MOST_SEEN = 5_000  # files looked at to find them
SKIPPED = frozenset({"__pycache__", "node_modules"})  # besides what begins with a dot


def inside(path: str) -> Path:
    """The real place of a path, if it is in the session's folder. Raises ToolError."""
    if "\0" in path:
        raise ToolError("a path cannot hold a NUL character")
    root = Path.cwd().resolve()
    try:
        target = (root / path).resolve()
        with suppress(FileNotFoundError, NotADirectoryError):  # what is not there may be written
            target.lstat()
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}") from None
    except (
        RuntimeError,
        ValueError,
    ):  # links in a circle, before Python 3.13; half a surrogate pair
        raise ToolError(f"{path!r} cannot be followed") from None
    if target != root and root not in target.parents:
        raise ToolError(f"{path} lies outside of the session's folder")
    return target


def prefix_of(root: Path, path: str) -> str:
    """What comes before the names in a folder, so that they are paths for other tools."""
    return "" if root == Path.cwd().resolve() else f"{path.rstrip('/')}/"


def opened(target: Path, path: str) -> IO[bytes]:
    """A file to read; `path` is what an error calls it. Raises ToolError."""
    try:
        return open(target, "rb", opener=_no_link)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ToolError(f"{path}: {why}") from None


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def media_type(name: str) -> str:
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


# -- for people -----------------------------------------------------------------------------------


def attachment(path: str, name: str) -> dict[str, Any]:
    """What a client needs to offer a file: {path, name, media_type, bytes}. Raises ToolError."""
    target = inside(path)
    try:
        about = target.lstat()
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}") from None
    if not stat.S_ISREG(about.st_mode):
        raise ToolError(f"{path} is not a file")
    place = target.relative_to(Path.cwd().resolve()).as_posix()
    return {"path": place, "name": name, "media_type": media_type(name), "bytes": about.st_size}


def piece(ctx: Context, path: str, offset: int, stamp: str) -> dict[str, Any]:
    """A part of a file from `offset` on, for tools/file_download.py: {data, bytes, stamp}. `stamp`
    is the version of the file that the parts before it were of."""
    with opened(inside(path), path) as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise ToolError(f"{path} is not a file")
        version = f"{about.st_ino}-{about.st_size}-{about.st_mtime_ns}"
        if stamp and stamp != version:
            raise ToolError(f"{path} was changed while it was read")
        file.seek(offset)
        data = file.read(PIECE)
    return {
        "data": base64.b64encode(data).decode("ascii"),
        "bytes": about.st_size,
        "stamp": version,
    }


def made_since(moment_ns: int) -> list[str]:
    """Files that were written since `moment_ns` of the file system's clock, among the first
    MOST_SEEN; none where there are more than a person would look through."""
    found = []
    for path in islice(files_below(Path()), MOST_SEEN):
        try:
            if os.lstat(path).st_mtime_ns >= moment_ns:
                found.append(path)
        except OSError:  # it has just gone
            continue
        if len(found) > MOST_MADE:
            return []
    return found


def files_below(root: Path) -> Iterator[str]:
    """Files below a folder by their paths from there, in order: those of a folder, then what lies
    deeper, however deep that is. Without links, hidden names and SKIPPED."""
    waiting = [""]
    while waiting:
        place = waiting.pop()
        try:
            entries = sorted(os.scandir(root / place), key=lambda entry: entry.name)
        except OSError:  # gone, closed, or a path that is too long
            continue
        below = []
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in SKIPPED:
                    below.append(f"{place}{entry.name}/")
            elif entry.is_file(follow_symlinks=False):
                yield place + entry.name
        waiting += reversed(below)
