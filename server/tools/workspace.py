"""The workspace as a call sees it: the current folder, and nothing outside of it.

Paths are resolved, links included, and must end up inside the folder; the last step is opened
without following a link. This does not protect against a program that changes links at the same
moment; the sandbox does. Runs in the child only: the server opens no path in a workspace.
"""

from __future__ import annotations

import base64
import mimetypes
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any

from ..lib.sandbox.host_programs import protected_part
from ..session import media
from .decorators import Context, ToolError

MOST_MADE = 10  # files of one call that are attached; more are taken for a build or checkout
MOST_SEEN = 5_000  # files looked at to find them
SKIPPED = frozenset({"__pycache__", "node_modules"})  # besides hidden names


def inside(path: str) -> Path:
    """Return the resolved path. Raises ToolError if it is outside of the workspace."""
    if "\0" in path:
        raise ToolError("a path cannot hold a NUL character")
    root = Path.cwd().resolve()
    try:
        target = (root / path).resolve()
        with suppress(FileNotFoundError, NotADirectoryError):  # it may be a file to create
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


def plain_path(path: str) -> Path:
    """Return the path inside of the workspace if no link leads there; see `inside`.

    Rules are compared with names, so a file has one here. Raises ToolError that says which.
    """
    target, root = inside(path), Path.cwd().resolve()
    if target != Path(os.path.normpath(root / path)):
        place = target.relative_to(root).as_posix()
        raise ToolError(f"{path} leads through a link; the name without it is {place}")
    return target


def changeable(ctx: Context, path: str) -> Path:
    """Return `plain_path(path)` of a file that a tool may change. Raises ToolError."""
    target = plain_path(path)
    place = target.relative_to(Path.cwd().resolve()).parts
    if ctx.guarded and protected_part(place, _names_in, _is_folder):
        raise ToolError(
            f"{path} is run or obeyed by programs on the owner's machine, so no tool changes it in"
            " this folder: tell the person what to change there"
        )
    return target


def _names_in(place: Sequence[str]) -> list[str]:
    try:
        return os.listdir(Path(*place))  # noqa: PTH208
    except OSError:
        return []


def _is_folder(place: Sequence[str]) -> bool:
    return stat.S_ISDIR(os.lstat(Path(*place)).st_mode) if os.path.lexists(Path(*place)) else False


def prefix_of(root: Path, path: str) -> str:
    """Return the prefix that makes names below `root` into paths that other tools accept."""
    return "" if root == Path.cwd().resolve() else f"{path.rstrip('/')}/"


def open_for_reading(target: Path, path: str) -> IO[bytes]:
    """Open a file for reading; `path` is its name in error messages. Raises ToolError."""
    try:
        return open(target, "rb", opener=_no_link)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ToolError(f"{path}: {why}") from None


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def media_type(name: str) -> str:
    """Return the media type that the file name suggests."""
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


# -- for people -----------------------------------------------------------------------------------


def attachment(path: str, name: str) -> dict[str, Any]:
    """Return {path, name, media_type, bytes} of a file, for clients. Raises ToolError."""
    target = inside(path)
    try:
        about = target.lstat()
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}") from None
    if not stat.S_ISREG(about.st_mode):
        raise ToolError(f"{path} is not a file")
    place = target.relative_to(Path.cwd().resolve()).as_posix()
    return {"path": place, "name": name, "media_type": media_type(name), "bytes": about.st_size}


def shown_file(others: Collection[dict[str, Any]], path: str) -> dict[str, Any]:
    """Return {path, name, data} of a picture or another file for the model, in base64.

    `others`: those that the call has shown before. Raises ToolError.
    """
    target = inside(path)
    place = target.relative_to(Path.cwd().resolve()).as_posix()
    if len(others) >= media.MAX_ITEMS:
        raise ToolError(f"{path} is not shown: a result shows at most {media.MAX_ITEMS} files")
    with open_for_reading(target, path) as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise ToolError(f"{path} is not a file")
        try:
            data = file.read(media.MAX_BYTES + 1)
        except OSError as error:
            raise ToolError(f"{path}: {error.strerror}") from None
    if len(data) > media.MAX_BYTES:
        most = f"{media.MAX_BYTES / 1e6:g} MB can be shown: make a smaller one of it"
        raise ToolError(f"{path} has {about.st_size / 1e6:.1f} MB, and {most}")
    try:
        found = media.recognise(data)
    except ValueError as error:
        raise ToolError(f"{path} cannot be shown: {error}") from None
    return {"path": place, "name": target.name, "data": base64.b64encode(found.data).decode()}


def made_since(moment_ns: int) -> list[str]:
    """Return files written since `moment_ns`, among the first MOST_SEEN files.

    `moment_ns`: time of the file system's clock. Empty if there are more than MOST_MADE.
    """
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
    """Yield the paths of files below a folder, in order: files of a folder before its subfolders.

    Without links, hidden names and SKIPPED.
    """
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
