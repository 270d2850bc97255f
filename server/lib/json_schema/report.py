"""The mismatches found in a value: their places, keywords and messages.

Checks report to a `Run`, `repair` reads the findings, people and models read the `Mismatch`es.
Places are linked tuples from the leaf to the root, one tuple per level, and are turned into text
only for a mismatch. Messages are short and printable for any value, also a hostile one.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..strict_json import pointer, quote

# A run may visit this many nodes: about half a second of CPython. Schemas whose $refs double at
# each level need 2^n visits; a count instead of a clock stops them, so that results are repeatable.
MAX_STEPS = 500_000
MAX_FINDINGS = 100  # 1 MB of wrong items must not become 100 MB of text
SHOWN = 60  # characters of a value that a message repeats
LISTED = 20  # alternatives that a message lists

Place = tuple[Any, str | int] | None  # (place of the container, key); None is the root
Seen = set[str | int] | None  # evaluated keys; None if no unevaluated* keyword needs them
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

    def error(self, place: str = "") -> dict[str, str]:
        """Return it as an error of a response: {"pointer", "detail"}; `place`: of the value."""
        return {"pointer": place + self.pointer, "detail": self.message}


class Finding(NamedTuple):
    """One problem for code: `value` is the offending value, `wanted` the data that repairs need."""

    at: Place
    keyword: str
    message: str
    value: Any = NOTHING  # if set, it is appended to the message
    wanted: Any = None

    def mismatch(self) -> Mismatch:
        """Return the finding as a Mismatch; the message ends with the value, if there is one."""
        got = "" if self.value is NOTHING else f", got {describe(self.value)}"
        return Mismatch(pointer_at(self.at), self.keyword, self.message + got)


class BudgetError(Exception):
    """Value and schema together exceed the budget of work.

    An exception, because below `not` a finding would count as a fit.
    """


class Run:
    """One validation of a value: its findings and the remaining steps."""

    __slots__ = ("findings", "steps")

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self.findings: list[Finding] = []
        self.steps = steps

    def fail(
        self, at: Place, keyword: str, message: str, value: Any = NOTHING, wanted: Any = None
    ) -> None:
        """Add a finding, unless there are MAX_FINDINGS already."""
        if not self.full:
            self.findings.append(Finding(at, keyword, message, value, wanted))

    def spend(self, steps: int, reason: str = "too much work to check this value") -> None:
        """Charge `steps` of about 1 µs for expensive work, before doing it. Raises BudgetError."""
        self.steps -= steps
        if self.steps < 0:
            raise BudgetError(reason)

    @property
    def full(self) -> bool:
        """Return whether further findings are dropped, so that none need be described."""
        return len(self.findings) >= MAX_FINDINGS


class Node:
    """A compiled schema: a list of checks. Created empty, because schemas may be recursive.

    A check examines one value and reports to the run. It returns no verdict, so that all problems
    are collected; `attempt` tells whether a value fits.
    """

    __slots__ = ("checks", "expected", "tracks")

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.expected = "a value"  # the accepted values in a few words, for messages
        self.tracks = False  # whether an unevaluated* keyword needs its own set of seen keys

    def check(self, value: Any, at: Place, run: Run, seen: Seen = None) -> None:
        """Report every problem of `value` to the run. Raises BudgetError."""
        run.steps -= 1
        if run.steps < 0:
            run.spend(0)
        own: Seen = set() if self.tracks else seen
        for check in self.checks:
            check(value, at, run, own)
        if self.tracks and seen is not None and own is not None:
            seen |= own

    def attempt(self, value: Any, at: Place, run: Run, seen: Seen = None) -> list[Finding]:
        """Return the findings of `value` without reporting them. `seen` grows only if it fits."""
        run.steps -= 1
        outer, run.findings = run.findings, []
        own: Seen = None if seen is None else set()
        self.check(value, at, run, own)
        found, run.findings = run.findings, outer
        if not found and seen is not None and own is not None:
            seen |= own
        return found

    def findings(self, value: Any, run: Run) -> list[Finding]:
        """Return the findings of `value`, at most MAX_FINDINGS. Never raises.

        Exceeding the budget or the stack is one finding with the keyword "limit".
        """
        run.findings = []
        try:
            self.check(value, None, run)
        except BudgetError as error:
            return [Finding(None, "limit", str(error))]
        except RecursionError:
            return [Finding(None, "limit", "nested too deeply to be checked")]
        return run.findings


# --------------------------------------------------------------------------------------- words


def path(at: Place) -> list[str | int]:
    """Return the keys from the root to `at`."""
    keys: list[str | int] = []
    while at is not None:
        at, key = at
        keys.append(key)
    return keys[::-1]


def pointer_at(at: Place) -> str:
    """Return `at` as an RFC 6901 pointer. Lone surrogates are escaped: it must be UTF-8."""
    return pointer(*path(at)).encode("utf-8", "backslashreplace").decode()


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
    """Return the JSON name of a value's type. A whole float is still called a number."""
    kind = next((kind for kind in type(value).__mro__ if kind in _NAMES), None)
    return _NAMES[kind] if kind else f"a Python {type(value).__name__}"


def describe(value: Any) -> str:
    """Return type and excerpt: `string ("5")`, `array of 3 items`, `object with "a", "b"`."""
    if isinstance(value, list):
        return f"array of {len(value)} item{'s' * (len(value) != 1)}"
    if isinstance(value, dict):
        more = ", …" if len(value) > 3 else ""
        names = ", ".join(show(name) for name in list(value)[:3])
        return f"object with {names}{more}" if value else "empty object"
    kind = json_type(value)
    return f"{kind} ({show(value)})" if isinstance(value, int | float | str) else kind


def show(value: Any) -> str:
    """Return a scalar as JSON, cut to SHOWN characters; the description of any other value."""
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
    """Return the alternatives as text: `"c" or "f"`.

    At most LISTED are shown; the text ends with the number of the others.
    """
    words = [show(value) for value in values]
    if len(words) > LISTED:
        return ", ".join(words[:LISTED]) + f" or one of {len(words) - LISTED} more"
    return either(words)


def either(words: list[str]) -> str:
    """Join words without repetitions: `a`, `a or b`, `a, b or c`."""
    words = list(dict.fromkeys(words))
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def nearest(name: Any, names: Iterable[Any]) -> str:
    """Return ` (did you mean "city"?)` if one of `names` is similar to `name`, else ""."""
    if not isinstance(name, str) or len(name) > SHOWN:  # difflib is quadratic
        return ""
    known = [other for other in names if isinstance(other, str) and len(other) <= SHOWN]
    close = difflib.get_close_matches(name, known[:200], n=1)
    return f" (did you mean {show(close[0])}?)" if close else ""
