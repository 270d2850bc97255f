"""Hints for a model whose edit does not fit: what the file has that is most like it."""

from __future__ import annotations

import difflib
from collections import defaultdict

from .files import lines_of, shorten_line
from .patch_text import TRAILING, key_of

MOST_SHOWN = 900  # bytes of a file that an error shows
MOST_PLACES = 8
MOST_VOTES = 50  # places of one line that count when the nearest lines are looked for
COMPARED = 80  # characters of a line that are compared


def line_list(starts: list[int]) -> str:
    """Return line numbers in words; the first of many."""
    shown = ", ".join(str(start + 1) for start in starts[:MOST_PLACES])
    more = len(starts) - MOST_PLACES
    return f"{shown} and {more} more" if more > 0 else shown


def nearest_lines(lines: list[str], wanted: list[str]) -> str:
    """Return an error hint: the lines of the file that are most like the wanted ones.

    "" if none is. At most MOST_SHOWN bytes.
    """
    where: dict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        where[line.strip()].append(number)
    votes: dict[int, int] = defaultdict(int)
    for offset, line in enumerate(wanted):
        found = where.get(line.strip(), []) if line.strip() else []
        if len(found) <= MOST_VOTES:
            for number in found:
                votes[number - offset] += 1
    if not votes:
        return ""
    start = max(votes, key=lambda number: (votes[number], -number))
    first = max(start, 0)
    shown = lines[first : start + len(wanted)]
    differs = next(
        (
            n
            for n, line in enumerate(wanted)
            if not 0 <= start + n < len(lines)
            or key_of(lines[start + n], TRAILING) != key_of(line, TRAILING)
        ),
        0,
    )
    words = f"; its line {differs + 1}, {wanted[differs][:100]!r}, is not there. "
    words += f"The nearest lines are {first + 1} to {first + len(shown)}:"
    begin = max(0, start + differs - first - 4) if len(shown) > 12 else 0
    room = MOST_SHOWN - len(words.encode(errors="replace"))
    for number, line in enumerate(shown[begin:], first + begin + 1):
        text = f"\n{number:>6}\t{line[:120].removesuffix(chr(13))}"
        room -= len(text.encode(errors="replace"))
        if room < 0:
            break
        words += text
    return words


def nearest(text: str, old: str) -> str:
    """Return an error hint: the file's line that is most similar to the first line of `old`.

    "" if there is none.
    """
    if old.replace("\r\n", "\n") in text.replace("\r\n", "\n"):
        return "; it is there with other line ends (CRLF)"
    wanted = old.strip()[:COMPARED].split("\n")[0].strip()
    lines = lines_of(text)[:5_000]
    like: dict[str, int] = {}
    for number, line in enumerate(lines):
        like.setdefault(line[: 2 * COMPARED].strip()[:COMPARED], number)
    if not (close := difflib.get_close_matches(wanted, like, 1) if wanted else []):
        return ""
    number = like[close[0]]
    return f"; the nearest line is {number + 1}: {shorten_line(lines[number], COMPARED)!r}"
