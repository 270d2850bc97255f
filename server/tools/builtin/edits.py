"""The tool `edit_file`: exact replacements and patches, all or none."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

from ...lib.strict_json import dumps
from ..decorators import PATH, Context, ToolError, tool
from ..workspace import changeable
from .files import folder_lock, lines_of, read_text, replacement_notes, shorten_line, write_text
from .nearest import line_list, nearest, nearest_lines
from .patch import apply_patch, is_crlf

MAX_EDITS = 100
MOST_STEPS = 2_000_000  # replacements times lines; a diff then takes a second or two
MAX_DIFF = 200  # lines
MAX_DIFF_TEXT = 16_000  # characters
MAX_BRIEF = 2_000  # characters of a diff that a model reads, which has made the change itself


class Edit(TypedDict):
    """A text and what takes its place."""

    old: Annotated[str, "Text to replace, exactly as it is in the file", {"minLength": 1}]
    new: Annotated[str, "Text to put in its place"]
    replace_all: NotRequired[Annotated[bool, "Replace every occurrence"]]


@tool(destructive=True)
def edit_file(
    ctx: Context,
    path: Annotated[str, "Path in the session's folder", PATH],
    old: Annotated[str, "Text to replace, exactly as it is in the file"] = "",
    new: Annotated[str | None, "Text to put in its place"] = None,
    replace_all: Annotated[bool, "Replace every occurrence"] = False,
    edits: Annotated[
        Sequence[Edit], "Several replacements, one after the other", {"maxItems": MAX_EDITS}
    ] = (),
    patch: Annotated[
        str,
        "A unified diff of this file, or a patch that begins with *** Begin Patch. Its line numbers"
        " need not be right; its unchanged and removed lines must be those of the file.",
    ] = "",
) -> dict[str, Any]:
    """Change a text file, wholly or not at all. Give `old` and `new` for a text that occurs exactly
    once (or everywhere with replace_all), or `edits` for several, or a `patch`, which may also make
    or delete the file."""
    if [bool(old) or new is not None, bool(edits), bool(patch)].count(True) != 1:
        raise ToolError("give old and new, or edits, or patch: one of the three")
    if not edits and not patch:
        if not old or new is None:
            raise ToolError("old and new belong together, and old is not empty")
        edits = [{"old": old, "new": new, "replace_all": replace_all}]
    target = changeable(ctx, path)
    with folder_lock(target.parent):
        found = _change(target, path, edits, patch)
    if "deleted" not in found:
        ctx.attach(path)
    return found


def _change(target: Path, path: str, edits: Sequence[Edit], patch: str) -> dict[str, Any]:
    """Change a file and return the result. Raises ToolError; then the file is as it was."""
    errors = "surrogateescape"  # bytes that are not text stay unchanged
    text, encoding = None, "utf-8"
    if not patch or target.exists():
        text, encoding = read_text(target, path, errors)
    found: dict[str, Any] = {"path": path}
    if patch:
        after, found["hunks"], notes = apply_patch(text, patch, path)
    else:
        after, found["replaced"], notes = apply_edits(text or "", edits, path)
    if after is not None:
        notes += replacement_notes(target)
        write_text(target, after, path, encoding, errors)
        if text is None:
            found["created"] = True
    else:
        try:
            target.unlink()
        except OSError as error:
            raise ToolError(f"{path}: {error.strerror}") from None
        found["deleted"] = True
    if notes:
        found["notes"] = notes
    return found | diff_of(text or "", after or "", path, found.get("replaced") or found["hunks"])


def apply_edits(text: str, edits: Sequence[Edit], path: str) -> tuple[str, int, list[str]]:
    """Return (the text after all replacements, how many places they changed, notes on repairs).

    Each is made in what the one before it left. In a text whose lines all end in CRLF, line feeds
    stand for that. Raises ToolError, which names the edit.
    """
    crlf = is_crlf(text)
    if crlf:
        text = text.replace("\r\n", "\n")
    before, total, notes = text, 0, list[str]()
    for number, edit in enumerate(edits, 1):
        title = f"edit {number} of {len(edits)}: " if len(edits) > 1 else ""
        old, new = (
            part.replace("\r\n", "\n") if crlf else part for part in (edit["old"], edit["new"])
        )
        count, all_places = text.count(old), edit.get("replace_all", False)
        if count > 1 and not all_places:
            lines = _line_numbers(text, old)
            raise ToolError(
                f"{title}the text occurs {count} times in {path} (lines {line_list(lines)});"
                " give more of it, or replace_all"
            )
        if count:
            text = text.replace(old, new)
        else:
            pattern = _loose(old)
            count = sum(1 for _ in islice(re.finditer(pattern, text), 2)) if pattern else 0
            if count != 1:
                raise ToolError(f"{title}{_missing(text, before, old, path)}")
            text = re.sub(pattern, lambda _: new, text)  # noqa: B023 - called at once
            notes.append(f"{title}spaces at the ends of lines differ from the file's")
        total += count
    return text.replace("\n", "\r\n") if crlf else text, total, notes


def _loose(old: str) -> str:
    """Return a pattern for a text of several lines, whatever spaces end them; "" for one line."""
    lines = old.split("\n")
    if len(lines) < 2 or not old.strip():
        return ""
    ends = [re.escape(line.rstrip(" \t")) for line in lines[:-1]]
    return "".join(f"{line}[ \t]{{0,200}}\n" for line in ends) + re.escape(lines[-1])


def _line_numbers(text: str, old: str) -> list[int]:
    """Return the indexes of the lines in which the first places of `old` begin."""
    found, at = list[int](), text.find(old)
    while at >= 0 and len(found) < 9:
        found.append(text.count("\n", 0, at))
        at = text.find(old, at + len(old))
    return found


def _missing(text: str, before: str, old: str, path: str) -> str:
    """Return the error for a text that the file does not have, with the nearest that it has."""
    if old in before and text != before:
        return f"an edit before it has changed this text of {path}"
    lines = lines_of(text)
    other_ends = old in text.replace("\r\n", "\n")
    if "\n" in old.strip("\n") and not other_ends and (hint := nearest_lines(lines, lines_of(old))):
        return f"the text was not found in {path}{hint}"
    return f"the text was not found in {path}{nearest(text, old)}"


# -- the result -----------------------------------------------------------------------------------


def diff_of(before: str, after: str, path: str, places: int = 1) -> dict[str, str]:
    """Return {"diff"}: a unified diff of two texts, cut to MAX_DIFF lines; {} if it takes long."""
    lines = lines_of(before)
    if places * len(lines) > MOST_STEPS:
        return {}
    diff = difflib.unified_diff(lines, lines_of(after), path, path, lineterm="", n=2)
    shown, room = list[str](), MAX_DIFF_TEXT
    for line in map(shorten_line, islice(diff, MAX_DIFF)):
        room -= len(line)
        if room < 0:
            break
        shown.append(line)
    return {"diff": "\n".join(shown)}


def brief(result: Any) -> str:
    """Return what the model reads of a result, which wrote the change itself; "" for all of it."""
    if not isinstance(result, dict) or not isinstance(diff := result.get("diff"), str):
        return ""
    if len(diff) <= MAX_BRIEF:
        return ""
    cut = diff[:MAX_BRIEF].rpartition("\n")[0]
    left = diff.count("\n") - cut.count("\n")
    return dumps({**result, "diff": f"{cut}\n… {left} more lines of the diff"})
