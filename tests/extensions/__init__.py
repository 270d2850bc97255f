"""Tests of extensions, a folder each; with the rows that they add to tables of kernel tests."""

from __future__ import annotations

import importlib
from importlib.util import find_spec

from server.extensions import present


def passed_on() -> set[str]:
    """Addresses of extensions whose bodies are only passed on to another server."""
    found: set[str] = set()
    for name in present():
        if find_spec(place := f"{__name__}.{name}.rows"):
            found |= importlib.import_module(place).PASSED_ON
    return found
