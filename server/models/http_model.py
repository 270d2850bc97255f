"""A model over HTTP: one streamed call with retries, for every API.

    request → http/client → StreamReader → StreamDecoder → events

The agent calls `stream` once per step. The module of an API, as `chat`, defines the request body
and the decoder; everything between is here. Failures of the provider,
the network or the data become a `Failure`, and `stream` turns that into a RUN_ERROR event.
"""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, ClassVar

from ..json_types import Event, Json, Message, RunWarning
from ..lib.http.client import Client, ClientError, Response, Timeouts
from ..lib.runtime.offload import offload
from ..lib.runtime.waits import QUIET_S, wait_notice
from ..telemetry import log, trace_context
from . import BaseAPI, Options
from .chat_request import ModelCall, ModelRequest, ToolNameMap, accepted_media
from .decoder import ANSWER_EMPTY, StreamDecoder, StreamReader
from .failure import MAX_ERROR_BODY, Failure, from_status, quote, read_error
from .provider import Provider
from .quirks import (
    FLAG,
    MEDIUM,
    NOT_THEIRS,
    EndpointState,
    Lesson,
    OtherAPI,
    Refusal,
    lessons,
    other_api,
)
from .request_text import body_text
from .retry import RetryPolicy, Sleep, attempts, retry_after
from .tool_mode import MODES, NATIVE, ToolMode, wanted_mode, why_missing

_FAILURES = {
    "timeout": ("upstream_timeout", True),
    "connect": ("upstream_unreachable", True),
    "tls": ("upstream_unreachable", False),
    "refused": ("upstream_unreachable", False),
    "closed": ("upstream_truncated", True),
    "protocol": ("upstream_error", True),
}
TOOL_REFUSED, REQUEST_CHANGED = "tool_refused", "request_changed"  # codes of `run.warnings`
SHOWN = 20  # names in a warning
# Models that reason at length say nothing for minutes, and a second attempt is paid again.
REASONING_S = 300.0
_VISIBLE = ("TEXT_MESSAGE_CONTENT", "TOOL_CALL_START")
FAST = 4  # how many times as fast a request is written as a document is read

logger = log.get("llm")


class RemoteAPI(BaseAPI):
    """One provider and model. `clock` and `sleep` are replaced in tests.

    answer     the decoder class of the API
    tail_s     seconds to wait for data behind the end of an answer: usage, an end mark
    optional   fields that a gateway or model may refuse although the API has them (`a.b`: member b
               of a), each with a pattern of the error text; left out once they were refused
    """

    decoder: ClassVar[type[StreamDecoder]]
    tail_s: ClassVar[float] = 5.0
    optional: ClassVar[Mapping[str, bytes]] = {}

    def __init__(
        self,
        provider: Provider,
        client: Client,
        peer: EndpointState | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        by_api: Callable[[str], RemoteAPI | None] = lambda api: None,
        modes: Mapping[str, ToolMode] = MODES,
    ) -> None:
        self._given, self._modes = provider, modes
        self._client, self._peer = client, peer or EndpointState(clock)
        self._clock, self._sleep = clock, sleep
        self._by_api = by_api  # returns the same model behind another API of its endpoint
        self._moved: RemoteAPI | None = None  # used instead
        self._was_empty = False  # an answer of this run was
        self._warnings: list[RunWarning] = []  # for the next answer
        self._warned: set[str] = set()  # tools that a warning was about

    @property
    def provider(self) -> Provider:
        """Return the provider, its preset changed by the flags learnt for the model."""
        given, peer = self._given, self._peer
        flags = peer.of_kind(given.model, FLAG) if given.model in peer.lessons else {}
        return replace(given, preset=replace(given.preset, **flags)) if flags else given

    @staticmethod
    @abstractmethod
    def request(asked: ModelRequest) -> dict[str, Any]:
        """Return the body of one call."""

    def key_headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the API key."""
        return {"authorization": f"Bearer {key}"}

    def _calls(
        self, messages: list[Message], tools: list[Json], options: Options
    ) -> Callable[[], ModelCall]:
        """Return the function that makes a call as it has to be now, with what was learnt."""
        offered = [] if options.tool_choice == "none" else tools

        def call() -> ModelCall:
            """Return the call with the tool mode and flags that hold now."""
            wanted, names = wanted_mode(self.provider, options), ToolNameMap()
            model = self._given.model
            if wanted == "native" and not self._peer.takes_tools(model):
                wanted = "text"
            left_out: dict[str, str] = {}
            mode, fit = self._modes.get(wanted, NATIVE), offered
            if wanted == "native":
                fit, left_out = self._peer.fit(model, offered)
            elif mode.is_native:  # the mode is not there
                fit, left_out = [], {tool["function"]["name"]: "" for tool in offered}

            def body(plain: bool) -> dict[str, Any]:
                """Return the request body, without earlier reasoning if `plain`."""
                told = messages
                if refused := self._peer.of_kind(model, MEDIUM):
                    told = accepted_media(self.provider.preset, told, refused)
                if plain:
                    told = [message.copy() for message in told]
                    for message in told:
                        message.pop("reasoning", None)
                return self.request(ModelRequest(self.provider, told, fit, options, mode, names))

            return ModelCall(body, fit, options, mode, names, left_out)

        return call

    def stream(
        self, messages: list[Message], tools: list[Json], options: Options
    ) -> AsyncGenerator[Event, None]:
        """See BaseAPI. All attempts together take at most `options.request_timeout`."""
        return attempts(
            lambda left: self._by_either_api((messages, tools, options), left),
            RetryPolicy(options.retry_times, options.retry_delay, QUIET_S + options.interval),
            limit=options.request_timeout,
            clock=self._clock,
            sleep=self._sleep,
        )

    async def _by_either_api(
        self, asked: tuple[list[Message], list[Json], Options], left: float | None
    ) -> AsyncGenerator[Event, None]:
        """Make one attempt; another by the other API where the refusal says so, or if it is empty.

        The API is kept for this model if it exists there. Raises Failure.
        """
        model, own = self._given.model, self._given.api
        while True:
            if (kept := self._peer.apis.get(model, own)) != own:
                self._moved = self._moved or self._by_api(kept)
            api, begun = self._moved or self, False
            try:
                async with aclosing(api._answer(api._calls(*asked), left)) as events:
                    async for event in events:
                        begun = True
                        yield event
                if begun:
                    return
            except OtherAPI as other:
                self._moved, why = self._by_api(other.api), other.failure.message
                self._peer.apis[model] = other.api if self._moved else own
                if self._moved:
                    text = f"{self.provider.name} wants its API {other.api}, which is used: {why}"
                    self._moved._warnings.append({"code": REQUEST_CHANGED, "message": text})
            except Failure as failure:
                if not self._moved or failure.details.get("status") not in (404, 405, 501):
                    raise
                self._moved, self._peer.apis[model] = None, own

    async def _answer(
        self, make: Callable[[], ModelCall], left: float | None
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of one answer, none if it is the first empty one. Raises Failure."""
        call = make()
        await self._keep_pace(call)
        answer = self._make_decoder(call)  # whose time begins now
        try:
            response, sent, opened = await self._open(make, call, left)
            if opened is not call:
                answer = self._make_decoder(opened)
            reader, hidden = StreamReader(answer, self.provider), True
            async with aclosing(response.chunks()) as chunks:
                async for data in chunks:
                    news = not answer.is_finished
                    for event in reader.feed(data):
                        news = True
                        if hidden and event["type"] in _VISIBLE:
                            hidden = False
                            response.limit_idle(self._idle(call.options))
                        yield event
                    if answer.ended:
                        response.release()
                        break
                    if news and answer.is_finished:
                        # Some servers keep the stream open after its end (bifrost issue 6784).
                        response.limit_time(self.tail_s)
        except ClientError as error:
            if not answer.is_finished:
                raise self.failure(error) from None
        last = list(reader.finish(sent))
        if answer.is_empty and not self._was_empty:
            self._was_empty = True
            used = last[-1]["metadata"]["yaa"]["meta"]["usage"]
            text = f"{self.provider.name} answered with nothing, and was asked again: "
            text += f"{used['total_tokens']} tokens are not counted"
            self._warnings.append({"code": ANSWER_EMPTY, "message": text})
            logger.info("%s", text)
            return
        for event in last:
            if event["type"] == "TEXT_MESSAGE_END" and self._warnings:
                event["metadata"]["yaa"]["meta"].setdefault("warnings", []).extend(self._warnings)
                self._warnings = []
            yield event

    async def _keep_pace(self, call: ModelCall) -> None:
        """Wait as long as the session wants between two calls."""
        pause = self._peer.pace.wait(call.options.session_id, call.options.interval)
        waited = pause <= 0
        try:
            if not waited:
                with wait_notice("interval", pause):
                    await self._sleep(pause)
                waited = True
        finally:
            if not waited:  # cancelled: no call was made, so the next one need not wait for it
                self._peer.pace.give_back(call.options.session_id, call.options.interval)

    async def _open(
        self, make: Callable[[], ModelCall], call: ModelCall, left: float | None
    ) -> tuple[Response, int, ModelCall]:
        """Return the successful response, the size of the request in bytes, and the call.

        A refused request is repeated with what that teaches, as long as it changes the request.
        Raises OtherAPI where the refusal names another API, Failure for any other one.
        """
        peer, model, plain = self._peer, self._given.model, False
        taught: dict[Lesson, str] = {}  # and what was said
        while True:
            known = peer.lessons.get(model, {})  # with which it is built
            body, sent = await offload(call.options.size // FAST, self._build, call, plain)
            response = await self._send(sent, self._timeouts(call.options, left))
            if response.status in (200, 201):  # some frameworks answer every POST with 201
                self._warn_of_tools(call)
                changes = peer.warnings(self.provider, taught)
                self._warnings += ({"code": REQUEST_CHANGED, "message": text} for text in changes)
                return response, len(sent), call
            async with response:
                said = await response.read_prefix(MAX_ERROR_BODY)
            if response.status in (400, 404) and not plain and NOT_THEIRS.search(said):
                logger.info("%s does not accept earlier thoughts", self.provider.name)
                plain = True
                continue
            other = other_api(said, self._given.api) if response.status in (400, 404) else ""
            if other and model not in peer.apis:
                peer.forget(model, taught)
                raise OtherAPI(other, self._rejection(response, said))
            refusal = Refusal(response.status, said, read_error(said, self.provider.key), body)
            for lesson in lessons(refusal, self._given.preset, self.optional, known, taught):
                peer.learn(model, lesson)
                call = make()
                if peer.change(model, call.body(plain)) != body:
                    break
                peer.forget(model, lesson)  # it was about something else
            else:
                peer.forget(model, taught)
                raise self._rejection(response, said)
            names = ", ".join(f"{kind} {name}" for kind, name in lesson)
            logger.info("%s refuses a request, which is changed in: %s", model, names)
            taught |= dict.fromkeys(lesson, refusal.text)

    def _warn_of_tools(self, call: ModelCall) -> None:
        """Say once in a run which tools this model is not offered, and why."""
        name = self.provider.name
        fresh = {tool: why for tool, why in call.left_out.items() if tool not in self._warned}
        for tool, why in fresh.items():
            if why:
                text = f"{name} refuses the schema of {tool}, so it is left out: {why}"
                self._warnings.append({"code": TOOL_REFUSED, "message": text, "tool": tool})
        over = [tool for tool, why in call.left_out.items() if not why]
        if over and all(tool in fresh for tool in over):
            text = f"{name} takes {len(call.tools) or 'no'} tools, so {len(over)} are left out:"
            text += f" {', '.join(over[:SHOWN])}."
            if call.tools:
                text += " Deny others of the session (config.tool), or"
                text += " name the operations of an API that are wanted"
            else:
                text += f" The tool mode {why_missing('text', self._modes)}"
            self._warnings.append({"code": TOOL_REFUSED, "message": text})
        self._warned |= fresh.keys()

    async def _send(self, body: bytes, timeouts: Timeouts) -> Response:
        provider = self.provider
        return await self._client.request(
            *("POST", provider.url, self.headers(), body),
            timeouts=timeouts,
            public_only=provider.public_only,
            resendable=True,  # a completion changes nothing at the provider
        )

    def _build(self, call: ModelCall, plain: bool) -> tuple[dict[str, Any], bytes]:
        """Return the body of a request, without refused members, and its JSON."""
        body = self._peer.change(self._given.model, call.body(plain))
        return body, body_text(body, call.options.texts).encode("utf-8", "replace")

    def _rejection(self, response: Response, body: bytes) -> Failure:
        name, key = self.provider.name, self.provider.key
        failure = from_status(response.status, response.headers, body, name, key)
        told = retry_after(response.headers, time.time())
        failure.retry_after = failure.retry_after if told is None else told
        return failure

    def failure(self, error: ClientError) -> Failure:
        """Return the failure that an error of the connection is."""
        code, retryable = _FAILURES[error.kind]
        text, name = quote(error.message, self.provider.key), self.provider.name
        text = text if text.startswith(name) else f"{name}: {text}"  # a session's own is its host
        return Failure(code, text, retryable=retryable)

    def headers(self) -> dict[str, str]:
        """Return the headers of a request, the key among them."""
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream, application/json",
            "user-agent": "yaa",
        }
        headers |= trace_context.trace_headers()
        if (provider := self.provider).key:
            headers |= self.key_headers(provider.key)
        return headers | {name.lower(): value for name, value in provider.headers.items()}

    def _timeouts(self, options: Options, left: float | None) -> Timeouts:
        """Return the limits until the first text or call: hidden reasoning is no silence."""
        provider, first, idle = self.provider, options.first_byte_timeout, self._idle(options)
        first = first and max(first, provider.preset.timeout_first_byte, _least(provider))
        return Timeouts(first_byte=first, idle=first and idle and max(first, idle), total=left)

    def _idle(self, options: Options) -> float | None:
        """Return the limit of silence within text and calls."""
        provider, idle = self.provider, options.idle_timeout
        return idle and max(idle, provider.preset.timeout_idle, _least(provider))

    def _make_decoder(self, call: ModelCall) -> StreamDecoder:
        provider, names = self.provider, call.names
        readers = call.mode.readers(call.tools, provider.api, names.safe)
        return self.decoder(provider, call.options, names.restore, *readers)


def _least(provider: Provider) -> float:
    return REASONING_S if provider.is_reasoning else 0
