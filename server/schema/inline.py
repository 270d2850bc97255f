"""Write out the references of a schema, for providers that refuse `$ref` and `$defs` (Gemini).

Used by `portable`, `models`, `session` and `tools`; arguments are still validated against the
original schema. One pass from the outside in. Where a type contains itself, or beyond MAX_INLINED
or MAX_LEVELS, a description refers to the type by its title.
"""

from __future__ import annotations

from typing import Any

from .compile import IN_LIST, IN_MAP, IN_ONE, member, tokens

MAX_INLINED = 2_000  # types that contain each other twice are 2**n when written out
MAX_LEVELS = 60  # of nested schemas; a reference and its target are two
SIMPLE = ("string", "integer", "number", "boolean")  # types without subschemas
_TABLES = ("$defs", "definitions")  # only targets of references


def inline(schema: dict[str, Any], depth: int = MAX_INLINED) -> dict[str, Any]:
    """Return the schema with its local references written out; others stay.

    `depth` limits how many references are written out inside each other; types in SIMPLE are
    exempt.
    """
    result: dict[str, Any] = _Inliner(schema, depth).schema(schema, ())
    return result


class _Inliner:
    def __init__(self, root: dict[str, Any], depth: int) -> None:
        self.root, self.depth = root, depth
        self.count = self.level = 0

    def schema(self, node: Any, trail: tuple[str, ...]) -> Any:
        """Return `node` written out; `trail` lists the references that enclose it."""
        self.level += 1
        written = self.write_out(node, trail)
        self.level -= 1
        return written

    def write_out(self, node: Any, trail: tuple[str, ...]) -> Any:
        """Return `node` written out, without counting a level."""
        if isinstance(node, list):
            return [self.schema(item, trail) for item in node]
        if not isinstance(node, dict):
            return node
        reference = node.get("$ref")
        if isinstance(reference, str) and f"{reference}/".startswith("#/"):
            return self.reference(node, reference, trail)
        written = {}
        for keyword, operand in node.items():
            if node is self.root and keyword in _TABLES:
                continue
            if keyword in IN_MAP and isinstance(operand, dict):
                written[keyword] = {name: self.schema(sub, trail) for name, sub in operand.items()}
            elif keyword in IN_ONE or keyword in IN_LIST:
                written[keyword] = self.schema(operand, trail)
            else:
                written[keyword] = operand
        return written

    def reference(self, node: dict[str, Any], reference: str, trail: tuple[str, ...]) -> Any:
        """Return the target of a reference, with the siblings of `$ref` laid over it."""
        beside = {"$ref", *_TABLES} if node is self.root else {"$ref"}
        siblings = {keyword: sub for keyword, sub in node.items() if keyword not in beside}
        target: Any = self.root
        for token in tokens(reference):
            target = member(target, token)
        if target is True:
            return self.schema(siblings, trail)
        if not isinstance(target, dict):
            return node
        self.count += 1
        deep = len(trail) >= self.depth and target.get("type") not in SIMPLE
        deep = deep or self.level > MAX_LEVELS or self.count > MAX_INLINED
        if reference not in trail and not deep:
            inner = self.schema(target, (*trail, reference))
            return {**inner, **self.schema(siblings, trail)}
        title = target.get("title") or reference.rpartition("/")[2].strip("#") or "the whole"
        kind = {"type": target["type"]} if "type" in target else {}
        return {**kind, "title": title, "description": f"same shape as {title}", **siblings}
