"""The applicators of JSON Schema: keywords that hand the same value to subschemas, and their table.

Where it sits: `compile` calls one function of APPLICATORS per keyword of a schema; those that look
into the value are in `members`. Rule of the file: a subschema whose failure is no failure of the
whole is only attempted, and what a failed attempt has seen does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import members
from .keywords import Here
from .node import Check, Finding, Node, Place, Run, Seen
from .wording import either


def ref(here: Here, operand: str, keyword: str = "$ref") -> Check | None:
    target = here.follow(keyword)
    return target.check if target else None


def dynamic_ref(here: Here, operand: str) -> Check | None:
    return ref(here, operand, "$dynamicRef")


def all_of(here: Here, operand: list[Any]) -> Check | None:
    nodes = [here.same(sub, "allOf", index) for index, sub in enumerate(operand)]

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        for node in nodes:
            node.check(value, at, run, seen)

    return check


def any_of(here: Here, operand: list[Any]) -> Check | None:
    nodes = [here.same(sub, "anyOf", index) for index, sub in enumerate(operand)]

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        failed = []
        for node in nodes:
            found = node.attempt(value, at, run, seen)
            failed.append(found)
            if not found and seen is None:
                return
        if all(failed):
            _explain(value, at, run, "anyOf", nodes, failed)

    return check


def one_of_(here: Here, operand: list[Any]) -> Check | None:
    nodes = [here.same(sub, "oneOf", index) for index, sub in enumerate(operand)]

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        failed = [node.attempt(value, at, run, seen) for node in nodes]
        fits = [str(index + 1) for index, found in enumerate(failed) if not found]
        if not fits:
            _explain(value, at, run, "oneOf", nodes, failed)
        elif len(fits) > 1:
            run.fail(
                at,
                "oneOf",
                f"expected exactly one of {len(nodes)} alternatives, but "
                f"{', '.join(fits[:-1])} and {fits[-1]} fit",
            )

    return check


def _explain(
    value: Any, at: Place, run: Run, keyword: str, nodes: list[Node], failed: list[list[Finding]]
) -> None:
    """Say what is wrong with the alternative that was meant, if it can be told which one was.

    Ruled out are alternatives of another type or constant, then those whose tag property, a
    constant such as `kind: "circle"`, says something else. Who is left alone was meant.
    """
    meant = [found for found in failed if not any(_elsewhere(finding, at) for finding in found)]
    tagged = [found for found in meant if not any(_other_tag(finding, at) for finding in found)]
    meant = tagged or meant
    if len(meant) == 1:
        for finding in meant[0]:
            run.fail(*finding)
        return
    message = "expected " + either([node.expected for node in nodes])
    if meant:
        closest = min(meant, key=len)
        message += f"; the closest fails at {closest[0].mismatch()}"
        run.fail(at, keyword, message, wanted=(value, nodes))
    else:
        run.fail(at, keyword, message, value, (value, nodes))


def _elsewhere(finding: Finding, at: Place) -> bool:
    return finding.at is at and finding.keyword in ("type", "enum", "const", "anyOf", "oneOf")


def _other_tag(finding: Finding, at: Place) -> bool:
    tag = finding.at is not None and finding.at[0] is at
    return tag and finding.keyword in ("enum", "const")


def not_(here: Here, operand: Any) -> Check | None:
    node = here.same(operand, "not")

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if not node.attempt(value, at, run):
            run.fail(at, "not", f"expected anything but {node.expected}", value)

    return check


def if_(here: Here, operand: Any) -> Check | None:
    condition = here.same(operand, "if")
    then, otherwise = (
        here.same(here.schema[word], word) if word in here.schema else None
        for word in ("then", "else")
    )

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        branch = otherwise if condition.attempt(value, at, run, seen) else then
        if branch:
            branch.check(value, at, run, seen)

    return check


def dependent_schemas(here: Here, operand: Mapping[str, Any]) -> Check | None:
    nodes = {name: here.same(sub, "dependentSchemas", name) for name, sub in operand.items()}

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if isinstance(value, dict):
            for name, node in nodes.items():
                if name in value:
                    node.check(value, at, run, seen)

    return check


def dependencies(here: Here, operand: Mapping[str, Any]) -> Check | None:
    """Draft-07's one keyword for both kinds; 2020-12 keeps it as deprecated, and so do we."""
    names = {name: sub for name, sub in operand.items() if isinstance(sub, list)}
    nodes = {
        name: here.same(sub, "dependencies", name)
        for name, sub in operand.items()
        if name not in names
    }
    require = members.dependent_required(here, names)

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        require(value, at, run, seen)
        if isinstance(value, dict):
            for name, node in nodes.items():
                if name in value:
                    node.check(value, at, run, seen)

    return check


# The order is the order of the checks: what is in place first, so that the unevaluated* keywords,
# which come last, know what everybody else has seen.
APPLICATORS: dict[str, Callable[[Here, Any], Check | None]] = {
    "$ref": ref,
    "$dynamicRef": dynamic_ref,
    "allOf": all_of,
    "anyOf": any_of,
    "oneOf": one_of_,
    "not": not_,
    "if": if_,
    "dependentSchemas": dependent_schemas,
    "dependencies": dependencies,
    "properties": members.properties,
    "patternProperties": members.pattern_properties,
    "additionalProperties": members.additional_properties,
    "propertyNames": members.property_names,
    "required": members.required,
    "dependentRequired": members.dependent_required,
    "prefixItems": members.prefix_items,
    "items": members.items,
    "additionalItems": members.additional_items,
    "contains": members.contains,
    "unevaluatedItems": members.unevaluated_items,
    "unevaluatedProperties": members.unevaluated_properties,
}

MODERN = frozenset(  # keywords that draft-07 does not have
    "$dynamicRef dependentSchemas dependentRequired prefixItems"
    " unevaluatedItems unevaluatedProperties".split()
)
