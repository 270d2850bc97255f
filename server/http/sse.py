"""Server-sent events: writing frames, and reading them from any cut of the byte stream.

In the walk: `api` writes what the agent yields with `encode`; `llm` reads a provider's stream with
`Decoder`. Reading follows the WHATWG standard (html.spec.whatwg.org, section 9.2.6): the events do
not depend on how the bytes were cut. The rule of the file: each read is decoded once, and the
common shape, a block of one `data: ` line, costs no more than a slice.
"""

from __future__ import annotations

from typing import NamedTuple

MAX_EVENT = 16 * 1024 * 1024  # bytes of one event (characters of one that arrives in one read)

_BOM = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """One event. `id` is the last one seen in the stream, as the standard has it."""

    data: str
    event: str = "message"
    id: str = ""


class EventTooLarge(ValueError):
    """One event is larger than the decoder's limit."""


def encode(data: str, event: str | None = None, id: str | None = None) -> bytes:
    """One frame: `id:`, `event:`, a `data:` line for each line of `data`, LF only.

    Raises ValueError for a name or id that could start a line of its own.
    """
    if not ((id or "").isprintable() and (event or "").isprintable()):
        raise ValueError(f"not one line: {id!r:.80} {event!r:.80}")
    head = "" if id is None else f"id: {id}\n"
    if event is not None:
        head += f"event: {event}\n"
    if "\n" in data or "\r" in data:
        data = data.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\ndata: ")
    return f"{head}data: {data}\n\n".encode()


def comment(text: str = "") -> bytes:
    """A line that every reader ignores: a sign of life that also finds out who is gone."""
    if not text.isprintable():
        raise ValueError(f"not one line: {text!r:.80}")
    return f": {text}\n\n".encode()


class Decoder:
    """Bytes of an event stream in, events out.

    `retry` is the reconnection time the stream asked for, in ms, or None.
    """

    def __init__(self, max_event: int = MAX_EVENT) -> None:
        self.retry: int | None = None
        self._max_event = max_event
        self._tail = bytearray()  # the unfinished block, line ends already LF
        self._searched = 0  # bytes of the tail known to hold no empty line
        self._after_cr = False
        self._at_start = True
        self._last_id = ""

    def feed(self, data: bytes) -> list[Event]:
        """The events that `data` completes. Raises EventTooLarge."""
        if self._at_start:
            data = self._without_bom(data)
        if self._after_cr and data:
            data = data.removeprefix(b"\n")  # the other half of a CRLF cut in two
            self._after_cr = False
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        tail = self._tail
        if not tail and data.endswith(b"\n\n"):  # the usual read: whole events and nothing else
            return self._read(data[:-2].decode("utf-8", "replace"))
        tail += data
        end = tail.rfind(b"\n\n", max(self._searched - 1, 0))
        if end < 0:
            self._searched = len(tail)
            if len(tail) > self._max_event + 1:  # the one may be half of the empty line
                raise EventTooLarge(f"an event is larger than {self._max_event} bytes")
            return []
        text = tail[:end].decode("utf-8", "replace")  # a line end ends any cut character too
        del tail[: end + 2]
        self._searched = len(tail)
        return self._read(text)

    def end(self) -> list[Event]:
        """The event left without its empty line when the stream ended.

        The standard drops it; some model servers end with a `data: [DONE]` cut just so.
        """
        text = self._tail.decode("utf-8", "replace")
        self._tail.clear()
        self._searched = 0
        return self._read(text)

    def _read(self, text: str) -> list[Event]:
        events: list[Event] = []
        for block in text.split("\n\n"):
            if len(block) > self._max_event:
                raise EventTooLarge(f"an event is larger than {self._max_event} characters")
            if block.startswith("data: ") and "\n" not in block:
                events.append(Event(block[6:], "message", self._last_id))
            else:
                self._read_lines(block, events)
        return events

    def _read_lines(self, block: str, events: list[Event]) -> None:
        data: list[str] = []
        kind = ""
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                data.append(value)
            elif name == "event":
                kind = value
            elif name == "id" and "\0" not in value:
                self._last_id = value
            elif name == "retry" and value.isascii() and value.isdigit():
                self.retry = int(value[:15])
            elif not line:
                # Three line ends in a row leave one inside a block: it separates like two.
                if data:
                    events.append(Event("\n".join(data), kind or "message", self._last_id))
                data, kind = [], ""
        if data:
            events.append(Event("\n".join(data), kind or "message", self._last_id))

    def _without_bom(self, data: bytes) -> bytes:
        start = bytes(self._tail) + data
        self._tail.clear()
        if len(start) < len(_BOM) and _BOM.startswith(start):
            self._tail += start  # may become one
            return b""
        self._at_start = False
        return start.removeprefix(_BOM)
