"""Show what a call would change in a file, as a difference with line numbers."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..tools.builtin.edits import apply_edits
from ..tools.builtin.patch import apply_patch
from ..tools.decorators import ToolError

Line = tuple[str, str]  # (text, style)
Read = Callable[[str], str | None]  # the text of a file of the session; None if there is none

MOST = 2_000  # lines of a file; comparing longer ones takes too long
SHOWN = {"write_file": {"content"}, "edit_file": {"old", "new", "replace_all", "edits", "patch"}}
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)")


def edit_lines(tool: str, args: Mapping[str, Any], read: Read) -> list[Line] | None:
    """Return every line that the call changes; None if it is no such call or it cannot be told.

    The arguments in SHOWN are told by that; the others are not.
    """
    path = args.get("path")
    if tool not in SHOWN or not isinstance(path, str):
        return None
    try:
        before = read(path)
        after = _after(tool, args, before, path)
    except (ToolError, KeyError, TypeError, AttributeError, ValueError):
        return None  # the arguments themselves are shown, and the call says what is wrong
    one, other = (text.split("\n") if text is not None else [] for text in (before, after))
    if max(len(one), len(other)) > MOST:
        return None
    what = "a new file" if before is None else "is deleted" if after is None else ""
    return [(f"{path} {what}".rstrip(), "bold"), *_numbered(one, other)]


def _after(tool: str, args: Mapping[str, Any], before: str | None, path: str) -> str | None:
    if tool == "write_file":
        return str(args["content"])
    if args.get("patch"):
        return apply_patch(before, args["patch"], path)[0]
    if before is None:
        raise ToolError("there is no such file")
    return apply_edits(before, args.get("edits") or [{**args}], path)[0]


def _numbered(before: list[str], after: list[str]) -> Iterator[Line]:
    old = new = 0
    for line in [*difflib.unified_diff(before, after, lineterm="", n=2)][2:]:
        if found := _HUNK.match(line):
            old, new = int(found[1]), int(found[2])
            yield "       ⋮", "dim"
        elif line.startswith("-"):
            yield f"{old:>6} - {line[1:]}", "red"
            old += 1
        elif line.startswith("+"):
            yield f"{new:>6} + {line[1:]}", "green"
            new += 1
        else:
            yield f"{new:>6}   {line[1:]}", "dim"
            old, new = old + 1, new + 1
