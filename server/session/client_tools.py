"""Check the tools that a session declares for its client. Pure.

Part of `accept`: a tool that a provider would refuse, or whose arguments could not be validated, is
refused before any side effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..schema.validate import SchemaError, Schemas
from .events import pointer

Error = dict[str, str]

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # OpenAI's rule, which every provider accepts
MAX_TOOLS = 256


def misfits(tools: list[dict[str, Any]], schemas: Schemas | None = None) -> Iterator[Error]:
    """Yield the errors of a session's `tools`, which have the right shape already.

    `schemas` is the request's budget for schemas, None for a new one.
    """
    schemas = schemas or Schemas()
    if len(tools) > MAX_TOOLS:
        yield _error((), f"expected at most {MAX_TOOLS} tools, got {len(tools)}")
        return
    seen: set[str] = set()
    for index, tool in enumerate(tools):
        name, schema = tool["name"], tool.get("parameters", {})
        if not NAME.fullmatch(name):
            yield _error((index, "name"), "expected 1 to 64 letters a-z, digits, _ or -")
        elif name in seen:
            yield _error((index, "name"), f"there is a tool named {name} already")
        seen.add(name)
        if schema.get("type", "object") != "object":
            yield _error((index, "parameters", "type"), "expected an object: arguments are one")
        try:
            schemas.validator(schema)  # each call's arguments are validated with it
        except SchemaError as error:
            yield _error((index, "parameters"), str(error))


def _error(place: tuple[str | int, ...], detail: str) -> Error:
    return {"pointer": pointer("tools", *place), "detail": detail}
