"""A compiled schema at work: nodes, the run that visits them, and what it finds.

Where it sits: `compile` builds nodes out of the checks of `keywords` and `applicators`; `validate`
runs them; `repair` reads the findings. Rule of the file: nothing here knows a keyword.

A node is a list of checks. A check looks at one value and reports to the run; it never returns a
verdict, so that every problem is collected. Whoever needs a verdict (anyOf, not, if) makes an
`attempt` and looks whether it found anything. Places are linked tuples from the leaf to the root:
they cost one tuple per level and become text only when something is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from .wording import describe

# A check may visit this many nodes: about half a second of CPython. Schemas whose $refs double at
# each level ask for 2^n visits; the count, not the clock, stops them, so verdicts are repeatable.
MAX_STEPS = 500_000
MAX_FINDINGS = 100  # nobody reads more, and 1 MB of wrong items must not become 100 MB of text

Place = tuple[Any, str | int] | None  # (place of the container, key); None is the root
Seen = set[str | int] | None  # evaluated keys; None where no unevaluated* keyword asks
Check = Callable[[Any, Place, "Run", Seen], None]

NOTHING: Any = object()


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One problem for people and models. `pointer` is an RFC 6901 pointer into the value."""

    pointer: str
    keyword: str
    message: str

    def __str__(self) -> str:
        return f"{self.pointer or '(root)'}: {self.message}"


class Finding(NamedTuple):
    """One problem for code: `value` is what was met, `wanted` what the keyword asked for."""

    at: Place
    keyword: str
    message: str
    value: Any
    wanted: Any

    def mismatch(self) -> Mismatch:
        got = "" if self.value is NOTHING else f", got {describe(self.value)}"
        return Mismatch(pointer(self.at), self.keyword, self.message + got)


class Exhausted(Exception):
    """Value and schema together ask for too much work.

    It ends the run instead of being a finding: below `not`, a finding would turn into a fit.
    """

    def __init__(self, message: str = "too much work to check this value") -> None:
        super().__init__(message)


class Run:
    """One visit of a value: what was found so far, and how much work is left."""

    __slots__ = ("findings", "steps")

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self.findings: list[Finding] = []
        self.steps = steps

    def fail(
        self, at: Place, keyword: str, message: str, value: Any = NOTHING, wanted: Any = None
    ) -> None:
        """Report one problem. With `value` the message goes on with what was met instead."""
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Finding(at, keyword, message, value, wanted))

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise Exhausted


class Node:
    """One schema, compiled. Created empty and filled later, so that schemas may be recursive."""

    __slots__ = ("checks", "expected", "tracks")

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.expected = "a value"  # what it asks for, in a few words, for messages
        self.tracks = False  # whether an unevaluated* keyword needs its own set of seen keys

    def check(self, value: Any, at: Place, run: Run, seen: Seen = None) -> None:
        run.steps -= 1
        if run.steps < 0:
            raise Exhausted
        own: Seen = set() if self.tracks else seen
        for check in self.checks:
            check(value, at, run, own)
        if self.tracks and seen is not None and own is not None:
            seen |= own

    def attempt(self, value: Any, at: Place, run: Run, seen: Seen = None) -> list[Finding]:
        """Check on trial: what is wrong, without reporting it. Nothing counts as seen if it is."""
        run.steps -= 1
        outer, run.findings = run.findings, []
        own: Seen = None if seen is None else set()
        self.check(value, at, run, own)
        found, run.findings = run.findings, outer
        if not found and seen is not None and own is not None:
            seen |= own
        return found

    def findings(self, value: Any, run: Run) -> list[Finding]:
        """Everything wrong with `value`, up to MAX_FINDINGS problems. Never raises."""
        run.findings = []
        try:
            self.check(value, None, run)
        except Exhausted as error:
            return [Finding(None, "limit", str(error), NOTHING, None)]
        except RecursionError:
            return [Finding(None, "limit", "nested too deeply to be checked", NOTHING, None)]
        return run.findings


def path(at: Place) -> list[str | int]:
    """The keys from the root to `at`."""
    keys: list[str | int] = []
    while at is not None:
        at, key = at
        keys.append(key)
    return keys[::-1]


def pointer(at: Place) -> str:
    """RFC 6901. Half a surrogate pair is written as an escape: a pointer must be UTF-8."""
    text = "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in path(at))
    return text.encode("utf-8", "backslashreplace").decode()
