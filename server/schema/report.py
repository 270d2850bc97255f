"""What is found wrong with a value: where, which rule, and the words for it.

Where it sits: `keywords` reports to a `Run`, `repair` reads the findings, people and models read
the `Mismatch`es. Rule of the file: places are linked tuples from the leaf to the root, which cost
one tuple per level, and nothing becomes text before something is wrong. Whatever the value, the
text is short and printable: hostile values pass through here.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..strict_json import quote

# A run may visit this many nodes: about half a second of CPython. Schemas whose $refs double at
# each level ask for 2^n visits; the count, not the clock, stops them, so verdicts are repeatable.
MAX_STEPS = 500_000
MAX_FINDINGS = 100  # nobody reads more, and 1 MB of wrong items must not become 100 MB of text
SHOWN = 60  # characters of a value that a message repeats
LISTED = 20  # alternatives that a message lists

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
    value: Any = NOTHING  # if there is one, the message goes on with it
    wanted: Any = None

    def mismatch(self) -> Mismatch:
        got = "" if self.value is NOTHING else f", got {describe(self.value)}"
        return Mismatch(pointer(self.at), self.keyword, self.message + got)


class Exhausted(Exception):
    """Value and schema together ask for too much work.

    It ends the run instead of being a finding: below `not`, a finding would turn into a fit.
    """


class Run:
    """One visit of a value: what was found so far, and how much work is left."""

    __slots__ = ("findings", "steps")

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self.findings: list[Finding] = []
        self.steps = steps

    def fail(
        self, at: Place, keyword: str, message: str, value: Any = NOTHING, wanted: Any = None
    ) -> None:
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Finding(at, keyword, message, value, wanted))

    def spend(self, steps: int, reason: str = "too much work to check this value") -> None:
        """Pay before doing something that takes longer than usual; a step is about 1 µs."""
        self.steps -= steps
        if self.steps < 0:
            raise Exhausted(reason)


class Node:
    """One schema, compiled: a list of checks. Created empty, because schemas may be recursive.

    A check looks at one value and reports to the run. It gives no verdict, so that every problem
    is collected; whoever needs a verdict makes an `attempt` and sees whether it found anything.
    """

    __slots__ = ("checks", "expected", "tracks")

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.expected = "a value"  # what it asks for, in a few words, for messages
        self.tracks = False  # whether an unevaluated* keyword needs its own set of seen keys

    def check(self, value: Any, at: Place, run: Run, seen: Seen = None) -> None:
        run.steps -= 1
        if run.steps < 0:
            run.spend(0)
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
            return [Finding(None, "limit", str(error))]
        except RecursionError:
            return [Finding(None, "limit", "nested too deeply to be checked")]
        return run.findings


# --------------------------------------------------------------------------------------- words


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


_NAMES = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def json_type(value: Any) -> str:
    """The JSON name of a value's type. A float that is whole is still called a number."""
    kind = next((kind for kind in type(value).__mro__ if kind in _NAMES), None)
    return _NAMES[kind] if kind else f"a Python {type(value).__name__}"


def describe(value: Any) -> str:
    """The type and a glimpse: `string ("5")`, `array of 3 items`, `object with "a", "b"`."""
    if isinstance(value, list):
        return f"array of {len(value)} item{'s' * (len(value) != 1)}"
    if isinstance(value, dict):
        more = ", …" if len(value) > 3 else ""
        names = ", ".join(show(name) for name in list(value)[:3])
        return f"object with {names}{more}" if value else "empty object"
    kind = json_type(value)
    return f"{kind} ({show(value)})" if isinstance(value, int | float | str) else kind


def show(value: Any) -> str:
    """A value as JSON, cut to a glance."""
    match value:
        case str():
            cut = value if len(value) <= SHOWN else value[:SHOWN] + "…"
            return quote(cut).encode("utf-8", "backslashreplace").decode()
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case int():  # str() refuses more than 4,300 digits
            return str(value) if value.bit_length() <= 200 else f"of {value.bit_length()} bits"
        case float():
            return repr(value)
    return describe(value)


def one_of(values: Iterable[Any]) -> str:
    """`"c" or "f"`; a long list is cut and says so."""
    words = [show(value) for value in values]
    if len(words) > LISTED:
        return ", ".join(words[:LISTED]) + f" or one of {len(words) - LISTED} more"
    return either(words)


def either(words: list[str]) -> str:
    """`a`, `a or b`, `a, b or c`, each word once."""
    words = list(dict.fromkeys(words))
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def nearest(name: Any, names: Iterable[Any]) -> str:
    """` (did you mean "city"?)` when one of `names` looks like it, else nothing."""
    if not isinstance(name, str) or len(name) > SHOWN:  # difflib is quadratic
        return ""
    known = [other for other in names if isinstance(other, str) and len(other) <= SHOWN]
    close = difflib.get_close_matches(name, known[:200], n=1)
    return f" (did you mean {show(close[0])}?)" if close else ""
