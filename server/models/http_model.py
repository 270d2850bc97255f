"""A model over HTTP: one streamed call with retries, for every API.

    request → http/client → StreamReader → StreamDecoder → events

The agent calls `stream` once per step. The modules `chat`, `responses` and `anthropic` define the
request body and the decoder of their API; everything between is here. Failures of the provider,
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

from ..http.client import Client, ClientError, Response, Timeouts
from ..json_types import Event, Json, Message, RunWarning
from ..runtime.offload import offload
from ..runtime.waits import QUIET_S, wait_notice
from ..telemetry import log, tracing
from . import BaseAPI, Options
from .chat_request import ModelCall, ToolNameMap, accepted_media, tool_mode
from .decoder import ANSWER_EMPTY, StreamDecoder, StreamReader
from .failure import MAX_ERROR_BODY, Failure, from_status, quote, read_error
from .quirks import (
    LEFT_OUT,
    NO_TOOLS,
    NOT_THEIRS,
    STATUS,
    EndpointState,
    NoTools,
    OtherAPI,
    UnfitTool,
    cures,
    learn_flags,
    other_api,
    refused_media,
    unfit_tool,
)
from .request_text import body_text
from .retry import RetryPolicy, Sleep, attempts, retry_after
from .text_tools.marked_calls import no_calls, text_calls
from .vendors import Provider

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
MOST_UNFIT = 16  # tools that one call sets aside
MOST_MEDIA = 4  # pictures and files that one call leaves out one by one; then all
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
    ) -> None:
        self._given = provider
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
        given = self._given
        flags = self._peer.learnt.get(given.model)
        return replace(given, preset=replace(given.preset, **flags)) if flags else given

    @staticmethod
    @abstractmethod
    def request(
        provider: Provider,
        messages: list[Message],
        tools: list[Json],
        options: Options,
        mode: str,
        names: ToolNameMap,
    ) -> dict[str, Any]:
        """Return the body of one call. `mode` is native, json_schema or text."""

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
            mode, names = tool_mode(self.provider, options), ToolNameMap()
            if mode == "native" and self.provider.model in self._peer.toolless:
                mode = "text"
            fit = self._fit(offered) if mode == "native" else offered

            def body(plain: bool) -> dict[str, Any]:
                """Return the request body, without earlier reasoning if `plain`."""
                told = messages
                if refused := self._peer.refused_media(self._given.model):
                    told = accepted_media(self.provider.preset, told, refused)
                if plain:
                    told = [message.copy() for message in told]
                    for message in told:
                        message.pop("reasoning", None)
                return self.request(self.provider, told, fit, options, mode, names)

            return ModelCall(body, fit, options, mode, names)

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
        pause = self._peer.pace.wait(call.options.session_id, call.options.interval)
        if pause > 0:
            waited = False
            try:
                with wait_notice("interval", pause):
                    await self._sleep(pause)
                waited = True
            finally:
                if not waited:  # cancelled: no call was made, so the next one need not wait for it
                    self._peer.pace.give_back(call.options.session_id, call.options.interval)
        answer = self._make_decoder(call)  # whose time begins now
        try:
            response, sent, opened = await self._open_with_fewer_tools(make, call, left)
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
                    if reader.ended:
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

    async def _open_with_fewer_tools(
        self, make: Callable[[], ModelCall], call: ModelCall, left: float | None
    ) -> tuple[Response, int, ModelCall]:
        """Return what `_open` does and the call, repeated without the tools that are refused.

        Tools go as text if the model refuses all. Raises Failure.
        """
        peer, model = self._peer, self.provider.model
        unfit: dict[tuple[str, str], str] = {}
        toolless = False
        while True:
            try:
                return *await self._open(call, left), call
            except NoTools:
                logger.info("%s knows no tools: they go as text", model)
                peer.toolless.add(model)
                toolless = True
            except UnfitTool as refused:
                if isinstance(refused.name, int):
                    peer.most_tools[model] = refused.name
                    call = make()
                    continue
                if len(unfit) >= MOST_UNFIT or (model, refused.name) in unfit:
                    peer.unfit = {k: v for k, v in peer.unfit.items() if k not in unfit}
                    raise refused.failure from None
                logger.info("%s refuses the schema of %s", model, refused.name)
                unfit[model, refused.name] = refused.failure.message
                peer.unfit |= unfit
            except Failure:
                if toolless:
                    peer.toolless.discard(model)
                peer.unfit = {k: v for k, v in peer.unfit.items() if k not in unfit}
                raise
            call = make()

    def _fit(self, tools: list[Json]) -> list[Json]:
        """Return the tools without those whose schemas this model has refused, which it says."""
        fit, refused = self._peer.fit(self._given.model, tools)
        for name in refused.keys() - self._warned:
            text = f"{self.provider.name} refuses the schema of {name}, so it is left out: "
            warning: RunWarning = {"code": TOOL_REFUSED, "message": text + refused[name]}
            self._warnings.append({**warning, "tool": name})
        self._warned |= refused.keys()
        most = self._peer.most_tools.get(self._given.model, len(fit))
        if over := [tool["function"]["name"] for tool in fit[most:]]:
            if not self._warned.intersection(over):
                text = f"{self.provider.name} takes {most} tools, so {len(over)} are left out:"
                text += f" {', '.join(over[:SHOWN])}. Deny others of the session (config.tool), or"
                text += " name the operations of an API that are wanted"
                self._warnings.append({"code": TOOL_REFUSED, "message": text})
            self._warned.update(over)
        return fit[:most]

    async def _open(self, call: ModelCall, left: float | None) -> tuple[Response, int]:
        """Return the successful response and the size of the request in bytes.

        Repeats the request with changes after a refusal of a field or of earlier reasoning, or one
        that implies other flags. Raises NoTools when the model refuses tools, Failure for any
        other refusal.
        """
        plain = False
        taught: dict[str, Any] = {}
        without: dict[str, str] = {}  # members left out or replaced, and why
        while True:
            known = self._peer.learnt.get(self._given.model, {})  # flags that it is built with
            whole, body, sent = await offload(call.options.size // FAST, self._build, call, plain)
            response = await self._send(sent, self._timeouts(call.options, left))
            if response.status in (200, 201):  # some frameworks answer every POST with 201
                changes = self._peer.warnings(self.provider, without)
                self._warnings += ({"code": REQUEST_CHANGED, "message": text} for text in changes)
                return response, len(sent)
            async with response:
                said = await response.read_prefix(MAX_ERROR_BODY)
            if response.status in (400, 404) and not plain and NOT_THEIRS.search(said):
                logger.info("%s does not accept earlier thoughts", self.provider.name)
                plain = True
                continue
            other = other_api(said, self._given.api) if response.status in (400, 404) else ""
            if other and self._given.model not in self._peer.apis:
                self._peer.forget(self._given.model, taught, without)
                raise OtherAPI(other, self._rejection(response, said))
            found = cures(said, body, self.optional) if response.status in STATUS else {}
            refused = {name: value for name, value in found.items() if name not in without}
            toolless = response.status in STATUS and not refused and NO_TOOLS.search(said)
            if toolless and body.get("tools"):
                raise NoTools
            if not refused and response.status in (400, 422) and (name := unfit_tool(said, body)):
                self._peer.forget(self.provider.model, taught, without)
                raise UnfitTool(name, self._rejection(response, said))
            fresh: dict[str, Any] = {}
            while not refused and (fresh := self._learn(response.status, said, known)):
                taught |= fresh
                known = {**known, **fresh}
                if call.body(plain) != whole:
                    break
                self._peer.forget(self._given.model, fresh, ())  # it was about something else
            if fresh:
                continue
            if not refused and response.status in (*STATUS, 413, 415):
                media = refused_media(said, body, single=len(without) < MOST_MEDIA)
                refused = dict.fromkeys(media - without.keys(), LEFT_OUT)
            if not refused:
                self._peer.forget(self.provider.model, taught, without)
                raise self._rejection(response, said)
            logger.info("%s refuses %s", self.provider.name, ", ".join(sorted(refused)))
            without |= dict.fromkeys(refused, read_error(said, self.provider.key))
            model = self.provider.model
            self._peer.changes |= {(model, name): value for name, value in refused.items()}

    async def _send(self, body: bytes, timeouts: Timeouts) -> Response:
        provider = self.provider
        return await self._client.request(
            *("POST", provider.url, self.headers(), body),
            timeouts=timeouts,
            public_only=provider.public_only,
            resendable=True,  # a completion changes nothing at the provider
        )

    def _build(self, call: ModelCall, plain: bool) -> tuple[dict[str, Any], dict[str, Any], bytes]:
        """Return the body of a request, the same without refused fields, and its JSON."""
        whole = call.body(plain)
        body = self._peer.change(self.provider.model, whole)
        return whole, body, body_text(body, call.options.texts).encode("utf-8", "replace")

    def _learn(self, status: int, said: bytes, known: Mapping[str, Any]) -> dict[str, Any]:
        """Keep and return the flags that a refusal implies and that the request was built without.

        `known`: the flags that it was built with.
        """
        model = self._given.model
        fresh = dict(learn_flags(said, self._given.preset, known)) if status in STATUS else {}
        if fresh:
            self._peer.learnt[model] = {**self._peer.learnt.get(model, {}), **fresh}
            logger.info("%s wants it otherwise: %s", model, ", ".join(fresh))
        return fresh

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
        headers |= tracing.trace_headers()
        if self.provider.key:
            headers |= self.key_headers(self.provider.key)
        return headers | {name.lower(): value for name, value in self.provider.headers.items()}

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
        native = call.mode == "native"
        scanner, rescue = text_calls(call.tools, call.mode, call.names.safe if native else str)
        if native and self.provider.api != "chat":
            rescue = no_calls  # the other APIs keep calls apart, so a call in text is a quote
        return self.decoder(self.provider, call.options, call.names.restore, scanner, rescue)


def _least(provider: Provider) -> float:
    return REASONING_S if provider.is_reasoning else 0
