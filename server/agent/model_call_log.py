"""Log each call of a model as a line; at `debug` also its request and its answer.

Used by observer.py. A message is logged once in a run, not again with each request that contains
it, and only what `masking` has seen as a whole is logged.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..telemetry import log
from ..telemetry.redact import masked_whole

Event = Mapping[str, Any]
Message = Mapping[str, Any]

TOKENS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")
SPOKEN = ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS")
MAX_PICTURE = 200  # characters of a data: address that are logged
CUT = "cut"  # `code` of a call that was cancelled with its run

logger = log.get("model")


class Calls:
    """The model calls of one run. `on`: `server.log.model_calls`."""

    def __init__(self, model: str, *, on: bool) -> None:
        self._model, self.on = model, on
        self._told: Sequence[Message] = ()
        self._tools: Sequence[Any] = ()

    def begin(self, stage: str, messages: Sequence[Message], tools: Sequence[Any]) -> Call:
        """Log the request at debug and return the call, before it is made. `stage` is its step."""
        if not self.on or not logger.isEnabledFor(logging.INFO):
            return Call({}, told=False, whole=False)
        whole = logger.isEnabledFor(logging.DEBUG)
        if whole:
            self._ask(stage, messages, tools)
        sizes = {"messages": len(messages), "tools": len(tools), "request_chars": size_of(messages)}
        return Call({"stage": stage, "model": self._model, **sizes}, told=True, whole=whole)

    def _ask(self, stage: str, messages: Sequence[Message], tools: Sequence[Any]) -> None:
        about = {"stage": stage, "event": "request"}
        if tools and tools != self._tools:
            logger.debug({**about, "tools": shown(list(tools))})
        for index, message in enumerate(messages):
            if index >= len(self._told) or self._told[index] != message:
                logger.debug({**about, "index": index, "message": shown(dict(message))})
        self._told, self._tools = messages, tools


class Call:
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
        logger.info({**self._about, "answer_chars": self._chars, **times, **more})
        if self._whole:
            said = {"text": "".join(self._text), "calls": list(self._calls.values())}
            logger.debug({"stage": self._about["stage"], "event": "answer", **shown(said)})


def size_of(messages: Sequence[Message]) -> int:
    """Count the characters of text in messages, with the arguments of calls."""
    total = 0
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            parts = (part.get("text") for part in content if isinstance(part, dict))
            total += sum(len(text) for text in parts if isinstance(text, str))
        elif isinstance(content, str):
            total += len(content)
        for call in message.get("tool_calls") or ():
            total += len(call["function"]["arguments"])
    return total


def shown(value: Any) -> Any:
    """Return a copy for the log: masked, with pictures and long texts cut."""
    return masked_whole(_cut(value))


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
