"""Check the tools that a session declares for its client. Pure.

Part of `accept`: a tool that a provider would refuse, or whose arguments could not be validated, is
refused before any side effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..json_types import ClientTool
from ..lib.json_schema.field_types import Misfit
from ..lib.json_schema.validate import SchemaError, Schemas

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # OpenAI's rule, which every provider accepts


def tool_misfits(tools: list[ClientTool], schemas: Schemas | None = None) -> Iterator[Misfit]:
    """Yield the misfits in a session's `tools`, which have the right shape already.

    `schemas` is the request's budget for schemas, None for a new one.
    """
    schemas = schemas or Schemas()
    seen: set[str] = set()
    for index, tool in enumerate(tools):
        name, schema = tool["name"], tool.get("parameters", {})
        if not NAME.fullmatch(name):
            yield Misfit((index, "name"), "expected 1 to 64 letters a-z, digits, _ or -")
        elif name in seen:
            yield Misfit((index, "name"), f"there is a tool named {name} already")
        seen.add(name)
        if schema.get("type", "object") != "object":
            yield Misfit((index, "parameters", "type"), "expected an object: arguments are one")
        try:
            schemas.validator(schema)  # each call's arguments are validated with it
        except SchemaError as error:
            yield Misfit((index, "parameters"), str(error))
