"""yaa: a self-hosted AI agent. A session goes in, an agent runs, the session comes back.

Installed, this is the package `yaa`, and authors of tools and hooks
`from yaa import tool, hook, Context`.
"""

import importlib
from typing import Any

VERSION = "0.1.0"

_FOR_AUTHORS = {
    **dict.fromkeys(("Context", "ToolError", "tool", "toolkit"), ".tools.tool"),
    "hook": ".hooks",
}


def __getattr__(name: str) -> Any:
    """What tools and hooks are written with, loaded only for who asks (PEP 562)."""
    if name in _FOR_AUTHORS:
        return getattr(importlib.import_module(_FOR_AUTHORS[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
