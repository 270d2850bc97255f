"""Offer the operations of the owner's HTTP APIs, once each document is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ...json_types import Json
from ...lib.http.client import Client
from ...lib.strict_json import JSONError, loads
from ...tools.tool_source import Replace, ToolSource
from ..parts import Parts
from .forwarding import header_names
from .operations import operations


class RestSource(ToolSource):
    """The APIs of `server.rest`, each of them a part."""

    place, max_cost = "server.rest", 2_000_000

    def __init__(self, apis: Mapping[str, Json], client: Client, home: Path) -> None:
        """`home`: the folder of the documents."""
        self._apis, self._client, self._home = apis, client, home

    @property
    def parts(self) -> Sequence[str]:
        """Return the names of the APIs."""
        return [*self._apis]

    async def load(self, replace: Replace) -> None:
        """Add the operations that are written out, and those of documents in the home folder."""
        for api, about in self._apis.items():
            file, document = about.get("openapi", ""), None
            try:
                document = loads((self._home / file).read_bytes()) if file else None
            except (OSError, JSONError) as error:
                yaml = isinstance(error, JSONError) and file.endswith((".yaml", ".yml"))
                why = "YAML is not read; convert it to JSON" if yaml else error
                self.report(f"{api}.openapi", str(why))
            replace(api, self.usable(api, operations(self._client, api, about, document)))


class RestParts(Parts):
    """The HTTP APIs of one configuration."""

    def tool_sources(self) -> Iterable[RestSource]:
        """Return the source of their operations."""
        config = self.host.config
        return (RestSource(config.server["rest"], self.host.client, config.home),)

    def request_headers(self) -> Iterable[str]:
        """Return the headers of callers that APIs get."""
        apis = self.host.config.server["rest"].values()
        return header_names(name for api in apis for name in api.get("forward", ()))
