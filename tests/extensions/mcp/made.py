"""A toolbox with the MCP servers of its configuration, as an App makes it."""

from __future__ import annotations

from typing import Any

from server.config import Config
from server.extensions.mcp.parts import McpParts
from server.lib.http.client import Client
from server.tools.toolbox import Toolbox

from ..hosts import host_of


def toolbox_of(config: Config, client: Client | None = None) -> Toolbox:
    toolbox = Toolbox(config, client)
    parts = McpParts(host_of(config, client=client or Client(), toolbox=toolbox))
    for source in parts.tool_sources():
        toolbox.add_source(source)
    return toolbox


def accounts_of(toolbox: Toolbox) -> Any:
    """The sign-ins at the MCP servers of such a toolbox."""
    (library,) = toolbox.sources
    return library.servers.accounts  # type: ignore[attr-defined]
