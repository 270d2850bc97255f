"""Random edits as diffs, changed in the ways in which models write them wrong.

Whatever is done to a diff here leaves what it means: its numbers, counts, headers and spaces are
wrong, its lines are not. So to apply it gives the text that was meant, or nothing.
"""

from __future__ import annotations

import difflib
import random
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

WORDS = (
    "x = 1",
    "return x",
    "}",
    "",
    "    pass",
    "def f():",
    "def g(y):",
    "- item",
    "++ i",
    "é 世",
)
HUNK = re.compile(r"@@ -(\d+),?(\d*) \+(\d+),?(\d*) @@")


class Sample(NamedTuple):
    """A text, what becomes of it, and a diff as a model may write it."""

    before: str
    after: str
    patch: str
    how: tuple[str, ...]


def text_of(rng: random.Random) -> str:
    """Return a text; the fewer words it is made of, the more of its lines are alike."""
    few = rng.sample(WORDS, rng.randint(1, len(WORDS)))
    lines = [
        rng.choice(few) if rng.random() < 0.7 else f"{'    ' * rng.randint(0, 2)}line {n}"
        for n in range(rng.choice((1, 3, 8, 30, 80)))
    ]
    return "\n".join(lines) + ("\n" if rng.random() < 0.8 else "")


def edit_of(rng: random.Random, text: str) -> str:
    """Return a text with some of its lines changed."""
    lines = text.split("\n")
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(lines))
        kind = rng.random()
        if kind < 0.4:
            lines[place] = f"{lines[place]}{rng.choice(('!', ' # new', ''))}"
        elif kind < 0.7:
            lines[place:place] = rng.choices(WORDS, k=rng.randint(1, 3))
        else:
            del lines[place : place + rng.randint(1, 3)]
            lines = lines or [""]
    return "\n".join(lines)


def diff_of(before: str, after: str, context: int) -> list[str]:
    """Return the lines of a unified diff, with the note on a line that has no line feed."""
    found = list[str]()
    old, new = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (before, after))
    for line in difflib.unified_diff(old, new, "a/f", "b/f", n=context):
        if line.endswith("\n"):
            found.append(line[:-1])
        else:
            found += [line, "\\ No newline at end of file"]
    return found


# -- what models do -------------------------------------------------------------------------------


def _headers(lines: list[str], change: Callable[[re.Match[str]], str]) -> list[str]:
    return [HUNK.sub(change, line) if line.startswith("@@") else line for line in lines]


def wrong_numbers(rng: random.Random, lines: list[str]) -> list[str]:
    return _headers(
        lines,
        lambda m: f"@@ -{rng.randint(1, 99)},{m[2] or 1} +{rng.randint(1, 99)},{m[4] or 1} @@",
    )


def wrong_counts(rng: random.Random, lines: list[str]) -> list[str]:
    return _headers(
        lines, lambda m: f"@@ -{m[1]},{rng.randint(0, 9)} +{m[3]},{rng.randint(0, 9)} @@"
    )


def no_numbers(rng: random.Random, lines: list[str]) -> list[str]:
    return _headers(lines, lambda m: rng.choice(("@@", "@@ ... @@", "@@ @@")))


def no_names(rng: random.Random, lines: list[str]) -> list[str]:
    return lines[2:]


def git_names(rng: random.Random, lines: list[str]) -> list[str]:
    return ["diff --git a/f b/f", "index 83db48f..bf2a1c7 100644", *lines]


def fence(rng: random.Random, lines: list[str]) -> list[str]:
    return ["```diff", *lines, "```"]


def starred(rng: random.Random, lines: list[str]) -> list[str]:
    body = [re.sub(r"^@@.*", "@@", line) for line in lines[2:] if not line.startswith("\\")]
    return ["*** Begin Patch", "*** Update File: f", *body, "*** End Patch"]


def bare_blanks(rng: random.Random, lines: list[str]) -> list[str]:
    return ["" if line == " " else line for line in lines]


def carriage_returns(rng: random.Random, lines: list[str]) -> list[str]:
    return [line + "\r" for line in lines]


def blank_end(rng: random.Random, lines: list[str]) -> list[str]:
    return [*lines, *[""] * rng.randint(1, 3)]


def trailing_blanks(rng: random.Random, lines: list[str]) -> list[str]:
    """Spaces after unchanged and removed lines."""
    return [
        line + rng.choice(("", " ", "\t ")) if line[:1] in (" ", "-") and line[:2] != "--" else line
        for line in lines
    ]


def no_space(rng: random.Random, lines: list[str]) -> list[str]:
    """Unchanged lines without the space that marks them, where that can be told."""
    return [
        line[1:] if line[:1] == " " and line[1:2] not in ("+", "-", "\\", "@", "*") else line
        for line in lines
    ]


def less_context(rng: random.Random, lines: list[str]) -> list[str]:
    """Without the first unchanged line of each hunk."""
    found: list[str] = []
    for line in lines:
        if line.startswith(" ") and found and found[-1].startswith("@@"):
            continue
        found.append(line)
    return found


def no_marker(rng: random.Random, lines: list[str]) -> list[str]:
    return [line for line in lines if not line.startswith("\\")]


MANGLES = (
    *(wrong_numbers, wrong_counts, no_numbers, no_names, git_names, fence, bare_blanks),
    *(carriage_returns, blank_end, trailing_blanks, no_space, less_context, no_marker),
)


def strictly(before: str, lines: list[str]) -> str | None:
    """Return what `patch` without any tolerance makes of a text; None if it refuses.

    A diff with right numbers means what they say, even if it was another one before it was changed.
    """
    old = re.findall(r"[^\n]*\n|[^\n]+", before)
    made, at, place = list[str](), 0, 0
    while place < len(lines):
        head = HUNK.fullmatch(lines[place])
        if not head:
            return None
        count, new = int(head[2] or 1), int(head[4] or 1)
        start = int(head[1]) - (1 if count else 0)
        if start < at or int(head[3]) - (1 if new else 0) != len(made) + start - at:
            return None
        made += old[at:start]
        at, place = start, place + 1
        while place < len(lines) and not lines[place].startswith("@@"):
            sign, text = lines[place][:1], lines[place][1:]
            place += 1
            bare = place < len(lines) and lines[place].startswith("\\")
            place += bare
            text += "" if bare else "\n"
            if sign in (" ", "-"):
                if at >= len(old) or old[at] != text:
                    return None
                at, count = at + 1, count - 1
            elif sign != "+":
                return None
            if sign != "-":
                made.append(text)
                new -= 1
        if count or new:
            return None
    return "".join(made + old[at:])


def samples(seed: int, number: int) -> Iterator[Sample]:
    """Yield random diffs, each changed in up to four ways."""
    rng = random.Random(seed)
    while number:
        before = text_of(rng)
        after = edit_of(rng, before)
        if before == after or not before:
            continue
        number -= 1
        lines = diff_of(before, after, rng.choice((1, 3, 3, 3, 8)))
        chosen = rng.sample(MANGLES, rng.randint(0, 4))
        if rng.random() < 0.2:
            chosen = [starred, *(one for one in chosen if one in (fence, bare_blanks, no_space))]
        chosen.sort(key=lambda one: one in (blank_end, carriage_returns))
        chosen.sort(key=lambda one: one is fence)
        for change in chosen:
            lines = change(rng, lines)
        how = tuple(one.__name__ for one in chosen)
        body = [line.removesuffix("\r") for line in lines if line.removesuffix("\r")]
        body = [line for line in body if not line.startswith(("diff ", "index ", "```"))]
        if [line[:4] for line in body[:2]] == ["--- ", "+++ "]:
            body = body[2:]
        other = strictly(before, body)
        wanted = after if other is None else other
        if rng.random() < 0.2 and "\n" in before:  # a file of Windows, of which a model sees this
            before, wanted = (text.replace("\n", "\r\n") for text in (before, wanted))
        if rng.random() < 0.1:
            before, wanted = f"\ufeff{before}", f"\ufeff{wanted}"
        yield Sample(before, wanted, "\n".join(lines) + "\n", how)
