"""yaa: a self-hosted AI agent. A session goes in, an agent runs, the session comes back.

Installed, this is the package `yaa`, and authors of tools and hooks
`from yaa import tool, hook, Context`.
"""

import importlib
from types import ModuleType
from typing import Any

VERSION = "0.1.0"

_FOR_AUTHORS = {
    **dict.fromkeys(("Context", "ToolError", "tool", "toolkit"), "tools.tool"),
    "hook": "hooks",
}


def later(name: str) -> ModuleType:
    """A module of this package, imported now and not with whoever asks: most of the server takes
    longer to import than a person should wait for a page (docs/design/speed.md)."""
    return importlib.import_module(f".{name}", __name__)


def __getattr__(name: str) -> Any:
    """What tools and hooks are written with, loaded only for who asks (PEP 562)."""
    if name in _FOR_AUTHORS:
        return getattr(later(_FOR_AUTHORS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
