"""Read a patch as models write it: into sections, one for each file, and hunks. Pure.

Two forms: unified diffs, with headers of git or none, and the form that begins with `*** Begin
Patch`. Numbers and counts of a header are only what it says; patch.py places a hunk by its lines.
client/js/ext/files/patch-text.js does the same for the page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..decorators import ToolError

BLANK = " \t\r"
EXACT, LINE_ENDS, TRAILING, LEADING = range(4)  # how a hunk's lines were compared, strictest first
_HEADER = re.compile(r"@@+ *-([0-9]+)(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? *@@+(.*)")
_NUMBERLESS = re.compile(r"@@(?: ?\.\.\. ?@@)?(.*)")
_GIT = re.compile(r"(?:index [0-9a-f]+\.\.|(?:old|new|deleted file|new file) mode |similarity )")
_MOVES = ("rename from ", "rename to ", "copy from ", "copy to ", "*** Move to:")
_BINARY = ("GIT binary patch", "Binary files ")
_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: *(.*)")
_ENDS = ("*** Add File:", "*** Update File:", "*** Delete File:", "*** End Patch", "```")


def key_of(line: str, level: int) -> str:
    """Return a line in the form in which it is compared."""
    if level >= TRAILING:
        return line.rstrip(BLANK)
    return line.removesuffix("\r") if level == LINE_ENDS else line


@dataclass
class Hunk:
    """A part of a patch.

    `lines`: (sign, text, whole line) with the sign " ", "-" or "+". `start`, `new_start`: line
    numbers of the header, None without. `counted`: whether the header's counts are right.
    `headings`: what follows `@@`; `strict` if they are in the form that has no numbers. `at_end`:
    it says that it ends the file. `unended`: (file, new text) say that no line feed ends them.
    """

    start: int | None = None
    new_start: int | None = None
    counts: tuple[int, int] = (-1, -1)
    counted: bool = False
    headings: list[str] = field(default_factory=list)
    strict: bool = False
    lines: list[tuple[str, str, str]] = field(default_factory=list)
    at_end: bool = False
    unended: list[bool] = field(default_factory=lambda: [False, False])

    def before(self) -> list[str]:
        """Return the lines that the file has."""
        return [text for sign, text, _ in self.lines if sign != "+"]

    def after(self) -> list[str]:
        """Return the lines that are there afterwards."""
        return [text for sign, text, _ in self.lines if sign != "-"]

    def core(self) -> tuple[int, int]:
        """Return (lines of the file before the first change, lines up to the last change)."""
        changes = self.changes()
        return changes[0], sum(sign != "+" for sign, _, _ in self.lines[: changes[-1] + 1])

    def changes(self) -> list[int]:
        """Return the indexes of the lines that are added or removed."""
        return [place for place, line in enumerate(self.lines) if line[0] != " "]

    def keys(self, level: int) -> list[tuple[str, ...]]:
        """Return for each line of `before` the texts that it may have in the file."""
        found: list[tuple[str, ...]] = []
        for sign, text, whole in self.lines:
            if sign != "+":
                both = level == LEADING and sign == " " and whole.startswith(" ")
                found.append(tuple(key_of(each, level) for each in ((text, whole)[: both + 1])))
        return found


@dataclass
class Section:
    """What a patch says of one file. `kind`: Add, Update or Delete."""

    kind: str = "Update"
    names: list[str] = field(default_factory=list)
    hunks: list[Hunk] = field(default_factory=list)


def read_patch(patch: str) -> list[Section]:
    """Return the sections of a patch, by file; hunks without lines are left out.

    Raises ToolError for patches that move files or hold binary data.
    """
    lines = patch.split("\n")
    if all(line.endswith("\r") for line in lines[:-1]) and len(lines) > 1:
        lines = [line.removesuffix("\r") for line in lines]
    while lines and not lines[0].strip():
        lines = lines[1:]
    reader = _Reader(lines[1:] if lines and lines[0].startswith("```") else lines)
    found = reader.read()
    for section in found:
        section.hunks = [hunk for hunk in section.hunks if hunk.lines]
    return [section for section in found if section.hunks or section.kind != "Update"]


class _Reader:
    """Reads the lines of a patch, one after the other."""

    def __init__(self, lines: list[str]) -> None:
        self.lines, self.at = lines, 0
        self.sections: list[Section] = []
        self.fresh = True  # the section has no hunk yet
        self.starred = any(_FILE.match(line) or line == "*** Begin Patch" for line in lines)

    def read(self) -> list[Section]:
        """Return the sections."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.startswith(_MOVES):
                raise ToolError("a patch that moves or copies files is not applied; use shell")
            if line.startswith(_BINARY):
                raise ToolError("a patch of binary data is not applied; use shell")
            if line.rstrip() == "*** End Patch" or (line.startswith("```") and self.sections):
                break
            self.at += 1
            self.read_line(line)
        return self.sections

    def read_line(self, line: str) -> None:
        """Read a line between two hunks, and the hunk that begins there."""
        if starred := _FILE.match(line):
            self.sections.append(Section(starred[1], [_unquoted(starred[2].strip())]))
            self.fresh = True
            if starred[1] == "Add":
                self.read_body(self.begin_hunk(Hunk()))
        elif line.startswith("diff --git "):
            self.sections.append(Section(names=_git_names(line[11:])))
            self.fresh = True
        elif line.startswith("deleted file mode") and self.sections:
            self.sections[-1].kind = "Delete"
        elif line.startswith("new file mode") and self.sections:
            self.sections[-1].kind = "Add"
        elif self.at_names(self.at - 1):
            self.read_names(line, self.lines[self.at])
        elif line.startswith("@@"):
            self.read_body(self.begin_hunk(self.header(line)))
        elif self.begins_body(line):
            self.at -= 1
            self.read_body(self.begin_hunk(Hunk()))

    def begins_body(self, line: str) -> bool:
        """Return whether a hunk without a header begins here."""
        if self.sections:
            return self.fresh and (self.starred or line[:1] in ("+", "-", " ")) and line != ""
        return self.at == 1 and all(each[:1] in ("+", "-", " ", "") for each in self.lines)

    def begin_hunk(self, hunk: Hunk) -> Hunk:
        """Add a hunk to the section, or to a new one if there is none."""
        if not self.sections:
            self.sections.append(Section())
        self.sections[-1].hunks.append(hunk)
        self.fresh = False
        return hunk

    def at_names(self, place: int) -> bool:
        """Return whether the lines from here on are `--- file` and `+++ file`."""
        pair = self.lines[place : place + 2]
        return len(pair) == 2 and pair[0].startswith("--- ") and pair[1].startswith("+++ ")

    def read_names(self, old: str, new: str) -> None:
        """Read the names of the file before and after."""
        self.at += 1
        if not (self.sections and self.fresh):
            self.sections.append(Section())
        self.fresh = True
        section = self.sections[-1]
        names = [_unquoted(line[4:].split("\t")[0].rstrip()) for line in (old, new)]
        if names[0] == "/dev/null":
            section.kind = "Add"
        elif names[1] == "/dev/null":
            section.kind = "Delete"
        section.names = [
            name[2:] if name.startswith(prefix) else name
            for name, prefix in zip(names, ("a/", "b/"), strict=True)
            if name != "/dev/null"
        ]

    def header(self, line: str) -> Hunk:
        """Return a hunk with what its header says; further headers without lines are headings."""
        hunk = Hunk()
        while True:
            if numbers := _HEADER.match(line):
                start, old, new_start, new, rest = numbers.groups()
                hunk.start, hunk.new_start = int(start), int(new_start)
                hunk.counts = (int(old or 1), int(new or 1))
            else:
                bare = _NUMBERLESS.match(line)
                rest = bare[1] if bare else ""
                hunk.strict = self.starred
            if heading := rest.strip(BLANK).removesuffix("@@").strip(BLANK):
                hunk.headings.append(heading)
            if self.at >= len(self.lines) or not self.lines[self.at].startswith("@@"):
                return hunk
            line = self.lines[self.at]
            self.at += 1

    def read_body(self, hunk: Hunk) -> None:
        """Read the lines of a hunk: as many as its header counts, if that ends at the next one."""
        end = self.counted_end(hunk)
        hunk.counted = bool(end)
        if not end:
            end = self.at
            while end < len(self.lines) and not self.is_end(end):
                end += 1
        body, self.at = self.lines[self.at : end], end
        while body and not body[-1]:  # empty lines after the hunk, which its counts may include
            body.pop()
            hunk.counted = False
        for line in body:
            if line.startswith("\\"):
                if hunk.lines:
                    sign = hunk.lines[-1][0]
                    hunk.unended = [hunk.unended[0] or sign != "+", hunk.unended[1] or sign != "-"]
            elif line.rstrip() == "*** End of File":
                hunk.at_end = True
            elif line[:1] in ("+", "-", " "):
                hunk.lines.append((line[0], line[1:], line))
            else:
                hunk.lines.append((" ", line, line))

    def counted_end(self, hunk: Hunk) -> int:
        """Return the index after the lines that a header counts; 0 if they are miscounted."""
        (old, new), place = hunk.counts, self.at
        while (old > 0 or new > 0) and place < len(self.lines):
            sign = self.lines[place][:1] or " "
            if sign not in "+- \\":
                return 0
            old, new, place = old - (sign in " -"), new - (sign in " +"), place + 1
        while place < len(self.lines) and self.lines[place].startswith("\\"):
            place += 1
        after = place
        while after < len(self.lines) and not self.lines[after]:
            after += 1
        right = old == new == 0 and (after == len(self.lines) or self.is_end(after))
        return place if right else 0

    def is_end(self, place: int) -> bool:
        """Return whether a hunk ends before this line."""
        line = self.lines[place]
        if line.startswith(("@@", "diff --git ", *_ENDS)) or _GIT.match(line):
            return True
        if line.rstrip() == "--" and re.match(
            r"[0-9]+\.[0-9]", "".join(self.lines[place + 1 :][:1])
        ):
            return True  # the last lines of a mail by git
        return self.at_names(place)


def _git_names(both: str) -> list[str]:
    """Return the name in a line such as `diff --git a/x b/x`."""
    half = len(both) // 2
    one, other = (_unquoted(name) for name in (both[:half], both[half + 1 :]))
    if one.startswith("a/") and one[2:] == other[2:]:
        return [one[2:]]
    return [_unquoted(both.rpartition(" ")[2]).removeprefix("b/")]


def _unquoted(name: str) -> str:
    """Return a name of a header; git quotes one that is not ASCII, bytes as octal numbers."""
    if len(name) < 2 or name[0] != '"' or name[-1] != '"':
        return name
    octal = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8) & 255), name[1:-1]).replace(
        '\\"', '"'
    )
    try:
        return octal.encode("latin-1").decode()
    except UnicodeError:
        return octal
