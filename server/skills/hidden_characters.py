"""Find characters that are not seen: without width, turning the direction of text, or control."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

# As in client/js/core/file-names.js; a tab and the ends of lines are usual in a text.
HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
# Part of many emoji, and of no use to hide a text.
USUAL = "\ufe0f\u200d"


def count_hidden(text: str) -> dict[str, int]:
    """Return name -> how many there are, such as `U+200B ZERO WIDTH SPACE`; {} for none."""
    found = Counter(HIDDEN.findall(text))
    return {name_of(sign): n for sign, n in sorted(found.items()) if sign not in USUAL}


def first_hidden(text: str) -> str:
    """Return where the first one stands, such as `U+200B ZERO WIDTH SPACE (line 2, character 7)`.

    "" if there is none.
    """
    for found in HIDDEN.finditer(text):
        if found[0] not in USUAL:
            line = text.count("\n", 0, found.start()) + 1
            place = found.start() - text.rfind("\n", 0, found.start())
            return f"{name_of(found[0])} (line {line}, character {place})"
    return ""


def name_of(sign: str) -> str:
    """Return the number and the Unicode name of a character."""
    return f"U+{ord(sign):04X} {unicodedata.name(sign, '')}".strip()


def visible(text: str) -> str:
    r"""Return the text with each hidden character written as `\u{…}`."""
    return HIDDEN.sub(lambda match: f"\\u{{{ord(match[0]):x}}}", text)
