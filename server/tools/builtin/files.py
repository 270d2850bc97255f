"""Files in the session's folder, and nowhere else: every path goes through `folder.inside`."""

from __future__ import annotations

import difflib
import errno
import fnmatch
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from ..folder import inside, media_type, opened
from ..tool import Context, ToolError, tool

MAX_READ = 10 * 1024 * 1024
MAX_LINES = 2_000
MAX_LINE = 2_000  # characters shown of one line
MAX_LISTED = 1_000

_Path = Annotated[str, "Path in the session's folder"]


@tool(read_only=True, parallel_safe=True)
def read_file(
    ctx: Context,
    path: _Path,
    offset: Annotated[int, "First line, counted from 1", {"minimum": 1}] = 1,
    limit: Annotated[int, "How many lines", {"minimum": 1, "maximum": MAX_LINES}] = 500,
) -> dict[str, Any]:
    """Read a text file, or a part of it, with line numbers."""
    text = read_text(inside(path), path)
    lines = text.splitlines()
    part = lines[offset - 1 : offset - 1 + limit]
    shown = "\n".join(
        f"{number:>6}\t{line if len(line) <= MAX_LINE else line[:MAX_LINE] + ' …'}"
        for number, line in enumerate(part, offset)
    )
    found: dict[str, Any] = {"content": shown, "lines": len(lines)}
    if offset - 1 + limit < len(lines):
        found["next_offset"] = offset + limit
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
    text = read_text(target, path, "surrogateescape")  # what is no UTF-8 stays as it is
    count = text.count(old)
    if count == 0:
        raise ToolError(f"the text was not found in {path}{nearest(text, old)}")
    if count > 1 and not replace_all:
        raise ToolError(f"the text occurs {count} times in {path}; give more of it, or replace_all")
    changed = text.replace(old, new)
    write_text(target, changed, path, "surrogateescape")
    ctx.attach(path)
    diff = difflib.unified_diff(
        text.splitlines(), changed.splitlines(), path, path, lineterm="", n=2
    )
    return {"path": path, "replaced": count, "diff": "\n".join(list(diff)[:200])}


@tool(read_only=True, parallel_safe=True)
def list_files(
    ctx: Context,
    path: Annotated[str, "Folder in the session's folder"] = ".",
    pattern: Annotated[str, "Shell pattern for names, such as *.py"] = "*",
    depth: Annotated[int, "How many levels down", {"minimum": 1, "maximum": 20}] = 3,
    hidden: Annotated[bool, "List names that begin with a dot"] = False,
) -> dict[str, Any]:
    """List files and folders below a folder, with sizes."""
    root = inside(path)
    if not root.is_dir():
        raise ToolError(f"{path} is not a folder")
    found: list[dict[str, Any]] = []
    for entry in walk(root, depth, hidden):
        if fnmatch.fnmatchcase(Path(entry["path"]).name, pattern):
            found.append(entry)
            if len(found) == MAX_LISTED:
                break
    return {"files": found, "complete": len(found) < MAX_LISTED}


def walk(root: Path, depth: int, hidden: bool, prefix: str = "") -> Iterator[dict[str, Any]]:
    """Entries in order, links named but not followed."""
    try:
        entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    except OSError:
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
                yield from walk(root / entry.name, depth - 1, hidden, name + "/")
        else:
            yield {"path": name, "type": "file", "size": entry.stat(follow_symlinks=False).st_size}


def read_text(target: Path, path: str, errors: str = "replace") -> str:
    with opened(target, path) as file:
        try:
            data = file.read(MAX_READ + 1)
        except OSError as error:
            raise ToolError(f"{path}: {error.strerror}") from None
    if len(data) > MAX_READ:
        raise ToolError(f"{path} is larger than {MAX_READ // 1024 // 1024} MB; use shell")
    if b"\0" in data[:8192]:
        raise ToolError(f"{path} is not a text file ({media_type(path)}, {len(data)} bytes)")
    return data.decode("utf-8", errors)


def write_text(target: Path, content: str, path: str, errors: str = "strict") -> bool:
    """Whole or not at all: into a file beside it, then renamed over it. Whether it replaced one.
    A limit that is met is the call's (child.py); a full disk and the like are named."""
    draft = target.with_name(f".{secrets.token_hex(8)}.draft")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            raise ToolError(f"{path} is a folder")
        with draft.open("x", encoding="utf-8", errors=errors, newline="") as file:
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


def nearest(text: str, old: str) -> str:
    """The line of the file that is most like the first line looked for."""
    wanted = old.strip().splitlines()[:1]
    lines = [line.strip() for line in text.splitlines()[:5_000]]
    close = difflib.get_close_matches(wanted[0], lines, 1) if wanted else []
    return f"; the nearest line is {close[0][:200]!r}" if close else ""
