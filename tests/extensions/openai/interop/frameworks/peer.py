"""What the programs in this folder have in common: each drives one framework against a server.

Reads {"url", "key"} as JSON from standard input; writes {case: what came of it} as JSON. A case
that raises is told as the error's classes and words.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

GIVEN = json.load(sys.stdin)
URL, KEY, MODEL = GIVEN["url"], GIVEN["key"], "counter"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}
found: dict[str, Any] = {}
_cases: list[Callable[[], Any]] = []
asked: list[str] = []


def get_weather(city: str) -> str:
    """The weather in a city.

    Args:
        city: its name
    """
    asked.append(city)
    return "sunny"


def case(make: Callable[[], Any]) -> Callable[[], Any]:
    _cases.append(make)
    return make


def main() -> None:
    only = GIVEN.get("only")
    for each in _cases:
        if only and each.__name__ not in only:
            continue
        asked.clear()
        try:
            value = each()
            if inspect.iscoroutine(value):
                value = asyncio.run(value)
            found[each.__name__] = value
        except BaseException as error:
            kinds = [kind.__name__ for kind in type(error).__mro__[:3]]
            found[each.__name__] = {"raised": kinds, "said": str(error)[:600]}
            if GIVEN.get("traces"):
                traceback.print_exc()
    print("\n" + json.dumps(found, ensure_ascii=False))
    sys.stdout.flush()
    os._exit(0)  # some leave threads behind
