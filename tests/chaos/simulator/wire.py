"""The client's side of HTTP: a request goes out, as much of the answer as is read comes in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from .host import Host
from .line import LATENCY_S, Line

PATIENCE_S = 60.0  # after which a client gives up a line
DEAD_S = 1.0  # after which it gives up one that says nothing


class Answer:
    """What a program has read of an answer. `whole`: all of it; `ended`: its last event too."""

    def __init__(self) -> None:
        self.status = 0
        self.events: list[Any] = []
        self.body: Any = None
        self.whole = self.ended = False


async def request(
    host: Host,
    path: str,
    body: Any,
    headers: Mapping[str, str],
    *,
    take: int | None = None,
    frames: int | None = None,
    late_s: float = 0.0,
    cut: tuple[int, str] | None = None,
    gateway: bool = False,
) -> tuple[Answer, Line | None]:
    """POST, and read up to `take` events.

    `frames`: how many reach the machine. `late_s`: how long the network holds the request. `cut`:
    the effect of the server after which the client hangs up, and how. `gateway`: one confirms what
    does not reach the machine.
    """
    answer = Answer()
    if host.process.dead:
        await asyncio.sleep(LATENCY_S)
        return answer, None
    line = Line(host, frames, gateway=gateway)
    if cut is not None:
        at, how = host.process.effects + cut[0], cut[1]
        host.process.after = lambda count: line.hang_up(how) if count == at else None
    data = json.dumps(body).encode()
    fields = {"Host": "localhost", "Content-Type": "application/json", **headers}
    rows = (f"{name}: {value}\r\n" for name, value in fields.items())
    head = f"POST {path} HTTP/1.1\r\n{''.join(rows)}Content-Length: {len(data)}\r\n\r\n"
    line.send(head.encode() + data, late_s)
    reader, until = Reader(answer), None
    if take == 0:
        return answer, line
    while True:
        line.arrived.clear()
        reader.read(line, take)
        if take is not None and len(answer.events) >= take:
            return answer, line
        if answer.whole or line.closed or line.failed or line._client_closed:
            return answer, line
        if line.frames_left == 0:
            until = until or line.loop.now + DEAD_S
            if line.loop.now >= until:
                return answer, line
        try:
            async with asyncio.timeout(DEAD_S / 2 if line.frames_left == 0 else PATIENCE_S):
                await line.arrived.wait()
        except TimeoutError:
            if line.frames_left != 0:
                return answer, line


class Reader:
    """Takes an answer out of a machine's bytes, event by event."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._length: int | None = None  # of the body; -1 if it is chunked
        self._text = b""

    def read(self, line: Line, take: int | None) -> None:
        """Read what is there, up to `take` events."""
        data, answer = line.machine, self._answer
        if self._length is None and not self._read_head(data):
            return
        if self._length != -1:
            assert self._length is not None
            if len(data) >= self._length:
                answer.body = json.loads(bytes(data[: self._length]) or b"null")
                answer.whole = answer.ended = True
            return
        while self._read_frames(take) and self._read_chunk(data):
            pass

    def _read_head(self, data: bytearray) -> bool:
        end = data.find(b"\r\n\r\n")
        if end < 0:
            return False
        first, *rows = bytes(data[:end]).decode().split("\r\n")
        del data[: end + 4]
        self._answer.status = int(first.split()[1])
        fields = {k.lower(): v for k, _, v in (row.partition(": ") for row in rows)}
        chunked = "transfer-encoding" in fields
        self._length = -1 if chunked else int(fields.get("content-length", 0))
        return True

    def _read_frames(self, take: int | None) -> bool:
        """Read the frames of the chunks so far; return False after `take` events."""
        answer = self._answer
        while (end := self._text.find(b"\n\n")) >= 0:
            if take is not None and len(answer.events) >= take:
                return False
            frame, self._text = self._text[:end], self._text[end + 2 :]
            for row in frame.split(b"\n"):
                if row.startswith(b"data: "):
                    answer.events.append(json.loads(row[6:]))
                    answer.ended |= answer.events[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
        return True

    def _read_chunk(self, data: bytearray) -> bool:
        end = data.find(b"\r\n")
        size = int(bytes(data[:end]), 16) if end >= 0 else 0
        if end < 0 or len(data) < end + size + 4:
            return False
        self._text += bytes(data[end + 2 : end + 2 + size])
        del data[: end + 2 + size + 2]
        self._answer.whole = size == 0
        return size > 0
