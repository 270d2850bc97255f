"""Tools for files in the workspace; every path goes through `workspace.inside`."""

from __future__ import annotations

import difflib
import errno
import fcntl
import fnmatch
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from ..tool import Context, ToolError, tool
from ..workspace import inside, media_type, opened, prefix_of

MAX_READ = 10 * 1024 * 1024
MAX_LINES = 2_000
MAX_LINE = 2_000  # characters shown of one line
MAX_SHOWN = 18_000  # characters of one part, as JSON; result.MAX_TEXT is 20,000
MAX_LISTED = 1_000
MAX_DIFF = 200  # lines
MOST_STEPS = 2_000_000  # replacements times lines; a diff then takes a second or two
MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}  # byte order marks, as on Windows
COMPARED = 80  # characters of a line that are compared

_Path = Annotated[str, "Path in the session's folder"]


@tool(read_only=True, parallel_safe=True)
def read_file(
    ctx: Context,
    path: _Path,
    offset: Annotated[int, "First line, counted from 1", {"minimum": 1}] = 1,
    limit: Annotated[int, "How many lines", {"minimum": 1, "maximum": MAX_LINES}] = 500,
) -> dict[str, Any]:
    """Read a text file, or a part of it, with line numbers. A long part ends early: `next_offset`
    says where to go on."""
    text, encoding = read_text(inside(path), path)
    lines = lines_of(text)
    shown: list[str] = []
    room = MAX_SHOWN
    for number, line in enumerate(lines[offset - 1 : offset - 1 + limit], offset):
        text = f"{number:>6}\t{shortened(line)}"
        room -= len(json.dumps(text, ensure_ascii=False))
        if room < 0:
            break
        shown.append(text)
    found: dict[str, Any] = {"content": "\n".join(shown), "lines": len(lines)}
    if encoding != "utf-8":
        found["encoding"] = encoding
    if offset - 1 + len(shown) < len(lines):
        found["next_offset"] = offset + len(shown)
    return found


@tool(destructive=True, idempotent=True)
def write_file(
    ctx: Context, path: _Path, content: Annotated[str, "The whole new content"]
) -> dict[str, Any]:
    """Write a text file, replacing what was there; folders are made as needed."""
    replaced = write_text(inside(path), content, path)
    ctx.attach(path)
    return {"path": path, "bytes": len(content.encode()), "replaced": replaced}


@tool(destructive=True)
def edit_file(
    ctx: Context,
    path: _Path,
    old: Annotated[str, "Text to replace, exactly as it is in the file", {"minLength": 1}],
    new: Annotated[str, "Text to put in its place"],
    replace_all: Annotated[bool, "Replace every occurrence"] = False,
) -> dict[str, Any]:
    """Replace a text that occurs exactly once in a file (or everywhere with replace_all)."""
    target = inside(path)
    with alone(target.parent):
        errors = "surrogateescape"  # bytes that are not text stay unchanged
        text, encoding = read_text(target, path, errors)
        changed, count = edited(text, old, new, path)
        if count > 1 and not replace_all:
            often = f"the text occurs {count} times in {path}"
            raise ToolError(f"{often}; give more of it, or replace_all")
        write_text(target, changed, path, encoding, errors)
    ctx.attach(path)
    found = {"path": path, "replaced": count}
    lines = lines_of(text)
    if count * len(lines) <= MOST_STEPS:
        diff = difflib.unified_diff(lines, lines_of(changed), path, path, lineterm="", n=2)
        found["diff"] = "\n".join(map(shortened, islice(diff, MAX_DIFF)))
    return found


@tool(read_only=True, parallel_safe=True)
def list_files(
    ctx: Context,
    path: Annotated[str, "Folder in the session's folder"] = ".",
    pattern: Annotated[str, "Shell pattern for names or paths, such as *.py or src/*.js"] = "*",
    depth: Annotated[int, "How many levels down", {"minimum": 1, "maximum": 20}] = 3,
    hidden: Annotated[bool, "List names that begin with a dot"] = False,
) -> dict[str, Any]:
    """List files and folders below a folder, with sizes. `complete` is false where there may be
    more, for instance in folders that lie deeper."""
    root = inside(path)
    if not root.is_dir():
        raise ToolError(f"{path} is not a folder")
    prefix, found, closed = prefix_of(root, path), list[dict[str, Any]](), list[str]()
    for entry in walk(root, depth, hidden, closed):
        if matches(entry["path"].rstrip("/"), pattern):
            found.append({**entry, "path": prefix + entry["path"]})
            if len(found) == MAX_LISTED:
                break
    return {"files": found, "complete": len(found) < MAX_LISTED and not closed}


def edited(text: str, old: str, new: str, path: str) -> tuple[str, int]:
    """Return (the text with `old` replaced by `new`, number of occurrences).

    Raises ToolError if there is none.
    """
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):  # read_file hides "\r"
        old, new = (re.sub(r"(?<!\r)\n", "\r\n", part) for part in (old, new))
    if old not in text:
        raise ToolError(f"the text was not found in {path}{nearest(text, old)}")
    return text.replace(old, new), text.count(old)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder, so that concurrent edits do not overwrite each other.

    Without effect if the folder cannot be locked.
    """
    place = -1
    try:
        with suppress(OSError):
            place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        if place >= 0:
            os.close(place)


def matches(place: str, pattern: str) -> bool:
    """Return whether a shell pattern fits a path, or the name alone if it has no slash.

    `*` also matches slashes; `**/` matches any number of folders, including none.
    """
    pattern = pattern.removeprefix("./")
    short = pattern.replace("**/", "")
    name = place if "/" in short else place.rpartition("/")[2]
    return fnmatch.fnmatchcase(name, short) or fnmatch.fnmatchcase(place, pattern)


def walk(
    root: Path, depth: int, hidden: bool, closed: list[str], prefix: str = ""
) -> Iterator[dict[str, Any]]:
    """Yield {path, type, size?} of entries in order. Links are listed but not followed.

    Folders that were not entered are added to `closed`.
    """
    try:
        entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    except OSError:
        closed.append(prefix)
        return
    for entry in entries:
        if entry.name.startswith(".") and not hidden:
            continue
        name = prefix + entry.name
        if entry.is_symlink():
            yield {"path": name, "type": "link"}
        elif entry.is_dir(follow_symlinks=False):
            yield {"path": name + "/", "type": "folder"}
            if depth > 1:
                yield from walk(root / entry.name, depth - 1, hidden, closed, name + "/")
            elif next(walk(root / entry.name, 1, hidden, []), None):
                closed.append(name)
        else:
            try:
                size = entry.stat(follow_symlinks=False).st_size
            except FileNotFoundError:  # removed meanwhile
                continue
            yield {"path": name, "type": "file", "size": size}


def read_text(target: Path, path: str, errors: str = "replace") -> tuple[str, str]:
    """Return (text, encoding) of a file: UTF-8, unless a byte order mark says otherwise.

    The mark stays in the text, so that it is written again. Raises ToolError.
    """
    with opened(target, path) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ToolError(f"{path} is not a file")
        try:
            data = file.read(MAX_READ + 1)
        except OSError as error:
            raise ToolError(f"{path}: {error.strerror}") from None
    if len(data) > MAX_READ:
        raise ToolError(f"{path} is larger than {MAX_READ // 1024 // 1024} MB; use shell")
    encoding = MARKS.get(data[:2], "utf-8")
    if "\0" in data[:8192].decode(encoding, "replace"):
        raise ToolError(f"{path} is not a text file ({media_type(path)}, {len(data)} bytes)")
    try:
        return data.decode(encoding, errors), encoding
    except UnicodeDecodeError as error:
        raise ToolError(f"{path} is not all {encoding}: {error.reason}; use shell") from None


def write_text(
    target: Path, content: str, path: str, encoding: str = "utf-8", errors: str = "strict"
) -> bool:
    """Write a file atomically, by renaming a draft over it, and return whether it replaced one.

    Raises ToolError, but OSError (EFBIG) at the size limit, which sandbox/child.py reports.
    """
    draft = target.with_name(f".{secrets.token_hex(8)}.draft")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            raise ToolError(f"{path} is a folder")
        with draft.open("x", encoding=encoding, errors=errors, newline="") as file:
            file.write(content)
        replaced = target.exists()
        if replaced:
            draft.chmod(target.stat().st_mode & 0o777)
        draft.replace(target)
        return replaced
    except UnicodeEncodeError:
        raise ToolError("the content holds half of a surrogate pair") from None
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise
        raise ToolError(f"{path}: {error.strerror}") from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text as editors and grep count them: separated by line feeds only.

    A carriage return before the line feed is removed.
    """
    lines = text.removesuffix("\n").split("\n") if text else []
    return [line.removesuffix("\r") for line in lines]


def shortened(line: str, most: int = MAX_LINE) -> str:
    """Return a line, cut after `most` characters."""
    return line if len(line) <= most else line[:most] + " …"


def nearest(text: str, old: str) -> str:
    """Return an error hint: the file's line that is most similar to the first line of `old`.

    "" if there is none.
    """
    if old.replace("\r\n", "\n") in text.replace("\r\n", "\n"):
        return "; it is there with other line ends (CRLF)"
    wanted = old.strip()[:COMPARED].split("\n")[0].strip()
    lines = lines_of(text)[:5_000]
    like: dict[str, int] = {}
    for number, line in enumerate(lines):
        like.setdefault(line[: 2 * COMPARED].strip()[:COMPARED], number)
    if not (close := difflib.get_close_matches(wanted, like, 1) if wanted else []):
        return ""
    number = like[close[0]]
    return f"; the nearest line is {number + 1}: {shortened(lines[number], COMPARED)!r}"
