"""The log: one line for each record, with the run's id, and secrets masked.

Every package logs through `get("area")`; the command line calls `setup` once. Secrets are masked
(telemetry/redact.py) in the formatters, so that no handler can bypass it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from ..runtime.run_id import run_id
from . import tracing
from .redact import SHORT, mask, mask_all, mask_values

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
_NUMBERS = (int, float, bool)
LEVELS = ("debug", "info", "warning", "error")


def get(area: str) -> logging.Logger:
    """Return the logger of one part of the server: `yaa.<area>`."""
    return logging.getLogger(f"yaa.{area}")


def setup(
    level: str,
    *,
    style: str = "text",
    stream: TextIO | None = None,
    file: RotatingFile | None = None,
) -> None:
    """Send the log, in one of FORMATS, to `stream` (stderr by default) and to `file`, if given.

    Calling it again replaces the handlers.
    """
    handlers: list[logging.Handler] = [Stream(stream or sys.stderr)]
    if file is not None:
        handlers.append(File(file, tell=handlers[0].handle))
    for handler in handlers:
        handler.setFormatter(FORMATS[style]())
    # Without this, asyncio's warnings (such as: no descriptors left to accept a connection) would
    # go to stderr only, on several lines and unmasked.
    for name, lowest in (("yaa", "DEBUG"), ("asyncio", "WARNING")):
        root = logging.getLogger(name)
        for old in list(root.handlers):
            root.removeHandler(old)
            old.close()
        for handler in handlers:
            root.addHandler(handler)
        root.setLevel(max(logging.getLevelName(level.upper()), logging.getLevelName(lowest)))
        root.propagate = False


class Stream(logging.StreamHandler[TextIO]):
    """A handler that drops lines if its stream cannot be written (a full disk, a closed pipe)."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Report an error, except OSError: there is nowhere to report that."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


class File(logging.Handler):
    """A handler that drops lines while its file cannot be written.

    The first failure is reported through `tell`, and later how many lines were lost.
    """

    def __init__(self, file: RotatingFile, tell: Callable[[logging.LogRecord], object]) -> None:
        super().__init__()
        self._file, self._tell = file, tell
        self._lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record to the file."""
        line = self.format(record).encode("utf-8", "backslashreplace") + b"\n"
        try:
            self._file.write(line)
        except OSError as error:
            self._lost += 1
            if self._lost == 1:
                self._say(f"cannot be written ({error.strerror}): its lines are lost until it can")
            return
        if self._lost:
            lost, self._lost = self._lost, 0
            self._say(f"is written again; {lost} lines are lost")

    def _say(self, what: str) -> None:
        text = f"{self._file.path.name} {what}"
        self._tell(logging.LogRecord("yaa.log", logging.WARNING, "", 0, text, None, None))

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


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
        marks = "".join(f" {name}={value}" for name, value in _marks().items())
        text = safe(_text(record)) if _has_text(record) else _json(mask_all(record.msg))
        return one_line(f"{head}{marks} {text}")


class JsonLine(logging.Formatter):
    """The same as one JSON object: `ts, level, logger, run?, trace?, msg`.

    If the record's message is a dict, its members take the place of `msg`.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        line: dict[str, Any] = {"ts": _stamp(record), "level": record.levelname.lower()}
        line |= {"logger": record.name, **_marks()}
        if isinstance(record.msg, dict):
            line |= mask_all(record.msg)
        else:
            line["msg"] = safe(_text(record))
        return one_line(json.dumps(line, ensure_ascii=False, default=str))


FORMATS = {"text": Line, "json": JsonLine}


def _has_text(record: logging.LogRecord) -> bool:
    """Return whether a record is more than an object of numbers and short texts.

    A text is looked through as a whole, because a secret may be spread over its parts. The values
    of such an object are masked one by one, at a tenth of the cost.
    """
    message = record.msg
    if not isinstance(message, dict) or record.args or record.exc_info:
        return True
    return not all(
        len(value) <= SHORT if isinstance(value, str) else value is None or type(value) in _NUMBERS
        for value in message.values()
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _text(record: logging.LogRecord) -> str:
    value = mask_values(record.msg)
    text = _json(value) if isinstance(record.msg, dict) else str(value)
    if record.args:
        text = text % mask_values(record.args)
    if record.exc_info:
        text += "\n" + logging.Formatter().formatException(record.exc_info)
    return text


def _stamp(record: logging.LogRecord) -> str:
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{at}.{int(record.msecs):03d}Z"


def _marks() -> dict[str, str]:
    """Return the ids of the current run and trace, as far as there are any."""
    trace = tracing.current.get()
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
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
