"""Tests of extensions, a folder each; with the rows that they add to tables of kernel tests."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

from server.extensions import present


def rows_for(table: str) -> list[Any]:
    """What each extension adds to a table: what that is called in its `rows.py`, if it is there."""
    places = [f"{__name__}.{name}.rows" for name in present()]
    modules = [importlib.import_module(place) for place in places if find_spec(place)]
    return [getattr(each, table) for each in modules if hasattr(each, table)]
