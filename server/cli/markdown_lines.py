"""Draw Markdown on a terminal while it arrives: headings, lists, quotes, code, tables, bold.

Words go on at once. Held back are the first signs of a line until its kind is known, a span such as
`**bold**` until it ends, and a table until it is whole.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

Span = tuple[str, str]  # (text, style)

JOINER, EMOJI = "\u200d", "\ufe0f"  # U+FE0F: the sign before it is drawn as an emoji, wide
MOST_HELD = 400  # characters of a span that does not end
RULE = 40  # columns
_UNDECIDED = re.compile(r"[ \t]*(#{0,6}|[-*+_=`~>]*|\d{0,9}[.)]?)[ \t]*")
_FENCE = re.compile(r" {0,12}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+")
_ITEM = re.compile(r"([ \t]*)[-*+][ \t]+(?=\S)")
_QUOTE = re.compile(r" {0,3}((?:>[ \t]?)+)")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}")
_DELIMITERS = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_SPANS = (  # each with the style of what it holds
    (re.compile(r"(`+)(?!`)(.{1,390}?)(?<!`)\1(?!`)"), "cyan"),
    (re.compile(r"(\*\*|__)(?=\S)(.{1,390}?)(?<![\s\\])\1(?![*_])"), "bold"),
    (re.compile(r"([*_])(?![*_\s])((?:(?!\1).){1,390}?)(?<![\s\\])\1(?![*_\w])"), "italic"),
)
_OPENS = re.compile(r"`|\*|(?<!\w)_|\\")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


class MarkdownLines:
    """A writer of Markdown that arrives in pieces. The texts are safe to print.

    `write(text, style)` prints; `width`: columns of the terminal.
    """

    def __init__(self, write: Callable[[str, str], None], width: int) -> None:
        self._write, self._width = write, width
        self._held = ""  # of the line that arrives
        self._begun = False  # the line's kind is known, and its beginning is written
        self._style = ""  # of the line
        self._is_mark = False  # the line is nothing but the mark of a block of code
        self._fence = ""  # the marks that end a block of code
        self._table: list[str] = []

    def feed(self, text: str) -> None:
        """Draw a piece."""
        for line in text.splitlines(keepends=True):
            self._held += line.rstrip("\n")
            self._draw(is_whole=line.endswith("\n"))

    def end(self) -> None:
        """Draw what is held back, without a line feed behind it."""
        if self._held or self._begun:
            self._draw(is_whole=True)
        self._end_table()
        self._fence = ""

    def _draw(self, *, is_whole: bool) -> None:
        """Draw as much of the held line as is certain; all of it if it is whole."""
        if not self._begun:
            line = self._held
            if not is_whole and (_UNDECIDED.fullmatch(line) or line.lstrip().startswith("|")):
                return
            if line.lstrip().startswith("|") and not self._fence:
                self._table.append(line)
                self._held = ""
                return
            self._end_table()
            self._begun = True
            self._begin()
        self._draw_spans(is_whole)
        if is_whole:
            self._write("" if self._is_mark else "\n", "")
            self._held, self._begun, self._style, self._is_mark = "", False, "", False

    def _begin(self) -> None:
        """Write what stands for the marks at the beginning of the line."""
        line = self._held
        if self._fence:
            self._style = "cyan"
            if (found := _FENCE.match(line)) and found[1].startswith(self._fence):
                self._held, self._fence, self._style = line[found.end() :].strip(), "", "dim"
                self._is_mark = not self._held
        elif found := _FENCE.match(line):
            self._fence, self._style = found[1], "dim"
            self._held = line[found.end() :].strip()
            self._is_mark = not self._held
        elif found := _HEADING.match(line):
            self._held, self._style = line[found.end() :], "bold"
        elif _RULE.fullmatch(line):
            self._held = ""
            self._write("─" * min(self._width, RULE), "dim")
        elif found := _QUOTE.match(line):
            self._held, self._style = line[found.end() :], "dim"
            self._write("│ " * found[1].count(">"), "dim")
        elif found := _ITEM.match(line):
            self._held = line[found.end() :]
            self._write(f"{found[1]}• ", "")

    def _draw_spans(self, is_whole: bool) -> None:
        if self._fence:
            self._write(self._held, self._style)
            self._held = ""
            return
        spans, self._held = spans_of(self._held, is_whole)
        for text, style in spans:
            self._write(text, style or self._style)

    def _end_table(self) -> None:
        rows, self._table = self._table, []
        if len(rows) > 1 and _DELIMITERS.fullmatch(rows[1]):
            for line in table_lines([_cells(rows[0]), *map(_cells, rows[2:])], self._width):
                for text, style in line:
                    self._write(text, style)
                self._write("\n", "")
            return
        for row in rows:
            for text, style in spans_of(row, is_whole=True)[0]:
                self._write(text, style)
            self._write("\n", "")


def spans_of(text: str, is_whole: bool) -> tuple[list[Span], str]:
    """Return the spans of a line's text, and the rest that may still become one."""
    found: list[Span] = []
    while text and (opened := _OPENS.search(text)):
        if opened.start():
            found.append((text[: opened.start()], ""))
            text = text[opened.start() :]
        if text[0] == "\\" and (escaped := _ESCAPED.match(text)):
            found.append((escaped[1], ""))
            text = text[2:]
            continue
        for pattern, style in _SPANS:
            if (span := pattern.match(text)) and (is_whole or span.end() < len(text)):
                found.append((_bare(span[2]) if style != "cyan" else span[2], style))
                text = text[span.end() :]
                break
        else:
            if not is_whole and len(text) < MOST_HELD:
                return found, text
            size = len(text) - len(text.lstrip(text[0]))
            found.append((text[:size], ""))
            text = text[size:]
    if text:
        found.append((text, ""))
    return found, ""


def _bare(text: str) -> str:
    """Return the text of a span without the marks of spans in it."""
    for pattern, _style in _SPANS:
        text = pattern.sub(r"\2", text)
    return _ESCAPED.sub(r"\1", text)


def _cells(row: str) -> list[list[Span]]:
    inner = row.strip().removeprefix("|")
    if not inner.endswith("\\|"):
        inner = inner.removesuffix("|")
    texts = re.split(r"(?<!\\)\|", inner.replace("\t", " "))
    return [spans_of(text.strip(), is_whole=True)[0] for text in texts]


def table_lines(rows: list[list[list[Span]]], width: int) -> list[list[Span]]:
    """Return the lines of a table as spans, the first row being its head.

    A table that is wider than the terminal becomes a line `head: cell` for each cell.
    """
    columns = len(rows[0])
    rows = [(row + [[]] * columns)[:columns] for row in rows]
    sizes = [max(_size(row[column]) for row in rows) for column in range(columns)]
    if sum(sizes) + 3 * (columns - 1) > width:
        return [
            line
            for row in rows[1:]
            for line in (
                *(
                    [*_styled(head), (": ", ""), *cell]
                    for head, cell in zip(rows[0], row, strict=True)
                ),
                list[Span](),
            )
        ]
    lines = []
    for number, row in enumerate(rows):
        line: list[Span] = []
        for column, cell in enumerate(row):
            room = " " * (sizes[column] - _size(cell)) if column < columns - 1 else ""
            line += [*(cell if number else _styled(cell)), (room, "")]
            line += [(" │ ", "dim")] if column < columns - 1 else []
        lines.append(line)
    lines.insert(1, [("─┼─".join("─" * size for size in sizes), "dim")])
    return lines


def _size(cell: list[Span]) -> int:
    return sum(width_of(text) for text, _style in cell)


def _styled(cell: list[Span]) -> list[Span]:
    return [(text, "bold") for text, _style in cell]


def width_of(text: str) -> int:
    """Return the columns of a line; what is drawn over another sign takes none."""
    total, previous, joined = 0, 0, False
    for sign in text:
        if sign == EMOJI:
            columns = 2 - previous if 0 < previous < 2 else 0
        elif joined or unicodedata.category(sign) in ("Mn", "Me", "Cf") or _is_tone(sign):
            columns = 0
        else:
            columns = previous = 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        joined = sign == JOINER
        total += columns
    return total


def _is_tone(sign: str) -> bool:
    return "\U0001f3fb" <= sign <= "\U0001f3ff"
