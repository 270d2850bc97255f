"""A connection to one MCP server: protocol era, list of tools, and calls.

Used by mcp/servers.py. A server of the modern era (2026-07-28) keeps no state between requests; one
of the legacy era needs a handshake. `Peer` probes for the modern era once. If a server refuses the
probe it is restarted before the handshake, because some servers exit if it is not the first
message. A silent server may still be starting (`npx` downloads the program first), so it is not
restarted and gets the handshake as well. After repeated failures the pauses between attempts grow.
Every wait is bounded by the caller.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ...telemetry import spans
from .messages import (
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
MAX_TOOLS = 1_000
MAX_LIST = 16 * 1024 * 1024  # characters of all its pages
BACKOFF_S = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)  # by consecutive failures
FRESH_S = 60.0  # least time for which a list of tools is kept, whatever its TTL


class Link(Protocol):
    """A transport for messages: mcp/stdio.py StdioLink or mcp/http.py HttpLink.

    last_words   latest text of the server that is not a message, for error messages
    alive        whether requests can be sent
    restart      connect anew, or start a new process; raises LinkError
    abort        end the connection at once
    close        end the connection in an orderly way
    send         send a message that has no answer; raises LinkError
    request      return the answer to a request; raises LinkError
    """

    modern: bool
    version: str
    changed: bool  # the server announced a changed list of tools

    @property
    def last_words(self) -> str: ...
    @property
    def alive(self) -> bool: ...
    async def restart(self) -> None: ...
    def abort(self) -> None: ...
    async def close(self) -> None: ...
    async def send(self, message: Message) -> None: ...
    async def request(
        self, message: Message, hear: Hear | None = None, headers: Mapping[str, str] | None = None
    ) -> Message: ...


class Peer:
    """A connection to one server.

    `era`: "modern", "legacy", or "" to probe for it, waiting `probe_s` seconds.
    """

    def __init__(
        self,
        link: Link,
        era: str = "",
        probe_s: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.link, self.era = link, era
        self._probe_s, self._clock = probe_s, clock
        self._ids = itertools.count(1)
        self._opening = asyncio.Lock()
        self._opened = False
        self._mute = False  # the last probe got no answer; the next start skips it
        self._failures = 0  # since the last answer
        self._again_at = 0.0
        self._stale_at = 0.0

    @property
    def due(self) -> bool:
        """Return whether the list of tools should be fetched: missing, changed, or too old."""
        now = self._clock()
        return now >= self._again_at and (self.link.changed or now >= self._stale_at)

    async def tools(self) -> list[Message]:
        """Return all tools, from all pages; at most one more than MAX_TOOLS.

        Raises RpcError, LinkError.
        """
        self.link.changed = False
        self._stale_at = self._clock() + FRESH_S
        found: list[Message] = []
        params: Message = {}
        seen: set[str] = set()
        size = 0
        for _ in range(MAX_PAGES):
            page = await self._ask("tools/list", params)
            listed = page.get("tools")
            if not isinstance(listed, list):
                raise LinkError("its list of tools is no list")
            if (size := size + len(json.dumps(listed))) > MAX_LIST:
                raise LinkError(f"its list of tools has more than {MAX_LIST} characters")
            found += [tool for tool in listed if isinstance(tool, dict)]
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor or len(found) > MAX_TOOLS:
                break
            if cursor in seen:
                raise LinkError("its list of tools goes in a circle")
            seen.add(cursor)
            params = {"cursor": cursor}
        self._stale_at = self._clock() + self._good_for(page.get("ttlMs"))
        return found[: MAX_TOOLS + 1]

    def _good_for(self, ttl_ms: Any) -> float:
        """Return the seconds until the list is fetched again.

        Infinite in the legacy era, where servers announce changes.
        """
        if not self.link.modern:
            return math.inf
        told = isinstance(ttl_ms, int | float) and not isinstance(ttl_ms, bool)
        return max(FRESH_S, ttl_ms / 1000) if told else FRESH_S

    async def call(
        self, params: Message, hear: Hear | None = None, headers: Mapping[str, str] | None = None
    ) -> Message:
        """Return the result of `tools/call`. Cancelling it notifies the server.

        A call is repeated only if the server reports an unknown session, and so has not executed
        it. Raises RpcError, LinkError.
        """
        try:
            return await self._ask("tools/call", params, hear, headers)
        except LinkError as error:
            if not error.expired:
                raise
        return await self._ask("tools/call", params, hear, headers)

    async def close(self) -> None:
        """Close the connection."""
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
                await self._open_patiently()
                if method != "tools/list":  # after a restart its tools may differ
                    self.link.changed = True
        message = self._message(method, params, progress=hear is not None)
        try:
            answer = await self.link.request(message, hear, headers)
        except LinkError as error:
            if error.expired:
                self._opened = False
            elif self._opened and not self.link.alive:  # count a failure once, not per request
                self._failed()
            raise
        self._failures = 0
        return result_of(answer)

    async def _open_patiently(self) -> None:
        """Open the connection, unless it failed recently. Raises LinkError, RpcError."""
        if (left := self._again_at - self._clock()) > 0:
            times = f"{self._failures} times in a row"
            raise LinkError(f"it failed {times} and is tried again in {math.ceil(left)} s")
        try:
            await self._open()
        except (LinkError, RpcError, asyncio.CancelledError):
            self._failed()
            raise

    def _failed(self) -> None:
        delay = BACKOFF_S[min(self._failures, len(BACKOFF_S) - 1)]
        self._failures, self._again_at = self._failures + 1, self._clock() + delay
        self._opened = False
        self.link.abort()

    async def _open(self) -> None:
        """Connect and agree on an era. Raises LinkError, RpcError."""
        self._opened = False
        await self.link.restart()
        asks, self._mute = self.era != "legacy" and not self._mute, False
        if asks:
            self.link.modern, self.link.version = True, MODERN
            if self.era == "modern" or await self._turns_out_modern():
                self.link.modern, self.link.version = True, MODERN
                self.era, self._opened, self._mute = "modern", True, False
            elif not self._opened:
                await self.link.restart()
        if not self._opened:
            await self._shake_hands()

    async def _turns_out_modern(self) -> bool:
        """Probe for the modern era and return whether the server supports it.

        After a timeout the legacy handshake runs concurrently, and may be done on return.
        """
        asking = asyncio.create_task(self._speaks_modern())
        tasks = [asking]
        try:
            await asyncio.wait(tasks, timeout=self._probe_s)
            if not asking.done():
                self._mute = True
                tasks.append(asyncio.create_task(self._shake_hands()))
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                if asking.done() and not asking.result():
                    await asyncio.wait(tasks)
            return asking.done() and asking.result() is True
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _shake_hands(self) -> bool:
        self.link.modern, self.link.version = False, ""
        params = {
            "protocolVersion": LEGACY[0],
            "capabilities": {},  # legacy elicitation would keep the call waiting for a person
            "clientInfo": CLIENT,
        }
        result = result_of(await self.link.request(self._message("initialize", params)))
        version = result.get("protocolVersion")
        if version not in LEGACY:
            raise LinkError(f"it speaks the protocol of {str(version)[:40]!r}, which is unknown")
        self.link.version = version
        await self.link.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.era, self._opened = "legacy", True
        return True

    async def _speaks_modern(self) -> bool:
        """Return whether `server/discover` is answered with a version that we share."""
        try:
            message = self._message("server/discover", {})
            found = result_of(await self.link.request(message))
        except RpcError as error:
            told = error.data if isinstance(error.data, dict) else {}
            supported = told.get("supported")
            return error.code == UNSUPPORTED_VERSION and MODERN in _listed(supported)
        except LinkError:
            return False
        return MODERN in _listed(found.get("supportedVersions"))

    def _message(self, method: str, params: Message, *, progress: bool = False) -> Message:
        request_id = next(self._ids)
        about: Message = meta() if self.link.modern else {}
        if progress:
            about["progressToken"] = request_id
        if method == "tools/call":
            about |= spans.outgoing()  # W3C trace context, under the same names in `_meta`
        full = {**params, "_meta": about} if about else params
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        return {**message, "params": full} if full else message


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
