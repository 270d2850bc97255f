"""Trace each run: its events turned into spans, as OpenTelemetry names them for generative AI.

    invoke_agent ─┬─ chat           each call of a model, also those for titles and summaries
                  ├─ execute_tool   each call of a tool, from `tool.exec` to its result
                  └─ compact        each compaction of the session's view

Spans are made from events that the session has folded, so a trace cannot contradict the session.
https://github.com/open-telemetry/semantic-conventions-genai
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar
from urllib.parse import urlsplit

from ... import VERSION
from ...agent.run_parts import RunPart
from ...json_types import Event, Json, Message, Session
from ...session.fold import find_message
from ...telemetry.log import RotatingFile, Rotation
from ...telemetry.trace_context import TraceContext, begin, current
from ..parts import Host, Parts
from .exporter import Exporter
from .spans import CLIENT, Span, child

# usage of a call -> attribute
USAGE = {
    "prompt_tokens": "gen_ai.usage.input_tokens",
    "completion_tokens": "gen_ai.usage.output_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
}
# preset → name in the conventions, where they differ
PROVIDERS = {"custom": "openai", "moonshot": "moonshot_ai"}


class TracingParts(Parts):
    """The exporter of one configuration, and what traces runs."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        server = host.config.server
        self._place = host.config.home / "logs", Rotation.of(server["log"])
        self.exporter = Exporter(server["tracing"], *self._place, host.client, VERSION)

    def info(self, owner: str) -> Mapping[str, Any]:
        """Return whether spans are exported, and how many were."""
        return {"tracing": self.exporter.info()}

    def problems(self) -> Mapping[str, list[str]]:
        """Return why the file cannot be written."""
        folder, rotation = self._place
        name = self.host.config.server["tracing"]["file"]
        why = RotatingFile(folder / name, rotation).failure() if name else ""
        return {"traces": [f"server.tracing.file: {why}"] if why else []}

    def run_part(self, session: Session, about: Mapping[str, str]) -> RunTrace | None:
        """Return what traces the run, if its request is sampled and spans are exported."""
        context = current.get() or begin()
        if not (self.exporter.on and context.sampled):
            return None
        self.exporter.open()
        return RunTrace(self.exporter, context, session, about)

    async def close(self) -> None:
        """Send what is left. No run goes on any more."""
        await self.exporter.close()


class RunTrace(RunPart):
    """The spans of one run. `about`: as Parts.run_part gets it."""

    def __init__(
        self, exporter: Exporter, context: TraceContext, session: Session, about: Mapping[str, str]
    ) -> None:
        self._exporter, self._session, self._model = exporter, session, about["model"]
        self._outer = current.get()
        self._fixed = {**_provider(about), "gen_ai.request.model": self._model}
        self._run: Span | None = None
        self._parent = TraceContext(context.trace_id, context.span_id, shared=True)
        self._chat: Span | None = None
        self._first_ns = 0
        self._tools: dict[str, Span] = {}
        self._last_ns = time.time_ns()
        self._ended_well = False

    def see(self, event: Event) -> None:
        """Open, change or end spans as the type of the event says."""
        self._handlers[event["type"]](self, event)
        self._last_ns = time.time_ns()

    def request(self, stage: str, messages: Sequence[Message], tools: Sequence[Json]) -> None:
        """Add the messages and tools to the open `chat` span, if content is wanted."""
        if self._chat and self._exporter.content:
            self._chat.attributes |= _request_attributes(messages, tools)

    def model_error(self, error: Event) -> None:
        """End the `chat` span with the error. Another may follow, if the request was too large."""
        if self._chat:
            self._end_chat(self._chat, error)
            self._finish(self._chat)
            self._chat = None

    @contextmanager
    def side_call(self, messages: Sequence[Message]) -> Iterator[Callable[[Event], object]]:
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

    def end(self, seconds: float) -> None:
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

    def _step_started(self, event: Event) -> None:
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
            if self._exporter.content:
                span.attributes["gen_ai.tool.call.arguments"] = _arguments(self._session, call_id)
            self._tools[call_id] = span
            current.set(span.context)  # for the task that runs this call
        elif record := ours.get("compaction"):
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
            if self._exporter.content:
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
        if self._exporter.content and (message := find_message(self._session, event["messageId"])):
            span.attributes["gen_ai.output.messages"] = [_parts(message)]

    def _finish(self, span: Span) -> None:
        span.end_ns = time.time_ns()
        self._exporter.add(span)

    _handlers: ClassVar[dict[str, Callable[[RunTrace, Event], None]]] = {
        "RUN_STARTED": _run_started,
        "RUN_FINISHED": _run_finished,
        "RUN_ERROR": _run_failed,
        "STEP_STARTED": _step_started,
        "TEXT_MESSAGE_START": _delta,
        "REASONING_MESSAGE_START": _delta,
        "TEXT_MESSAGE_END": _text_end,
        "STATE_DELTA": _state,
        "TOOL_CALL_RESULT": _tool_result,
    }
    watched = tuple(_handlers)


def _set_error(span: Span, kind: str, message: str) -> None:
    span.attributes["error.type"] = kind
    span.error = span.error or message or kind


def _provider(about: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the attributes of the provider; `yaa` for models without an address."""
    if "url" not in about:
        return {"gen_ai.provider.name": "yaa"}
    place, preset = urlsplit(about["url"]), about["preset"]
    return {
        "gen_ai.provider.name": PROVIDERS.get(preset, preset),
        "server.address": place.hostname or "",
        "server.port": place.port or (443 if place.scheme == "https" else 80),
    }


# -- content, if it is wanted ---------------------------------------------------------------------


def _request_attributes(messages: Sequence[Message], tools: Sequence[Json]) -> dict[str, Any]:
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


def _arguments(session: Session, call_id: str) -> Any:
    edited = session["calls"][call_id].get("args")
    if edited is not None:
        return edited
    for message in reversed(session["messages"]):
        for call in message.get("tool_calls") or ():
            if call["id"] == call_id:
                return call["function"]["arguments"]
    return ""
