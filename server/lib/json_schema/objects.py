"""Write the JSON Schema of an object in one line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def object_schema(
    properties: Mapping[str, Any], required: Iterable[str] | None = (), *, closed: bool = False
) -> dict[str, Any]:
    """Return the schema of an object with these properties.

    `required`: names of those that must be there, None for all. A closed one has no others.
    """
    names = [*(properties if required is None else required)]
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    schema |= {"required": names} if names else {}
    return schema | ({"additionalProperties": False} if closed else {})
