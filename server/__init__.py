"""yaa: a self-hosted AI agent. A session goes in, an agent runs, the session comes back.

Installed, this is the package `yaa`, and authors of tools `from yaa import tool, Context`.
"""

import importlib
from typing import Any

VERSION = "0.1.0"

_FOR_AUTHORS = ("Context", "ToolError", "tool", "toolkit")


def __getattr__(name: str) -> Any:
    """What tools are written with, loaded only for who asks (PEP 562)."""
    if name in _FOR_AUTHORS:
        return getattr(importlib.import_module(".tools.tool", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
