"""Read the front matter of a `SKILL.md`: the small part of YAML that such files use.

A value is text, a list of texts or an object of texts; nothing becomes a number, a date or a
boolean. What other readers accept although it is no YAML (an unquoted colon, a value that begins
with `*`) is taken as it is written, with a remark. Anchors, aliases and tags mean nothing here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

MAX_LINES = 500  # of the front matter
FENCE = re.compile(r"---[ \t]*")
KEY = re.compile(r"""(?P<key>[\w.-]+|"[^"]*"|'[^']*')[ \t]*:(?:[ \t]+(?P<value>.*)|)$""")
BLOCK = re.compile(r"(?P<style>[|>])(?P<mark>[-+1-9]{0,2})[ \t]*(?:#.*)?")
COMMENT = re.compile(r"(?:^|(?<=[ \t]))#.*$")
ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}
ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
NOT_PLAIN = "&*!%@`|>"  # characters that cannot begin a plain value

Value = str | list[str] | dict[str, str]


class FrontMatterError(ValueError):
    """A file without usable front matter; the message names the line."""


@dataclass
class FrontMatter:
    """What a file says of itself.

    fields   key -> value, "" for an empty one
    body     the text behind the front matter, without white space around it
    remarks  what was read although it is no YAML
    """

    fields: dict[str, Value] = field(default_factory=dict)
    body: str = ""
    remarks: list[str] = field(default_factory=list)


def read_front_matter(text: str) -> FrontMatter:
    """Return the front matter of a file and the text behind it. Raises FrontMatterError."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not FENCE.fullmatch(lines[0]):
        raise FrontMatterError("line 1: a skill begins with a line --- and its front matter")
    numbers = range(1, min(len(lines), MAX_LINES + 2))
    end = next((n for n in numbers if FENCE.fullmatch(lines[n])), 0)
    if not end:
        raise FrontMatterError(
            f"line {len(numbers) + 1}: the line --- that ends the front matter is missing"
        )
    found = FrontMatter(body="\n".join(lines[end + 1 :]).strip())
    for number, key, value, below in _entries(lines[1:end]):
        if key in found.fields:
            raise FrontMatterError(f"line {number}: the key {key} is there twice")
        found.fields[key] = _value(value, below, f"line {number}: {key}", found.remarks)
    return found


def _entries(lines: Sequence[str]) -> Iterator[tuple[int, str, str, list[str]]]:
    """Yield (line number in the file, key, text on its line, lines that belong to it)."""
    index = 0
    while index < len(lines):
        number, line = index + 2, lines[index]
        index += 1
        if not line.strip() or line.startswith("#"):
            continue
        if (match := KEY.match(line)) is None:
            wrong = "a tab" if line.startswith("\t") else f"{line.strip()[:40]!r}"
            raise FrontMatterError(f"line {number}: wanted `key: value`, found {wrong}")
        start = index
        while index < len(lines) and _belongs(lines, index):
            index += 1
        key = match["key"].strip("\"'")
        yield number, key, (match["value"] or "").strip(), list(lines[start:index])


def _belongs(lines: Sequence[str], index: int) -> bool:
    """Return whether a line belongs to the key above: indented, an item, or empty before such."""
    line = lines[index]
    if line.strip():
        return line[0] in " \t" or line.startswith("- ") or line == "-"
    rest = next((each for each in lines[index:] if each.strip()), "")
    return rest[:1] in (" ", "\t")


def _value(value: str, below: list[str], place: str, remarks: list[str]) -> Value:
    """Return the value of a key. Raises FrontMatterError."""
    if block := BLOCK.fullmatch(value):
        return _block_text(below, block["style"], block["mark"], place)
    value = value if value[:1] in "\"'" else COMMENT.sub("", value).rstrip()
    filled = [each for each in below if each.strip() and not each.lstrip().startswith("#")]
    if not value and filled:
        if filled[0].lstrip().startswith(("- ", "-\n")) or filled[0].strip() == "-":
            return [_scalar(item, place, remarks) for item in _items(filled)]
        if KEY.match(filled[0].strip()):
            return _object(filled, place, remarks)
    folded = _folded(value, below)
    if folded.startswith(("[", "{")) and folded.endswith(("]", "}")):
        return _flow(folded, place, remarks)
    return _scalar(folded, place, remarks)


def _folded(first: str, below: list[str]) -> str:
    """Join the lines of a value: a line break is a space, an empty line is a line break."""
    text = first
    breaks = 0
    for line in map(str.strip, below):
        if not line:
            breaks += 1
            continue
        text += ("\n" * breaks or " ") if text else ""
        text, breaks = text + line, 0
    return text


def _block_text(below: list[str], style: str, mark: str, place: str) -> str:
    """Return a text in block style (YAML 1.2.2, 8.1): `|` keeps line breaks, `>` folds them."""
    depth = next((len(each) - len(each.lstrip(" ")) for each in below if each.strip()), 0)
    if given := re.search(r"[1-9]", mark):
        depth = int(given[0])
    if any(each.strip() and each[:depth].strip() for each in below):
        raise FrontMatterError(f"{place}: its lines are not indented alike")
    lines = [each[depth:] for each in below]
    while lines and not lines[-1].strip():
        lines.pop()
    if style == "|":
        text = "\n".join(lines)
    else:
        text = ""
        for index, line in enumerate(lines):
            before = lines[index - 1] if index else ""
            joins = line.strip() and before.strip() and " " not in (line[:1], before[:1])
            text += (" " if joins else "\n" if index else "") + line
        text = re.sub(r"\n(\n+)(?=[^ \n])", r"\1", text)
    return text if "-" in mark or not text else f"{text}\n"


def _items(lines: Sequence[str]) -> Iterator[str]:
    item: str | None = None
    for line in map(str.strip, lines):
        if line.startswith("- ") or line == "-":
            if item is not None:
                yield item
            item = line[1:].strip()
        else:
            item = f"{item or ''} {line}".strip()
    if item is not None:
        yield item


def _object(lines: Sequence[str], place: str, remarks: list[str]) -> dict[str, str]:
    """Return an object of texts. What is deeper is one text, as it is written."""
    depth = len(lines[0]) - len(lines[0].lstrip())
    found: dict[str, str] = {}
    last = ""
    for line in lines:
        match = KEY.match(line.strip()) if len(line) - len(line.lstrip()) <= depth else None
        if match is not None:
            last = match["key"].strip("\"'")
            value = (match["value"] or "").strip()
            value = value if value[:1] in "\"'" else COMMENT.sub("", value).rstrip()
            found[last] = _scalar(value, f"{place}.{last}", remarks)
        else:
            found[last] = f"{found[last]}\n{line.strip()}".strip()
    return found


def _flow(text: str, place: str, remarks: list[str]) -> Value:
    """Return a list or an object on one line; anything but JSON or plain items is text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        if text[0] == "[" and text[-1] == "]" and not re.search(r"[\[{\"']", text[1:]):
            items = map(str.strip, text[1:-1].split(","))
            return [_scalar(item, place, remarks) for item in items if item]
        return text
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    if isinstance(value, dict) and all(isinstance(item, str) for item in value.values()):
        return value
    return text


def _scalar(text: str, place: str, remarks: list[str]) -> str:
    """Return a text without its quotes. Raises FrontMatterError if they do not close."""
    quote = text[:1]
    if quote not in ('"', "'"):
        if text[:1] and text[0] in NOT_PLAIN:
            remarks.append(f"{place}: begins with {text[0]}; put it in quotes")
        elif re.search(r":(?:\s|$)", text):
            remarks.append(f"{place}: a colon in a value; put it in quotes")
        return "" if text in ("~", "null") else text
    pattern = r'"((?:[^"\\]|\\.)*)"' if quote == '"' else r"'((?:[^']|'')*)'"
    if (match := re.match(pattern, text, re.DOTALL)) is None:
        raise FrontMatterError(f"{place}: the quote {quote} is not closed")
    if (rest := text[match.end() :].strip()) and not rest.startswith("#"):
        remarks.append(f"{place}: text behind a closing quote; it is taken as it is written")
        return text
    return ESCAPE.sub(_unescaped, match[1]) if quote == '"' else match[1].replace("''", "'")


def _unescaped(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if not digits:
        return ESCAPES.get(match[4], match[0])
    number = int(digits, 16)
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
