"""What a terminal would show of a program's output, with its beginning and end kept.

Progress bars write a line again and again, with carriage returns between; a model should read its
last state, and no control sequences. Works on pieces of any size, in bounded memory.
"""

from __future__ import annotations

import re

MAX_LINE = 4_096  # bytes of an unfinished line that wait for what overwrites them

_SEQUENCE = re.compile(
    rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,4}[@-~]?|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|[ -/]{0,2}[0-~]?)"
)
_ERASE = re.compile(rb"\x1b\[[0-2]?K")


class TerminalText:
    """Feed output as it comes, then read `text`. `keep`: bytes of it, half of them the end."""

    def __init__(self, keep: int) -> None:
        self._half = keep // 2
        self._head, self._tail = bytearray(), bytearray()
        self._line = b""
        self._size = 0  # bytes that a terminal would show

    def feed(self, data: bytes) -> None:
        """Take a piece of output."""
        complete, end, self._line = (self._line + data).rpartition(b"\n")
        if end:
            self._add(screen_text(complete + end))
        if len(self._line) > MAX_LINE:
            passed, end, rest = self._line.rpartition(b"\r")
            if end and len(rest) <= MAX_LINE:
                self._line = _settle(passed)[:MAX_LINE] + end + rest
            else:
                self._add(screen_text(self._line))
                self._line = b""

    def _add(self, data: bytes) -> None:
        self._size += len(data)
        room = max(0, self._half - len(self._head))
        self._head += data[:room]
        self._tail = (self._tail + data[room:])[-self._half :]

    def end(self) -> bytes:
        """Return what is kept, with a line in place of what is not."""
        self._add(screen_text(self._line))
        self._line = b""
        gap = f"\n… {self.gap_size} bytes left out …\n".encode() if self.gap_size else b""
        return bytes(self._head + gap + self._tail)

    @property
    def gap_size(self) -> int:
        """Return how many bytes are not kept."""
        return self._size - len(self._head) - len(self._tail)


def screen_text(data: bytes) -> bytes:
    """Return whole lines as a terminal shows them at last; a CR at the end of a line stays."""
    if b"\r" not in data and b"\x1b" not in data:
        return data
    return b"\n".join(map(_settle, data.split(b"\n")))


def _settle(line: bytes) -> bytes:
    body, end = (line[:-1], b"\r") if line.endswith(b"\r") else (line, b"")
    state = b""
    for part in body.split(b"\r"):
        text = _SEQUENCE.sub(b"", part)
        state = text + (b"" if _ERASE.search(part) else state[len(text) :])
    return state + end
