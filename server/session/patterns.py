"""Shell-style patterns of names and arguments: `*`, `?`, `[ab]`, `[!ab]`, as fnmatchcase has them.

Patterns come with sessions, and so does what they are held against. `fnmatch` compiles a regular
expression for each pattern and forgets it when there are many, and matching one can take the length
of the text times that of the pattern. Here only patterns with `?` or a set are compiled. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from functools import lru_cache

COMPILING = 3_000  # characters compared in the time in which one of a pattern is compiled

_QUOTED = re.compile(r"\[([*?\[])\]")  # how one of these is written that stands for itself
_SPECIAL = re.compile(r"[?\[]")


def fits(text: str, pattern: str) -> bool:
    """Whether the whole of a text fits a pattern."""
    pieces = _pieces(pattern)
    if pieces is None:
        return _compiled(pattern).match(text) is not None
    first, *rest = pieces
    if not rest:
        return text == first
    last = rest.pop()
    if len(text) < len(first) + len(last) or not text.startswith(first):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in rest:  # the first place of each is as good as any other
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return text.endswith(last)


def work(text: str, pattern: str) -> int:
    """The most characters that are compared to hold a text against a pattern."""
    if is_compiled(pattern):
        return len(pattern) * (len(text) + COMPILING)
    return len(text) + len(pattern)


def is_compiled(pattern: str) -> bool:
    """Whether the pattern has a `?` or a set, so that matching it costs more."""
    return _pieces(pattern) is None


def names(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Whether a name fits one of the patterns, in whatever case."""
    return _names(tuple(patterns))


@lru_cache(maxsize=64)
def _names(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    folded = [pattern.casefold() for pattern in patterns]
    plain = frozenset(each for each in folded if _pieces(each) == [each])
    others = [each for each in folded if each not in plain]

    def fit(name: str) -> bool:
        name = name.casefold()
        return name in plain or any(fits(name, each) for each in others)

    return fit


@lru_cache(maxsize=1024)
def _pieces(pattern: str) -> list[str] | None:
    """What is between the stars; None if that is not only text."""
    quoted = _QUOTED.split(pattern)  # every second one is a character that stands for itself
    if any(map(_SPECIAL.search, quoted[::2])):
        return None
    pieces = [""]
    for number, text in enumerate(quoted):
        first, *more = [text] if number % 2 else text.split("*")
        pieces[-1] += first
        pieces += more
    return pieces


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))
