"""The keywords of JSON Schema that are not about members: functions from an operand to a check.

`compile` calls one function of the table KEYWORDS per keyword of a schema, once; the returned check
runs for every value. A function gets an operand whose shape was verified, decides everything that
does not depend on the value, and returns the remaining closure, or None if nothing has to be
checked. A check adds the keys it evaluates to `seen`, which is None unless an unevaluated* keyword
needs it; keys evaluated by a failed attempt do not count.

Differences between Python and JSON are handled here: True == 1, 1.0 is an integer, 0.3 is not a
binary multiple of 0.1, and the hashes of integers are predictable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from typing import Any

from .compile import Builder, Site
from .formats import EXAMPLES
from .patterns import Pattern, PatternError
from .report import Check, Finding, Node, Place, Run, Seen, describe, either, nearest, one_of, show

# ------------------------------------------------------------------------------- any value


def identity(value: Any) -> Hashable:
    """Return a hashable that is equal for two values exactly when JSON calls them equal.

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


def is_number(value: Any) -> bool:
    """Return whether `value` is a JSON number; a bool is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: (
        value.is_integer()
        if isinstance(value, float)
        else isinstance(value, int) and not isinstance(value, bool)
    ),
    "number": is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def type_(site: Site, operand: str | list[str]) -> Check | None:
    """Build the check of `type`; None if `enum` or `const` implies it."""
    names = [operand] if isinstance(operand, str) else operand
    tests = [TYPES[name] for name in names]
    values = site.schema.get("enum", [site.schema["const"]] if "const" in site.schema else [])
    if values and all(any(test(value) for test in tests) for value in values):
        return None  # one problem must not be reported twice
    message = "expected " + either(names)
    test = tests[0] if len(tests) == 1 else lambda value: any(test(value) for test in tests)

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Fail if the value has none of the types."""
        if not test(value):
            run.fail(at, "type", message, value, names)

    return check


def enum(site: Site, operand: list[Any]) -> Check:
    """Build the check of `enum`."""
    allowed = {identity(value) for value in operand}
    message = "expected " + one_of(operand)

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Fail if the value equals none of the allowed ones."""
        if identity(value) not in allowed:
            hint = nearest(value, operand)
            run.fail(at, "enum", f"{message}, got {describe(value)}{hint}", wanted=(value, operand))

    return check


def const(site: Site, operand: Any) -> Check:
    """Build the check of `const`."""
    allowed = identity(operand)
    message = "expected " + show(operand)

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Fail if the value is a different one."""
        if identity(value) != allowed:
            run.fail(at, "const", message, value, (value, [operand]))

    return check


# --------------------------------------------------------------- numbers, texts, sizes of things


def bound(keyword: str, words: str, holds: Callable[[Any, Any], bool]) -> Builder:
    """Return the builder of a numeric limit; `holds` compares (value, operand)."""

    def build(site: Site, operand: Any) -> Check:
        """Build the check for one limit."""
        message = f"expected {words} {show(operand)}"

        def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
            """Fail if a number is beyond the limit."""
            if is_number(value) and not holds(value, operand):
                run.fail(at, keyword, message, value)

        return check

    return build


def size(keyword: str, kind: type, unit: str) -> Builder:
    """Return the builder of a minimum or maximum length of a `kind`, counted in `unit`."""
    least = keyword.startswith("min")

    def build(site: Site, operand: Any) -> Check:
        """Build the check for one limit."""
        limit = int(operand)
        plural = unit if limit == 1 else {"property": "properties"}.get(unit, unit + "s")
        message = f"expected at {'least' if least else 'most'} {limit} {plural}, got "

        def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
            """Fail if a value of the kind is too short or too long."""
            if isinstance(value, kind):
                length = len(value)  # type: ignore[arg-type]
                if length < limit if least else length > limit:
                    run.fail(at, keyword, message + str(length))

        return check

    return build


def multiple_of(site: Site, operand: int | float) -> Check:
    """Build the check of `multipleOf`, exact in decimal.

    The repr() of a float restores the digits that were sent.
    """
    divisor = Fraction(repr(operand))
    message = f"expected a multiple of {show(operand)}"

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Fail if a number is not a multiple."""
        if not is_number(value):
            return
        if isinstance(value, int):  # repr() of a huge int raises ValueError
            fits = value * divisor.denominator % divisor.numerator == 0
        else:
            fits = math.isfinite(value) and (Fraction(repr(value)) / divisor).denominator == 1
        if not fits:
            run.fail(at, "multipleOf", message, value)

    return check


def pattern(site: Site, operand: str) -> Check | None:
    """Build the check of `pattern`; None if it does not compile."""
    found = compiled(site, "pattern", [operand])
    message = f"expected text matching {show(operand)}"

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Fail if a text does not contain a match."""
        if isinstance(value, str) and not matches(found[0], value, run):
            run.fail(at, "pattern", message, value)

    return check if found else None


def compiled(site: Site, keyword: str, sources: list[str]) -> list[Pattern]:
    """Return the patterns that compile; each of the others is a problem of the schema."""
    found = []
    for source in sources:
        try:
            found.append(site.pattern(source))
        except PatternError as error:
            site.bad(keyword, str(error))
    return found


def matches(pattern: Pattern, text: str, run: Run) -> bool:
    """Return whether `text` contains a match, charging the cost to `run`. Raises Exhausted."""
    reason = f"a text of {len(text)} characters is too long for its pattern"
    run.spend(pattern.price(len(text)), reason)
    return pattern.search(text)


# Steps per character of a text, if not 1/64. `regex` has to parse it.
FORMAT_COSTS = {"regex": 25}


def format_(site: Site, operand: str) -> Check | None:
    """Build the check of `format`; None if the format is unknown."""
    test = site.formats.get(operand)
    if test is None:
        return None  # section 7.2.1: unknown formats are annotations
    per_character = FORMAT_COSTS.get(operand, 1 / 64)
    example = f" such as {EXAMPLES[operand]}" if operand in EXAMPLES else ""
    message = f"expected {operand}{example}"

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Fail if a text does not have the format."""
        if isinstance(value, str):
            run.spend(int(len(value) * per_character))
            if not test(value):
                run.fail(at, "format", message, value, (operand, test))

    return check


def unique_items(site: Site, operand: bool) -> Check | None:
    """Build the check of `uniqueItems`; None if it is false."""

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Fail if two items of an array are equal."""
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

    return check if operand else None


# --------------------------------------------------------- subschemas that apply to the same value


def reference(keyword: str) -> Builder:
    """Return the builder of `$ref` or `$dynamicRef`."""

    def build(site: Site, operand: str) -> Check | None:
        """Build the check: the one of the target's node."""
        target = site.follow(keyword)
        return target.check if target else None

    return build


def all_of(site: Site, operand: list[Any]) -> Check:
    """Build the check of `allOf`."""
    nodes = [site.same(sub, "allOf", index) for index, sub in enumerate(operand)]

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Check the value against each subschema."""
        for node in nodes:
            node.check(value, at, run, seen)

    return check


def any_of(site: Site, operand: list[Any]) -> Check:
    """Build the check of `anyOf`."""
    nodes = [site.same(sub, "anyOf", index) for index, sub in enumerate(operand)]

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Fail if no subschema fits. All are tried if evaluated keys are collected."""
        failed = []
        for node in nodes:
            failed.append(node.attempt(value, at, run, seen))
            if not failed[-1] and seen is None:
                return
        if all(failed):
            explain(Finding(at, "anyOf", "", value), run, nodes, failed)

    return check


def one_of_(site: Site, operand: list[Any]) -> Check:
    """Build the check of `oneOf`."""
    nodes = [site.same(sub, "oneOf", index) for index, sub in enumerate(operand)]

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Fail unless exactly one subschema fits."""
        failed = [node.attempt(value, at, run, seen) for node in nodes]
        fits = [str(index + 1) for index, found in enumerate(failed) if not found]
        if not fits:
            explain(Finding(at, "oneOf", "", value), run, nodes, failed)
        elif len(fits) > 1:
            which = f"{', '.join(fits[:-1])} and {fits[-1]} fit"
            run.fail(at, "oneOf", f"expected exactly one of {len(nodes)} alternatives, but {which}")

    return check


def explain(this: Finding, run: Run, nodes: list[Node], failed: list[list[Finding]]) -> None:
    """Report the problems of the intended alternative if it can be identified, else one summary.

    Alternatives of another type or constant are ruled out, then those whose tag property, a
    constant such as `kind: "circle"`, differs. If one alternative remains, it was the intended one.
    """

    def elsewhere(found: Finding) -> bool:
        """Return whether the value itself rules out the alternative."""
        return found.at is this.at and found.keyword in ("type", "enum", "const", "anyOf", "oneOf")

    def other_tag(found: Finding) -> bool:
        """Return whether a constant member rules out the alternative."""
        inside = found.at is not None and found.at[0] is this.at
        return inside and found.keyword in ("enum", "const")

    meant = [found for found in failed if not any(map(elsewhere, found))]
    meant = [found for found in meant if not any(map(other_tag, found))] or meant
    if len(meant) == 1:
        for finding in meant[0]:
            run.fail(*finding)
        return
    message = "expected " + either([node.expected for node in nodes])
    got = this.value
    if meant:
        message += f"; the closest fails at {min(meant, key=len)[0].mismatch()}"
        run.fail(this.at, this.keyword, message, wanted=(got, nodes))
    else:
        run.fail(this.at, this.keyword, message, got, (got, nodes))


def not_(site: Site, operand: Any) -> Check:
    """Build the check of `not`."""
    node = site.same(operand, "not")

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Fail if the subschema fits."""
        if not node.attempt(value, at, run):
            run.fail(at, "not", f"expected anything but {node.expected}", value)

    return check


def if_(site: Site, operand: Any) -> Check:
    """Build the check of `if` with its `then` and `else`."""
    condition = site.same(operand, "if")
    then, otherwise = (
        site.same(site.schema[word], word) if word in site.schema else None
        for word in ("then", "else")
    )

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Check the value against the branch that the condition selects."""
        branch = otherwise if condition.attempt(value, at, run, seen) else then
        if branch:
            branch.check(value, at, run, seen)

    return check


def dependencies(keyword: str) -> Builder:
    """Return the builder of `dependencies`, `dependentRequired` or `dependentSchemas`.

    Operands map a property to a list of names, to a schema, or (`dependencies`) to either.
    """

    def build(site: Site, operand: Mapping[str, Any]) -> Check:
        """Build the check for one operand."""
        names = {name: sub for name, sub in operand.items() if isinstance(sub, list)}
        nodes = {
            name: site.same(sub, keyword, name)
            for name, sub in operand.items()
            if name not in names
        }

        def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
            """Fail if a present property lacks those it requires, or its schema does not fit."""
            if not isinstance(value, dict):
                return
            for name in operand:
                if name not in value:
                    continue
                for other in names.get(name, ()):
                    if other not in value:
                        message = f"missing, required together with {show(name)}"
                        run.fail((at, other), keyword, message)
                if name in nodes:
                    nodes[name].check(value, at, run, seen)

        return check

    return build
