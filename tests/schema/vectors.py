"""The shared cases of tests/vectors/tool_schema.json, each with its Python source executed."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent.parent / "vectors" / "tool_schema.json"


def cases(kind: str) -> Iterator[dict[str, Any]]:
    """`kind`: signatures or conversions. `namespace` is added: what the source defines."""
    for case in json.loads(CASES.read_bytes())[kind]:
        yield {**case, "namespace": defined(case["source"])}


def defined(source: str, module: str = "case") -> dict[str, Any]:
    """Execute a source as a module of its own: dataclasses look their module up by name."""
    home = sys.modules[module] = types.ModuleType(module)
    exec(compile(source, module, "exec", dont_inherit=True), home.__dict__)
    return home.__dict__


def function(source: str, name: str = "f") -> Callable[..., Any]:
    found: Callable[..., Any] = defined(source)[name]
    return found
