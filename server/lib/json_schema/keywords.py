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

import datetime
import ipaddress
import math
import re
from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from typing import Any

from .compile import Builder, Site
from .regex import Pattern, PatternError, parse
from .report import Check, Finding, Node, Place, Run, Seen, describe, either, nearest, one_of, show

# -- formats --------------------------------------------------------------------------------------
# Predicates for the values of the keyword `format`.
#
# FORMATS maps names to predicates; a format that is not in it is an annotation. Each predicate
# checks the whole text against the RFC's grammar, ASCII only, without I/O, in linear time.
#
# Not covered: `hostname` checks the form of an A-label (`xn--…`) and that it is Punycode, not that
# it is a valid IDNA 2008 name; that needs tables the standard library doesn't have.

EXAMPLES = {
    "date-time": "2026-11-21T10:00:00Z",
    "date": "2026-11-21",
    "time": "10:00:00Z",
    "duration": "PT1H30M",
    "email": "name@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.org/",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}

_TIME = re.compile(
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DURATION = re.compile(  # RFC 3339 appendix A: no gaps between units, weeks alone
    r"P(?:[0-9]+W"
    r"|(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)"
    r"(?:T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S))?"
    r"|T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S))"
)
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_LOCAL = re.compile(  # RFC 5321 section 4.1.2
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r'|"(?:[ !#-\[\]-~]|\\[ -~])*"'
)
_PCHAR = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_URI = re.compile(  # RFC 3986 appendix A
    r"[A-Za-z][A-Za-z0-9+.-]*:"
    r"(?://(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?"
    r"(?:\[(?P<address>[^\]\[]*)\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?"
    rf"(?:/{_PCHAR}*)*"
    rf"|/(?:{_PCHAR}+(?:/{_PCHAR}*)*)?|{_PCHAR}+(?:/{_PCHAR}*)*|)"
    rf"(?:\?(?:{_PCHAR}|[/?])*)?(?:#(?:{_PCHAR}|[/?])*)?"
)
_FUTURE_ADDRESS = re.compile(r"v[0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+")


def date_time(text: str) -> bool:
    """Check RFC 3339 section 5.6: `2026-11-21T10:00:00Z`, with a mandatory offset."""
    return text[10:11] in ("T", "t") and date(text[:10]) and time(text[11:])


def date(text: str) -> bool:
    """Check RFC 3339 `full-date`: `2026-11-21`."""
    # Year 0000 is allowed and a leap year, but not a datetime.date.
    common = text.replace("0000", "2000", 1) if text.startswith("0000") else text
    return bool(_DATE.fullmatch(text)) and _accepted(datetime.date.fromisoformat, common)


def time(text: str) -> bool:
    """Check RFC 3339 `full-time`. A second 60 exists only at 23:59 UTC (section 5.7)."""
    match = _TIME.fullmatch(text)
    if not match:
        return False
    hour, minute, second = (int(part) for part in match.group(1, 2, 3))
    away_hours, away_minutes = int(match[5] or 0), int(match[6] or 0)
    if hour > 23 or minute > 59 or second > 60 or away_hours > 23 or away_minutes > 59:
        return False
    offset = (away_hours * 60 + away_minutes) * (-1 if match[4] == "-" else 1)
    return second < 60 or (hour * 60 + minute - offset) % 1440 == 1439


def email(text: str) -> bool:
    """Check an address by RFC 5321 section 4.1.2, with a host name or an address literal."""
    local, _, domain = text.rpartition("@")
    if not _LOCAL.fullmatch(local):
        return False
    if domain.startswith("[") and domain.endswith("]"):
        literal = domain[1:-1]
        return ipv6(literal[5:]) if literal.startswith("IPv6:") else ipv4(literal)
    return hostname(domain)


def hostname(text: str) -> bool:
    """Check RFC 1123 section 2.1.

    `--` at the third place is allowed only in A-labels (RFC 5891 section 4.2.3.1).
    """
    return len(text) <= 253 and all(_host_label(label) for label in text.split("."))


def _host_label(label: str) -> bool:
    if not _LABEL.fullmatch(label):
        return False
    if label[2:4] != "--":
        return True
    if label[:4].lower() != "xn--":
        return False
    try:
        return not label[4:].encode().decode("punycode").isascii()
    except ValueError:
        return False


def ipv4(text: str) -> bool:
    """Check a dotted IPv4 address."""
    return len(text) <= 15 and text.isascii() and _accepted(ipaddress.IPv4Address, text)


def ipv6(text: str) -> bool:
    """Check an IPv6 address without a zone."""
    plain = len(text) <= 45 and text.isascii() and "%" not in text
    return plain and _accepted(ipaddress.IPv6Address, text)


def _accepted(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def uri(text: str) -> bool:
    """Check a URI by RFC 3986 appendix A; a scheme is required."""
    match = _URI.fullmatch(text)
    if not match:
        return False
    address = match["address"]
    return address is None or ipv6(address) or _FUTURE_ADDRESS.fullmatch(address) is not None


FORMATS: dict[str, Callable[[str], bool]] = {
    "date-time": date_time,
    "date": date,
    "time": time,
    "duration": lambda text: _DURATION.fullmatch(text) is not None,
    "email": email,
    "hostname": hostname,
    "ipv4": ipv4,
    "ipv6": ipv6,
    "uri": uri,
    "uuid": lambda text: _UUID.fullmatch(text) is not None,
    "regex": lambda text: _accepted(parse, text),
}


# -- keywords -------------------------------------------------------------------------------------

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
    found = compile_patterns(site, "pattern", [operand])
    message = f"expected text matching {show(operand)}"

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Fail if a text does not contain a match."""
        if isinstance(value, str) and not matches(found[0], value, run):
            run.fail(at, "pattern", message, value)

    return check if found else None


def compile_patterns(site: Site, keyword: str, sources: list[str]) -> list[Pattern]:
    """Return the patterns that compile; each of the others is a problem of the schema."""
    found = []
    for source in sources:
        try:
            found.append(site.pattern(source))
        except PatternError as error:
            site.add_problem(keyword, str(error))
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


def reference(site: Site, operand: str) -> Check | None:
    """Build the check of `$ref`: the one of the target's node."""
    target = site.follow(operand)
    return target.check if target else None


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


# -- members --------------------------------------------------------------------------------------
# The keywords of JSON Schema about the members of objects and the items of arrays.
#
# They have the same interface as those in `keywords` and are listed in the table of `validate`.
# Members are checked by `site.inside` nodes; a check adds the keys it evaluates to `seen`.

# ----------------------------------------------------------------------------------- objects


def properties(site: Site, operand: Mapping[str, Any]) -> Check:
    """Build the check of `properties`."""
    nodes = {name: site.inside(sub, "properties", name) for name, sub in operand.items()}
    required = set(site.schema.get("required", ()))

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Check the members that are named in the operand."""
        if not isinstance(value, dict):
            return
        for name, item in value.items():
            if name not in nodes:
                continue
            if item is None and name not in required:
                check_null(nodes[name], (at, name), run)
            else:
                nodes[name].check(item, (at, name), run)
            if seen is not None:
                seen.add(name)

    return check


def check_null(node: Node, at: Place, run: Run) -> None:
    """Fail if null does not fit a property that is not required, suggesting to leave it out."""
    if node.attempt(None, at, run):
        run.fail(at, "properties", f"expected {node.expected} or to be left out", None)


def pattern_properties(site: Site, operand: Mapping[str, Any]) -> Check:
    """Build the check of `patternProperties`."""
    patterns = compile_patterns(site, "patternProperties", list(operand))
    nodes = [site.inside(sub, "patternProperties", name) for name, sub in operand.items()]

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Check the members whose names match a pattern."""
        for name, item in value.items() if isinstance(value, dict) else ():
            for pattern, node in zip(patterns, nodes, strict=True):
                if matches(pattern, name, run):
                    node.check(item, (at, name), run)
                    if seen is not None:
                        seen.add(name)

    return check


def additional_properties(site: Site, operand: Any) -> Check:
    """Build the check of `additionalProperties`."""
    known = site.schema.get("properties", {})
    patterns = compile_patterns(site, "", list(site.schema.get("patternProperties", ())))
    node = site.inside(operand, "additionalProperties")

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Check the members that neither `properties` nor `patternProperties` covers."""
        for name, item in value.items() if isinstance(value, dict) else ():
            if name in known or any(matches(pattern, name, run) for pattern in patterns):
                continue
            if seen is not None:
                seen.add(name)
            if operand is not False:
                node.check(item, (at, name), run)
            elif not run.full:  # similar names take long to find
                message = f"unexpected property {show(name)}"
                if not patterns:
                    allowed = f"allowed: {one_of(known)}" if known else "none is allowed"
                    message += f"; {allowed}{nearest(name, known)}"
                run.fail((at, name), "additionalProperties", message)

    return check


def property_names(site: Site, operand: Any) -> Check:
    """Build the check of `propertyNames`."""
    node = site.inside(operand, "propertyNames")

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Check the names of an object's members."""
        for name in value if isinstance(value, dict) else ():
            for finding in node.attempt(name, (at, name), run):
                message = f"the name does not fit: {finding.mismatch().message}"
                run.fail(finding.at, "propertyNames", message)

    return check


def required(site: Site, operand: list[str]) -> Check:
    """Build the check of `required`."""
    members = site.schema.get("properties", {})
    wanted = {
        name: site.inside(members[name], "properties", name) if name in members else None
        for name in operand
    }

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Fail for each name that is missing."""
        if isinstance(value, dict):
            for name, node in wanted.items():
                if name not in value:
                    what = f", expected {node.expected}" if node else ""
                    run.fail((at, name), "required", "missing" + what)

    return check


# ------------------------------------------------------------------------------------ arrays


def prefix_items(site: Site, operand: list[Any], keyword: str = "prefixItems") -> Check:
    """Build the check of the first items, each by its own subschema."""
    nodes = [site.inside(sub, keyword, index) for index, sub in enumerate(operand)]

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Check the items that have a subschema."""
        if isinstance(value, list):
            for index, (node, item) in enumerate(zip(nodes, value, strict=False)):
                node.check(item, (at, index), run)
                if seen is not None:
                    seen.add(index)

    return check


def items(site: Site, operand: Any) -> Check | None:
    """Build the check of `items`, which may be a list before 2020-12."""
    if not isinstance(operand, list):
        start = 0 if site.draft7 else len(site.schema.get("prefixItems", ()))
        return rest_of_items(site, operand, "items", start)
    if site.draft7:
        return prefix_items(site, operand, "items")
    site.add_problem("items", f"expected a schema, got {describe(operand)}")
    return None


def additional_items(site: Site, operand: Any) -> Check | None:
    """Build the check of `additionalItems`; None if `items` is not a list."""
    before = site.schema.get("items")
    if not isinstance(before, list):
        return None
    return rest_of_items(site, operand, "additionalItems", len(before))


def rest_of_items(site: Site, operand: Any, keyword: str, start: int) -> Check:
    """Build the check of the items from index `start` on."""
    node = site.inside(operand, keyword)

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Check the remaining items, or fail if there must be none."""
        if not isinstance(value, list) or len(value) <= start:
            return
        if operand is False:
            run.fail(at, keyword, f"expected at most {start} items, got {len(value)}")
        else:
            for index in range(start, len(value)):
                node.check(value[index], (at, index), run)
        if seen is not None:
            seen.update(range(start, len(value)))

    return check


def contains(site: Site, operand: Any) -> Check:
    """Build the check of `contains` with its `minContains` and `maxContains`."""
    node = site.inside(operand, "contains")
    least = 1 if site.draft7 else int(site.schema.get("minContains", 1))
    most = None if site.draft7 else site.schema.get("maxContains")

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Fail if too few or too many items fit."""
        if not isinstance(value, list):
            return
        fits = [i for i, item in enumerate(value) if not node.attempt(item, (at, i), run)]
        if seen is not None:
            seen.update(fits)
        got = f"items to be {node.expected}, got {len(fits)}"
        if len(fits) < least:
            run.fail(at, "contains", f"expected at least {least} {got}")
        if most is not None and len(fits) > most:
            run.fail(at, "maxContains", f"expected at most {int(most)} {got}")

    return check


# ---------------------------------------------------------------- members not evaluated elsewhere


def unevaluated(keyword: str, kind: type[Any], word: str) -> Builder:
    """Return the builder of `unevaluatedItems` or `unevaluatedProperties`."""

    def build(site: Site, operand: Any) -> Check:
        """Build the check for one operand."""
        node = site.inside(operand, keyword)

        def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
            """Check the members that no other keyword has evaluated."""
            if not isinstance(value, kind) or seen is None:
                return
            keys = value if isinstance(value, dict) else range(len(value))
            for key in [key for key in keys if key not in seen]:
                seen.add(key)
                if operand is False:
                    run.fail((at, key), keyword, f"unexpected {word} {show(key)}")
                else:
                    node.check(value[key], (at, key), run)

        return check

    return build
