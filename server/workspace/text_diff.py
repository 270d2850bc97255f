"""The unified difference of two versions of a file, bounded in time and size."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from functools import partial

from .differences import Difference
from .objects import ObjectStore
from .trees import Entry, text_of

MAX_BYTES = 2 << 20  # of a version that is compared as text
MAX_TEXT = 200_000  # characters of a difference
MAX_WORK = 2_000_000  # pairs of lines; above that, what differs is shown as one block
CONTEXT = 3
_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # a line ends at a line feed alone
_HUNK = re.compile(r"([-+])(\d+)((?:,\d+)?)")
CUT = "\n… the difference is longer\n"


def text_diff(store: ObjectStore, item: Difference) -> tuple[str, bool]:
    """Return the difference as text, and whether a version is binary: then the text is empty."""
    versions = [_text(store, entry) for entry in (item.before, item.after)]
    before, after = versions
    if before is None or after is None:
        return "", True
    name = text_of(item.place)
    head = f"--- {f'a/{name}' if item.before else '/dev/null'}\n"
    head += f"+++ {f'b/{name}' if item.after else '/dev/null'}\n"
    parts, size = [head], len(head)
    for line in _lines(_LINE.findall(before), _LINE.findall(after)):
        parts.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
        size += len(parts[-1])
        if size > MAX_TEXT:
            return "".join(parts)[: MAX_TEXT - len(CUT)] + CUT, False
    return "".join(parts), False


def _text(store: ObjectStore, entry: Entry | None) -> str | None:
    """Return a version as text, None if it is binary or too large."""
    if entry is None:
        return ""
    if entry[0] == "l":
        return f"-> {text_of((entry[1],))}\n"  # as `ls -l` shows a link
    if entry[0] != "f" or entry[2] > MAX_BYTES:
        return None
    data = store.read(entry[3], MAX_BYTES)
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _moved(by: int, found: re.Match[str]) -> str:
    """Return the place of a hunk further down."""
    start = int(found[2])
    empty = found[3] == ",0"
    return f"{found[1]}{start + by if start or not empty else by}{found[3]}"


def _lines(before: list[str], after: list[str]) -> Iterator[str]:
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    most = min(len(before), len(after)) - start
    while end < most and before[-1 - end] == after[-1 - end]:
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if not old and not new:
        return
    first = max(0, start - CONTEXT)
    tail = before[len(before) - end :][:CONTEXT]
    head = before[first:start]
    if len(old) * len(new) <= MAX_WORK:
        near = [*head, *old, *tail], [*head, *new, *tail]
        for number, line in enumerate(difflib.unified_diff(*near, n=CONTEXT)):
            if number > 1:  # after the names
                yield _HUNK.sub(partial(_moved, first), line) if line.startswith("@") else line
        return
    sizes = len(head) + len(old) + len(tail), len(head) + len(new) + len(tail)
    yield f"@@ -{first + 1},{sizes[0]} +{first + 1},{sizes[1]} @@\n"
    for sign, rows in ((" ", head), ("-", old), ("+", new), (" ", tail)):
        for row in rows:
            yield sign + row
