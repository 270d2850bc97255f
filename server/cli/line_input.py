"""Read lines from a terminal: a paste is one text, and keys typed ahead answer no question.

Terminals mark a paste when they are asked to (bracketed paste, mode 2004 of
invisible-island.net/xterm/ctlseqs/ctlseqs.html). The mode stays on between two lines, so that what
is pasted during a run is marked too.
"""

from __future__ import annotations

import importlib
import os
import select
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

MARKS_ON, MARKS_OFF = "\x1b[?2004h", "\x1b[?2004l"
BEGIN, END = "\x1b[200~", "\x1b[201~"
PARTS = [BEGIN[:size].encode() for size in range(1, len(BEGIN))]
QUIET_S = 0.2  # without a key, before a question may be answered
REST_S = 0.03  # until the next line of a paste without marks
MARK_S = 2.0  # until the end of a paste that has begun


def comes(descriptor: int, seconds: float) -> bool:
    """Return whether something can be read before the time is over."""
    return bool(select.select([descriptor], [], [], seconds)[0])


class LineInput:
    """The lines of `source`, with prompts on `out`.

    `marks`: the terminal can mark pastes. `wait` is replaced in tests.
    """

    def __init__(
        self,
        source: TextIO,
        out: TextIO,
        *,
        marks: bool,
        wait: Callable[[int, float], bool] = comes,
    ) -> None:
        self._in, self._out, self._wait = source, out, wait
        self._marks = marks and source.isatty() and out.isatty()
        self._edits = False  # readline reads the lines
        if source.isatty() and out.isatty() and (source, out) == (sys.stdin, sys.stdout):
            # The import gives input() history and arrow keys, and changes how the terminal is read.
            # Some platforms have no readline, and libedit knows no marks.
            with suppress(ImportError):
                readline = importlib.import_module("readline")
                self._edits = "libedit" not in (readline.__doc__ or "")
                if self._edits and self._marks:
                    readline.parse_and_bind("set enable-bracketed-paste on")

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._write(MARKS_OFF)

    def read(self, prompt: str) -> str:
        """Return one line without its end, or a whole paste. Raises EOFError."""
        text = self._line(prompt)
        while text.rfind(BEGIN) > text.rfind(END):
            text += "\n" + self._line("")
        return text.replace(BEGIN, "").replace(END, "")

    def read_message(self, prompt: str) -> str:
        """Return the same with the lines that follow at once: a paste that has no marks."""
        text = self.read(prompt)
        while text and not text.startswith("/") and self._follows(REST_S):
            text += "\n" + self.read("… ")
        return text

    def discard(self) -> bool:
        """Discard what was typed until QUIET_S pass without a key; return whether there was any.

        A paste of which a part has come is discarded whole.
        """
        found, is_open, text = False, False, b""
        with suppress(OSError, termios.error), self._raw() as descriptor:
            while True:
                cut = is_open or any(text.endswith(part) for part in PARTS)
                if not self._wait(descriptor, MARK_S if cut else QUIET_S):
                    break
                if not (data := os.read(descriptor, 4096)):
                    break
                found, text = True, text[1 - len(BEGIN) :] + data
                if (begin := text.rfind(BEGIN.encode())) != (end := text.rfind(END.encode())):
                    is_open = begin > end
        return found

    def _line(self, prompt: str) -> str:
        try:
            if self._edits:
                return input(prompt)
            self._write(MARKS_ON)
            self._out.write(prompt)
            self._out.flush()
            if not (line := self._in.readline()):
                raise EOFError
            return line.rstrip("\n")
        finally:
            self._write(MARKS_ON)  # readline has switched them off

    def _follows(self, seconds: float) -> bool:
        with suppress(OSError, termios.error), self._raw() as descriptor:
            return self._wait(descriptor, seconds)
        return False

    def _write(self, mark: str) -> None:
        if self._marks:
            self._out.write(mark)
            self._out.flush()

    @contextmanager
    def _raw(self) -> Iterator[int]:
        """Let an unfinished line be seen, and echo nothing. Raises OSError and termios.error."""
        descriptor = self._in.fileno()
        before = termios.tcgetattr(descriptor)
        raw = [*before]
        raw[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(descriptor, termios.TCSANOW, raw)
        try:
            yield descriptor
        finally:
            termios.tcsetattr(descriptor, termios.TCSANOW, before)
