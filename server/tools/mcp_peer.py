"""One MCP server as we talk to it: which era it is of, which tools it has, and a call.

In the walk: mcp.py keeps one of these for each server configured. A server of the modern era
(2026-07-28) knows nothing of us between requests; one of the legacy era wants a handshake. Which it
is, is asked once; a server that answers the question oddly, or not at all, is started again before
the handshake, because some end when it comes second. The rule of the file: every wait is bounded.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from typing import Any, Protocol

from .mcp_message import (
    CLIENT,
    LEGACY,
    MODERN,
    UNSUPPORTED_VERSION,
    Hear,
    LinkError,
    Message,
    RpcError,
    meta,
    result_of,
)

MAX_PAGES = 100
MAX_TOOLS = 2_000


class Link(Protocol):
    """What carries messages: mcp_stdio.StdioLink or mcp_http.HttpLink."""

    modern: bool
    version: str

    @property
    def alive(self) -> bool: ...
    async def restart(self) -> None: ...
    async def close(self) -> None: ...
    async def send(self, message: Message) -> None: ...
    async def request(
        self, message: Message, hear: Hear | None = None, headers: Mapping[str, str] | None = None
    ) -> Message: ...


class Peer:
    """`era`: modern, legacy, or empty to find out, within `probe_s`."""

    def __init__(self, link: Link, era: str = "", probe_s: float = 5.0) -> None:
        self.link, self.era = link, era
        self._probe_s = probe_s
        self._ids = itertools.count(1)
        self._opening = asyncio.Lock()
        self._opened = False

    async def tools(self) -> list[Message]:
        """All its tools, page by page. Raises RpcError, LinkError."""
        found: list[Message] = []
        params: Message = {}
        seen: set[str] = set()
        for _ in range(MAX_PAGES):
            page = await self._ask("tools/list", params)
            listed = page.get("tools")
            found += [tool for tool in listed if isinstance(tool, dict)] if listed else []
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor or len(found) > MAX_TOOLS:
                break
            if cursor in seen:
                raise LinkError("its list of tools goes in a circle")
            seen.add(cursor)
            params = {"cursor": cursor}
        return found[:MAX_TOOLS]

    async def call(
        self, params: Message, hear: Hear | None = None, headers: Mapping[str, str] | None = None
    ) -> Message:
        """The result of `tools/call`. Raises RpcError, LinkError. Cancelling it tells the server.

        A call is sent once. Only where the server says that it has forgotten us, and so has not
        looked at the call, is it sent again.
        """
        try:
            return await self._ask("tools/call", params, hear, headers)
        except LinkError as error:
            if not error.expired:
                raise
            self._opened = False
        return await self._ask("tools/call", params, hear, headers)

    async def close(self) -> None:
        self._opened = False
        await self.link.close()

    async def _ask(
        self,
        method: str,
        params: Message,
        hear: Hear | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Message:
        async with self._opening:
            if not (self._opened and self.link.alive):
                await self._open()
        message = self._message(method, params, progress=hear is not None)
        return result_of(await self.link.request(message, hear, headers))

    async def _open(self) -> None:
        """Start it, and agree on an era. Raises LinkError, RpcError."""
        self._opened = False
        await self.link.restart()
        if self.era != "legacy":
            self.link.modern, self.link.version = True, MODERN
            if self.era == "modern" or await self._speaks_modern():
                self.era, self._opened = "modern", True
                return
            await self.link.restart()
        self.link.modern, self.link.version = False, ""
        params = {
            "protocolVersion": LEGACY[0],
            "capabilities": {},  # elicitation would make somebody wait in the middle of a call
            "clientInfo": CLIENT,
        }
        result = result_of(await self.link.request(self._message("initialize", params)))
        version = result.get("protocolVersion")
        if version not in LEGACY:
            raise LinkError(f"it speaks the protocol of {str(version)[:40]!r}, which is unknown")
        self.link.version = version
        await self.link.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.era, self._opened = "legacy", True

    async def _speaks_modern(self) -> bool:
        """Whether it answers the modern era's question with a version we share."""
        try:
            async with asyncio.timeout(self._probe_s):
                message = self._message("server/discover", {})
                found = result_of(await self.link.request(message))
        except RpcError as error:
            told = error.data if isinstance(error.data, dict) else {}
            supported = told.get("supported")
            return error.code == UNSUPPORTED_VERSION and MODERN in _listed(supported)
        except (LinkError, TimeoutError):
            return False
        return MODERN in _listed(found.get("supportedVersions"))

    def _message(self, method: str, params: Message, *, progress: bool = False) -> Message:
        request_id = next(self._ids)
        about: Message = meta() if self.link.modern else {}
        if progress:
            about["progressToken"] = request_id
        full = {**params, "_meta": about} if about else params
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        return {**message, "params": full} if full else message


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
