"""Choose who searches as the agent opens, and offer the tool where somebody was found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...tools.tool_source import Replace, ToolSource
from ..parts import OFF, OK, CheckResult, Host, Parts
from .choice import SearchChoice, find_search
from .providers import Domains
from .search_tool import WebSearchTool, web_search


class SearchSource(ToolSource):
    """The source of the one tool."""

    place, names = "server.search", (web_search.__name__,)

    def __init__(self, host: Host) -> None:
        self._host, self.choice = host, SearchChoice()

    @property
    def parts(self) -> tuple[str, ...]:
        """Return its only part."""
        return self.names

    async def load(self, replace: Replace) -> None:
        """Choose a provider, and add the tool. One of the owner's with its name stays."""
        server, client = self._host.config.server, self._host.client
        self.choice = await find_search(server, client, self._host.env)
        if (endpoint := self.choice.endpoint) and not {*self.names} & self._host.toolbox.names():
            settings = server["search"]
            bounds = {
                "domains": Domains(tuple(settings["allow"]), tuple(settings["deny"])),
                "most": settings["max_searches"],
            }
            tool = WebSearchTool.of(web_search, client=client, endpoint=endpoint, **bounds)
            replace(self.names[0], [tool])


class WebSearchParts(Parts):
    """Web search with one configuration."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._source = SearchSource(host)

    def tool_sources(self) -> Iterable[SearchSource]:
        """Return the source of the tool."""
        return (self._source,)

    def info(self, owner: str) -> Mapping[str, Any]:
        """Return who searches, or what would make the tool appear."""
        return {"search": self._source.choice.info()}

    def problems(self) -> Mapping[str, list[str]]:
        """Return what is wrong with the settings."""
        return {"search": [*self._source.choice.problems]}

    def checks(self) -> Iterable[CheckResult]:
        """Say whether there is a provider. A wrong setting is one of the problems."""
        choice = self._source.choice
        if choice.endpoint:
            yield CheckResult(OK, "search", choice.reason)
        elif choice.reason:
            yield CheckResult(OFF, "search", "web_search is not offered", choice.reason)
