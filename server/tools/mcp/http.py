"""The MCP transport Streamable HTTP: each message is a POST of its own.

Used by mcp/peer.py. An answer is JSON, or a stream of events that ends with it; closing the stream
cancels the call. The legacy era adds a session id and streams that can be resumed. No redirect
leads to another host, and errors name the host, not the URL, which may contain a key.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any
from urllib.parse import urljoin, urlsplit

from ...http.client import Client, ClientError, Response, Timeouts
from ...http.sse import Decoder, EventTooLarge
from ...types import Json
from .peer import (
    LIST_CHANGED,
    MAX_MESSAGE,
    Hear,
    LinkError,
    answered_id,
    cancel_notification,
    header_value,
    is_progress,
    parse_messages,
    reply_to,
)

ACCEPT = "application/json, text/event-stream"
MAX_ERROR = 64 * 1024  # bytes of an error response
MAX_RESUMES = 5
MAX_RETRY_MS = 10_000
MAX_MOVES = 3
BYE_S = 2.0  # time limit for messages whose answer does not matter
WHY = {
    **dict.fromkeys(
        (301, 302, 303, 307, 308), "it redirects to another address: configure that one"
    ),
    **dict.fromkeys((401, 403), "the credentials in its `headers` are missing or wrong"),
    404: "there is nothing at this address",
    405: "this address does not speak Streamable HTTP",
    429: "it is asked too often",
}
NAMED = {"tools/call": "name"}


class HttpLink:
    """A connection over HTTP. Its peer sets `modern` and `version`, which decide the headers."""

    def __init__(self, client: Client, url: str, headers: Mapping[str, str]) -> None:
        self._client, self._url, self._own = client, url, dict(headers)
        self.host = urlsplit(url).netloc.rpartition("@")[2]
        self.modern, self.version = True, ""
        self.changed = False  # the server announced a changed list of tools
        self._session = ""
        self._leaving: set[asyncio.Task[None]] = set()
        self.last_words = ""
        self.alive = True

    async def restart(self) -> None:
        """Forget the legacy session; there is no process to start."""
        self._session, self.version, self.alive = "", "", True

    def abort(self) -> None:
        """Do nothing: there is no process to end."""

    async def close(self) -> None:
        """End the legacy session on the server, if there is one."""
        await asyncio.gather(*self._leaving)
        if self._session and not self.modern:
            with contextlib.suppress(ClientError, TimeoutError):
                async with asyncio.timeout(BYE_S):
                    await (await self._ask("DELETE", {})).close()
        self._session, self.alive = "", False

    async def request(
        self, message: Json, hear: Hear | None = None, headers: Mapping[str, str] | None = None
    ) -> Json:
        """Return the answer to a request. Raises LinkError."""
        try:
            response = await self._post(message, headers or {})
            async with response:
                if answer := await self._refusal(response):
                    return answer
                if response.headers.get("content-type", "").lower().startswith("text/event-stream"):
                    return await self._read_stream(response, message["id"], hear)
                return self._whole(await response.read(MAX_MESSAGE), message["id"])
        except (ClientError, EventTooLarge) as error:
            raise LinkError(str(error)) from None
        except asyncio.CancelledError:
            if not self.modern and self.version:  # in the modern era closing the stream suffices
                task = asyncio.create_task(self._leave(message["id"]))
                self._leaving.add(task)
                task.add_done_callback(self._leaving.discard)
            raise

    async def send(self, message: Json) -> None:
        """Send a message that has no answer. Raises LinkError."""
        try:
            response = await self._post(message, {})
            await response.close()
        except ClientError as error:
            raise LinkError(str(error)) from None

    async def _leave(self, request_id: Any) -> None:
        with contextlib.suppress(LinkError, TimeoutError):
            async with asyncio.timeout(BYE_S):
                await self.send(cancel_notification(request_id))

    async def _post(self, message: Json, more: Mapping[str, str]) -> Response:
        fields = {"Content-Type": "application/json", "Accept": ACCEPT, **more}
        if self.modern and "method" in message:
            fields |= {"Mcp-Method": message["method"]}
            if named := NAMED.get(message["method"]):
                fields["Mcp-Name"] = header_value(message["params"][named])
        response = await self._ask("POST", fields, json.dumps(message).encode())
        if not self.modern and (session := response.headers.get("mcp-session-id")):
            self._session = session
        return response

    async def _ask(self, method: str, fields: Mapping[str, str], body: bytes = b"") -> Response:
        fields = {**self._own, **fields}
        if self.version:
            fields["MCP-Protocol-Version"] = self.version
        if self._session:
            fields["Mcp-Session-Id"] = self._session
        wait = Timeouts(connect=10)
        for _ in range(MAX_MOVES):
            response = await self._client.request(
                method, self._url, fields, body, timeouts=wait, resendable=False
            )
            if response.status not in (307, 308) or not self._follow_redirect(response):
                break
            await response.close()
        return response

    def _follow_redirect(self, response: Response) -> bool:
        """Follow a redirect within the host and return whether there was one.

        Many servers redirect to the same URL with a trailing slash. Requests never go to another
        host, as their `headers` hold credentials.
        """
        try:
            url = urljoin(self._url, response.headers.get("location", "")).partition("#")[0]
            same = urlsplit(url)[:2] == urlsplit(self._url)[:2] and url != self._url
        except ValueError:
            return False
        self._url = url if same else self._url
        return same

    async def _refusal(self, response: Response) -> Json | None:
        """Return the JSON-RPC error of an error response; None for a 2xx status.

        Raises LinkError for an error without one.
        """
        if 200 <= response.status < 300:
            return None
        said = await response.read(MAX_ERROR) if response.status >= 400 else b""
        expired = bool(self._session) and _is_session_unknown(response.status, said)
        for message in () if expired else parse_messages(said):
            if isinstance(message.get("error"), dict):
                return message
        text = f"{self.host} answered {response.status}"
        if why := WHY.get(response.status):
            text += f" ({why})"
        raise LinkError(text, expired=expired)

    async def _read_stream(self, response: Response, request_id: Any, hear: Hear | None) -> Json:
        """Return the answer from a stream of events, resumed if a legacy server allows it.

        Raises LinkError.
        """
        last_id, retry = "", 1000
        for _ in range(MAX_RESUMES + 1):
            decoder = Decoder(MAX_MESSAGE)
            async with aclosing(response.chunks()) as chunks:
                with contextlib.suppress(ClientError):  # a broken stream may be resumed too
                    async for data in chunks:
                        for event in decoder.feed(data):
                            last_id = event.id or last_id
                            if answer := await self._handle_event(event.data, request_id, hear):
                                response.release()
                                return answer
            retry = retry if decoder.retry is None else min(decoder.retry, MAX_RETRY_MS)
            if self.modern or not last_id:
                break
            await asyncio.sleep(retry / 1000)
            response = await self._ask(
                "GET", {"Accept": "text/event-stream", "Last-Event-ID": last_id}
            )
            if response.status != 200:
                await response.close()
                break
        raise LinkError(f"{self.host} ended its stream without an answer")

    async def _handle_event(self, data: str, request_id: Any, hear: Hear | None) -> Json | None:
        """Handle the messages of one event and return the answer, if it is among them."""
        answer = None
        for message in parse_messages(data):
            if "method" not in message:
                answer = message if answered_id(message) == request_id else answer
            elif "id" in message:
                await self.send(reply_to(message))
            elif message["method"] == LIST_CHANGED:
                self.changed = True
            elif hear is not None and is_progress(message, request_id):
                hear(message["params"])
        return answer

    def _whole(self, body: bytes, request_id: Any) -> Json:
        if not (messages := parse_messages(body)):
            raise LinkError(f"{self.host} sent an answer that is not a JSON object")
        for message in messages:
            if answered_id(message) == request_id or "error" in message:
                return message
        raise LinkError(f"{self.host} answered a request that was not made")


def _is_session_unknown(status: int, said: bytes) -> bool:
    """Return whether a response means that the server does not know our session id.

    That is 404 by the specification. Early examples, and servers copied from them, send 400 with a
    text about the session.
    """
    return status == 404 or (status == 400 and b"session" in said.lower())
