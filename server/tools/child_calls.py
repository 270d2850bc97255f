"""What a call does in its process besides the functions of modules; see sandbox/child.py.

Runs in the child only. An owner's function needs the schema package for its types, so what calls it
is imported for it alone, where it was not imported ahead.
"""

from __future__ import annotations

import importlib
from typing import Any

from ..lib.sandbox.tool_context import Context
from .workspace import attachment, shown_file

__all__ = ["attachment", "call", "enter_environment", "shown_file"]

PACKAGE = __name__.rpartition(".")[0]
USER_TOOLS, PACKAGE_TOOLS = f"{PACKAGE}.user_tools", f"{PACKAGE}.package_tools"
PRELOAD = (USER_TOOLS, PACKAGE_TOOLS, f"{PACKAGE}.builtin", f"{PACKAGE}.builtin.html", __name__)


def enter_environment(request: dict[str, Any]) -> None:
    """Make this process one of the environment of the request."""
    enter = importlib.import_module(PACKAGE_TOOLS).enter_environment
    enter(request["environment"], tuple(request["paths"]))


def call(request: dict[str, Any], context: Context) -> Any:
    """Call what `where` names: a tool of an owner's file or package, or what describes one."""
    kind, place, name = request["where"]
    source = request.get("source")
    if kind in ("import", "survey"):
        imported = importlib.import_module(PACKAGE_TOOLS)
        imported.enter(tuple(request["paths"] or ()))
        if kind == "survey":
            return getattr(imported, place)(**request["args"])
        return imported.call(place, name, request["args"], context)
    user_tools = importlib.import_module(USER_TOOLS)
    if kind == "describe":
        return user_tools.describe(place, source)
    return user_tools.call(place, name, request["args"], context, source)
