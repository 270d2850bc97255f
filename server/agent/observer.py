"""Log one run. Changes nothing: a run is the same with and without it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..json_types import Event, Json, Message, Session, Usage
from ..session import costs
from ..session.events import ALIASES
from ..session.fold import yaa_metadata
from ..telemetry import log, recent_runs
from ..telemetry.redact import mask, mask_all
from .run_parts import RunPart

# -- delta log ------------------------------------------------------------------------------------
# Log each event of a model as a line, with its time.
#
# A secret that a model repeats arrives in pieces, none of which masking would recognise. So the
# lines of a text are held until its line is complete, and arguments until they end. If the whole
# has something to mask, the first line gets the masked whole and the others a "…". There are as
# many lines as events, each with the milliseconds since its step began.

HELD = {
    "TEXT_MESSAGE_CONTENT": "messageId",
    "REASONING_MESSAGE_CONTENT": "messageId",
    "TOOL_CALL_ARGS": "toolCallId",
}
GOES_ON = (":", "=", "：", "＝", "is", "是", "为")  # ends of a line that a secret may follow

delta_logger = log.get("model")


def is_debug_on() -> bool:
    """Return whether the log has lines of level debug."""
    return delta_logger.isEnabledFor(logging.DEBUG)


class DeltaLog:
    """The lines of one run. Call `flush` at its end, however it ends."""

    def __init__(self) -> None:
        self._stage = ""
        self._began = time.perf_counter()
        self._source: tuple[str, Any] = ("", None)
        self._held: list[dict[str, Any]] = []
        self._texts: list[str] = []
        self._size = 0

    def step(self, stage: str) -> None:
        """Begin a step: later events belong to it."""
        self.flush()
        self._stage, self._began = stage, time.perf_counter()

    def see(self, event: Event) -> None:
        """Log an event, or hold it until its text is complete."""
        kind = event["type"]
        key = HELD.get(kind)
        if key is None:
            self.flush()
            delta_logger.debug(self._line({k: v for k, v in event.items() if k != "type"}, kind))
            return
        source = (kind, event.get(key))
        if source != self._source:
            self.flush()
            self._source = source
        self._held.append(self._line({key: event.get(key)}, kind))
        self._texts.append(event["delta"])
        self._size += len(event["delta"])
        if self._size > log.LONGEST // 2 or ("\n" in event["delta"] and self._complete()):
            self.flush()

    def flush(self) -> None:
        """Write the held lines, masked."""
        whole = "".join(self._texts)
        shown = mask(whole)
        told = self._texts if shown == whole else [shown] + ["…"] * (len(self._held) - 1)
        for line, text in zip(self._held, told, strict=True):
            line["delta"] = text
            delta_logger.debug(line)
        self._held, self._texts, self._size, self._source = [], [], 0, ("", None)

    def _line(self, data: dict[str, Any], kind: str) -> dict[str, Any]:
        ms = round((time.perf_counter() - self._began) * 1000, 1)
        return {"stage": self._stage, "ms": ms, "event": kind, **data}

    def _complete(self) -> bool:
        text = "".join(self._texts)
        if self._source[0] == "TOOL_CALL_ARGS" or text.rstrip().endswith(GOES_ON):
            return False
        return text.endswith("\n") and text.count("-----BEGIN") <= text.count("-----END")


# -- model call log -------------------------------------------------------------------------------
# Log each call of a model as a line; at `debug` also its request and its answer.
#
# Used by observer.py. A message is logged once in a run, not again with each request that contains
# it, and only what `masking` has seen as a whole is logged.

TOKENS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")
SPOKEN = ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS")
MAX_PICTURE = 200  # characters of a data: address that are logged
CUT = "cut"  # `code` of a call that was cancelled with its run

model_logger = log.get("model")


class ModelCallLog:
    """The model calls of one run. `on`: `server.log.model_calls`."""

    def __init__(self, model: str, *, on: bool) -> None:
        self._model, self.on = model, on
        self._told: Sequence[Message] = ()
        self._tools: Sequence[Any] = ()

    def begin(
        self, stage: str, messages: Sequence[Message], tools: Sequence[Any]
    ) -> ModelCallEntry:
        """Log the request at debug and return the call, before it is made. `stage` is its step."""
        if not self.on or not model_logger.isEnabledFor(logging.INFO):
            return ModelCallEntry({}, told=False, whole=False)
        whole = model_logger.isEnabledFor(logging.DEBUG)
        if whole:
            self._log_request(stage, messages, tools)
        sizes = {"messages": len(messages), "tools": len(tools), "request_chars": size_of(messages)}
        return ModelCallEntry(
            {"stage": stage, "model": self._model, **sizes}, told=True, whole=whole
        )

    def _log_request(self, stage: str, messages: Sequence[Message], tools: Sequence[Any]) -> None:
        about = {"stage": stage, "event": "request"}
        if tools and tools != self._tools:
            model_logger.debug({**about, "tools": loggable(list(tools))})
        for index, message in enumerate(messages):
            if index >= len(self._told) or self._told[index] != message:
                model_logger.debug({**about, "index": index, "message": loggable(dict(message))})
        self._told, self._tools = messages, tools


class ModelCallEntry:
    """One call, from its request to its end."""

    def __init__(self, about: dict[str, Any], *, told: bool, whole: bool) -> None:
        self._about, self._open, self._whole = about, told, whole
        self._began, self._first = time.perf_counter(), 0.0
        self._chars = 0
        self._text: list[str] = []
        self._calls: dict[str, dict[str, str]] = {}

    def see(self, event: Event) -> None:
        """Record an event of the answer; its last one, or an error, logs the call's line."""
        if not self._open:
            return
        kind = event["type"]
        if kind in SPOKEN:
            self._first = self._first or time.perf_counter()
            self._chars += len(event["delta"])
            if self._whole:
                self._keep(kind, event)
        elif kind == "TOOL_CALL_START" and self._whole:
            self._calls[event["toolCallId"]] = {"name": event["toolCallName"], "arguments": ""}
        elif kind == "TEXT_MESSAGE_END":
            meta = event.get("metadata", {}).get("yaa", {}).get("meta", {})
            used = meta.get("usage") or {}
            tokens = {name: used[name] for name in TOKENS if name in used}
            self._end({**tokens, "finish_reason": meta.get("finish_reason")})
        elif kind == "RUN_ERROR":
            self.end(str(event.get("code", "internal")))

    def end(self, code: str) -> None:
        """Log a call that got no complete answer. Does nothing if its line is logged already."""
        if self._open:
            self._end({"code": code})

    def _keep(self, kind: str, event: Event) -> None:
        if kind == "TEXT_MESSAGE_CONTENT":
            self._text.append(event["delta"])
        elif kind == "TOOL_CALL_ARGS" and (call := self._calls.get(event["toolCallId"])):
            call["arguments"] += event["delta"]

    def _end(self, more: dict[str, Any]) -> None:
        self._open = False
        first = {"first_ms": _ms(self._first - self._began)} if self._first else {}
        times = {**first, "ms": _ms(time.perf_counter() - self._began)}
        model_logger.info({**self._about, "answer_chars": self._chars, **times, **more})
        if self._whole:
            said = {"text": "".join(self._text), "calls": list(self._calls.values())}
            model_logger.debug({"stage": self._about["stage"], "event": "answer", **loggable(said)})


def size_of(messages: Sequence[Message]) -> int:
    """Count the characters of text in messages, with the arguments of calls."""
    total = 0
    for message in messages:
        content = message.get("content")
        if isinstance(content, str):
            total += len(content)
        elif isinstance(content, list):
            parts = (part.get("text") for part in content if isinstance(part, dict))
            total += sum(len(text) for text in parts if isinstance(text, str))
        if "tool_calls" in message:
            total += sum(len(c["function"]["arguments"]) for c in message["tool_calls"] or ())
    return total


def loggable(value: Any) -> Any:
    """Return a copy for the log: masked, with pictures and long texts cut."""
    return mask_all(_cut(value))


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _cut(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut(item) for item in value]
    if not isinstance(value, str):
        return value
    if value.startswith("data:") and len(value) > MAX_PICTURE:
        return f"{value[:MAX_PICTURE]}… ({len(value)} characters)"
    return value if len(value) <= log.LONGEST else log.safe(value)


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


# -- observer -------------------------------------------------------------------------------------


_SAYS = ("TEXT_MESSAGE_", "REASONING_", "TOOL_CALL_")  # prefixes of a model's events
MODEL_EVENTS = tuple(kind for kind in ALIASES if kind.startswith(_SAYS))

logger = log.get("run")
tool_logger = log.get("tool")


def tool_call_fields(event: Event, key_name: str) -> Json:
    """Return the log line of a TOOL_CALL_RESULT: whose call ended how, without what it said."""
    ours = yaa_metadata(event)
    result, state = ours.get("result") or {}, ours.get("state", "done")
    usage, error = result.get("usage") or {}, result.get("error") or {}
    line = {
        "tool": ours.get("name", ""),
        "call": event["toolCallId"],
        "key_name": key_name,
        "status": result.get("status", state),
        "limit": (error.get("details") or {}).get("limit"),
        "ms": result.get("duration_ms"),
        "cpu_ms": usage.get("cpu_ms"),
        "max_rss_kb": usage.get("max_rss_kb"),
        "tier": (result.get("sandbox") or {}).get("tier"),
    }
    return {key: value for key, value in line.items() if value is not None}


class RunObserver(RunPart):
    """The log lines of one run.

    about     {run, model, key_name} of the run
    settings  `server.log`
    usages    of each model call that this run made, as far as the provider reported it
    """

    watched = ("STEP_STARTED", "RUN_ERROR", *MODEL_EVENTS)

    def __init__(
        self, session: Session, about: Mapping[str, str], settings: Mapping[str, Any]
    ) -> None:
        self._session, self._about = session, about
        self._used = dict(session.get("usage", {}))
        self._first_message = len(session.get("messages") or [])
        self._results = 0  # of tool calls
        self.usages: list[Usage] = []
        self._deltas = DeltaLog() if settings["model_deltas"] and is_debug_on() else None
        self._calls = ModelCallLog(about["model"], on=settings["model_calls"])
        self._call: ModelCallEntry | None = None

    def see(self, event: Event) -> None:
        """Log a tool result, and what the model of this run says."""
        kind = event["type"]
        if kind == "TOOL_CALL_RESULT":
            self._results += 1
            tool_logger.info(tool_call_fields(event, self._about["key_name"]))
        elif self._deltas and kind == "STEP_STARTED":
            self._deltas.step(event["stepName"])
        elif self._deltas and kind != "RUN_ERROR":
            self._deltas.see(event)
        if self._call is not None:  # before, it may be an answer of an earlier run
            self._call.see(event)
            if kind == "TEXT_MESSAGE_END":
                self._keep_usage(event)

    def request(self, stage: str, messages: Sequence[Message], tools: Sequence[Json]) -> None:
        """Begin the entry of a model call."""
        self._call = self._calls.begin(stage, messages, tools)

    def model_error(self, error: Event) -> None:
        """End the entry of a model call."""
        self._keep_usage(error)
        if self._call is not None:
            self._call.see(error)

    def _keep_usage(self, event: Event) -> None:
        """Keep what the end of a model call, or its error, says of its tokens."""
        metadata = yaa_metadata(event)
        if usage := metadata.get("usage") or metadata.get("meta", {}).get("usage"):
            self.usages.append(usage)

    @contextmanager
    def side_call(self, messages: Sequence[Message]) -> Iterator[Callable[[Event], object]]:
        """Log a model call beside the conversation, with an entry of its own."""
        calls = ModelCallLog(self._about["model"], on=self._calls.on)
        call = calls.begin("beside", messages, [])

        def see(event: Event) -> None:
            """Record one event of the call."""
            call.see(event)
            self._keep_usage(event)

        try:
            yield see
        finally:
            call.end("timeout")

    def end(self, seconds: float) -> None:
        """Log the run's line."""
        if self._deltas:
            self._deltas.flush()
        if self._call is not None:
            self._call.end(CUT)
        counts = self._used, self._first_message, self._results
        about = {key: self._about[key] for key in ("run", "key_name", "model")}
        line = {"session": self._session.get("id"), **about, "ms": round(seconds * 1000)}
        line |= costs.log_fields(self._session, *counts)
        logger.info(line)
        recent_runs.of_process.add(line)
