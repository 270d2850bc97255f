"""The Chat Completions API as some dozen vendors speak it: one call, streamed, with retries.

    build.request → wire/client → reader.Reader → decode.Decoder → events

In the walk: the agent calls `stream` for every step. The rule of the file: nothing from outside
is raised; what the provider, the network or the bytes do wrong becomes a `Failure`, and that an
event.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any

from .. import log, spans
from ..jsontext import dumps
from ..session.events import Event
from ..wire.client import Client, ClientError, Response, Timeouts
from . import BaseAPI, Message, Options, Tool, build, text_calls
from .decode import Decoder, Scanner
from .failure import MAX_ERROR_BODY, Failure, from_status, quote
from .json_reply import JsonReply
from .presets import Provider
from .reader import Reader
from .retry import Pace, Policy, Sleep, attempts, retry_after
from .tags import TagScanner

# Fields a gateway may refuse although its vendor's documents have them; left out from then on.
OPTIONAL = ("stream_options", "parallel_tool_calls")

_FAILURES = {
    "timeout": ("upstream_timeout", True),
    "connect": ("upstream_unreachable", True),
    "tls": ("upstream_unreachable", False),
    "refused": ("upstream_unreachable", False),
    "closed": ("upstream_truncated", True),
    "protocol": ("upstream_error", True),
}

logger = log.get("llm")


class Peer:
    """What this process has learnt about one endpoint; shared by all sessions that use it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.pace = Pace(clock)
        self.refused: set[str] = set()


@dataclass(frozen=True)
class Call:
    """One call, ready for any number of attempts."""

    body: dict[str, Any]
    tools: list[Tool]
    options: Options
    mode: str
    names: build.Names


class OpenAIAPI(BaseAPI):
    """One provider and model. `clock` and `sleep` are for tests."""

    def __init__(
        self,
        provider: Provider,
        client: Client,
        peer: Peer | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.provider = provider
        self._client, self._peer = client, peer or Peer(clock)
        self._clock, self._sleep = clock, sleep

    def stream(
        self, messages: list[Message], tools: list[Tool], options: Options
    ) -> AsyncGenerator[Event, None]:
        """See BaseAPI. All attempts together take at most `options.request_timeout`."""
        offered = [] if options.tool_choice == "none" else tools
        mode, names = tool_mode(self.provider, options), build.Names()
        body = build.request(self.provider, messages, offered, options, mode, names)
        call = Call(body, offered, options, mode, names)
        return attempts(
            lambda left: self._attempt(call, left),
            Policy(options.retry_times, options.retry_delay),
            limit=options.request_timeout,
            clock=self._clock,
            sleep=self._sleep,
        )

    async def _attempt(self, call: Call, left: float | None) -> AsyncGenerator[Event, None]:
        """One attempt. Raises Failure."""
        pause = self._peer.pace.wait(call.options.interval)
        if pause > 0:
            await self._sleep(pause)
        decoder = self._decoder(call)
        reader = Reader(decoder, self.provider)
        try:
            response, sent = await self._open(call, left)
            async with response:
                async for data in response.chunks():
                    for event in reader.feed(data):
                        yield event
                    if reader.ended:
                        response.release()
                        break
        except ClientError as error:
            if not decoder.finished:
                raise self._failure(error) from None
        for event in reader.finish(sent):
            yield event

    async def _open(self, call: Call, left: float | None) -> tuple[Response, int]:
        """An answer with status 200, and the size of what was sent."""
        while True:
            body = {k: v for k, v in call.body.items() if k not in self._peer.refused}
            sent = dumps(body).encode("utf-8", "replace")
            response = await self._client.request(
                "POST",
                self.provider.url,
                self._headers(),
                sent,
                timeouts=self._timeouts(call.options, left),
                public_only=self.provider.public_only,
                resendable=True,  # a completion changes nothing at the provider
            )
            if response.status == 200:
                return response, len(sent)
            said = await self._error_body(response)
            refused = {name for name in OPTIONAL if name in body and name.encode() in said}
            if response.status not in (400, 422) or not refused:
                raise self._rejection(response, said)
            logger.info("%s refuses %s", self.provider.name, ", ".join(sorted(refused)))
            self._peer.refused |= refused

    def _rejection(self, response: Response, body: bytes) -> Failure:
        name, key = self.provider.name, self.provider.key
        failure = from_status(response.status, response.headers, body, name, key)
        failure.retry_after = retry_after(response.headers, time.time())
        return failure

    async def _error_body(self, response: Response) -> bytes:
        body = bytearray()
        async with response:
            async for data in response.chunks():
                body += data
                if len(body) > MAX_ERROR_BODY:
                    break
        return bytes(body[:MAX_ERROR_BODY])

    def _failure(self, error: ClientError) -> Failure:
        code, retryable = _FAILURES[error.kind]
        text = f"{self.provider.name}: {quote(error.message, self.provider.key)}"
        return Failure(code, text, retryable=retryable)

    def _headers(self) -> dict[str, str]:
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream, application/json",
            "user-agent": "yaa",
        }
        headers |= spans.outgoing()
        if self.provider.key:
            headers["authorization"] = f"Bearer {self.provider.key}"
        return headers | {name.lower(): value for name, value in self.provider.headers.items()}

    def _timeouts(self, options: Options, left: float | None) -> Timeouts:
        preset = self.provider.preset
        first, idle = options.first_byte_timeout, options.idle_timeout
        return Timeouts(
            first_byte=first and max(first, preset.timeout_first_byte),
            idle=idle and max(idle, preset.timeout_idle),
            total=left,
        )

    def _decoder(self, call: Call) -> Decoder:
        known = [tool["function"]["name"] for tool in call.tools]
        scanner: Scanner | None = None
        if call.tools and call.mode == "text":
            scanner = TagScanner(call.tools)
        elif call.tools and call.mode == "json_schema":
            scanner = JsonReply(known)

        def rescue(text: str) -> tuple[str, str] | None:
            return text_calls.rescue(text, known)

        restore = call.names.restore
        return Decoder(self.provider, call.options, restore, scanner, rescue if known else None)


def tool_mode(provider: Provider, options: Options) -> str:
    """native, json_schema or text: what the session asks for, else the provider, else by type."""
    for wanted in (options.tool_mode, provider.tool_mode):
        if wanted not in ("", "auto"):
            return wanted
    return "native" if provider.is_function_call else "text"
