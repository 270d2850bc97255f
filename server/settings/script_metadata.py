"""The block in a Python file that says what it needs (PEP 723). Pure: the file is text here.

# /// script
# requires-python = ">=3.11"
# dependencies = ["openpyxl>=3.1"]
# ///
"""

from __future__ import annotations

import re
import tomllib
from typing import NamedTuple

from .requirements import accepts_python, normal_requirements

# The regular expression of the specification, word for word.
BLOCK = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
KIND, FENCE = "script", "# ///"
MOST_FENCES = 200  # in a file; the time that BLOCK takes grows with their square
KEYS = ("dependencies", "requires-python", "tool")
_LINE = re.compile(r" ?\(?at line (\d+), column \d+\)?")


class ScriptMetadata(NamedTuple):
    """What a file needs. `line`: where its block begins; `python`: `requires-python` or ""."""

    requirements: tuple[str, ...]
    python: str
    line: int

    def python_problem(self, version: tuple[int, ...]) -> str:
        """Return why the file cannot run with a Python of this version; "" if it can."""
        if not self.python or accepts_python(self.python, version):
            return ""
        shown = ".".join(map(str, version))
        return f"line {self.line}: it needs Python {self.python}, and this server runs {shown}"


class MetadataError(ValueError):
    """A block that cannot be used; the message begins with the line."""


def script_metadata(text: str) -> ScriptMetadata | None:
    """Return what the block in a file's text says, None without one. Raises MetadataError."""
    if (fences := text.count(FENCE)) > MOST_FENCES:
        raise MetadataError(f"line 1: {fences} times {FENCE!r} in a file; {MOST_FENCES} may be")
    blocks = [found for found in BLOCK.finditer(text) if found["type"] == KIND]
    if not blocks:
        return None
    line = _line_of(text, blocks[0].start())
    if len(blocks) > 1:
        again = _line_of(text, blocks[1].start())
        raise MetadataError(f"line {again}: a second script block; the first is in line {line}")
    lines = blocks[0]["content"].splitlines(keepends=True)
    try:
        said = tomllib.loads("".join(each[2:] if each[:2] == "# " else each[1:] for each in lines))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        where = _LINE.search(str(error))
        number = line + (int(where[1]) if where else len(lines))
        raise MetadataError(f"line {number}: {_LINE.sub('', str(error))}") from None
    for key in said:
        if key not in KEYS:
            place = _place(key, lines, line)
            raise MetadataError(f"line {place}: there is no key {key!r:.80}; use {', '.join(KEYS)}")
    python, wanted = said.get("requires-python", ""), said.get("dependencies", [])
    try:
        if not isinstance(python, str):
            raise ValueError(f"requires-python: {python!r:.80} is no text")
        accepts_python(python, (3,))
    except ValueError as error:
        raise MetadataError(f"line {_place('requires-python', lines, line)}: {error}") from None
    try:
        return ScriptMetadata(normal_requirements(wanted), python, line)
    except ValueError as error:
        quoted = re.match(r"""(['"])(.{1,70}?)\1""", str(error))
        place = _place(quoted[2] if quoted else "dependencies", lines, line)
        raise MetadataError(f"line {place}: dependencies: {error}") from None


def has_open_block(text: str) -> bool:
    """Return whether a script block is begun and never ended; PEP 723 has such a one ignored."""
    begun = re.search(rf"(?m)^# /// {KIND}\s*$", text)
    return bool(begun) and not any(found["type"] == KIND for found in BLOCK.finditer(text))


def _line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _place(word: str, lines: list[str], line: int) -> int:
    """Return the number of the first line of a block that has this word, else its first line."""
    found = (number for number, each in enumerate(lines, line + 1) if word in each)
    return next(found, line)
