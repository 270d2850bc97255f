"""Trace a run: spans as OpenTelemetry defines them, and the events of a run turned into spans."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from ..json_types import Event, Json, Message, Session

# -- spans ----------------------------------------------------------------------------------------
# Spans as plain values, W3C trace context, and the JSON of OTLP.
#
# https://www.w3.org/TR/trace-context/ (`traceparent`). In the JSON of OTLP
# (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding) ids are hex, 64-bit numbers are
# strings, kinds are numbers. telemetry/tracing.py makes the spans, telemetry/otlp.py sends them.

INTERNAL, CLIENT = 1, 3  # SpanKind
OK, ERROR = 1, 2  # Status.code


class TraceContext(NamedTuple):
    """A position in a trace.

    `span_id` is "" at the root. `shared`: whether the trace may be passed on to other servers,
    because the caller sent it or it is exported.
    """

    trace_id: str
    span_id: str = ""
    sampled: bool = True
    shared: bool = False

    @property
    def traceparent(self) -> str:
        """Return the value of the header `traceparent`."""
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"


current: ContextVar[TraceContext | None] = ContextVar("yaa_trace", default=None)


def begin(traceparent: str = "") -> TraceContext:
    """Return the context of a request: that of its `traceparent`, else a new trace."""
    return parse(traceparent) or TraceContext(secrets.token_hex(16))


def parse(traceparent: str) -> TraceContext | None:
    """Parse a `traceparent`; None if it is invalid.

    Later versions are read as far as version 00 goes (Trace Context 4.3).
    """
    match = _TRACEPARENT.fullmatch(traceparent.strip())
    if match is None or match[1] == "ff" or (match[1] == "00" and match[5]):
        return None
    if set(match[2]) == {"0"} or set(match[3]) == {"0"}:
        return None
    return TraceContext(match[2], match[3], bool(int(match[4], 16) & 1), shared=True)


def trace_headers() -> dict[str, str]:
    """Return the header, or entry of MCP's `_meta`, for requests to other servers; {} for none."""
    context = current.get()
    return {"traceparent": context.traceparent} if context and context.shared else {}


_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


@dataclass
class Span:
    """One timed operation.

    Times are in nanoseconds since 1970. Attributes are strings, numbers, booleans and lists of
    strings. `error` is "" on success.
    """

    name: str
    kind: int
    context: TraceContext
    parent_id: str = ""
    start_ns: int = field(default_factory=time.time_ns)
    end_ns: int = 0
    attributes: dict[str, Any] = field(default_factory=dict)
    error: str = ""


def child(parent: TraceContext, name: str, kind: int = INTERNAL, **attributes: Any) -> Span:
    """Return a span below `parent` that begins now."""
    context = TraceContext(parent.trace_id, secrets.token_hex(8), parent.sampled, parent.shared)
    return Span(name, kind, context, parent.span_id, attributes=attributes)


def otlp(spans: Iterable[Span], resource: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return the spans as an ExportTraceServiceRequest."""
    scope = {"name": "yaa", "version": version}
    found = [{"scope": scope, "spans": [_span(span) for span in spans]}]
    about = {"attributes": _attributes(resource)}
    return {"resourceSpans": [{"resource": about, "scopeSpans": found}]}


def _span(span: Span) -> dict[str, Any]:
    status: dict[str, Any] = {"code": ERROR, "message": span.error} if span.error else {}
    return {
        "traceId": span.context.trace_id,
        "spanId": span.context.span_id,
        **({"parentSpanId": span.parent_id} if span.parent_id else {}),
        "flags": int(span.context.sampled),
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(max(span.end_ns, span.start_ns)),
        "attributes": _attributes(span.attributes),
        "status": status,
    }


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _any(value)} for key, value in values.items()]


def _any(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list() | tuple():
            return {"arrayValue": {"values": [_any(item) for item in value]}}
        case str():
            return {"stringValue": value}
    return {"stringValue": json.dumps(value, ensure_ascii=False)}


# -- trace ----------------------------------------------------------------------------------------
# Traces of runs: spans as the OpenTelemetry conventions for generative AI name them.
#
#     invoke_agent ─┬─ chat           each call of a model, also those for titles and summaries
#                   ├─ execute_tool   each call of a tool, from `tool.exec` to its result
#                   └─ compact        each compaction of the session's view
#
# agent/observer.py passes every event that the session has folded. Spans are made from these
# events, so the loop contains no tracing code and a trace cannot contradict the session.
# https://github.com/open-telemetry/semantic-conventions-genai


# usage of a call -> attribute
USAGE = {
    "prompt_tokens": "gen_ai.usage.input_tokens",
    "completion_tokens": "gen_ai.usage.output_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
}
# preset → name in the conventions, where they differ
PROVIDERS = {"custom": "openai", "moonshot": "moonshot_ai"}


class Sink(Protocol):
    """The receiver of finished spans (otlp.Exporter)."""

    @property
    def on(self) -> bool:
        """Return whether spans are exported."""
        ...

    @property
    def content(self) -> bool:
        """Return whether spans contain messages, arguments and results."""
        ...

    def add(self, span: Span) -> None:
        """Take a finished span. Never waits."""
        ...


def of_run(sink: Sink | None, session: Session, model: str, api: Any) -> Trace:
    """Return the trace of a run.

    It is a RunTrace if `sink` is on and the request is sampled. Otherwise it is a Trace, which
    costs one empty function call for each event.
    """
    context = current.get() or begin()
    if sink is None or not sink.on or not context.sampled:
        return Trace()
    return RunTrace(sink, context, session, model, api)


class Trace:
    """A trace that records nothing."""

    def see(self, event: Event) -> None:
        """Handle an event that the session has folded."""

    def record_request(self, messages: list[Message], tools: list[Json]) -> None:
        """Record the request that is about to be sent to the model of this step."""

    @contextmanager
    def record_side_call(self) -> Iterator[Callable[[Event], None]]:
        """Trace a model call outside of the conversation.

        Yields the function that takes its events.
        """
        yield lambda event: None

    def end(self) -> None:
        """End all open spans. Call it last, however the run ended."""


class RunTrace(Trace):
    """The spans of one run."""

    def __init__(
        self, sink: Sink, context: TraceContext, session: Session, model: str, api: Any
    ) -> None:
        self._sink, self._session, self._model = sink, session, model
        self._outer = current.get()
        self._fixed = {**_provider(api), "gen_ai.request.model": model}
        self._run: Span | None = None
        self._parent = TraceContext(context.trace_id, context.span_id, shared=True)
        self._chat: Span | None = None
        self._first_ns = 0
        self._tools: dict[str, Span] = {}
        self._last_ns = time.time_ns()
        self._ended_well = False

    def see(self, event: Event) -> None:
        """Open, change or end spans as the type of the event says."""
        if handler := _SEES.get(event["type"]):
            handler(self, event)
            self._last_ns = time.time_ns()

    def record_request(self, messages: list[Message], tools: list[Json]) -> None:
        """Add the messages and tools to the open `chat` span, if content is wanted."""
        if self._chat and self._sink.content:
            self._chat.attributes |= _request_attributes(messages, tools)

    @contextmanager
    def record_side_call(self) -> Iterator[Callable[[Event], None]]:
        """Open a `chat` span for a model call outside of the conversation.

        It fails with `timeout` if no event ended the call.
        """
        span = self._begin_chat()
        before = current.set(span.context)
        try:
            yield lambda event: self._end_chat(span, event)
        finally:
            current.reset(before)
            if "gen_ai.response.finish_reasons" not in span.attributes:
                _set_error(span, "timeout", "no answer in time")
            self._finish(span)

    def end(self) -> None:
        """End all open spans, as cancelled unless the run finished or failed by an event."""
        for span in (*self._tools.values(), self._chat, self._run):
            if span:
                if not self._ended_well:
                    _set_error(span, "cancelled", "cut before its end")
                self._finish(span)
        self._tools, self._chat, self._run = {}, None, None
        current.set(self._outer)

    # -- events -----------------------------------------------------------------------------------

    def _run_started(self, event: Event) -> None:
        agent = str(self._session.get("agent") or "default")
        self._run = child(self._parent, f"invoke_agent {agent}")
        self._run.attributes |= {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": agent,
            "gen_ai.conversation.id": event["threadId"],
            "yaa.run.id": event["runId"],
            **self._fixed,
        }
        self._parent = self._run.context
        current.set(self._parent)

    def _run_finished(self, event: Event) -> None:
        self._ended_well = True
        if self._run:
            result = event["result"]
            self._run.attributes |= {f"yaa.{k}": result[k] for k in ("status", "finish_reason")}
            for usage in event.get("usage") or ():
                self._run.attributes["gen_ai.usage.input_tokens"] = usage["inputTokens"]
                self._run.attributes["gen_ai.usage.output_tokens"] = usage["outputTokens"]

    def _run_failed(self, event: Event) -> None:
        self._ended_well = True
        for span in (self._chat, self._run):
            if span:
                _set_error(span, event["code"], event["message"])

    def _refused(self) -> None:
        """End the `chat` span with an error: the provider found the request too large.

        A smaller request follows.
        """
        if self._chat:
            _set_error(self._chat, "context_overflow", "the request is too large")
            self._finish(self._chat)
            self._chat = None

    def _step_started(self, event: Event) -> None:
        self._refused()
        self._chat = self._begin_chat()
        self._chat.attributes["yaa.step"] = event["stepName"]
        self._first_ns = 0
        current.set(self._chat.context)

    def _delta(self, event: Event) -> None:
        self._first_ns = self._first_ns or time.time_ns()

    def _text_end(self, event: Event) -> None:
        if span := self._chat:
            self._chat = None
            if self._first_ns:
                seconds = (self._first_ns - span.start_ns) / 1e9
                span.attributes["gen_ai.response.time_to_first_chunk"] = seconds
            self._end_chat(span, event)
            self._finish(span)
            current.set(self._parent)

    def _state(self, event: Event) -> None:
        ours = event.get("metadata", {}).get("yaa", {})
        if (call_id := ours.get("exec")) is not None:
            name = self._session["calls"][call_id]["name"]
            span = child(self._parent, f"execute_tool {name}")
            span.attributes |= {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": name,
                "gen_ai.tool.call.id": call_id,
                "gen_ai.tool.type": "function",
            }
            if self._sink.content:
                span.attributes["gen_ai.tool.call.arguments"] = _arguments(self._session, call_id)
            self._tools[call_id] = span
            current.set(span.context)  # for the task that runs this call
        elif record := ours.get("compaction"):
            self._refused()
            span = child(self._parent, "compact")
            span.start_ns = self._last_ns
            told = {key: record.get(key) for key in ("trigger", "before", "after")}
            span.attributes |= {f"yaa.compaction.{k}": v for k, v in told.items() if v is not None}
            self._finish(span)

    def _tool_result(self, event: Event) -> None:
        if span := self._tools.pop(event["toolCallId"], None):
            ours = event["metadata"]["yaa"]
            if ours.get("is_error"):
                status = (ours.get("result") or {}).get("status") or ours["state"]
                _set_error(span, str(status), "")
            if self._sink.content:
                span.attributes["gen_ai.tool.call.result"] = event["content"]
            self._finish(span)
            current.set(self._parent)

    # -- spans ------------------------------------------------------------------------------------

    def _begin_chat(self) -> Span:
        span = child(self._parent, f"chat {self._model}", CLIENT)
        span.attributes |= {"gen_ai.operation.name": "chat", **self._fixed}
        if isinstance(session_id := self._session.get("id"), str):
            span.attributes["gen_ai.conversation.id"] = session_id
        return span

    def _end_chat(self, span: Span, event: Event) -> None:
        if event["type"] == "RUN_ERROR":
            _set_error(span, event["code"], event["message"])
        if event["type"] != "TEXT_MESSAGE_END":
            return
        meta = event["metadata"]["yaa"]["meta"]
        usage = meta.get("usage") or {}
        span.attributes["gen_ai.response.finish_reasons"] = [str(meta.get("finish_reason"))]
        if meta.get("model"):
            span.attributes["gen_ai.response.model"] = meta["model"]
        span.attributes |= {name: usage[key] for key, name in USAGE.items() if key in usage}
        if self._sink.content and (message := _message(self._session, event["messageId"])):
            span.attributes["gen_ai.output.messages"] = [_parts(message)]

    def _finish(self, span: Span) -> None:
        span.end_ns = time.time_ns()
        self._sink.add(span)


_SEES: dict[str, Callable[[RunTrace, Event], None]] = {
    "RUN_STARTED": RunTrace._run_started,
    "RUN_FINISHED": RunTrace._run_finished,
    "RUN_ERROR": RunTrace._run_failed,
    "STEP_STARTED": RunTrace._step_started,
    "TEXT_MESSAGE_START": RunTrace._delta,
    "REASONING_MESSAGE_START": RunTrace._delta,
    "TEXT_MESSAGE_END": RunTrace._text_end,
    "STATE_DELTA": RunTrace._state,
    "TOOL_CALL_RESULT": RunTrace._tool_result,
}


def _set_error(span: Span, kind: str, message: str) -> None:
    span.attributes["error.type"] = kind
    span.error = span.error or message or kind


def _provider(api: Any) -> Mapping[str, Any]:
    """Return the attributes of the provider; `yaa` for APIs without an address."""
    provider = getattr(api, "provider", None)
    if provider is None:
        return {"gen_ai.provider.name": "yaa"}
    place = urlsplit(provider.url)
    port = place.port or (443 if place.scheme == "https" else 80)
    name = provider.preset.name
    return {
        "gen_ai.provider.name": PROVIDERS.get(name, name),
        "server.address": place.hostname or "",
        "server.port": port,
    }


# -- content, if it is wanted ---------------------------------------------------------------------


def _request_attributes(messages: list[Message], tools: list[Json]) -> dict[str, Any]:
    system = [each for each in messages if each["role"] == "system"]
    others = [each for each in messages if each["role"] != "system"]
    return {
        "gen_ai.system_instructions": [_text(each["content"]) for each in system],
        "gen_ai.input.messages": [_parts(each) for each in others],
        "gen_ai.tool.definitions": [{"type": "function", **each["function"]} for each in tools],
    }


def _parts(message: Message) -> Json:
    """Return a message in the form of the conventions."""
    if message["role"] == "tool":
        said = {"type": "tool_call_response", "id": message["tool_call_id"]}
        return {"role": "tool", "parts": [{**said, "response": message["content"]}]}
    parts = [_text(message["content"])] if message.get("content") else []
    for call in message.get("tool_calls") or ():
        asked = call["function"]
        about = {"type": "tool_call", "id": call["id"], "name": asked["name"]}
        parts.append({**about, "arguments": asked["arguments"]})
    return {"role": message["role"], "parts": parts}


def _text(content: Any) -> dict[str, Any]:
    return {"type": "text", "content": content}


def _message(session: Session, message_id: str) -> Message | None:
    found = (m for m in reversed(session["messages"]) if m.get("id") == message_id)
    return next(found, None)


def _arguments(session: Session, call_id: str) -> Any:
    edited = session["calls"][call_id].get("args")
    if edited is not None:
        return edited
    for message in reversed(session["messages"]):
        for call in message.get("tool_calls") or ():
            if call["id"] == call_id:
                return call["function"]["arguments"]
    return ""
