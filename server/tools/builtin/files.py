"""Tools for files in the workspace; all paths go through `workspace.plain_path` or `changeable`."""

from __future__ import annotations

import errno
import fcntl
import fnmatch
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from ...lib.json_schema.regex import MAX_STEPS, Pattern, PatternError
from ..decorators import PATH, Context, ToolError, tool
from ..workspace import changeable, files_below, media_type, open_for_reading, plain_path, prefix_of
from .documents import read_other

MAX_READ = 10 * 1024 * 1024
MAX_LINES = 2_000
MAX_LINE = 2_000  # characters shown of one line
MAX_SHOWN = 18_000  # characters of one part, as JSON; result.MAX_TEXT is 20,000
MAX_LISTED = 1_000
MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}  # byte order marks, as on Windows

_Path = Annotated[str, "Path in the session's folder", PATH]


@tool(read_only=True, parallel_safe=True)
def read_file(
    ctx: Context,
    path: _Path,
    offset: Annotated[int, "First line, counted from 1", {"minimum": 1}] = 1,
    limit: Annotated[int, "How many lines", {"minimum": 1, "maximum": MAX_LINES}] = 500,
    pages: Annotated[str, "Pages of a PDF, such as 1-5"] = "",
) -> dict[str, Any]:
    """Read a text file, or a part of it, with line numbers; look at a picture; read a PDF. A long
    part ends early: `next_offset` says where to go on."""
    if (other := read_other(ctx, plain_path(path), path, pages)) is not None:
        return other
    text, encoding = read_text(plain_path(path), path)
    lines = lines_of(text)
    shown: list[str] = []
    room = MAX_SHOWN
    for number, line in enumerate(lines[offset - 1 : offset - 1 + limit], offset):
        text = f"{number:>6}\t{shorten_line(line)}"
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
    target = changeable(ctx, path)
    notes = replacement_notes(target)
    replaced = write_text(target, content, path)
    ctx.attach(path)
    found = {"path": path, "bytes": len(content.encode()), "replaced": replaced}
    return found | ({"notes": notes} if notes else {})


@tool(read_only=True, parallel_safe=True)
def list_files(
    ctx: Context,
    path: Annotated[str, "Folder in the session's folder", PATH] = ".",
    pattern: Annotated[str, "Shell pattern for names or paths, such as *.py or src/*.js"] = "*",
    depth: Annotated[int, "How many levels down", {"minimum": 1, "maximum": 20}] = 3,
    hidden: Annotated[bool, "List names that begin with a dot"] = False,
) -> dict[str, Any]:
    """List files and folders below a folder, with sizes. `complete` is false where there may be
    more, for instance in folders that lie deeper."""
    root = plain_path(path)
    if not root.is_dir():
        raise ToolError(f"{path} is not a folder")
    prefix, found, closed = prefix_of(root, path), list[dict[str, Any]](), list[str]()
    for entry in walk(root, depth, hidden, closed):
        if matches(entry["path"].rstrip("/"), pattern):
            found.append({**entry, "path": prefix + entry["path"]})
            if len(found) == MAX_LISTED:
                break
    return {"files": found, "complete": len(found) < MAX_LISTED and not closed}


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
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
    with open_for_reading(target, path) as file:
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


def replacement_notes(target: Path) -> list[str]:
    """Return what the text of a file does not show and replacing it loses or ignores."""
    try:
        about = target.stat()
        names = os.listxattr(target) if hasattr(os, "listxattr") else []
    except OSError:
        return []
    notes = []
    if not about.st_mode & 0o222:
        notes.append("the file was read-only, and is again")
    if about.st_nlink > 1:
        notes.append("it is another file under its other names now (hard links): they keep the old")
    if names:
        notes.append(f"its extended attributes are gone: {', '.join(names)}")
    return notes


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


def shorten_line(line: str, most: int = MAX_LINE) -> str:
    """Return a line, cut after `most` characters."""
    return line if len(line) <= most else line[:most] + " …"


# -- search ---------------------------------------------------------------------------------------
# The tool `search_files`: text search in the files of the workspace.
#
# Regular expressions are checked by schema/regex.py: those that could hang are refused, and
# lines that would cost too much are skipped. Files that are large, binary or unreadable are skipped
# too; the result says how many.

MAX_FILE = 5 * 1024 * 1024
MAX_FILES = 20_000
MAX_MATCH_LINE = 400  # characters shown of one line
MAX_MATCHES = 500

Finds = Callable[[str], bool]


@dataclass
class SearchCount:
    """Numbers of files searched, and of files and lines skipped."""

    searched: int = 0
    passed_over: int = 0


@tool(read_only=True, parallel_safe=True)
def search_files(
    ctx: Context,
    query: Annotated[str, "What to look for, line by line", {"minLength": 1, "maxLength": 1000}],
    path: Annotated[str, "Folder or file in the session's folder", PATH] = ".",
    glob: Annotated[str, "Only files such as *.py or src/*.js"] = "*",
    regex: Annotated[bool, "The query is a regular expression (ECMAScript)"] = False,
    ignore_case: Annotated[bool, "Take upper and lower case for the same; text only"] = False,
    context: Annotated[int, "Lines to show around a match", {"minimum": 0, "maximum": 10}] = 0,
    max_matches: Annotated[int, "When to stop", {"minimum": 1, "maximum": MAX_MATCHES}] = 100,
) -> dict[str, Any]:
    """Find lines in text files below a folder, by text or regular expression.

    A match reads `file:line: text`, a line around it `file-line- text`. Hidden files, node_modules
    and __pycache__ are left out unless `path` leads there.
    """
    root = plain_path(path)
    finds = finder(query, regex, ignore_case)
    count, shown, found = SearchCount(), list[str](), 0
    for name, text in texts(root, path, glob, count):
        lines = lines_of(text)
        hits = [number for number, line in enumerate(lines) if found_in(finds, line, count)]
        left = max_matches - found
        shown += around(name, lines, hits[:left], context)
        found += min(len(hits), left)
        if len(hits) > left or found == max_matches:
            break
    result: dict[str, Any] = {
        "matches": found,
        "lines": "\n".join(shown),
        "files_searched": count.searched,
        "complete": found < max_matches and count.searched < MAX_FILES,
    }
    return result | ({"passed_over": count.passed_over} if count.passed_over else {})


def finder(query: str, regex: bool, ignore_case: bool) -> Finds:
    """Return a function that tells whether a line matches.

    Raises ToolError for an invalid pattern.
    """
    if not regex:
        wanted = query.casefold() if ignore_case else query
        return lambda line: wanted in (line.casefold() if ignore_case else line)
    if ignore_case:
        raise ToolError("ignore_case is for text; in a regular expression write [Aa]")
    try:
        pattern = Pattern(query)
    except PatternError as error:
        raise ToolError(
            f"{query[:100]!r} is no regular expression that works here: {error}"
        ) from None

    def finds(line: str) -> bool:
        """Return whether a line matches. Raises TooCostly."""
        if pattern.price(len(line)) > MAX_STEPS:
            raise TooCostly
        return pattern.search(line)

    return finds


class TooCostly(Exception):
    """Raised for a line that is too long for the pattern."""


def found_in(finds: Finds, line: str, count: SearchCount) -> bool:
    """Return whether a line matches; a line that costs too much is counted as skipped."""
    try:
        return finds(line)
    except TooCostly:
        count.passed_over += 1
        return False


def texts(root: Path, path: str, glob: str, count: SearchCount) -> Iterator[tuple[str, str]]:
    """Yield (name, content) of every text file below `root` that fits `glob`, in order.

    Raises ToolError if `root` does not exist.
    """
    if root.is_file():
        count.searched += 1
        yield path, read_text(root, path)[0]
        return
    if not root.is_dir():
        raise ToolError(f"there is no {path}")
    prefix = prefix_of(root, path)
    for below in files_below(root):
        if not matches(below, glob):
            continue
        if count.searched == MAX_FILES:
            return
        try:
            if (root / below).stat().st_size > MAX_FILE:
                raise ToolError("too large")
            text, _ = read_text(root / below, below)
        except (ToolError, OSError):
            count.passed_over += 1
        else:
            count.searched += 1
            yield prefix + below, text


def around(name: str, lines: list[str], hits: list[int], context: int) -> Iterator[str]:
    """Yield matches with `context` lines around them, as grep prints them: `--` marks gaps."""
    last = -1
    wanted = set(hits)
    near = {n for hit in hits for n in range(hit - context, hit + context + 1)}
    for number in sorted(near):
        if 0 <= number < len(lines):
            if context and last >= 0 and number > last + 1:
                yield "--"
            mark = ":" if number in wanted else "-"
            yield f"{name}{mark}{number + 1}{mark} {shorten_line(lines[number], MAX_MATCH_LINE)}"
            last = number
