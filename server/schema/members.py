"""The keywords of JSON Schema about the members of objects and the items of arrays.

They have the same interface as those in `keywords` and are listed in the table of `validate`.
Members are checked by `site.inside` nodes; a check adds the keys it evaluates to `seen`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .compile import Builder, Site
from .keywords import compiled, matches
from .report import Check, Node, Place, Run, Seen, describe, nearest, one_of, show

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
    patterns = compiled(site, "patternProperties", list(operand))
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
    patterns = compiled(site, "", list(site.schema.get("patternProperties", ())))
    node = site.inside(operand, "additionalProperties")

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        """Check the members that neither `properties` nor `patternProperties` covers."""
        for name, item in value.items() if isinstance(value, dict) else ():
            if name in known or any(matches(pattern, name, run) for pattern in patterns):
                continue
            if seen is not None:
                seen.add(name)
            if operand is False:
                message = f"unexpected property {show(name)}"
                if not patterns:
                    allowed = f"allowed: {one_of(known)}" if known else "none is allowed"
                    message += f"; {allowed}{nearest(name, known)}"
                run.fail((at, name), "additionalProperties", message)
            else:
                node.check(item, (at, name), run)

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
        start = len(site.schema.get("prefixItems", ())) if site.modern else 0
        return rest_of_items(site, operand, "items", start)
    if not site.modern:
        return prefix_items(site, operand, "items")
    site.bad("items", f"expected a schema, got {describe(operand)}")
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
        if seen is not None and site.modern:
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
