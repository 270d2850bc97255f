"""The assertions of JSON Schema: keywords that look at a value and not into its members.

Where it sits: `compile` calls one function of ASSERTIONS per keyword of a schema, once; the check
it returns runs for every value. Rule of the file: a function gets an operand whose shape `compile`
has verified, decides everything it can right away, and returns the smallest closure that is left;
None means "nothing to check".

Python is not JSON, and the differences are handled here: True == 1, 1.0 is an integer, 0.3 is no
multiple of 0.1 in binary, and integers hash without a secret.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sized
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .formats import EXAMPLES
from .node import Check, Exhausted, Node, Place, Run, Seen
from .patterns import Pattern, PatternError, TooCostly
from .wording import describe, either, nearest, one_of, show

Format = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Here:
    """What a keyword may ask about the schema it stands in."""

    schema: Mapping[str, Any]
    draft7: bool
    formats: Mapping[str, Format]
    same: Callable[..., Node]  # (subschema, *keys): applies to the same value
    inside: Callable[..., Node]  # (subschema, *keys): applies to a member of the value
    follow: Callable[[str], Node | None]  # the target of a $ref or $dynamicRef keyword
    bad: Callable[[str, str], None]  # (keyword, message): this schema can't be used


# ------------------------------------------------------------------- equality as JSON sees it


def identity(value: Any) -> Hashable:
    """A hashable that is equal for two values exactly when JSON calls them equal.

    Large integers become text: their hashes are predictable (CPython: modulo 2**61 - 1), and
    uniqueItems over chosen collisions would be quadratic. The hash of text is keyed.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not -(2**60) < value < 2**60:
        return ("integer", hex(value))
    if isinstance(value, list):
        return ("array", tuple(map(identity, value)))
    if isinstance(value, dict):
        return ("object", frozenset((name, identity(item)) for name, item in value.items()))
    return value  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------- any value

TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: (
        isinstance(value, int) and not isinstance(value, bool)
        if not isinstance(value, float)
        else value.is_integer()
    ),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def type_(here: Here, operand: str | list[str]) -> Check | None:
    names = [operand] if isinstance(operand, str) else operand
    tests = [TYPES[name] for name in names]
    values = here.schema.get("enum", [here.schema["const"]] if "const" in here.schema else [])
    if values and all(any(test(value) for test in tests) for value in values):
        return None  # the list says more, and one problem should be told once
    message = "expected " + either(names)

    def check_one(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if not test(value):
            run.fail(at, "type", message, value, names)

    def check_any(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if not any(test(value) for test in tests):
            run.fail(at, "type", message, value, names)

    test = tests[0]
    return check_one if len(tests) == 1 else check_any


def enum(here: Here, operand: list[Any]) -> Check | None:
    allowed = {identity(value) for value in operand}
    message = "expected " + one_of(operand)

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if identity(value) not in allowed:
            hint = nearest(value, operand)
            run.fail(at, "enum", f"{message}, got {describe(value)}{hint}", wanted=(value, operand))

    return check


def const(here: Here, operand: Any) -> Check | None:
    allowed = identity(operand)
    message = "expected " + show(operand)

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if identity(value) != allowed:
            run.fail(at, "const", message, value, (value, [operand]))

    return check


# --------------------------------------------------------------------------------- numbers


def _bound(
    keyword: str, words: str, holds: Callable[[Any, Any], bool]
) -> Callable[[Here, Any], Check]:
    def build(here: Here, operand: Any) -> Check:
        message = f"expected {words} {show(operand)}"

        def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
            if TYPES["number"](value) and not holds(value, operand):
                run.fail(at, keyword, message, value)

        return check

    return build


def multiple_of(here: Here, operand: int | float) -> Check | None:
    """Exact in decimal, as the text was written: repr() gives back the digits that were sent."""
    divisor = Fraction(repr(operand))
    whole = int(operand) if divisor.denominator == 1 else 0
    message = f"expected a multiple of {show(operand)}"

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if not TYPES["number"](value):
            return
        if whole and isinstance(value, int):
            fits = value % whole == 0
        elif isinstance(value, int):
            fits = (value / divisor).denominator == 1
        else:
            fits = math.isfinite(value) and (Fraction(repr(value)) / divisor).denominator == 1
        if not fits:
            run.fail(at, "multipleOf", message, value)

    return check


# --------------------------------------------------------------------------------- strings


def pattern(here: Here, operand: str) -> Check | None:
    try:
        compiled = Pattern(operand)
    except PatternError as error:
        here.bad("pattern", str(error))
        return None
    message = f"expected text matching {show(operand)}"

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if isinstance(value, str) and not matches(compiled, value, run):
            run.fail(at, "pattern", message, value)

    return check


def matches(compiled: Pattern, text: str, run: Run) -> bool:
    """Search within the run's budget. Raises Exhausted."""
    try:
        found, cost = compiled.search(text)
    except TooCostly as error:
        raise Exhausted(str(error)) from None
    run.spend(cost)
    return found


def format_(here: Here, operand: str) -> Check | None:
    if operand not in here.formats:
        return None  # section 7.2.1: unknown formats are annotations
    test = here.formats[operand]
    example = f" such as {EXAMPLES[operand]}" if operand in EXAMPLES else ""
    message = f"expected {operand}{example}"

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if isinstance(value, str):
            run.steps -= len(value) >> 6
            if not test(value):
                run.fail(at, "format", message, value, (operand, test))

    return check


# --------------------------------------------------------------------------- sizes of things


def _size(
    keyword: str, kind: type[Sized], words: str, unit: str, holds: Callable[[int, int], bool]
) -> Callable[[Here, Any], Check]:
    def build(here: Here, operand: Any) -> Check:
        bound = int(operand)
        plural = unit if bound == 1 else {"property": "properties"}.get(unit, unit + "s")
        message = f"expected {words} {bound} {plural}, got "

        def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
            if isinstance(value, kind) and not holds(len(value), bound):
                run.fail(at, keyword, message + str(len(value)))

        return check

    return build


def unique_items(here: Here, operand: bool) -> Check | None:
    if not operand:
        return None

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if not isinstance(value, list):
            return
        run.spend(len(value) >> 3)
        first: dict[Hashable, int] = {}
        for index, item in enumerate(value):
            twin = first.setdefault(identity(item), index)
            if twin != index:
                message = f"expected different items, but items {twin} and {index} are equal"
                run.fail(at, "uniqueItems", message, wanted=value)
                return

    return check


ASSERTIONS: dict[str, Callable[[Here, Any], Check | None]] = {
    "type": type_,
    "enum": enum,
    "const": const,
    "minimum": _bound("minimum", "at least", lambda value, bound: value >= bound),
    "maximum": _bound("maximum", "at most", lambda value, bound: value <= bound),
    "exclusiveMinimum": _bound("exclusiveMinimum", "more than", lambda value, bound: value > bound),
    "exclusiveMaximum": _bound("exclusiveMaximum", "less than", lambda value, bound: value < bound),
    "multipleOf": multiple_of,
    "minLength": _size("minLength", str, "at least", "character", lambda size, n: size >= n),
    "maxLength": _size("maxLength", str, "at most", "character", lambda size, n: size <= n),
    "pattern": pattern,
    "format": format_,
    "minItems": _size("minItems", list, "at least", "item", lambda size, n: size >= n),
    "maxItems": _size("maxItems", list, "at most", "item", lambda size, n: size <= n),
    "uniqueItems": unique_items,
    "minProperties": _size(
        "minProperties", dict, "at least", "property", lambda size, n: size >= n
    ),
    "maxProperties": _size("maxProperties", dict, "at most", "property", lambda size, n: size <= n),
}
