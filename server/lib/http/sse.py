"""Encode and decode server-sent events.

Servers write with `encode`, `models` reads with `Decoder`. Decoding follows the
WHATWG standard (html.spec.whatwg.org, section 9.2.6) and does not depend on how the bytes are split
into reads. Each read is decoded once, with a fast path for an event of one `data: ` line.
"""

from __future__ import annotations

from typing import NamedTuple

MAX_EVENT = 16 * 1024 * 1024  # bytes of an event (characters if it arrives in one read)

_BOM = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """One event. `id` is the last one in the stream so far, as in the standard."""

    data: str
    event: str = "message"
    id: str = ""


class EventTooLarge(ValueError):
    """One event is larger than the decoder's limit."""


def encode(data: str, event: str | None = None, id: str | None = None) -> bytes:
    """Return one frame: `id:`, `event:` and a `data:` line for each line of `data`, with LF only.

    Raises ValueError for an unprintable name or id, such as one with a line break.
    """
    if not f"{id}{event}".isprintable():
        raise ValueError(f"not one line: {id!r:.80} {event!r:.80}")
    head = "" if id is None else f"id: {id}\n"
    if event is not None:
        head += f"event: {event}\n"
    if "\n" in data or "\r" in data:
        data = data.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\ndata: ")
    return f"{head}data: {data}\n\n".encode()


def comment(text: str = "") -> bytes:
    """Return a comment frame, which readers ignore. Used as a heartbeat.

    Raises ValueError for unprintable text.
    """
    if not text.isprintable():
        raise ValueError(f"not one line: {text!r:.80}")
    return f": {text}\n\n".encode()


class Decoder:
    """A decoder of one event stream.

    `retry` is the reconnection time that the stream requested, in ms; None if it did not.
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
        """Return the events that `data` completes. Raises EventTooLarge."""
        if self._at_start:
            data = self._without_bom(data)
        if self._after_cr and data:
            data = data.removeprefix(b"\n")  # the LF of a CRLF split between two reads
            self._after_cr = False
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        tail = self._tail
        if not tail and data.endswith(b"\n\n"):  # the usual read: complete events only
            return self._read(data[:-2].decode("utf-8", "replace"))
        tail += data
        end = tail.rfind(b"\n\n", max(self._searched - 1, 0))
        if end < 0:
            self._searched = len(tail)
            if len(tail) > self._max_event + 1:  # one more for the first LF of the separator
                raise EventTooLarge(f"an event is larger than {self._max_event} bytes")
            return []
        text = tail[:end].decode("utf-8", "replace")  # no character is split by a line end
        del tail[: end + 2]
        self._searched = len(tail)
        return self._read(text)

    def end(self) -> list[Event]:
        """Return the events without a final empty line when the stream ends.

        The standard drops them, but some model servers end with `data: [DONE]` without that line.
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
            elif name == "error" and value:  # no field of the standard: llama.cpp, GPUStack
                data, kind = [*data, value], name
            elif name == "id" and "\0" not in value:
                self._last_id = value
            elif name == "retry" and value.isascii() and value.isdigit():
                self.retry = int(value[:15])
            elif not line:
                # Three line ends in a row leave an empty line in a block: it ends the event too.
                if data:
                    events.append(Event("\n".join(data), kind or "message", self._last_id))
                data, kind = [], ""
        if data:
            events.append(Event("\n".join(data), kind or "message", self._last_id))

    def _without_bom(self, data: bytes) -> bytes:
        start = bytes(self._tail) + data
        self._tail.clear()
        if len(start) < len(_BOM) and _BOM.startswith(start):
            self._tail += start  # may become a BOM
            return b""
        self._at_start = False
        return start.removeprefix(_BOM)
