"""Rows of kernel tests' tables, for what this extension adds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from server.extensions.mcp import peer
from server.extensions.mcp.library import ResourceTool
from server.extensions.mcp.servers import McpTool
from server.tools.base import Tool

from . import fuzz

# Routes without a key: the answer of an authorization server comes from a browser.
OPEN = {("GET", "/mcp/callback")}
LOOKS = {"/mcp/resource", "/mcp/prompt", "/mcp/complete"}  # they change nothing
# Nothing in their bodies is looked through.
SMALL = {*LOOKS, "/mcp/sign-in", "/mcp/sign-out"}
COMMANDS = [("mcp", "list")]  # that end by themselves
EMPTY_DEFAULTS = {"server.mcpServers": {"a": {"command": "x"}}}  # what such a key takes
FUZZ = {"mcp": (fuzz.trial, 30)}  # target -> (a trial, how many are made)
COSTS = [
    ("messages of MCP", lambda n: lambda: peer.parse_messages("[" + '{"id":1},' * n + "0]"), 4_000)
]

# Kinds of tools -> whether their arguments leave this machine.
LEAVES = {McpTool: True, ResourceTool: True}
# Those that leave it unasked.
UNASKED = {
    "tools of MCP servers with `trust` that say `readOnlyHint`",
    "`read_resource` of MCP servers with `trust`",
}
UNASKED_ROWS = {*UNASKED, "tools of MCP servers", "`read_resource` of MCP servers"}
_SCRIPTS = Path(__file__).parents[2] / "tools"


def unasked_config(home: Path) -> dict[str, Any]:
    """The settings with which there is a tool of each row."""

    def program(script: str) -> dict[str, Any]:
        arguments = [str(_SCRIPTS / f"{script}.py"), str(home / f"notes {script}"), "modern"]
        return {"command": sys.executable, "args": arguments}

    return {
        "server.mcpServers": {
            "plain": {**program("mcp_library"), "skills": ["*"]},
            "trusted": {**program("mcp_server"), "trust": True},
            "library": {**program("mcp_library"), "trust": True},
        }
    }


def unasked_row(tool: Tool) -> str:
    """The row of the security page that a tool belongs to, "" for none of these."""
    if not isinstance(tool, McpTool):
        return ""
    about = "`read_resource` of MCP servers" if isinstance(tool, ResourceTool) else ""
    about = about or "tools of MCP servers"
    if tool.server == "plain" or not (about.startswith("`") or tool.read_only):
        return about
    return f"{about} with `trust`" + ("" if about[0] == "`" else " that say `readOnlyHint`")
