"""Find characters that are not seen: without width, turning the direction of text, or control.

`tests/vectors/invisible.json` is the one table of them, for this file and for the page.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

# A tab and the ends of lines are usual in a text.
HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
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


def written_out(text: str) -> str:
    r"""Return the text as a person may decide by it: what cannot be seen is written as `\u{…}`.

    Carriage returns too, since they overwrite a line. Joiners stay where they join emoji.
    """
    return _OVERWRITES_OR_HIDDEN.sub(_write_out, text)


_OVERWRITES_OR_HIDDEN = re.compile(f"{HIDDEN.pattern}|\r(?!\n)")


def _write_out(match: re.Match[str]) -> str:
    sign, start = match[0], match.start()
    before = match.string[start - 1 : start]
    joins = before == "\ufe0f" or (before and unicodedata.category(before) in ("So", "Sk"))
    if sign == "\ufe0f" or (sign == "\u200d" and joins):
        return sign
    return f"\\u{{{ord(sign):x}}}"
