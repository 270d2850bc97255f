"""The log: one line for each record, with the run's id, and secrets masked.

Every package logs through `get("area")`; the command line calls `setup` once. Secrets are masked
(telemetry/redact.py) in the formatters, so that no handler can bypass it.

A server formats and writes its lines up to DELAY_S later, many at a time: they are off the path of
a token, and take a third of the time.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TextIO

from ..lib.runtime.run_id import run_id
from . import trace_context
from .redact import mask, mask_all, mask_flat, mask_values

# -- log file -------------------------------------------------------------------------------------
# A file of lines with rotation, safe for several writing processes.
#
# Used for the log and the traces. A line is one append, so that lines of several processes never
# mix. Before each write the path is looked up again, so that another process, or logrotate, can
# rename the file without a signal. The process that renames holds a lock on the file.

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class Rotation(NamedTuple):
    """Bytes of a file before the next one is begun, and the number of older files kept."""

    most: int
    keep: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Rotation:
        """Return the rotation of the configuration's `server.log`."""
        return cls(round(config["max_mb"] * 1024 * 1024), config["keep"])


class RotatingFile:
    """A file at `<path>`; `<path>.1` is its predecessor, `<path>.2` the one before."""

    def __init__(self, path: Path, rotation: Rotation) -> None:
        self.path = path
        self._rotation = rotation
        self._descriptor = -1
        self._torn = False  # the last line is incomplete: the disk became full

    def write(self, line: bytes) -> None:
        """Append a line, with its line feed. Raises OSError; then it is lost or incomplete."""
        if not self._is_named():
            self._reopen()
        size = os.fstat(self._descriptor).st_size
        if size and size + len(line) > self._rotation.most:
            self._rotate()
        data = b"\n" + line if self._torn else line
        self._torn = True
        while data:
            data = data[os.write(self._descriptor, data) :]
        self._torn = False

    def failure(self) -> str:
        """Return why the file cannot be written, "" if it can."""
        try:
            self.write(b"")
        except OSError as error:
            return f"{self.path}: {error.strerror}"
        finally:
            self.close()
        return ""

    def close(self) -> None:
        """Close the file; the next write opens it again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _is_named(self) -> bool:
        """Return whether the open file is still the one at the path."""
        if self._descriptor < 0:
            return False
        try:
            named, held = self.path.lstat(), os.fstat(self._descriptor)
        except FileNotFoundError:
            return False
        return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)

    def _reopen(self) -> None:
        self.close()
        self._descriptor = os.open(self.path, _FLAGS, 0o600)
        self._torn = False

    def _rotate(self) -> None:
        """Give every file the next number, unless another process has done so."""
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX)  # not flock: workers share open files
        try:
            if self._is_named():
                self._shift()
        finally:
            self._reopen()  # releases the lock

    def _shift(self) -> None:
        keep = self._rotation.keep
        for number in range(keep - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                self._numbered_path(number).replace(self._numbered_path(number + 1))
        if keep:
            self.path.replace(self._numbered_path(1))
        else:
            self.path.unlink()

    def _numbered_path(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")


# -- log ------------------------------------------------------------------------------------------

LONGEST = 65_536  # characters of a line: masking costs about a millisecond per kilobyte at worst
LEVELS = ("debug", "info", "warning", "error")
DELAY_S = 0.1
UNFIT = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RuntimeError)
FAILURES = (*UNFIT, OSError, MemoryError, ImportError)  # of a process that lacks something
MOST_WAITING = 1_000  # records


def get(area: str) -> logging.Logger:
    """Return the logger of one part of the server: `yaa.<area>`."""
    return logging.getLogger(f"yaa.{area}")


def setup(
    level: str,
    *,
    style: str = "text",
    stream: TextIO | None = None,
    file: RotatingFile | None = None,
    delay_s: float = 0.0,
) -> None:
    """Send the log, in one of FORMATS, to `stream` (stderr by default) and to `file`, if given.

    `delay_s`: how long lines below warning may wait while an event loop runs. Calling it again
    replaces the handlers.
    """
    handler = DelayedHandler(Stream(stream or sys.stderr), delay_s)
    if file is not None:
        handler.outputs.append(File(file, tell=handler.warn))
    handler.setFormatter(FORMATS[style]())
    # Lines name no place, thread or process, and finding these is half the cost of a record: see
    # https://docs.python.org/3/howto/logging.html#optimization
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    # Without this, asyncio's warnings (such as: no descriptors left to accept a connection) would
    # go to stderr only, on several lines and unmasked.
    for name, lowest in (("yaa", "DEBUG"), ("asyncio", "WARNING")):
        root = logging.getLogger(name)
        for old in list(root.handlers):
            root.removeHandler(old)
            old.close()
        root.addHandler(handler)
        root.setLevel(max(logging.getLevelName(level.upper()), logging.getLevelName(lowest)))
        root.propagate = False


class Output(Protocol):
    """What lines are written to."""

    def write(self, lines: Sequence[str]) -> None:
        """Write lines, each with its line feed. Never raises OSError."""

    def close(self) -> None:
        """Close what this object has opened."""


class DelayedHandler(logging.Handler):
    """A handler whose records wait for `delay_s` before they are formatted and written.

    `outputs`: `stream` and what is added later. Records do not wait outside of an event loop,
    before a warning, or if there are MOST_WAITING. At the end of the process, `logging` calls
    `flush`.

    It raises nothing: a record that cannot be written, for instance without memory, is counted, and
    the next line that can be says how many are lost.
    """

    def __init__(self, stream: Output, delay_s: float) -> None:
        super().__init__()
        self.outputs, self._stream, self._delay_s = [stream], stream, delay_s
        self._waiting: list[logging.LogRecord] = []
        self._loop: asyncio.AbstractEventLoop | None = None  # the one that will call `flush`
        self._lost = 0  # records since the last line that was written

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record."""
        try:
            vars(record)["marks"] = _marks()
            self._waiting.append(record)
            if self._may_wait(record):
                return
        except FAILURES:
            self._lost += record not in self._waiting[-1:]
        self.flush()

    def _may_wait(self, record: logging.LogRecord) -> bool:
        if not self._delay_s or record.levelno >= logging.WARNING:
            return False
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # a thread, or no loop at all
            return False
        if self._loop is not loop:
            self._loop = loop
            loop.call_later(self._delay_s, self.flush)
        return len(self._waiting) < MOST_WAITING

    def flush(self) -> None:
        """Write the records that wait."""
        self.acquire()
        try:
            waiting, self._waiting, self._loop = self._waiting, [], None
            self._lost, lost = len(waiting) + self._lost, self._lost
            lines = [self._line(record) for record in waiting]
            if lost:
                lines.append(self._line(_warning(f"{lost} lines are lost: they could not be made")))
            for output in self.outputs:
                output.write(lines)
            self._lost = 0
        except FAILURES:  # what logs must not fail because of its log
            pass
        finally:
            self.release()

    def _line(self, record: logging.LogRecord) -> str:
        try:
            return f"{self.format(record)}\n"
        except UNFIT as error:  # a value that does not fit its text must not stop a run
            text = f"a line of {record.name} does not fit its values: {error!r}"
            return f"{self.format(_warning(text))}\n"

    def warn(self, text: str) -> None:
        """Write a warning about the log itself to the stream."""
        self._stream.write([self._line(_warning(text))])

    def close(self) -> None:
        """Write what waits, and close the outputs."""
        self.flush()
        for output in self.outputs:
            output.close()
        super().close()


def _warning(text: str) -> logging.LogRecord:
    """Return a warning about the log itself."""
    return logging.LogRecord("yaa.log", logging.WARNING, "", 0, text, None, None)


class Stream:
    """An output that drops lines if it cannot be written (a full disk, a closed pipe)."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, lines: Sequence[str]) -> None:
        """Write lines at once: several in one system call."""
        with contextlib.suppress(OSError):
            self._stream.write("".join(lines))
            self._stream.flush()

    def close(self) -> None:
        """Do nothing: the stream belongs to whoever gave it."""


class File:
    """An output that drops lines while its file cannot be written.

    The first failure is reported through `tell`, and later how many lines were lost.
    """

    def __init__(self, file: RotatingFile, tell: Callable[[str], object]) -> None:
        self._file, self._tell = file, tell
        self._lost = 0

    def write(self, lines: Sequence[str]) -> None:
        """Write each line to the file, so that it rotates in time."""
        for line in lines:
            try:
                self._file.write(line.encode("utf-8", "backslashreplace"))
            except OSError as error:
                self._lost += 1
                if self._lost == 1:
                    until = "its lines are lost until it can"
                    self._say(f"cannot be written ({error.strerror}): {until}")
                continue
            if self._lost:
                lost, self._lost = self._lost, 0
                self._say(f"is written again; {lost} lines are lost")

    def _say(self, what: str) -> None:
        self._tell(f"{self._file.path.name} {what}")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Line(logging.Formatter):
    """A line of text with line breaks escaped.

    `2026-11-21T05:20:07.123Z INFO yaa.api run=run_1 trace=4bf9… text`

    A message that is a dict is written as JSON. A traceback follows its message on the same line:
    if a record could have several lines, logged text could forge records.
    `sed 's/\\\\n/\\n/g'` makes it readable again.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of text."""
        head = f"{_stamp(record)} {record.levelname} {record.name}"
        marks = "".join(f" {name}={value}" for name, value in _marks_of(record).items())
        # A text is looked through as a whole, because a secret may be spread over its parts. The
        # values of a flat object are masked one by one, at a tenth of the cost.
        shown = None if record.args or record.exc_info else mask_flat(record.msg)
        return one_line(f"{head}{marks} {safe(_text(record)) if shown is None else _json(shown)}")


class JsonLine(logging.Formatter):
    """The same as one JSON object: `ts, level, logger, run?, trace?, msg`.

    If the record's message is a dict, its members take the place of `msg`.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        line: dict[str, Any] = {"ts": _stamp(record), "level": record.levelname.lower()}
        line |= {"logger": record.name, **_marks_of(record)}
        if isinstance(record.msg, dict):
            line |= mask_all(record.msg)
        else:
            line["msg"] = safe(_text(record))
        return one_line(_spaced_json(line))


FORMATS = {"text": Line, "json": JsonLine}


_spaced_json = json.JSONEncoder(ensure_ascii=False, default=str).encode
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


def _text(record: logging.LogRecord) -> str:
    value = mask_values(record.msg)
    text = _json(value) if isinstance(record.msg, dict) else str(value)
    if record.args:
        text = text % mask_values(record.args)
    if record.exc_info:
        text += "\n" + logging.Formatter().formatException(record.exc_info)
    return text


def _stamp(record: logging.LogRecord) -> str:
    return f"{_second(int(record.created))}.{int(record.msecs):03d}Z"


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def _marks_of(record: logging.LogRecord) -> Mapping[str, str]:
    marks: Mapping[str, str] = vars(record).get("marks", {})
    return marks


def _marks() -> dict[str, str]:
    """Return the ids of the current run and trace, as far as there are any."""
    trace = trace_context.current.get()
    marks = {"run": run_id.get(), "trace": trace.trace_id if trace else ""}
    return {name: value for name, value in marks.items() if value}


def safe(text: str) -> str:
    """Return `text` masked and limited to LONGEST characters.

    1024 characters before the cut are dropped as well, because half a key could stand there.
    """
    if len(text) <= LONGEST:
        return mask(text)
    return f"{mask(text[:LONGEST])[:-1024]}… ({len(text)} characters)"


def one_line(text: str) -> str:
    """Return `text` with every control character and line separator escaped."""
    return _CONTROL.sub(lambda match: _ESCAPES[match[0]], text)


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# Not by a codec: Python imports that at its first use, which fails without a free descriptor.
_ESCAPES = {
    chr(code): ascii(chr(code))[1:-1] for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)
}
