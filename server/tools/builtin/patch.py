"""Apply a patch as models write it to the text of one file. Pure.

Line numbers and counts are often wrong there, so a hunk is placed by its lines; where they occur
more than once, by correct numbers, by the heading after `@@`, or by the order of the hunks, and
otherwise it is refused. client/js/ext/files/apply-patch.js does the same for the page;
tests/vectors/edits.json holds both to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..decorators import ToolError
from .nearest import line_list, nearest, nearest_lines
from .patch_text import (
    BLANK,
    EXACT,
    LEADING,
    LINE_ENDS,
    TRAILING,
    Hunk,
    Section,
    key_of,
    read_patch,
)

MAX_STEPS = 5_000_000  # lines compared while the hunks of a patch are placed
REPAIRS = {
    TRAILING: "spaces at the ends of lines differ from the file's",
    LEADING: "the space before unchanged lines was missing",
}


class Change(NamedTuple):
    """What became of a text. `text`: None if the file is deleted. `notes`: what was repaired."""

    text: str | None
    hunks: int
    notes: list[str]


def apply_patch(text: str | None, patch: str, path: str) -> Change:
    """Return the change that a patch makes to a file; `text` is None if there is no such file.

    Raises ToolError, which names the hunk and what the file has there. Nothing is changed then.
    """
    sections = read_patch(patch)
    if not sections:
        raise ToolError(
            "the patch has no hunk: write @@, and below it lines that begin with a space, - or +"
        )
    for section in sections:
        for name in section.names:
            if not same_file(name, path):
                raise ToolError(
                    f"the patch is for {name[:200]}, path is {path[:200]}: one call changes one"
                    " file; send each file's part of the patch with its own path"
                )
    change, number, path = Change(text, 0, []), 0, path[:200]
    total = sum(len(section.hunks) for section in sections)
    for section in sections:
        titles = [f"hunk {number + n + 1} of {total}" for n in range(len(section.hunks))]
        number += len(section.hunks)
        change = apply_section(change, section, titles, path)
    if change.text == text:
        raise ToolError(f"the patch changes nothing in {path}")
    return change


def apply_section(so_far: Change, section: Section, titles: list[str], path: str) -> Change:
    """Return the change after one section. Raises ToolError."""
    text, hunks = so_far.text, section.hunks
    made = so_far.hunks + len(hunks)
    adds = section.kind == "Add"
    if text is None and section.kind == "Update" and hunks:
        adds = not any(hunk.before() for hunk in hunks)
    if adds:
        if text is not None:
            raise ToolError(f"{path} is there already; the patch is for a new file")
        for hunk, title in zip(hunks, titles, strict=True):
            if hunk.before():
                raise ToolError(f"{title}: in a new file every line begins with +")
        lines = [line for hunk in hunks for line in hunk.after()]
        ended = not (hunks and hunks[-1].unended[1])
        return Change("\n".join(lines) + ("\n" if lines and ended else ""), made, so_far.notes)
    if text is None:
        raise ToolError(f"{path}: No such file; a patch makes one if all its lines begin with +")
    if section.kind == "Delete":
        _check_deletion(text, hunks, path)
        return Change(None, made, so_far.notes)
    after, notes = apply_hunks(text, hunks, titles, path)
    return Change(after, made, so_far.notes + notes)


def _check_deletion(text: str, hunks: list[Hunk], path: str) -> None:
    """Raise ToolError unless the hunks of a deletion, if it has any, hold the whole file."""
    said = [key_of(line, TRAILING) for hunk in hunks for line in hunk.before()]
    there = [key_of(line, TRAILING) for line in split_lines(text.removeprefix("\ufeff"))[0]]
    if any(hunk.after() for hunk in hunks) or (hunks and said != there):
        raise ToolError(
            f"{path} has other lines than the patch deletes; without @@ and lines,"
            f" `*** Delete File: {path}` deletes it as it is"
        )


def same_file(name: str, path: str) -> bool:
    """Return whether a name in a patch means the file: either may leave out the first folders."""
    one, other = ([p for p in each.split("/") if p not in ("", ".")] for each in (name, path))
    most = min(len(one), len(other))
    return most > 0 and one[-most:] == other[-most:]


# -- placing --------------------------------------------------------------------------------------


def split_lines(text: str) -> tuple[list[str], bool]:
    """Return (lines without their line feeds, whether the last one has one)."""
    lines = text.split("\n")
    if lines[-1] == "":
        return lines[:-1], True
    return lines, False


class _Lines:
    """The lines of a file, and where each occurs."""

    def __init__(self, lines: list[str]) -> None:
        self.lines, self.steps = lines, 0
        self._made: dict[int, tuple[list[str], dict[str, list[int]]]] = {}

    def at(self, level: int) -> tuple[list[str], dict[str, list[int]]]:
        """Return (keys of the lines, key → indexes)."""
        if level not in self._made:
            keys = [key_of(line, level) for line in self.lines]
            places = defaultdict[str, list[int]](list)
            for number, key in enumerate(keys):
                places[key].append(number)
            self._made[level] = keys, places
        return self._made[level]

    def spend(self) -> None:
        """Count one comparison. Raises ToolError if there were too many."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise ToolError("the patch's lines occur too often in the file; use smaller hunks")

    def places(self, wanted: list[tuple[str, ...]], level: int) -> list[int]:
        """Return the indexes at which these lines begin. Raises ToolError."""
        keys, where = self.at(min(level, TRAILING))
        often = [sum(len(where.get(key, ())) for key in texts) for texts in wanted]
        rarest = often.index(min(often))
        found = []
        for number in (n for key in wanted[rarest] for n in where.get(key, ())):
            start = number - rarest
            if start < 0 or start + len(wanted) > len(keys):
                continue
            for offset, texts in enumerate(wanted):
                self.spend()
                if keys[start + offset] not in texts:
                    break
            else:
                found.append(start)
        return sorted(set(found))


@dataclass
class _Placed:
    """A hunk, and where its lines occur. `level`: how they were compared."""

    hunk: Hunk
    title: str
    level: int
    starts: list[int]

    def header_start(self) -> int:
        """Return the index that the header names."""
        return (self.hunk.start or 0) - 1

    def span(self, start: int) -> tuple[int, int]:
        """Return the indexes between which the hunk changes lines, if it begins at `start`."""
        first, last = self.core
        return start + first, start + last

    @cached_property
    def core(self) -> tuple[int, int]:
        """Return what `Hunk.core` returns."""
        return self.hunk.core()


def apply_hunks(
    text: str, hunks: list[Hunk], titles: list[str], path: str
) -> tuple[str, list[str]]:
    """Return (the text with all hunks applied, notes on repairs).

    A byte order mark at the start stays. In a text whose lines all end in CRLF, all lines do
    afterwards. Raises ToolError.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text[len(mark) :]
    crlf = is_crlf(body)
    if crlf:
        body = body.replace("\r\n", "\n")
    for hunk in hunks:
        hunk.lines = [
            (sign, said.removesuffix("\r"), whole.removesuffix("\r"))
            if crlf
            else (sign, said, whole)
            for sign, said, whole in hunk.lines
        ]
        if mark and hunk.lines:
            sign, said, whole = hunk.lines[0]
            hunk.lines[0] = (sign, said.removeprefix(mark), whole.replace(mark, "", 1))
    lines, ended = split_lines(body)
    file = _Lines(lines)
    placed = [_place(file, hunk, title, path) for hunk, title in zip(hunks, titles, strict=True)]
    starts = _choose(file, placed, path)
    order = sorted(range(len(placed)), key=lambda n: (placed[n].span(starts[n]), n))
    notes = [f"{each.title}: {REPAIRS[each.level]}" for each in placed if each.level in REPAIRS]
    if order != sorted(order):
        notes.append("the hunks were not in the order of the file")
    made, ended = _join(lines, ended, [(placed[n], starts[n]) for n in order])
    after = "\n".join(made) + ("\n" if made and ended else "")
    return mark + (after.replace("\n", "\r\n") if crlf else after), notes


def is_crlf(text: str) -> bool:
    """Return whether all lines of a text end in a carriage return and a line feed."""
    return "\r\n" in text and text.count("\r\n") == text.count("\n")


def _place(file: _Lines, hunk: Hunk, title: str, path: str) -> _Placed:
    """Return where a hunk's lines occur, compared as strictly as possible. Raises ToolError."""
    if not hunk.changes():
        raise ToolError(f"{title} changes nothing: none of its lines begins with + or -")
    if hunk.start is not None:
        title += f" (line {hunk.start})"
    if not hunk.before():
        if file.lines and not hunk.at_end:
            raise ToolError(
                f"{title} has no line of {path} in it, so its place is not known; add lines that"
                " are there, before or after what it adds"
            )
        return _Placed(hunk, title, EXACT, [len(file.lines)])
    for level in (EXACT, LINE_ENDS, TRAILING, LEADING):
        starts = file.places(hunk.keys(level), level)
        length = len(hunk.before())
        if hunk.at_end or hunk.unended[0]:
            starts = [n for n in starts if n + length == len(file.lines)] or starts
        if hunk.strict and hunk.headings:
            starts = _below(file, hunk, starts)
        if starts:
            return _Placed(hunk, title, level, starts)
    raise ToolError(missing_hunk(file.lines, hunk, title, path))


def _below(file: _Lines, hunk: Hunk, starts: list[int]) -> list[int]:
    """Return those places that lie in the block that a hunk's headings name.

    The block of a heading is what is indented more than it. If none does, and the form is
    `strict`: the places below the heading. All places if the file does not have the heading.
    """
    blocks = [(0, len(file.lines))]
    for heading in hunk.headings:
        inner = []
        for start, end in blocks:
            for number in range(start, end):
                file.spend()
                if file.lines[number].strip(BLANK).startswith(heading):
                    inner.append((number, _block_end(file, number, end)))
        if not inner:
            return starts
        blocks = inner
    covered = bytearray(len(file.lines) + 1)
    for start, end in blocks:
        covered[start:end] = b"\1" * (end - start)
    inside = [n for n in starts if covered[n]]
    if inside or not hunk.strict:
        return inside
    return [n for n in starts if n >= blocks[0][0]]


def _block_end(file: _Lines, number: int, end: int) -> int:
    """Return the index of the first line after `number` that is indented no more than it."""
    lines, depth = file.lines, _depth(file.lines[number])
    for place in range(number + 1, end):
        file.spend()
        if lines[place].strip(BLANK) and _depth(lines[place]) <= depth:
            return place
    return end


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _choose(file: _Lines, placed: list[_Placed], path: str) -> list[int]:
    """Return the place of each hunk. Raises ToolError if there is more than one way, or none."""
    if _as_stated(placed):
        return [each.header_start() for each in placed]
    for each in placed:
        if len(each.starts) > 1 and each.hunk.headings:
            each.starts = _below(file, each.hunk, each.starts) or each.starts
    stated = [each.hunk.start for each in placed if each.hunk.start is not None]
    if all(len(each.starts) == 1 for each in placed):
        starts = [each.starts[0] for each in placed]
        _refuse_overlap(placed, starts)
        return starts
    first = _in_order(placed)
    if stated != sorted(stated) or first is None:
        each = next(each for each in placed if len(each.starts) > 1)
        raise ToolError(often_hunk(each.title, each.starts, path))
    last = _in_order(placed, backward=True)
    for each, one, other in zip(placed, first, last or (), strict=True):
        if one != other:
            raise ToolError(often_hunk(each.title, each.starts, path))
    return first


def _as_stated(placed: list[_Placed]) -> bool:
    """Return whether all numbers and counts of the headers are right."""
    shift = 0
    for each in placed:
        hunk = each.hunk
        if not hunk.counted or hunk.start is None or hunk.new_start is None:
            return False
        if each.header_start() not in each.starts or hunk.new_start != hunk.start + shift:
            return False
        shift += hunk.counts[1] - hunk.counts[0]
    spans = [each.span(each.header_start()) for each in placed]
    return all(one[1] <= other[0] for one, other in zip(spans, spans[1:], strict=False))


def _in_order(placed: list[_Placed], *, backward: bool = False) -> list[int] | None:
    """Return the first (or last) places at which the hunks fit in their order; None if none do."""
    found: list[int] = []
    edge: int | None = None
    for each in reversed(placed) if backward else placed:
        for start in reversed(each.starts) if backward else each.starts:
            low, high = each.span(start)
            if edge is None or (high <= edge if backward else low >= edge):
                found.append(start)
                edge = low if backward else high
                break
        else:
            return None
    return found[::-1] if backward else found


def _refuse_overlap(placed: list[_Placed], starts: list[int]) -> None:
    """Raise ToolError if two hunks change the same line."""
    edge, before = 0, ""
    for number in sorted(range(len(placed)), key=lambda n: placed[n].span(starts[n])):
        low, high = placed[number].span(starts[number])
        if low < edge:
            raise ToolError(f"{placed[number].title} changes lines that {before} changes, too")
        edge, before = high, placed[number].title


def _join(
    lines: list[str], ended: bool, placed: list[tuple[_Placed, int]]
) -> tuple[list[str], bool]:
    """Return (the lines with the hunks applied, whether the last one ends in a line feed)."""
    made: list[str] = []
    at = 0
    for each, start in placed:
        low, high = each.span(start)
        made += lines[at:low]
        at = low
        skip = each.core[0]
        for sign, text, _ in _changes(each.hunk, skip):
            if sign == "+":
                near = lines[at - 1] if at else lines[0] if lines else ""
                made.append(text if each.level == EXACT else _ended_like(text, near))
            else:
                if sign == " ":
                    made.append(lines[at])
                at += 1
        if start + len(each.hunk.before()) == len(lines):
            old, new = each.hunk.unended
            if old != new:
                ended = not new
            elif not lines:
                ended = True
    return made + lines[at:], ended


def _changes(hunk: Hunk, skip: int) -> Iterator[tuple[str, str, str]]:
    """Yield a hunk's lines from the first change to the last."""
    last = max(place for place, line in enumerate(hunk.lines) if line[0] != " ")
    yield from hunk.lines[skip : last + 1]


def _ended_like(text: str, near: str) -> str:
    """Return a new line that ends as its neighbour does, with a carriage return or without."""
    return text.removesuffix("\r") + ("\r" if near.endswith("\r") else "")


def often_hunk(title: str, starts: list[int], path: str) -> str:
    """Return the error of a hunk that fits in several places."""
    return (
        f"{title} fits at lines {line_list(starts)} of {path}; add lines around it that occur"
        " once, or name the function after @@"
    )


def missing_hunk(lines: list[str], hunk: Hunk, title: str, path: str) -> str:
    """Return the error of a hunk whose lines the file does not have, with the nearest it has."""
    after: list[tuple[str, ...]] = [(key_of(line, TRAILING),) for line in hunk.after()]
    there = _Lines(lines).places(after, TRAILING) if any(key[0] for key in after) else []
    if there:
        return (
            f"{title} was not found in {path}, which has its new lines at"
            f" {line_list(there)}: it may be applied already"
        )
    old = hunk.before()
    hint = nearest_lines(lines, old) or nearest("\n".join(lines), "\n".join(old))
    return f"{title} was not found in {path}{hint}"
