"""yaa: a self-hosted AI agent. A session goes in, an agent runs, the session comes back.

Installed, this package is called yaa: `from yaa import tool` is how an owner's file begins, and so
how its tests can import it.
"""

from .tools.tool import Context, ToolError, tool, toolkit

__all__ = ["VERSION", "Context", "ToolError", "tool", "toolkit"]

VERSION = "0.1.0"
