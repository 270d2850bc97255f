"""A schema without references, for the providers that refuse them.

Where it sits: after `generate`, or on a schema of a client or MCP server, right before it is sent
to such a provider (Gemini refuses `$ref` and `$defs`). Rule of the file: one pass, outside in.
Where a type contains itself, the inside is described in words, and so is what is beyond
MAX_INLINED or MAX_LEVELS: the schema that arguments are checked against stays the one with
references.
"""

from __future__ import annotations

from typing import Any

from .references import IN_LIST, IN_MAP, IN_ONE, member, tokens

MAX_INLINED = 2_000  # types that contain each other twice are 2**n when written out
MAX_LEVELS = 60  # of schemas within each other, a reference and what it leads to being two
SIMPLE = ("string", "integer", "number", "boolean")  # types with none within them
_TABLES = ("$defs", "definitions")  # only there to be referred to


def inline(schema: dict[str, Any], depth: int = MAX_INLINED) -> dict[str, Any]:
    """The same schema with its local references written out, up to so many in each other and what
    is SIMPLE in those; references that leave it stay."""
    result: dict[str, Any] = _Inliner(schema, depth).schema(schema, ())
    return result


class _Inliner:
    def __init__(self, root: dict[str, Any], depth: int) -> None:
        self.root, self.depth = root, depth
        self.count = self.level = 0

    def schema(self, node: Any, trail: tuple[str, ...]) -> Any:
        """`node` written out; `trail` are the references that we are inside of."""
        self.level += 1
        written = self.written(node, trail)
        self.level -= 1
        return written

    def written(self, node: Any, trail: tuple[str, ...]) -> Any:
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
        """What the reference leads to, with the reference's siblings laid over it."""
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
