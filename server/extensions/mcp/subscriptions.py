"""What an MCP server is asked to announce: changes of its lists, and of resources that were read.

A server of the legacy era announces its lists unasked, and each resource once it is asked to. One
of the modern era has one long request for everything, which is made anew for a further resource.
"""

from __future__ import annotations

import asyncio
import contextlib

from ...json_types import Json
from .inbox import LISTS
from .peer import LinkError, Peer, RpcError

MAX_WATCHED = 100  # resources of one connection


class Subscriptions:
    """The announcements of one server."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._connection = 0  # the one that the rest is about
        self._uris: dict[str, None] = {}
        self._wanted: Json = {}
        self._listening: asyncio.Task[None] | None = None
        self._refused = False

    async def keep(self, uri: str = "") -> None:
        """Ask for announcements, also of a resource; nothing happens where they are not offered.

        Raises RpcError, LinkError if the server cannot be reached.
        """
        offered = await self._peer.capabilities()
        if self._connection != self._peer.connection:
            self._connection = self._peer.connection
            self._uris, self._wanted, self._refused = {}, {}, False
        resources = offered.get("resources")
        watches = isinstance(resources, dict) and resources.get("subscribe") is True
        is_new = watches and bool(uri) and uri not in self._uris and len(self._uris) < MAX_WATCHED
        if is_new:
            self._uris[uri] = None
        if self._peer.link.modern:
            self._listen(offered)
        elif is_new:
            with contextlib.suppress(RpcError):
                await self._peer.ask("resources/subscribe", {"uri": uri})

    def _listen(self, offered: Json) -> None:
        """Make the long request of the modern era, if another one is wanted than is under way."""
        told = {kind: offered.get(kind) for kind in LISTS}
        wanted: Json = {
            f"{kind}ListChanged": True
            for kind, about in told.items()
            if isinstance(about, dict) and about.get("listChanged") is True
        }
        wanted |= {"resourceSubscriptions": [*self._uris]} if self._uris else {}
        ended = self._listening is None or self._listening.done()
        if self._refused or not wanted or (wanted == self._wanted and not ended):
            return
        self._wanted = wanted
        self.close()
        self._listening = asyncio.create_task(self._request(wanted))

    async def _request(self, wanted: Json) -> None:
        try:
            await self._peer.ask("subscriptions/listen", {"notifications": wanted})
        except RpcError:
            self._refused = True
        except LinkError:
            pass  # asked for again when a list is read next

    def close(self) -> None:
        """Stop listening."""
        if self._listening is not None:
            self._listening.cancel()
