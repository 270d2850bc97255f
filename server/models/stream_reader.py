"""Parse the bytes of an answer, an event stream or one JSON document, and yield events.

Stands between the connection and the decoder. The first bytes decide the format: content types are
unreliable, and some servers stream, or do not, whatever was requested. Nothing is parsed twice,
and most chunks not at all (see `Template`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..http.sse import Decoder as EventStream
from ..http.sse import Event as ServerEvent
from ..http.sse import EventTooLarge
from ..session.events import Event
from .decoder import Answer, Take
from .failure import MAX_ERROR_BODY, MISLED, Failure, from_chunk, quote, read_error
from .vendors import Provider

_BOM = b"\xef\xbb\xbf"
_scan = json.JSONDecoder().raw_decode  # faster than json.loads, which matches whitespace twice


class Reader:
    """Parser of one answer, which feeds `decoder`. `provider` is named in failures."""

    def __init__(self, decoder: Answer, provider: Provider) -> None:
        self.ended = False  # True: later data is ignored
        self._decoder = decoder
        self._provider = provider
        self._stream = EventStream()
        self._document: bytearray | None = None
        self._start = b""  # blanks and a byte order mark, until the format is certain
        self._begun = False
        self._template = Template()

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yield the events that `data` completes. Raises Failure, after those before it."""
        if self._document is not None:
            self._document += data
            return
        if not self._begun:
            data = self._start + data
            start = data.removeprefix(_BOM).lstrip()
            if not start or _BOM.startswith(start):
                self._start = data
                return
            self._begun = True
            if start[:1] in b"{[<":
                self._document = bytearray(start)
                return
        try:
            found = self._stream.feed(data)
        except EventTooLarge:
            name = self._provider.name
            raise Failure("upstream_error", f"{name} sent an event that is too large") from None
        yield from self._read(found)

    def finish(self, sent: int) -> Iterator[Event]:
        """Yield the events of the end. `sent`: size of the request in bytes.

        Raises Failure if the answer is not whole.
        """
        if self._document is not None:
            yield from self._whole(bytes(self._document))
        elif not self.ended:
            # Some servers leave out the last blank line; an event that was cut off is ignored.
            yield from self._read([each for each in self._stream.end() if _is_whole(each.data)])
        yield from self._decoder.finish(sent)

    def _read(self, found: list[ServerEvent]) -> Iterator[Event]:
        for item in found:
            if text := self._template.text(item.data):
                yield from self._decoder.more(self._template.take, text)
                continue
            data = item.data.strip()
            if data == "[DONE]":
                self._decoder.done()
            elif data:
                chunk = self._parse(data)
                if item.event == "error" and isinstance(chunk, dict) and "error" not in chunk:
                    chunk = {"error": chunk}
                events = self._decoder.feed(chunk)
                yield from events
                self._template.learn(item.data, chunk, events, self._decoder)
            if self._decoder.ended:
                self.ended = True
                break

    def _parse(self, data: str) -> Any:
        try:
            value, end = _scan(data)
            if end == len(data):
                return value
        except (ValueError, RecursionError):
            pass
        name, said = self._provider.name, quote(data, self._provider.key)
        raise Failure("upstream_error", f"{name} sent what is not JSON: {said}")

    def _whole(self, body: bytes) -> list[Event]:
        name, key = self._provider.name, self._provider.key
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            said = read_error(body[:MAX_ERROR_BODY], key) + (MISLED if body[:1] == b"<" else "")
            raise Failure("upstream_error", f"{name} sent what is not JSON: {said}") from None
        events = self._decoder.whole(value)
        if events is None:
            failure = from_chunk(value, name, key)
            said = read_error(body[:MAX_ERROR_BODY], key)
            raise failure or Failure("upstream_error", f"{name} sent no answer: {said}")
        return events


def _is_whole(data: str) -> bool:
    data = data.strip()
    try:
        return data == "[DONE]" or _scan(data)[1] == len(data)
    except (ValueError, RecursionError):
        return False


class Template:
    """The text around the delta in chunks that differ in nothing but the delta.

    Nearly every chunk of a stream equals the one before but for its delta. After one such chunk was
    parsed, the JSON around its text is kept: a chunk that starts and ends with the same characters,
    and has no quote, backslash or control character between them, is the same JSON with another
    string in that place, and is not parsed (0.5 µs instead of 4).
    """

    PATIENCE = 16  # chunks in a row that may differ before the template is given up

    def __init__(self) -> None:
        self.take: Take = str  # the decoder's function for the text
        self._before = self._after = ""
        self._around = 0
        self._patience = self.PATIENCE

    def text(self, data: str) -> str:
        """Return the text of a chunk like the last one, "" if the chunk must be parsed."""
        if not self._before or not data.startswith(self._before) or not data.endswith(self._after):
            return ""
        text = data[len(self._before) : len(data) - len(self._after)]
        if len(data) <= self._around or '"' in text or "\\" in text or not text.isprintable():
            return ""
        self._patience = self.PATIENCE
        return text

    def learn(self, data: str, chunk: Any, events: list[Event], decoder: Answer) -> None:
        """Remember a chunk that was nothing but one piece of text."""
        if not self._patience:
            return
        self._patience -= 1
        found = decoder.only_text(chunk) if events else None
        if found is None or events[-1].get("delta") != found.text:
            return
        text, name = found.text, f'"{found.member}":'
        if data.count(name) != 1:
            return
        rest = data[data.index(name) + len(name) :]
        start = len(data) - len(rest.lstrip())
        if data.startswith(f'"{text}"', start) and "\\" not in text:
            self.take, self._before = found.take, data[: start + 1]
            self._after = data[start + 1 + len(text) :]
            self._around = len(self._before) + len(self._after)
