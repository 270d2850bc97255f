"""Patterns from untrusted schemas, searched with a bounded cost.

Used for `pattern`, `patternProperties` and by tools/builtin/search.py; `regex` parses them. `re`
can't be interrupted, so the cost of a search is charged before it runs. A pattern with a repetition
that has exponentially many ways over a text, such as `^(a+)+$`, which takes minutes for 30 letters,
is refused when the schema is compiled.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import lru_cache, partial
from typing import NoReturn

from .regex import ANY, MAX_COST, Part, PatternError, Ranges, overlap, parse_and_cost, union, write

__all__ = ["MAX_COST", "Pattern", "PatternError"]

STEP = 512  # units of `_work` that cost as much as one step of a run, about 1 µs
MAX_STEPS = 500_000  # for one search; a pattern that needs more for SHORT characters is refused
SHORT = 32
MAX_STATES = 500  # of all repetitions, counted ones in them written out
MAX_EFFORT = 250_000  # to search for ambiguity, about 50 ms
PER_COST = 5  # of these in one unit of cost
COUNTLESS = 10.0**18
END: Ranges = ((-1, -1),)  # the end of the text, as a code point


class Pattern:
    """A compiled pattern; `cost` is the compile cost. Raises PatternError."""

    def __init__(self, source: str, max_cost: int = MAX_COST) -> None:
        tree, self.cost = parse_and_cost(source, max_cost)
        tree = _shortened(tree)
        self.cost += _Loops(tree).effort // PER_COST
        self._price = lru_cache(100)(partial(_price, tree))
        if self.price(SHORT) > MAX_STEPS:
            said = "not supported: even a short text could take too long"
            raise PatternError(said, self.cost)
        try:
            self._expression = re.compile(write(tree))
        except (re.error, RecursionError, OverflowError) as error:
            raise PatternError(f"not supported: {error}", self.cost) from None

    def price(self, length: int) -> int:
        """Return an upper bound of the steps of a search in a text of `length` characters.

        Lengths are rounded up, so that few prices are computed.
        """
        return self._price(length | 7 if length < 64 else (1 << length.bit_length()) - 1)

    def search(self, text: str) -> bool:
        """Return whether `text` contains a match. Charge `price(len(text))` steps before."""
        return self._expression.search(text) is not None


def _shortened(tree: Part) -> Part:
    """Return the tree with a repetition at its end cut to its minimum.

    Whether a text contains a match does not change.
    """
    if tree.kind != "seq" or not tree.parts or tree.parts[-1].kind != "repeat":
        return tree
    last = replace(tree.parts[-1], high=tree.parts[-1].low)
    return replace(tree, parts=(*tree.parts[:-1], last))


# ------------------------------------------------------------------ how long a search can take

Ends = tuple[set[int], set[int], bool]  # states it starts with, ends with, whether it may be empty


class _Loops:
    """The repetitions of a pattern as an automaton.

    Raises PatternError if an unbounded repetition has exponentially many ways over a text.

    This is their position automaton (Glushkov 1961): each set of characters is a state. All states
    of a repetition reach each other. So it is enough to look for two different ways that leave one
    state, read the same text, and meet in one state (Weber and Seidl 1991). If there are none, each
    place in a text is reached in one way, and all take at most n * states steps.
    """

    def __init__(self, tree: Part) -> None:
        self.sets: list[Ranges] = []
        self.follow: list[set[int]] = []
        self.effort = 0
        self.find(tree)
        todo = [(state, state) for state in range(len(self.sets))]
        seen = set(todo)
        while todo:
            one, other = todo.pop()
            if one != other and self.follow[one] & self.follow[other]:
                self.refuse()
            self.spend(len(self.follow[one]) * len(self.follow[other]))
            pairs = {(min(a, b), max(a, b)) for a in self.follow[one] for b in self.follow[other]}
            for a, b in pairs - seen:
                self.spend(len(self.sets[a]) + len(self.sets[b]))
                if a != b and overlap(self.sets[a], self.sets[b]):
                    seen.add((a, b))
                    todo.append((a, b))

    def find(self, part: Part) -> None:
        """Add each outermost unbounded repetition of the tree."""
        if part.kind == "repeat" and part.high is None:
            self.add(part)
        else:
            for sub in part.parts:
                self.find(sub)

    def spend(self, effort: int) -> None:
        """Charge `effort`. Raises PatternError beyond MAX_EFFORT."""
        self.effort += effort
        if self.effort > MAX_EFFORT:
            self.fail("its repetitions are too large")

    def refuse(self) -> NoReturn:
        """Raise PatternError for an ambiguous repetition."""
        self.fail("a repetition with many ways over a text, like (a+)+")

    def fail(self, why: str) -> NoReturn:
        """Raise PatternError with the cost so far."""
        raise PatternError(f"not supported: {why}", self.effort // PER_COST)

    def add(self, part: Part) -> Ends:
        """Add the states of a part; return first states, last states, whether it may be empty."""
        match part.kind:
            case "set":
                if len(self.sets) == MAX_STATES:
                    self.spend(MAX_EFFORT + 1)
                self.sets.append(part.ranges)
                self.follow.append(set())
                return {len(self.sets) - 1}, {len(self.sets) - 1}, False
            case "alt":
                branches = [self.add(branch) for branch in part.parts]
                if sum(empty for _, _, empty in branches) > 1:
                    self.refuse()
                firsts, lasts, empties = zip(*branches, strict=True)
                return set().union(*firsts), set().union(*lasts), any(empties)
            case "repeat":
                return self.repeat(part)
            case "back":
                self.fail("a reference within a repetition")
            case "look":  # a condition can only reduce the ways
                return set(), set(), True
        first, last, empty = set[int](), set[int](), True
        for sub in part.parts:
            more_first, more_last, more_empty = self.add(sub)
            self.link(last, more_first)
            first |= more_first if empty else set()
            last = last | more_last if more_empty else more_last
            empty = empty and more_empty
        return first, last, empty

    def repeat(self, part: Part) -> Ends:
        """Add the states of a repetition. A counted one is written out."""
        first, last, ends = set[int](), set[int](), set[int]()
        for number in range(max(part.low, 1) if part.high is None else part.high):
            again, after, empty = self.add(part.parts[0])
            if empty:
                self.refuse()
            self.link(last, again)
            first, last = first or again, after
            ends = ends | last if number >= part.low else last
        if part.high is None:
            self.link(last, again)
        return first, ends, part.low == 0

    def link(self, last: set[int], first: set[int]) -> None:
        """Add transitions from each state of `last` to each of `first`.

        Raises PatternError if one exists already: that is an ambiguity.
        """
        self.spend(len(last) * len(first) // 8)  # a union of sets is faster than single additions
        for state in last:
            if self.follow[state] & first:
                self.refuse()
            self.follow[state] |= first


def _price(tree: Part, length: int) -> int:
    """Return the steps of a search: it begins at every place, unless the pattern is anchored."""
    starts = 1 if _anchored(tree) else length + 1
    return int(min(starts * _work(tree, length + 1, ())[1], COUNTLESS)) // STEP


def _anchored(part: Part) -> bool:
    if part.kind == "alt":
        return all(map(_anchored, part.parts))
    return part.mark == "^" or (
        part.kind in ("seq", "group") and any(map(_anchored, part.parts[:1]))
    )


def _work(part: Part, n: int, after: Ranges) -> tuple[float, float]:
    """Return upper bounds (ways to match from one place, cost of trying all).

    `after` is the set of characters that may come next. If the repeated characters are not among
    them, only one end has to be continued from, which makes ordinary patterns cheap.
    """
    match part.kind:
        case "back":
            return 1, n
        case "look":  # never re-entered by backtracking
            return 1, sum(_work(sub, n, ANY)[1] for sub in part.parts)
        case "alt":
            each = [_work(branch, n, after) for branch in part.parts]
            leads = [_leads(branch, union([END, after])) for branch in part.parts]
            ways = [ways for ways, _ in each]
            apart = sum(map(_count, leads)) == _count(union(leads))
            return max(ways) if apart else sum(ways), sum(cost for _, cost in each)
        case "repeat":
            return _work_of_repeat(part, part.parts[0], n, after)
    nexts = [after]
    for sub in reversed(part.parts):
        nexts.append(_leads(sub, nexts[-1]))
    total, effort = 1.0, 1.0
    for sub, following in zip(part.parts, nexts[-2::-1], strict=True):
        more, cost = _work(sub, n, following)
        effort += total * cost
        total = min(total * more, COUNTLESS)
    return total, effort


def _work_of_repeat(part: Part, body: Part, n: int, after: Ranges) -> tuple[float, float]:
    empty = overlap(_leads(body, END), END)
    one_end = not empty and not overlap(_characters(body), after)
    if part.high is None:  # see _Loops
        return 1 if one_end else n, n * _size(body, n)
    again = _leads(body, ()) if part.high > 1 else ()
    ways, cost = _work(body, n, union([again, after]))
    ways = COUNTLESS if part.high * math.log2(ways) > 60 else ways**part.high
    ends = 1 if one_end else part.high - part.low + 1
    return ways * ends, part.high * cost * ways + 1


def _leads(part: Part, after: Ranges) -> Ranges:
    """Return the characters that a match of `part` and its continuation can begin with."""
    match part.kind:
        case "set":
            return part.ranges
        case "edge":
            return after
        case "look" | "back":
            return union([ANY, after])
        case "alt":
            return union(_leads(branch, after) for branch in part.parts)
        case "repeat":
            inner = _leads(part.parts[0], after)
            return inner if part.low else union([inner, after])
    for sub in reversed(part.parts):
        after = _leads(sub, after)
    return after


def _count(ranges: Ranges) -> int:
    return sum(high - low + 1 for low, high in ranges)


def _characters(part: Part) -> Ranges:
    if part.kind == "back":
        return ANY
    return union([part.ranges, *map(_characters, part.parts)])


def _size(part: Part, n: int) -> float:
    """Return the cost of one round of a repetition, counted repetitions in it written out."""
    if part.kind == "look":
        return _work(part, n, ANY)[1]
    times = max(part.low, part.high or 1)
    return 1 + times * sum(_size(sub, n) for sub in part.parts)
