"""The tools that a session declares for its page: what a declaration must look like.

In the walk: part of intake's check. A tool that a provider would refuse, or whose arguments could
never be judged, is refused here with its place, before any side effect. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..schema.validate import SchemaError, Schemas
from .events import pointer

Error = dict[str, str]

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what every provider accepts (OpenAI's rule)
MAX_TOOLS = 256


def misfits(tools: list[dict[str, Any]], schemas: Schemas | None = None) -> Iterator[Error]:
    """What is wrong with a session's `tools`, whose shape is checked already. `schemas` is the
    budget of the request, or None for one of their own."""
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
            schemas.validator(schema)  # each call is held against it
        except SchemaError as error:
            yield _error((index, "parameters"), str(error))


def _error(place: tuple[str | int, ...], detail: str) -> Error:
    return {"pointer": pointer("tools", *place), "detail": detail}
