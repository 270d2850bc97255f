"""Keywords that look into a value: the members of objects and the items of arrays.

Where it sits: `applicators` lists these beside its own. Rule of the file: members are handed to
`here.inside` nodes, and whoever evaluates one says so in `seen`, which is None unless an
unevaluated* keyword asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .keywords import Here, matches
from .node import Check, Node, Place, Run, Seen
from .patterns import Pattern, PatternError
from .wording import nearest, one_of, show

# ----------------------------------------------------------------------------------- objects


def properties(here: Here, operand: Mapping[str, Any]) -> Check | None:
    nodes = {name: here.inside(sub, "properties", name) for name, sub in operand.items()}
    required = set(here.schema.get("required", ()))

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if not isinstance(value, dict):
            return
        for name, item in value.items():
            if name not in nodes:
                continue
            if item is None and name not in required:
                _check_null(nodes[name], (at, name), run)
            else:
                nodes[name].check(item, (at, name), run)
            if seen is not None:
                seen.add(name)

    return check


def _check_null(node: Node, at: Place, run: Run) -> None:
    """A null where the property could have been left out: most often that is what was meant."""
    if node.attempt(None, at, run):
        run.fail(at, "properties", f"expected {node.expected} or to be left out", None)


def pattern_properties(here: Here, operand: Mapping[str, Any]) -> Check | None:
    pairs = [
        (compiled, here.inside(operand[source], "patternProperties", source))
        for source, compiled in _patterns(here, operand)
    ]

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if isinstance(value, dict):
            for name, item in value.items():
                for compiled, node in pairs:
                    if matches(compiled, name, run):
                        node.check(item, (at, name), run)
                        if seen is not None:
                            seen.add(name)

    return check


def _patterns(here: Here, sources: Mapping[str, Any]) -> list[tuple[str, Pattern]]:
    compiled = []
    for source in sources:
        try:
            compiled.append((source, Pattern(source)))
        except PatternError as error:
            here.bad("patternProperties", str(error))
    return compiled


def additional_properties(here: Here, operand: Any) -> Check | None:
    known = here.schema.get("properties", {})
    shapes = [compiled for _, compiled in _patterns(here, here.schema.get("patternProperties", {}))]
    node = here.inside(operand, "additionalProperties")

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if not isinstance(value, dict):
            return
        for name, item in value.items():
            if name in known or any(matches(shape, name, run) for shape in shapes):
                continue
            if seen is not None:
                seen.add(name)
            if operand is False:
                message = f"unexpected property {show(name)}"
                if not shapes:
                    allowed = f"allowed: {one_of(known)}" if known else "none is allowed"
                    message += f"; {allowed}{nearest(name, known)}"
                run.fail((at, name), "additionalProperties", message)
            else:
                node.check(item, (at, name), run)

    return check


def property_names(here: Here, operand: Any) -> Check | None:
    node = here.inside(operand, "propertyNames")

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if isinstance(value, dict):
            for name in value:
                for finding in node.attempt(name, (at, name), run):
                    message = f"the name does not fit: {finding.mismatch().message}"
                    run.fail(finding.at, "propertyNames", message)

    return check


def required(here: Here, operand: list[str]) -> Check | None:
    members = here.schema.get("properties", {})
    wanted = {
        name: here.inside(members[name], "properties", name) if name in members else None
        for name in operand
    }

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if isinstance(value, dict):
            for name, node in wanted.items():
                if name not in value:
                    what = f", expected {node.expected}" if node else ""
                    run.fail((at, name), "required", "missing" + what)

    return check


def dependent_required(here: Here, operand: Mapping[str, list[str]]) -> Check:
    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if isinstance(value, dict):
            for name, others in operand.items():
                if name in value:
                    for other in others:
                        if other not in value:
                            message = f"missing, required together with {show(name)}"
                            run.fail((at, other), "dependentRequired", message)

    return check


def unevaluated_properties(here: Here, operand: Any) -> Check | None:
    node = here.inside(operand, "unevaluatedProperties")

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if not isinstance(value, dict) or seen is None:
            return
        for name in [name for name in value if name not in seen]:
            seen.add(name)
            if operand is False:
                message = f"unexpected property {show(name)}"
                run.fail((at, name), "unevaluatedProperties", message)
            else:
                node.check(value[name], (at, name), run)

    return check


# ------------------------------------------------------------------------------------ arrays


def prefix_items(here: Here, operand: list[Any], keyword: str = "prefixItems") -> Check | None:
    nodes = [here.inside(sub, keyword, index) for index, sub in enumerate(operand)]

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if isinstance(value, list):
            for index, (node, item) in enumerate(zip(nodes, value, strict=False)):
                node.check(item, (at, index), run)
                if seen is not None:
                    seen.add(index)

    return check


def items(here: Here, operand: Any) -> Check | None:
    if isinstance(operand, list):  # draft-07: what prefixItems is today
        return prefix_items(here, operand, "items")
    start = 0 if here.draft7 else len(here.schema.get("prefixItems", ()))
    return _rest(here, operand, "items", start)


def additional_items(here: Here, operand: Any) -> Check | None:
    before = here.schema.get("items")
    return (
        _rest(here, operand, "additionalItems", len(before)) if isinstance(before, list) else None
    )


def _rest(here: Here, operand: Any, keyword: str, start: int) -> Check:
    node = here.inside(operand, keyword)

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if not isinstance(value, list) or len(value) <= start:
            return
        if operand is False:
            message = f"expected at most {start} items, got {len(value)}"
            run.fail(at, keyword, message)
        else:
            for index in range(start, len(value)):
                node.check(value[index], (at, index), run)
        if seen is not None:
            seen.update(range(start, len(value)))

    return check


def contains(here: Here, operand: Any) -> Check | None:
    node = here.inside(operand, "contains")
    least = 1 if here.draft7 else int(here.schema.get("minContains", 1))
    most = None if here.draft7 else here.schema.get("maxContains")

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if not isinstance(value, list):
            return
        fits = [i for i, item in enumerate(value) if not node.attempt(item, (at, i), run)]
        if seen is not None and not here.draft7:
            seen.update(fits)
        if len(fits) < least:
            wanted = f"expected at least {least} items to be {node.expected}"
            run.fail(at, "contains", f"{wanted}, got {len(fits)}")
        if most is not None and len(fits) > most:
            wanted = f"expected at most {int(most)} items to be {node.expected}"
            run.fail(at, "maxContains", f"{wanted}, got {len(fits)}")

    return check


def unevaluated_items(here: Here, operand: Any) -> Check | None:
    node = here.inside(operand, "unevaluatedItems")

    def check(value: Any, at: Place, run: Run, seen: Seen) -> None:
        if not isinstance(value, list) or seen is None:
            return
        for index in [index for index in range(len(value)) if index not in seen]:
            seen.add(index)
            if operand is False:
                run.fail((at, index), "unevaluatedItems", f"unexpected item {index}")
            else:
                node.check(value[index], (at, index), run)

    return check
