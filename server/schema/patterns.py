r"""ECMA-262 patterns, read by us: JSON Schema's dialect is not Python's.

Where it sits: `pattern`, `patternProperties` and the format `regex` come here. Rule of the file:
`parse` turns text into a tree or says why not; everything else is a question put to the tree. It
is written out for Python's `re` where that is safe, and handed to `automaton` where it isn't.

Why not `re.search(pattern)`: `\d` and `\w` are ASCII there and Unicode here, `$` lets a newline
pass, `\p{L}`, `\cA`, `[^]` do not exist, `(?i)` and `(?P<…>` must not, and `^(a+)+$` against
30 letters takes minutes. See ECMA-262 section 22.2.
"""

from __future__ import annotations

import re

from .automaton import Automaton, TooLarge
from .charsets import Ranges
from .regex import Alt, Back, Char, Edge, Group, Look, PatternError, Repeat, Seq, Tree, parse
from .wording import show

__all__ = ["Pattern", "PatternError", "TooCostly"]

MAX_LENGTH = 2_000  # characters of a pattern; the longest useful ones (URLs, e-mail) stay below
# `re` is used while it can't do more work than this, about two milliseconds; then the automaton.
MAX_WORK = 200_000
COUNTLESS = 10**12
MAX_DEGREE = 20  # 2**20 is more than MAX_WORK: no need to know by how much


class TooCostly(Exception):
    """This text can't be searched for this pattern in reasonable time."""


class Pattern:
    """A pattern ready to search. Raises PatternError if it is not ECMA-262, or not supported."""

    def __init__(self, source: str) -> None:
        if len(source) > MAX_LENGTH:
            raise PatternError(f"a pattern may have {MAX_LENGTH} characters, got {len(source)}")
        self.source = source
        tree = parse(source)
        degree, factor = _ways(tree)
        self._factor = factor * _rounds(tree)
        self._degree = min(degree + (not _anchored(tree)), MAX_DEGREE)  # search tries each position
        try:
            self._expression = re.compile(_write(tree))
        except (re.error, RecursionError, OverflowError) as error:
            raise PatternError(f"not supported here: {error}") from None
        try:
            self._automaton: Automaton | None = Automaton(tree)
        except TooLarge:
            self._automaton = None
        if self._automaton is None and factor >= COUNTLESS:
            raise PatternError("repetition within repetition, with look-around or too large")

    def search(self, text: str) -> tuple[bool, int]:
        """Whether the pattern occurs in `text`, and what it cost in steps of about 1 µs.

        Raises TooCostly instead of taking longer than a second.
        """
        work = self._factor * (len(text) + 1) ** self._degree
        if work <= MAX_WORK:
            return self._expression.search(text) is not None, work >> 10
        found, cost = self._automaton.search(text) if self._automaton else (None, 0)
        if found is None:
            size = f"{len(text)} characters"
            raise TooCostly(f"a text of {size} is too long for the pattern {show(self.source)}")
        return found, cost


def _ways(tree: Tree) -> tuple[int, int]:
    """How many ways a backtracking search has at most: (degree, factor) of factor * n**degree.

    Sound, not tight: alternatives add, sequences multiply, `*` gives n ways; whatever has a choice
    inside an unbounded repetition has countless ones.
    """
    match tree:
        case Seq(parts):
            degree, factor = 0, 1
            for part in parts:
                more = _ways(part)
                degree, factor = degree + more[0], min(factor * more[1], COUNTLESS)
            return degree, factor
        case Alt(branches):
            ways = [_ways(branch) for branch in branches]
            return max(way[0] for way in ways), min(sum(way[1] for way in ways), COUNTLESS)
        case Repeat(body, low, high):
            degree, factor = _ways(body)
            if high is None:
                return (low and degree) + 1, 1 if (degree, factor) == (0, 1) else COUNTLESS
            choices = high - low + 1
            for _ in range(high if factor > 1 else 0):
                choices = min(choices * factor, COUNTLESS)
                if choices == COUNTLESS:
                    break
            return min(degree * high, MAX_DEGREE), choices
        case Group(body) | Look(_, body):
            return _ways(body)
    return 0, 1


def _rounds(tree: Tree) -> int:
    """How often a counted repetition goes round at most: `(a{100}){100}` is one way of 10,000."""
    match tree:
        case Seq(parts) | Alt(parts):
            return max(map(_rounds, parts), default=1)
        case Repeat(body, low, high):
            return min(max(low, high or 1) * _rounds(body), COUNTLESS)
        case Group(body) | Look(_, body):
            return _rounds(body)
    return 1


def _anchored(tree: Tree) -> bool:
    match tree:
        case Edge(kind):
            return kind == "^"
        case Seq(parts):
            return bool(parts) and _anchored(parts[0])
        case Alt(branches):
            return all(map(_anchored, branches))
        case Group(body):
            return _anchored(body)
    return False


_EDGES = {"^": r"\A", "$": r"\Z", "b": r"(?a:\b)", "B": r"(?a:\B)"}


def _write(tree: Tree) -> str:
    """The tree in Python's spelling. Groups are numbered; names were resolved by the parser."""
    match tree:
        case Char(ranges):
            return written(ranges)
        case Seq(parts):
            return "".join(map(_write, parts))
        case Alt(branches):
            return "(?:" + "|".join(map(_write, branches)) + ")"
        case Repeat(body, low, high):
            bounds = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
            return f"(?:{_write(body)})" + (bounds or f"{{{low},{'' if high is None else high}}}")
        case Group(body):
            return f"({_write(body)})"
        case Look(kind, body):
            return f"(?{kind}{_write(body)})"
        case Edge(kind):
            return _EDGES[kind]
        case Back(number):  # a group that took no part matches the empty text (22.2.2.7.3)
            return f"(?({number})\\{number})"
    raise AssertionError(tree)


def written(ranges: Ranges) -> str:
    """One character as a Python class, every code point escaped: no special meaning can slip in."""
    if not ranges:
        return "(?!)"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return re.escape(chr(ranges[0][0]))
    return "[" + "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges) + "]"
