"""yaa: a self-hosted AI agent. A session goes in, an agent runs, the session comes back.

Installed, this is the package `yaa`. Tools and hooks use `from yaa import tool, hook, Context`,
programs what extensions export.
"""

import importlib
import sys
from types import ModuleType
from typing import Any

VERSION = "0.1.0"

# Checked here because older versions cannot parse the other modules: macOS has Python 3.9, Ubuntu
# 22.04 has 3.10.
if sys.version_info < (3, 11):  # noqa: UP036
    here = f"{sys.version_info[0]}.{sys.version_info[1]}, {sys.executable}"
    sys.stderr.write(f"yaa: needs Python 3.11 or newer, this is {here}; see python.org\n")
    sys.exit(2)
if sys.platform == "win32":
    sys.stderr.write("yaa: needs Linux or macOS; on Windows, start it in WSL (aka.ms/wsl)\n")
    sys.exit(2)

# `python3 -m` looks for modules in the current folder first. That may be a stranger's, so nothing
# more is imported from there, unless it is the folder of this package. While Python looks for the
# package that it is to run, sys.argv begins with -m.
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    if sys.path[0] != __file__.rpartition("/")[0].rpartition("/")[0]:
        del sys.path[0]

_FOR_AUTHORS = {
    **dict.fromkeys(("Context", "ToolError", "tool", "toolkit"), "tools.decorators"),
    "hook": "agent.hooks",
    **dict.fromkeys(("BaseAPI", "ModelError"), "models.adapter"),
    "BaseTool": "tools.program_tools",
    "ConfigError": "config",
    "Problem": "errors",
    **dict.fromkeys(("JsonSession", "SessionManager"), "cli.session_files"),
    **dict.fromkeys(("from_blocks", "to_blocks"), "session.content_blocks"),
}


def later(name: str) -> ModuleType:
    """Import a module of this package at the time of the call and return it.

    Most of the server takes too long to import before the first page (docs/design/speed.md).
    """
    return importlib.import_module(f".{name}", __name__)


def __getattr__(name: str) -> Any:
    """Import the public names of the package at first use (PEP 562)."""
    place = _FOR_AUTHORS.get(name) or later("extensions").all_of("exports").get(name)
    if place:
        return getattr(later(place), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_FOR_AUTHORS, *later("extensions").all_of("exports")})
