"""Reduce a tool's schema to the subset that every provider accepts.

Used where a tool is offered to a model (tools/base.py); arguments are checked against the
original schema. A provider that refuses one tool refuses the whole request. So these are rewritten:
OpenAI and llama.cpp support only some patterns, and no object without properties; OpenAI and Gemini
no array without items; Anthropic no tuple of draft-07, and no `filter[id]` or `$top` as names of
arguments; several no `true` in place of a schema, and no choice at the top. The meaning is kept, in
descriptions where the subset can't express it.
"""

from __future__ import annotations

import re
from typing import Any

from ..strict_json import dumps
from .compile import IN_LIST, IN_MAP, IN_ONE, inline

MAX_WORDS = 8_000  # characters of a choice that a description repeats
MAX_PATTERN = 200

_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_CHOICES = ("oneOf", "anyOf", "allOf", "not", "enum", "const")
_MAY_BE_FALSE = ("additionalProperties", "unevaluatedProperties", "unevaluatedItems")
_FOR_RULES = ("workspace-path", "url", "shell-command")  # tools/argument_forms.py
_NOTHING: dict[str, Any] = {"not": {}}
# A reference into a schema instead of to an entry of $defs (zod): its target may move.
_INTO = re.compile(r'"\$ref":"#/(?!(?:\$defs|definitions)/[^/"]*")')


def portable(schema: dict[str, Any], *, rename: bool = True) -> tuple[dict[str, Any], str]:
    """Return (the portable schema of a tool's arguments, a description of what it can't express).

    `rename`: also rename arguments; the caller must then map them back with `original_names`. The
    description is "" if nothing is lost, or if it would be longer than MAX_WORDS.
    """
    found = _simplify(_alone(schema))
    names = {theirs: safe for safe, theirs in original_names(schema).items()} if rename else {}
    found.pop("$schema", None)
    more = {key: found.pop(key) for key in _CHOICES if key in found}
    if more:  # its meaning depends on the choices
        found.pop("unevaluatedProperties", None)
    found = {"type": "object", "properties": {}, **found}
    if names:
        members = found["properties"].items()
        found["properties"] = {names.get(name, name): sub for name, sub in members}
        if "required" in found:
            found["required"] = [names.get(name, name) for name in found["required"]]
    words = f"The arguments must also fit this schema: {dumps(more)}" if more else ""
    return found, words if len(words) <= MAX_WORDS else ""


def original_names(schema: dict[str, Any]) -> dict[str, str]:
    """Return offered name -> original name of the arguments that are renamed."""
    members = _alone(schema).get("properties")
    names = members if isinstance(members, dict) else {}
    found: dict[str, str] = {}
    for name in names:
        if not _NAME.fullmatch(name):
            safe = re.sub(r"[^a-zA-Z0-9_.-]+", "_", name)[:60] or "_"
            while safe in names or safe in found:
                safe += "_"
            found[safe] = name
    return found


def _alone(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema, without references if parts of it are moved or described in words."""
    moves = not schema.keys().isdisjoint(("$ref", *_CHOICES)) or _INTO.search(dumps(schema))
    return inline(schema) if moves else schema


def _simplify(schema: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for keyword, operand in schema.items():
        if keyword == "format" and operand in _FOR_RULES:
            continue
        if keyword in IN_MAP and isinstance(operand, dict):
            found[keyword] = {name: _sub(sub, keyword) for name, sub in operand.items()}
        elif keyword in IN_LIST and isinstance(operand, list):
            found[keyword] = [_sub(sub, keyword) for sub in operand]
        elif keyword in IN_ONE:
            found[keyword] = _sub(operand, keyword)
        else:
            found[keyword] = operand
    for keyword in ("anyOf", "oneOf"):  # zod writes an optional value as a choice with {"not": {}}
        if isinstance(choices := found.get(keyword), list) and _NOTHING in choices:
            found[keyword] = [each for each in choices if each != _NOTHING] or choices
    _without_pattern(found)
    _with_items(found)
    return found


def _sub(schema: Any, keyword: str) -> Any:
    if isinstance(schema, dict):
        return _simplify(schema)
    return {} if schema is True and keyword not in _MAY_BE_FALSE else schema


def _without_pattern(found: dict[str, Any]) -> None:
    """Move `pattern` to the description: grammars of model servers support only simple patterns."""
    pattern = found.pop("pattern", None)
    if isinstance(pattern, str) and len(pattern) <= MAX_PATTERN:
        said = f"{found.get('description') or ''} (pattern: {pattern})"
        found["description"] = said.strip()


def _with_items(found: dict[str, Any]) -> None:
    items = found.get("items")
    if isinstance(items, list):  # a tuple of draft-07
        found["prefixItems"], found["items"] = items, found.pop("additionalItems", {})
    kind = found.get("type")
    if "items" not in found and (kind == "array" or (isinstance(kind, list) and "array" in kind)):
        found["items"] = {}
