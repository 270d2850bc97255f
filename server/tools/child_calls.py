"""What a call does in its process besides the functions of modules; see sandbox/child.py.

Runs in the child only. An owner's function needs the schema package for its types, so what calls it
is imported for it alone, where it was not imported ahead.
"""

from __future__ import annotations

import functools
import importlib
import os
import site
import sys
from pathlib import Path
from typing import Any

from ..lib.sandbox.tool_context import Context
from .workspace import attachment, shown_file

__all__ = ["attachment", "call", "enter_environment", "shown_file"]

PACKAGE = __name__.rpartition(".")[0]
USER_TOOLS = f"{PACKAGE}.user_tools"
PRELOAD = (USER_TOOLS, f"{PACKAGE}.builtin", f"{PACKAGE}.builtin.html", __name__)


@functools.cache
def enter_environment(folder: str, paths: tuple[str, ...]) -> None:
    """Make this process one of an environment (sandbox/environments.py), as its `python` would be.

    Its packages come behind the standard library, so that an old copy of a module in that cannot
    take its place. Its programs come first. `paths`: the folders of its packages.
    """
    root = str(Path(__file__).resolve().parents[2])
    sys.path[:] = [path for path in sys.path if path != root]
    for path in paths:
        site.addsitedir(path)
    sys.prefix = sys.exec_prefix = folder
    sys.executable = f"{folder}/bin/python"
    others = os.environ.get("PATH", os.defpath)
    os.environ.update({"VIRTUAL_ENV": folder, "PATH": f"{folder}/bin{os.pathsep}{others}"})


def call(request: dict[str, Any], context: Context) -> Any:
    """Call what `where` names: a tool of an owner's file, what describes one, or another module.

    The last has a function `perform`, which is given the request.
    """
    kind, place, name = request["where"]
    source = request.get("source")
    if kind not in ("file", "describe"):
        return importlib.import_module(kind).perform(request, context)
    user_tools = importlib.import_module(USER_TOOLS)
    if kind == "describe":
        return user_tools.describe(place, source)
    return user_tools.call(place, name, request["args"], context, source)
