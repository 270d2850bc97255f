"""Schemas as they are found in the wild, put into words that JSON Schema has.

Where it sits: on schemas that clients, MCP servers and OpenAPI documents supply, before
`check_schema`. Rule of the file: only what has one obvious meaning is changed; what remains wrong
is for `check_schema` to say. Of 3,258 functions in the Berkeley Function-Calling Leaderboard most
have types such as dict, float, any, tuple or String.
"""

from __future__ import annotations

from typing import Any

from .refs import DRAFT_7, IN_LIST, IN_MAP, IN_ONE

TYPE_NAMES = {
    **dict.fromkeys(("dict", "map", "mapping", "struct", "hashmap"), "object"),
    **dict.fromkeys(("list", "tuple", "set", "arraylist", "sequence"), "array"),
    **dict.fromkeys(("str", "text", "char"), "string"),
    **dict.fromkeys(("int", "long", "short", "byte"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("bool",), "boolean"),
    **dict.fromkeys(("none", "nil", "undefined"), "null"),
}
ANYTHING = {"any", "mixed", "unknown"}


def normalise(schema: Any) -> Any:
    """A copy with foreign words replaced: type names, OpenAPI 3.0's `nullable`, draft-04's boolean
    bounds, draft-03's `required: true` inside a property, lists as `items` without a `$schema`."""
    declared = schema.get("$schema", "") if isinstance(schema, dict) else ""
    return _schema(schema, isinstance(declared, str) and declared.removesuffix("#") == DRAFT_7)


def _schema(node: Any, draft7: bool) -> Any:
    if isinstance(node, list):
        return [_schema(item, draft7) for item in node]
    if not isinstance(node, dict):
        return node
    found = {}
    for keyword, operand in node.items():
        if keyword in IN_MAP and isinstance(operand, dict):
            found[keyword] = {name: _schema(sub, draft7) for name, sub in operand.items()}
        elif keyword in IN_ONE or keyword in IN_LIST:
            found[keyword] = _schema(operand, draft7)
        else:
            found[keyword] = operand
    _types(found)
    _nullable(found)
    _bounds(found)
    _required(node, found)
    if isinstance(found.get("items"), list) and not draft7:
        found["prefixItems"] = found.pop("items")
        if "additionalItems" in found:
            found["items"] = found.pop("additionalItems")
        if not found["prefixItems"]:
            del found["prefixItems"]
    return found


def _types(found: dict[str, Any]) -> None:
    kind = found.get("type")
    names = kind if isinstance(kind, list) else [kind]
    if any(isinstance(name, str) and name.lower() in ANYTHING for name in names):
        del found["type"]
    elif kind is not None:
        known = [_type(name) for name in names]
        found["type"] = known if isinstance(kind, list) else known[0]


def _type(name: Any) -> Any:
    lower = name.lower() if isinstance(name, str) else ""
    standard = {"null", "boolean", "integer", "number", "string", "array", "object"}
    return TYPE_NAMES.get(lower, lower if lower in standard else name)


def _nullable(found: dict[str, Any]) -> None:
    if found.get("nullable") is True and isinstance(found.get("type"), str):
        found["type"] = [found["type"], "null"]
        if isinstance(found.get("enum"), list) and None not in found["enum"]:
            found["enum"] = [*found["enum"], None]
    if isinstance(found.get("nullable"), bool):
        del found["nullable"]


def _bounds(found: dict[str, Any]) -> None:
    for exclusive, inclusive in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(found.get(exclusive), bool):
            if found.pop(exclusive) and inclusive in found:
                found[exclusive] = found.pop(inclusive)


def _required(node: dict[str, Any], found: dict[str, Any]) -> None:
    """`required: true` belongs to the property in draft-03, to the object since draft-04."""
    if isinstance(found.get("required"), bool):
        del found["required"]
    properties = node.get("properties")
    if isinstance(properties, dict):
        names = [
            name
            for name, sub in properties.items()
            if isinstance(sub, dict) and sub.get("required") is True
        ]
        listed = found.get("required", [])
        if names and isinstance(listed, list):
            found["required"] = [*listed, *(name for name in names if name not in listed)]
