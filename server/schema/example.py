"""Make an example value that fits a schema, for models and people.

Used where a schema is shown (tools/base.py). The same schema gives the same example, and an
example that does not fit is not returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .validate import SchemaError, Validator

MAX_DEPTH = 8
MAX_VALUES = 500
NOTHING: Any = object()

FORMATS = {
    "date": "2026-03-01",
    "date-time": "2026-03-01T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "P1D",
    "email": "ada@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.org/page",
    "uuid": "6f1c0b9e-0f5a-4f0e-9c53-3f1d2f6c7a10",
}
# Sample texts by a word in the property's name; the first match counts.
NAMES = {
    "path": "notes/today.txt",
    "file": "notes/today.txt",
    "url": "https://example.org/page",
    "email": "ada@example.org",
    "date": "2026-03-01",
    "time": "12:00",
    "zone": "Europe/Paris",
    "city": "Paris",
    "country": "France",
    "language": "en",
    "id": "42",
    "name": "Ada",
    "query": "words to look for",
}


def example(schema: dict[str, Any]) -> Any:
    """Return a short value that fits the schema; NOTHING if none was found.

    `schema` must have its references written out (`inline`).
    """
    try:
        validator = Validator(schema)  # from here on every keyword has an operand of its kind
    except SchemaError:
        return NOTHING
    value = _value(schema, "", 0, iter(range(MAX_VALUES)))
    return NOTHING if validator.errors(value) else value


def _value(schema: Any, name: str, depth: int, left: Iterator[int]) -> Any:
    """Return a value for `schema`, which may not fit.

    `name` is its property's name. `left` yields once per value that may still be made, because
    nested arrays grow exponentially.
    """
    if not isinstance(schema, dict) or depth > MAX_DEPTH or next(left, None) is None:
        return None
    for keyword in ("examples", "enum"):
        if isinstance(schema.get(keyword), list) and schema[keyword]:
            return schema[keyword][0]
    for keyword in ("const", "default"):
        if schema.get(keyword) is not None:
            return schema[keyword]
    for keyword in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(keyword), list) and schema[keyword]:
            return _value(schema[keyword][0], name, depth + 1, left)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    match kind[0] if isinstance(kind, list) and kind else kind:
        case "object":
            return _object(schema, depth, left)
        case "array":
            items = max(1, int(schema.get("minItems", 1)))
            item = schema.get("items", {})
            return [_value(item, name, depth + 1, left) for _ in range(min(items, 20))]
        case "integer" | "number":
            return _number(schema)
        case "boolean":
            return True
        case "string":
            return _text(schema, name)
    return None


def _object(schema: dict[str, Any], depth: int, left: Iterator[int]) -> dict[str, Any]:
    """Return an object with the required properties; with all if none is required."""
    fields = schema.get("properties", {})
    names = schema.get("required") or list(fields)
    return {name: _value(fields.get(name, {}), name, depth + 1, left) for name in names}


def _number(schema: dict[str, Any]) -> float:
    step = schema.get("multipleOf", 1)
    least = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    most = schema.get("maximum", schema.get("exclusiveMaximum"))
    value: float = max(1, least) if most is None or most > 1 else min(most, 0)
    if value == schema.get("exclusiveMinimum"):
        value += step
    try:
        return value if value % step == 0 else (value // step + 1) * step
    except OverflowError:  # an integer of hundreds of digits and a fractional step
        return value


def _text(schema: dict[str, Any], name: str) -> str:
    text = FORMATS.get(schema.get("format", "")) or next(
        (sample for word, sample in NAMES.items() if word in name.lower()), "text"
    )
    least, most = int(schema.get("minLength", 0)), int(schema.get("maxLength", len(text)))
    return text.ljust(min(least, 1000), "x")[: max(most, least)]
