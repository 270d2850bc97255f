"""How many columns a text takes on a terminal."""

from __future__ import annotations

import unicodedata

JOINER, EMOJI = "\u200d", "\ufe0f"  # U+FE0F: the sign before it is drawn as an emoji, wide


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
