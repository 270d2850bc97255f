"""The answer to a request of `/v1`, made of the events of its run: streamed, or whole at the end.

`routes` passes every event to `frame`, or without streaming to `see` and sends `answer` at the end;
both are made by the same methods. Calls of the caller's tools are sent when the run has stopped for
them: until then the server may still find that their arguments do not fit, and ask the model again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar

from ...http import sse
from ...session import outcome
from ...strict_json import dumps
from ...types import Event, Json, Session
from .common import error

BREAK = "\n\n"  # between the texts before and after a call of the server's own tools
Message = Json | bytes  # of a stream; bytes are frames already


class Reply(ABC):
    """The answer of one run. `session` is the live document, `names` those of the caller's tools.

    `METHODS`: type of an event -> name of the method that returns its messages, or their frames.
    """

    METHODS: ClassVar[Mapping[str, str]] = {}

    def __init__(
        self, session: Session, names: Mapping[str, str], *, run_id: str, first_message: int
    ) -> None:
        self._session, self._names, self._first = session, names, first_message
        self._run = run_id.removeprefix("run_")
        self._created = 0  # Unix seconds
        self._ended = False
        self._failure: outcome.Failure | None = None
        self._structured: bool | None = None

    def frame(self, event: Event) -> bytes:
        """Return the frames of an event, b"" for most kinds."""
        found = self._messages(event)
        return found if isinstance(found, bytes) else b"".join(map(_frame, found))

    def see(self, event: Event) -> None:
        """Handle an event of a run that is not streamed."""
        for _ in self._messages(event):
            pass

    def cut_frames(self) -> bytes:
        """Return the end of the stream when the server stops."""
        self._failure = outcome.stop_failure(self._session, self._first)
        return b"".join(map(_frame, self._fail(self._failure)))

    def answer(self) -> tuple[int, Json]:
        """Return (status, body)."""
        if not self._ended:
            self._failure = outcome.stop_failure(self._session, self._first)
        if found := self._failure:
            return found.status, error(found.message, found.kind, found.code)
        return 200, self._whole()

    def answer_to_store(self) -> tuple[str, Json] | None:
        """Return (id, value to keep for later requests); None if nothing may be kept."""
        return None

    @abstractmethod
    def hidden_data(self) -> Json | None:
        """Return the data that the caller sends back with its tool results; None without calls."""

    def _messages(self, event: Event) -> bytes | Iterable[Message]:
        method = self.METHODS.get(event["type"])
        return getattr(self, method)(event) if method else b""

    def _end(self, event: Event) -> Iterable[Message]:
        self._ended = True
        self._failure = outcome.failure(self._session, event, self._first)
        return self._fail(self._failure) if self._failure else self._completed()

    def _is_structured(self) -> bool:
        """Return whether the answer is structured; its text is sent after the run then."""
        if self._structured is None:
            self._structured = outcome.is_structured(self._session)
        return self._structured

    @abstractmethod
    def _fail(self, found: outcome.Failure) -> Iterable[Message]:
        """Return the messages that end a stream with a failure."""

    @abstractmethod
    def _completed(self) -> Iterable[Message]:
        """Return the messages at the end of a run that did not fail."""

    @abstractmethod
    def _whole(self) -> Json:
        """Return the body of a run that did not fail."""


def _frame(message: Message) -> bytes:
    if isinstance(message, bytes):
        return message
    return sse.encode(dumps(message), message.get("type"))
