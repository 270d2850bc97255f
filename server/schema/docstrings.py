"""Parse docstrings into a description and the descriptions of parameters.

Used by `generate` and `records`. Supported styles: Google (`Args:`), NumPy (underlined headings),
Sphinx (`:param x:`), and Chinese text with full-width colons. One pass over the lines, which never
raises; unrecognized text becomes description or is left out.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from itertools import pairwise

_PARAMETERS = {
    *("args", "arguments", "parameters", "params", "attributes", "keyword args"),
    *("keyword arguments", "other parameters", "参数", "入参", "形参", "参数说明", "属性"),
}
_OTHER = {
    *("returns", "return", "yields", "yield", "raises", "raise", "except", "exceptions", "warns"),
    *("返回", "返回值", "异常", "抛出"),
}
# These headings end a list of parameters; before one they are part of the description.
_PROSE = {
    *("example", "examples", "note", "notes", "warning", "warnings", "see also", "references"),
    *("todo", "示例", "例子", "注意", "备注", "说明"),
}
_HEADING = re.compile(r"(?P<name>\w[\w ]*?)\s*[:：]\s*$")
_UNDERLINE = re.compile(r"\s*-{3,}\s*$")
_FIELD = re.compile(r"[:@](?P<word>[a-z]+)(?P<about>[^:]*)[:：]\s*(?P<text>.*)")
_FIELD_PARAMETERS = {"param", "parameter", "arg", "argument", "key", "keyword", "ivar", "var"}
_FIELDS = _FIELD_PARAMETERS | {"type", "vartype", "return", "returns", "rtype"}
_FIELDS |= {"raise", "raises", "except", "exception", "yield", "yields", "meta", "cvar"}
_GOOGLE_ITEM = re.compile(
    r"(?:[-*•]\s+)?`?\*{0,2}(?P<name>\w+)`?\s*(?:[(（].*?[)）])?(?:\s*[:：]|\s+--?(?=\s))\s*(?P<text>.*)"
)
_DASHED = re.compile(r"\*{0,2}\w+\s+--\s")  # as in PEP 257, without indentation
_NUMPY_ITEM = re.compile(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")


@dataclass(slots=True)
class Doc:
    """`description` is the text before the first section, None if there is none."""

    description: str | None = None
    parameters: dict[str, str] = field(default_factory=dict)


def parse(text: str | None) -> Doc:
    """Parse a docstring of any supported style; None gives an empty Doc."""
    reader = _Reader()
    lines = inspect.cleandoc(text or "").splitlines()
    for line, after in pairwise([*lines, ""]):
        reader.read(line, after)
    prose = "\n".join(reader.prose).strip()
    joined = {name: " ".join(words).strip() for name, words in reader.found.items()}
    return Doc(prose or None, {name: words for name, words in joined.items() if words})


class _Reader:
    def __init__(self) -> None:
        self.prose: list[str] = []
        self.found: dict[str, list[str]] = {}
        self.section = "prose"  # or google, numpy, field, other
        self.indent = 0  # of the items in a Google section
        self.current: list[list[str]] = []  # the texts that a continuation line belongs to

    def read(self, line: str, after: str) -> None:
        """Read one line; `after` is the next one, which may underline it."""
        if _UNDERLINE.match(line):
            return
        if self.heading(line, after) or self.sphinx_field(line):
            return
        match self.section:
            case "prose":
                self.prose.append(line)
            case "google":
                self.google(line)
            case "numpy":
                self.numpy(line)
            case "field":
                self.continued(line)

    def heading(self, line: str, after: str) -> bool:
        """Begin a section if `line` is a heading; return whether it is."""
        underlined = bool(_UNDERLINE.match(after)) and not line.startswith(" ")
        match = _HEADING.match(line)
        if not underlined and (match is None or line.startswith(" ")):
            return False
        name = (line if underlined or not match else match["name"]).strip(" :：").lower()
        if name in _PARAMETERS:
            self.section, self.indent = "numpy" if underlined else "google", 0
        elif name in _OTHER or (name in _PROSE and self.section != "prose"):
            self.section = "other"
        else:
            return False
        self.current = []
        return True

    def sphinx_field(self, line: str) -> bool:
        """Begin a Sphinx field if `line` has one; return whether it has."""
        match = _FIELD.match(line)
        if not match or match["word"] not in _FIELDS:
            return False
        self.section, self.current = "field", []
        names = match["about"].split()
        if match["word"] in _FIELD_PARAMETERS and names:
            self.begin([names[-1].lstrip("*")], match["text"])
        return True

    def google(self, line: str) -> None:
        """Read a line of a Google section."""
        width = len(line) - len(line.lstrip())
        if not line.strip():
            return
        if width == 0 and not _DASHED.match(line):
            self.section = "other"  # prose after the list
            return
        self.indent = self.indent or width
        match = _GOOGLE_ITEM.match(line.strip())
        if match and width <= self.indent:
            self.begin([match["name"]], match["text"])
        else:
            self.continued(line)

    def numpy(self, line: str) -> None:
        """Read a line of a NumPy section."""
        if not line.strip() or line.startswith(" "):
            self.continued(line)
        elif match := _NUMPY_ITEM.match(line):
            self.begin([name.strip(" *") for name in match["names"].split(",")], "")

    def begin(self, names: list[str], text: str) -> None:
        """Begin the descriptions of the parameters `names`."""
        self.current = [self.found.setdefault(name, []) for name in names]
        self.continued(text)

    def continued(self, line: str) -> None:
        """Append a line to the current descriptions."""
        for words in self.current:
            if line.strip():
                words.append(line.strip())
