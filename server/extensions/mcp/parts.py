"""Connect MCP servers with the agent: a source of tools, and the routes for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...api import idempotency
from ...api.router import Route
from ..parts import Host, Parts
from .library import McpLibrary
from .offer_routes import McpOffers
from .servers import McpServers
from .sign_in_routes import SignIns


class McpParts(Parts):
    """The MCP servers of one configuration."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        server = host.config.server
        servers = McpServers(
            *(server["mcpServers"], host.client, server["limits"]["tool"]["wall_s"]),
            home=host.config.home,
        )
        self.accounts, self.library = servers.accounts, McpLibrary(servers, server["tools"])

    def tool_sources(self) -> Iterable[McpLibrary]:
        """Return the servers."""
        return (self.library,)

    def routes(self) -> Mapping[tuple[str, str], Route]:
        """Return the routes of resources, prompts and sign-ins."""
        sign_ins = idempotency.of_process.wrap(SignIns(self.accounts).routes())
        return {**McpOffers(self.library, self.host.ceilings).routes(), **sign_ins}
