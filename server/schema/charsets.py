"""Sets of characters as sorted ranges of code points, and the ones that ECMA-262 names.

Used by `regex` and `automaton`. Rule of the file: a set is a tuple of inclusive, sorted, disjoint
ranges; so complement and union are exact, and nothing depends on what Python's `re` means by a
class.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

Ranges = tuple[tuple[int, int], ...]

LAST = sys.maxunicode


def union(sets: Iterable[Ranges]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(span for ranges in sets for span in ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    gaps, start = [], 0
    for low, high in ranges:
        if start < low:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        gaps.append((start, LAST))
    return tuple(gaps)


def only(text: str) -> Ranges:
    return union([((ord(char), ord(char)),) for char in text])


DIGITS: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
NEWLINES = only("\n\r\u2028\u2029")
# WhiteSpace and LineTerminator: sections 12.2 and 12.3
SPACE = union([only("\t\v\f \u00a0\u1680\u202f\u205f\u3000\ufeff"), NEWLINES, ((0x2000, 0x200A),)])

CLASSES: dict[str, Ranges] = {
    "d": DIGITS,
    "D": complement(DIGITS),
    "w": WORD,
    "W": complement(WORD),
    "s": SPACE,
    "S": complement(SPACE),
}

# General categories: the two-letter value of UnicodeData.txt, its long name, and groups of them.
_CATEGORIES = {
    "Lu": "Uppercase_Letter", "Ll": "Lowercase_Letter", "Lt": "Titlecase_Letter",
    "Lm": "Modifier_Letter", "Lo": "Other_Letter",
    "Mn": "Nonspacing_Mark", "Mc": "Spacing_Mark", "Me": "Enclosing_Mark",
    "Nd": "Decimal_Number", "Nl": "Letter_Number", "No": "Other_Number",
    "Pc": "Connector_Punctuation", "Pd": "Dash_Punctuation", "Ps": "Open_Punctuation",
    "Pe": "Close_Punctuation", "Pi": "Initial_Punctuation", "Pf": "Final_Punctuation",
    "Po": "Other_Punctuation",
    "Sm": "Math_Symbol", "Sc": "Currency_Symbol", "Sk": "Modifier_Symbol", "So": "Other_Symbol",
    "Zs": "Space_Separator", "Zl": "Line_Separator", "Zp": "Paragraph_Separator",
    "Cc": "Control", "Cf": "Format", "Cs": "Surrogate", "Co": "Private_Use", "Cn": "Unassigned",
}  # fmt: skip
_GROUPS = {
    "Letter": "L", "Mark": "M", "Number": "N", "Punctuation": "P", "Symbol": "S",
    "Separator": "Z", "Other": "C", "digit": "Nd", "punct": "P", "cntrl": "Cc",
    "Combining_Mark": "M",
}  # fmt: skip
_LONG = {name: short for short, name in _CATEGORIES.items()} | _GROUPS


def unicode_property(expression: str) -> Ranges | None:
    r"""What `\p{expression}` matches: a general category, Any, ASCII or Assigned; else None.

    Scripts need tables that the standard library doesn't have.
    """
    name = expression.removeprefix("General_Category=").removeprefix("gc=")
    match name:
        case "Any":
            return ((0, LAST),)
        case "ASCII":
            return ((0, 0x7F),)
        case "Assigned":
            return complement(_by_category()["Cn"])
    short = _LONG.get(name, name)
    found = [ranges for code, ranges in _by_category().items() if code.startswith(short) and short]
    return union(found) if found else None


@lru_cache(maxsize=1)
def _by_category() -> dict[str, Ranges]:
    """One pass over all code points, about 0.15 s, the first time a pattern asks."""
    spans: dict[str, list[tuple[int, int]]] = {}
    start, current = 0, unicodedata.category("\0")
    for code in range(1, LAST + 2):
        category = unicodedata.category(chr(code)) if code <= LAST else ""
        if category != current:
            spans.setdefault(current, []).append((start, code - 1))
            start, current = code, category
    return {category: tuple(found) for category, found in spans.items()}
