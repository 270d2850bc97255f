"""Searching without backtracking, for patterns that `re` might never finish.

Where it sits: `patterns` comes here when a text is too long for the number of ways `re` could try.
Rule of the file: one pass over the text, all ways at once (Thompson 1968), with the sets of states
that were met remembered as a lazy DFA (Aho, Sethi, Ullman; RE2 does the same). No look-around, no
references, no word edges: those are TooLarge for a finite automaton or for this one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from .charsets import Ranges
from .regex import Alt, Char, Edge, Group, Repeat, Seq, Tree

MAX_STATES = 2_000  # of the NFA: {m,n} is written out
MAX_CACHE = 2_000  # remembered moves; then forgotten all at once, so memory stays bounded
MAX_COST = 400_000  # steps for one search, about half a second


class TooLarge(Exception):
    """The pattern can't be an automaton of reasonable size."""


@dataclass(slots=True)
class _State:
    """One state of the NFA: reads a character, stands at an edge, or forks without reading."""

    reads: Ranges | None = None
    edge: str = ""
    nexts: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Set:
    """A state of the DFA: the NFA's states after some text, and where each character leads."""

    reading: tuple[int, ...]
    ending: tuple[int, ...]  # wait at $
    matched: bool
    moves: dict[str, _Set] = field(default_factory=dict)


MATCH = 0


class Automaton:
    """Whether a pattern occurs in a text, in time proportional to both. Raises TooLarge."""

    def __init__(self, tree: Tree) -> None:
        self._states = [_State()]
        self._start = self._build(tree, MATCH)
        self._sets: dict[tuple[tuple[int, ...], tuple[int, ...], bool], _Set] = {}
        self._remembered = 0
        self._first: _Set | None = None

    def search(self, text: str) -> tuple[bool | None, int]:
        """(found, cost in steps); found is None if the cost went beyond MAX_COST."""
        cost = len(text) >> 3
        now = self._first
        if now is None:
            now = self._first = self._set(self._closure([self._start], at_start=True))
        for char in text:
            if now.matched:
                return True, cost
            after = now.moves.get(char)
            if after is None:
                cost += 2 + len(now.reading) + len(self._states) // 8
                if cost > MAX_COST:
                    return None, cost
                after = self._move(now, char)
            if not after.reading and not after.ending and not after.matched:
                return False, cost  # anchored, and the anchor is behind us
            now = after
        at_start = not text
        ended = self._closure(
            [self._start, *now.ending] if at_start else now.ending, at_start, True
        )
        return now.matched or MATCH in ended, cost

    def _build(self, tree: Tree, after: int) -> int:
        """Write the states of `tree` in front of the state `after`; the first one is returned."""
        match tree:
            case Char(ranges):
                return self._add(_State(reads=ranges, nexts=[after]))
            case Edge(kind) if kind in "^$":
                return self._add(_State(edge=kind, nexts=[after]))
            case Group(body):
                return self._build(body, after)
            case Seq(parts):
                for part in reversed(parts):
                    after = self._build(part, after)
                return after
            case Alt(branches):
                return self._add(_State(nexts=[self._build(one, after) for one in branches]))
            case Repeat(body, low, high):
                return self._repeat(body, low, high, after)
        raise TooLarge

    def _repeat(self, body: Tree, low: int, high: int | None, after: int) -> int:
        if max(low, high or 0) > MAX_STATES:
            raise TooLarge
        first = after
        if high is None:
            fork = self._add(_State())
            again = self._build(body, fork)
            self._states[fork].nexts = [again, after]
            first = again if low else fork  # the last obligatory round is the loop itself
            low = max(low - 1, 0)
        else:
            for _ in range(high - low):
                first = self._add(_State(nexts=[self._build(body, first), after]))
        for _ in range(low):
            first = self._build(body, first)
        return first

    def _add(self, state: _State) -> int:
        if len(self._states) >= MAX_STATES:
            raise TooLarge
        self._states.append(state)
        return len(self._states) - 1

    def _move(self, now: _Set, char: str) -> _Set:
        code = ord(char)
        reached = [self._start]  # a search may begin anywhere
        for number in now.reading:
            state = self._states[number]
            if state.reads is not None and _within(code, state.reads):
                reached.extend(state.nexts)
        after = self._set(self._closure(reached))
        if self._remembered >= MAX_CACHE:
            for known in self._sets.values():
                known.moves.clear()
            self._sets.clear()
            self._remembered = 0
        now.moves[char] = after
        self._remembered += 1
        return after

    def _closure(
        self, numbers: Iterable[int], at_start: bool = False, at_end: bool = False
    ) -> set[int]:
        """All states reachable without reading."""
        found: set[int] = set()
        todo = list(numbers)
        while todo:
            number = todo.pop()
            if number in found:
                continue
            found.add(number)
            state = self._states[number]
            open_edge = not state.edge or (at_start if state.edge == "^" else at_end)
            if state.reads is None and open_edge:
                todo.extend(state.nexts)
        return found

    def _set(self, numbers: set[int]) -> _Set:
        reading = tuple(sorted(n for n in numbers if self._states[n].reads is not None))
        ending = tuple(sorted(n for n in numbers if self._states[n].edge == "$"))
        key = (reading, ending, MATCH in numbers)
        known = self._sets.get(key)
        if known is None:
            known = self._sets[key] = _Set(*key)
        return known


def _within(code: int, ranges: Ranges) -> bool:
    index = bisect_right(ranges, (code, 0x7FFFFFFF))
    return index > 0 and code <= ranges[index - 1][1]
