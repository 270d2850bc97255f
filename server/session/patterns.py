"""Match names and arguments with the shell patterns of fnmatchcase: `*`, `?`, `[ab]`, `[!ab]`.

Patterns and texts come from clients. `fnmatch` compiles a regular expression for each pattern,
evicts them when there are many, and a match can take time proportional to text length times pattern
length. Here only patterns with `?` or a set are compiled. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from functools import lru_cache

COMPILING = 3_000  # cost to compile one character of a pattern, in characters compared

_QUOTED = re.compile(r"\[([*?\[])\]")  # a literal `*`, `?` or `[`
_SPECIAL = re.compile(r"[?\[]")


def fits(text: str, pattern: str) -> bool:
    """Return whether the whole text matches a pattern."""
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
    for piece in rest:  # leftmost match is enough: only `*` is between pieces
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return text.endswith(last)


def work(text: str, pattern: str) -> int:
    """Return the cost to match a text with a pattern: at most so many characters are compared."""
    if is_compiled(pattern):
        return len(pattern) * (len(text) + COMPILING)
    return len(text) + len(pattern)


def is_compiled(pattern: str) -> bool:
    """Return whether the pattern has a `?` or a set, so that a match costs more."""
    return _pieces(pattern) is None


def names(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return a predicate whether a name matches any of the patterns, ignoring case."""
    return _names(tuple(patterns))


@lru_cache(maxsize=64)
def _names(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    folded = [pattern.casefold() for pattern in patterns]
    plain = frozenset(each for each in folded if _pieces(each) == [each])
    others = [each for each in folded if each not in plain]

    def fit(name: str) -> bool:
        """Return whether a name matches any of the patterns."""
        name = name.casefold()
        return name in plain or any(fits(name, each) for each in others)

    return fit


@lru_cache(maxsize=1024)
def _pieces(pattern: str) -> list[str] | None:
    """Return the texts between the stars, None if the pattern has `?` or a set."""
    quoted = _QUOTED.split(pattern)  # every second one is a literal special character
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
