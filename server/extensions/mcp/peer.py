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
import base64
import itertools
import json
import math
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ...json_types import Json
from ...lib.runtime.event_loop import cancel_all
from ...lib.runtime.offload import collector_paused
from ...lib.strict_json import as_list, as_object, count_values, depth_exceeds
from ...telemetry import trace_context
from .inbox import LISTS, Caller, Inbox

# -- messages -------------------------------------------------------------------------------------
# Messages of the Model Context Protocol: JSON-RPC 2.0, the modern and the legacy era, errors.
#
# mcp/peer.py makes requests with these, mcp/stdio.py and mcp/http.py carry them. A message with
# `method` is a request or notification of the server, any other an answer: both sides count their
# own ids, so the id alone does not tell. Pure.

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
CLIENT = {"name": "yaa", "version": "1"}  # version of this MCP client, not of yaa
UNSUPPORTED_VERSION = -32022
MAX_MESSAGE = 8 * 1024 * 1024  # bytes
MAX_VALUES = 500_000  # JSON values in one message
MAX_BATCH = 1_000  # messages; as we send no batches, hardly any has more than two
MAX_DEPTH = 60  # results become part of a session, which may be 100 levels deep

_META = "io.modelcontextprotocol/"
_PLAIN = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class RpcError(Exception):
    """An error answer of the server. `code` as in JSON-RPC; `data` is the server's."""

    def __init__(self, error: Any) -> None:
        told = error if isinstance(error, dict) else {}
        self.code = told.get("code")
        self.data = told.get("data")
        super().__init__(str(told.get("message") or "an error without a message")[:2_000])


class LinkError(Exception):
    """No answer: the server cannot be reached, has ended, or sent something that is not a message.

    `expired`: our session is unknown to it (HTTP 404); the handshake is needed again.
    """

    def __init__(self, text: str, *, expired: bool = False) -> None:
        super().__init__(text)
        self.expired = expired


class BadPage(LinkError):
    """A page of a list that cannot be used."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"its list of {kind} {text}")


class SignInNeeded(LinkError):
    """The server wants a sign-in, and has not executed the request."""


def parse_messages(text: str | bytes) -> list[Json]:
    """Return the messages in a text: one, or those of a batch; empty if it is not JSON objects.

    Batches are part of 2025-03-26, and some servers still send them (Effect issue 6274). Half
    surrogates and repeated keys are accepted, as other JSON parsers do. A message that is nested
    too deeply becomes an error answer. Raises LinkError for too many values.
    """
    try:
        if isinstance(text, bytes):  # as json.loads does
            text = text.decode(json.detect_encoding(text), "surrogatepass")
        if (seen := count_values(text, MAX_VALUES)) > MAX_VALUES:
            raise LinkError(f"it sent {seen} JSON values, at most {MAX_VALUES} are taken")
        with collector_paused(len(text)):
            value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    found = value if isinstance(value, list) else [value]
    if len(found) > MAX_BATCH:  # each may want a reply
        return []
    return [_shallow(each) for each in found if isinstance(each, dict)]


def _shallow(message: Json) -> Json:
    if depth_exceeds(message, MAX_DEPTH):
        text = f"the answer is nested deeper than {MAX_DEPTH} levels"
        return {"id": message.get("id"), "error": {"code": 0, "message": text}}
    return message


def answered_id(message: Json) -> int | None:
    """Return the id of our request that a message answers; None if it is not an answer.

    Some servers send the number as text or as a float (neuro-san issue 526).
    """
    told = message.get("id")
    if isinstance(told, str) and len(told) < 20 and told.isdecimal():
        told = int(told)
    if "method" in message or isinstance(told, bool) or not isinstance(told, int | float):
        return None
    return int(told) if told == told // 1 else None


def result_of(message: Json) -> Json:
    """Return the result in an answer. Raises RpcError, LinkError."""
    if message.get("error") is not None:
        raise RpcError(message["error"])
    if not isinstance(result := message.get("result"), dict):
        raise LinkError("it sent an answer without a result")
    return result


def cancel_notification(request_id: Any) -> Json:
    """Return the notification that we no longer wait for an answer."""
    params = {"requestId": request_id, "reason": "the client does not wait any longer"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


def meta() -> Json:
    """Return the `_meta` of a request of the modern era, which has no handshake."""
    return {
        _META + "protocolVersion": MODERN,
        _META + "clientInfo": CLIENT,
        _META + "clientCapabilities": {"elicitation": {"form": {}}},
    }


# -- headers of the modern era --------------------------------------------------------------------


def header_value(value: Any) -> str:
    """Return a value as header text; what is not plain ASCII is encoded as base64."""
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    if _PLAIN.fullmatch(text) and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode()}?="


def header_places(schema: Any) -> dict[tuple[str, ...], str]:
    """Return {path of a property: header that repeats its value}, from `x-mcp-header`.

    Raises ValueError for an annotation that is malformed, repeated or unreachable; such a tool must
    not be used over HTTP.
    """
    found: dict[tuple[str, ...], str] = {}

    def walk(node: Any, path: tuple[str, ...]) -> None:
        """Collect the annotations of a schema below `path`."""
        if not isinstance(node, dict):
            return
        if "x-mcp-header" in node:
            name = node["x-mcp-header"]
            taken = {each.lower() for each in found.values()}
            fits = isinstance(name, str) and _TOKEN.fullmatch(name) and name.lower() not in taken
            if not path or not fits or node.get("type") not in ("string", "integer", "boolean"):
                raise ValueError(f"the annotation x-mcp-header {str(name)[:60]!r} cannot be used")
            found[path] = name
        for key, inner in node.items():
            if key == "properties" and isinstance(inner, dict):
                for name, part in inner.items():
                    walk(part, (*path, name))
            elif key not in ("default", "const", "enum", "examples") and _has_header(inner):
                raise ValueError(f"an x-mcp-header below {key!r} is out of reach")

    walk(schema, ())
    return found


def _has_header(value: Any) -> bool:
    if isinstance(value, dict):
        return "x-mcp-header" in value or any(map(_has_header, value.values()))
    return isinstance(value, list) and any(map(_has_header, value))


def header_params(places: Mapping[tuple[str, ...], str], args: Json) -> dict[str, str]:
    """Return the `Mcp-Param-…` headers of one call."""
    found: dict[str, str] = {}
    for path, name in places.items():
        value: Any = args
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            found[f"Mcp-Param-{name}"] = header_value(value)
    return found


# -- peer -----------------------------------------------------------------------------------------

MAX_PAGES = 100
MAX_LISTED = 1_000  # entries of a list that are taken
MAX_LIST = 16 * 1024 * 1024  # characters of all its pages
BACKOFF_S = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)  # by consecutive failures
FRESH_S = 60.0  # least time for which a list is kept, whatever its TTL
PAGED = {  # kind of list → (method, its member, the list that it belongs to)
    "tools": ("tools/list", "tools", "tools"),
    "resources": ("resources/list", "resources", "resources"),
    "templates": ("resources/templates/list", "resourceTemplates", "resources"),
    "prompts": ("prompts/list", "prompts", "prompts"),
    "skills": ("skills/list", "skills", "skills"),
}


class Link(Protocol):
    """A transport for messages: StdioLink or HttpLink of links.py.

    `inbox`: what the server sends unasked.
    """

    modern: bool
    version: str
    inbox: Inbox

    @property
    def last_words(self) -> str:
        """Return the latest text of the server that is not a message, for error messages."""
        ...

    @property
    def alive(self) -> bool:
        """Return whether requests can be sent."""
        ...

    async def restart(self) -> None:
        """Connect anew, or start a new process. Raises LinkError."""
        ...

    async def listen(self) -> None:
        """Begin to take what a legacy server sends outside of its answers."""
        ...

    def abort(self) -> None:
        """End the connection at once."""
        ...

    async def close(self) -> None:
        """End the connection in an orderly way."""
        ...

    async def send(self, message: Json) -> None:
        """Send a message that has no answer. Raises LinkError."""
        ...

    async def request(self, message: Json, headers: Mapping[str, str] | None = None) -> Json:
        """Return the answer to a request. Raises LinkError."""
        ...


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
        self.connection = 0  # how often it was opened
        self._probe_s, self._clock = probe_s, clock
        self._ids = itertools.count(1)
        self._opening = asyncio.Lock()
        self._opened = False
        self._mute = False  # the last probe got no answer; the next start skips it
        self._failures = 0  # since the last answer
        self._again_at = 0.0
        self._stale_at: dict[str, float] = {}  # by kind of list
        self._capabilities: Json | None = None  # as the server has told them
        self.cut: dict[str, str] = {}  # kind of list -> why its later pages are missing

    @property
    def is_open(self) -> bool:
        """Return whether a request can be sent without connecting first."""
        return self._opened and self.link.alive

    def is_due(self, kind: str = "tools") -> bool:
        """Return whether a list of PAGED should be fetched: missing, changed, or too old."""
        now = self._clock()
        stale = now >= self._stale_at.get(kind, 0.0) or PAGED[kind][2] in self.link.inbox.changed
        return now >= self._again_at and stale

    def has_changed(self, kind: str) -> bool:
        """Return whether the server said that a list has changed since it was read."""
        changed = kind in self._stale_at and PAGED[kind][2] in self.link.inbox.changed
        return changed and self._clock() >= self._again_at

    async def capabilities(self) -> Json:
        """Return what the server says that it offers, such as {"resources": {}}.

        Raises RpcError, LinkError.
        """
        if self._capabilities is None:
            found = await self.ask("server/discover", {})
            self._capabilities = self._capabilities or as_object(found.get("capabilities"))
        return self._capabilities

    async def entries(self, kind: str) -> list[Json]:
        """Return all entries of a list of PAGED, from all pages; at most one more than MAX_LISTED.

        Raises RpcError, LinkError.
        """
        method, member, group = PAGED[kind]
        if group in self.link.inbox.changed:
            self.link.inbox.changed.discard(group)
            self._stale_at = {k: t for k, t in self._stale_at.items() if PAGED[k][2] != group}
        self._stale_at[kind] = self._clock() + FRESH_S
        self.cut.pop(kind, None)
        found: list[Json] = []
        params: Json = {}
        seen: set[str] = set()
        size = 0
        for number in range(1, MAX_PAGES + 1):
            try:
                page = await self._ask(method, params)
                if not isinstance(listed := page.get(member), list):
                    raise BadPage(kind, "is no list")
                if (size := size + len(json.dumps(listed))) > MAX_LIST:
                    raise BadPage(kind, f"has more than {MAX_LIST} characters")
                cursor = page.get("nextCursor")
                if isinstance(cursor, str) and cursor in seen:
                    raise BadPage(kind, "goes in a circle")
            except (RpcError, BadPage) as error:
                if not found:
                    raise
                self.cut[kind] = f"what follows page {number - 1} of its {kind} is missing: {error}"
                return found[: MAX_LISTED + 1]
            found += [entry for entry in listed if isinstance(entry, dict)]
            if not isinstance(cursor, str) or not cursor or len(found) > MAX_LISTED:
                break
            seen.add(cursor)
            params = {"cursor": cursor}
        self._stale_at[kind] = self._clock() + self._fresh_seconds(page.get("ttlMs"))
        return found[: MAX_LISTED + 1]

    def _fresh_seconds(self, ttl_ms: Any) -> float:
        """Return the seconds until the list is fetched again.

        Infinite in the legacy era, where servers announce changes.
        """
        if not self.link.modern:
            return math.inf
        told = isinstance(ttl_ms, int | float) and not isinstance(ttl_ms, bool)
        return max(FRESH_S, ttl_ms / 1000) if told else FRESH_S

    async def ask(
        self,
        method: str,
        params: Json,
        caller: Caller | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        """Return the result of a request. Cancelling it notifies the server.

        `caller` takes progress and questions. The request is repeated only if the server reports
        an unknown session, and so has not executed it. Raises RpcError, LinkError.
        """
        try:
            return await self._ask(method, params, caller, headers)
        except LinkError as error:
            if not error.expired:
                raise
        return await self._ask(method, params, caller, headers)

    async def close(self) -> None:
        """Close the connection."""
        self._opened = False
        await self.link.close()

    async def _ask(
        self,
        method: str,
        params: Json,
        caller: Caller | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        inbox = self.link.inbox
        async with self._opening:
            if not self.is_open:
                await self._open_with_backoff()
                inbox.changed.update(LISTS)  # after a restart they may differ
                if method == "tools/list":
                    inbox.changed.discard("tools")
        message = self._message(method, params, progress=bool(caller and caller.hear))
        if caller is not None:
            inbox.callers[message["id"]] = caller
        try:
            answer = await self.link.request(message, headers)
        except LinkError as error:
            if error.expired:
                self._opened = False
            elif self._opened and not self.link.alive:  # count a failure once, not per request
                self._note_failure()
            raise
        finally:
            inbox.callers.pop(message["id"], None)
        self._failures = 0
        return result_of(answer)

    async def _open_with_backoff(self) -> None:
        """Open the connection, unless it failed recently. Raises LinkError, RpcError."""
        if (left := self._again_at - self._clock()) > 0:
            times = f"{self._failures} times in a row"
            raise LinkError(f"it failed {times} and is tried again in {math.ceil(left)} s")
        try:
            await self._open()
        except SignInNeeded:
            raise
        except (LinkError, RpcError, asyncio.CancelledError):
            self._note_failure()
            raise

    def _note_failure(self) -> None:
        delay = BACKOFF_S[min(self._failures, len(BACKOFF_S) - 1)]
        self._failures, self._again_at = self._failures + 1, self._clock() + delay
        self._opened = False
        self.link.abort()

    async def _open(self) -> None:
        """Connect and agree on an era. Raises LinkError, RpcError."""
        self._opened = False
        self.connection += 1
        await self.link.restart()
        asks, self._mute = self.era != "legacy" and not self._mute, False
        if asks:
            self.link.modern, self.link.version = True, MODERN
            if self.era == "modern" or await self._probe_modern():
                self.link.modern, self.link.version = True, MODERN
                self.era, self._opened, self._mute = "modern", True, False
            elif not self._opened:
                await self.link.restart()
        if not self._opened:
            await self._shake_hands()

    async def _probe_modern(self) -> bool:
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
            await cancel_all(tasks)

    async def _shake_hands(self) -> bool:
        self.link.modern, self.link.version = False, ""
        params = {
            "protocolVersion": LEGACY[0],
            "capabilities": {"elicitation": {"form": {}}},
            "clientInfo": CLIENT,
        }
        result = result_of(await self.link.request(self._message("initialize", params)))
        version = result.get("protocolVersion")
        if version not in LEGACY:
            raise LinkError(f"it speaks the protocol of {str(version)[:40]!r}, which is unknown")
        self.link.version = version
        await self.link.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        await self.link.listen()
        self._capabilities = as_object(result.get("capabilities"))
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
            return error.code == UNSUPPORTED_VERSION and MODERN in as_list(supported)
        except SignInNeeded:
            raise
        except LinkError:
            return False
        if MODERN not in as_list(found.get("supportedVersions")):
            return False
        self._capabilities = as_object(found.get("capabilities"))
        return True

    def _message(self, method: str, params: Json, *, progress: bool = False) -> Json:
        request_id = next(self._ids)
        about: Json = meta() if self.link.modern else {}
        if progress:
            about["progressToken"] = request_id
        if method == "tools/call":
            about |= (
                trace_context.trace_headers()
            )  # W3C trace context, under the same names in `_meta`
        full = {**params, "_meta": about} if about else params
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        return {**message, "params": full} if full else message
