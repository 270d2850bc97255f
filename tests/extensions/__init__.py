"""Tests of extensions, a folder each; with the rows that they add to tables of kernel tests."""

from __future__ import annotations

import importlib
import unittest
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TypeVar

from server.extensions import present

# An agent of tests/protocols/test_every_call.py that lets tools run, where agents can be in files.
EASY = "easy" if "agents" in present() else "default"
T = TypeVar("T", bound=Callable[..., Any])


def page_of(name: str) -> str:
    """The file name of an extension's page in docs/reference."""
    return f"extension-{name.replace('_', '-')}.md"


def needs(*names: str) -> Callable[[T], T]:
    """Skip a test, or a class of them, where one of these extensions is not there."""
    return unittest.skipUnless({*names} <= {*present()}, f"it goes with {', '.join(names)}")


def rows_for(table: str) -> list[Any]:
    """What each extension adds to a table: what that is called in its `rows.py`, if it is there."""
    places = [f"{__name__}.{name}.rows" for name in present()]
    modules = [importlib.import_module(place) for place in places if find_spec(place)]
    return [getattr(each, table) for each in modules if hasattr(each, table)]
