"""Model providers: one class per API family, one record of flags per vendor, failures as events.

The agent passes the messages of its view and the offered tools to `BaseAPI.stream` and folds the
events. `registry` resolves the model of a session, `http_model` calls it over HTTP, `demo` is used
where no provider is configured or found. A provider never raises for failures outside of the
process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from time import time_ns
from typing import Any

from ..json_types import Event, Json, Message
from ..session.prompts import custom
from ..session.quoted_texts import SentTexts


def now_ms() -> int:
    """Return the Unix time in milliseconds."""
    return time_ns() // 1_000_000


@dataclass(frozen=True)
class Options:
    """Options of one model call. Times are in seconds; None means no limit of yaa's own."""

    message_id: str
    reasoning_id: str
    new_id: Callable[[str], str]  # new_id("call") -> "call_<hex>"
    tool_choice: str | None = None  # auto, none, required or the name of a tool
    response_format: dict[str, Any] | None = None
    tool_mode: str = "auto"  # auto, native, json_schema, text
    settings: Mapping[str, Any] = field(default_factory=dict)  # over the provider's own
    max_tokens: int | None = None
    language: str = ""
    stream: bool = True
    first_byte_timeout: float | None = None
    idle_timeout: float | None = None
    request_timeout: float | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)  # sections that replace the default
    session_id: str = ""
    interval: float = 0  # least gap between two calls of the session
    retry_times: int = 0  # extra attempts
    retry_delay: float = 0
    now_ms: Callable[[], int] = now_ms
    size: int = 0  # bytes of JSON of the session, about; a large one is written in a thread
    texts: SentTexts | None = None  # of what was sent before and will be again

    @classmethod
    def of(
        cls,
        session: Mapping[str, Any],
        new_id: Callable[[str], str],
        *,
        seconds_left: float | None = None,
        tool_choice: str | None = None,
        response_format: dict[str, Any] | None = None,
        size: int = 0,
        texts: SentTexts | None = None,
    ) -> Options:
        """Return the options of a session's filled-in config.

        `request_timeout` is at most `seconds_left`, the rest of the run's time (None: no limit).
        """
        config = session.get("config") or {}
        api, yaa = config.get("llm_api") or {}, config.get("yaa") or {}
        retry = api.get("retry") or {}
        limits = [each for each in (api.get("request_timeout"), seconds_left) if each is not None]
        return cls(
            new_id("msg"),
            new_id("think"),
            new_id,
            tool_choice=tool_choice,
            response_format=response_format,
            tool_mode=yaa.get("tool_mode") or "auto",
            settings=api.get("model_settings") or {},
            max_tokens=api.get("max_tokens"),
            language=yaa.get("language") or "",
            stream=api.get("stream") is not False,
            first_byte_timeout=api.get("first_byte_timeout"),
            idle_timeout=api.get("idle_timeout"),
            request_timeout=min(limits, default=None),
            prompts=custom(config),
            session_id=session.get("id") or "",
            interval=api.get("interval") or 0,
            retry_times=retry.get("times") or 0,
            retry_delay=retry.get("delay") or 0,
            size=size,
            texts=texts,
        )


class BaseAPI(ABC):
    """Interface of a model to the agent."""

    @abstractmethod
    def stream(
        self, messages: list[Message], tools: list[Json], options: Options
    ) -> AsyncGenerator[Event, None]:
        """Yield the AG-UI events of ONE assistant message, each as soon as it is known.

        `messages` are session-shaped, each tool call with its result; `tools` are
        `{"type": "function", "function": {"name", "description", "parameters"}}`.
        The last event is either TEXT_MESSAGE_END, whose metadata.yaa.meta is
        `{model, provider, usage, finish_reason, ms, first_ms}`, or RUN_ERROR, whose
        metadata.yaa says whether it is `retryable`. Never raises for outside failures; closing
        the generator closes the connection to the model at once.
        """
