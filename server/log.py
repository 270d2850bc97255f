"""Log lines: one per record, with the run's id, and never a secret.

Every part logs through `get("area")`; the command line calls `setup` once. Masking (masking.py)
happens where a line is made, so nothing that reaches a handler of ours can skip it.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from contextvars import ContextVar
from pathlib import Path
from typing import TextIO

from .masking import mask, masked

LONGEST = 65_536  # characters of a line: masking costs about a millisecond per kilobyte at worst
LEVELS = ("debug", "info", "warning", "error")

run_id: ContextVar[str] = ContextVar("yaa_run_id", default="")


def get(area: str) -> logging.Logger:
    """The logger of one part of the server: `yaa.<area>`."""
    return logging.getLogger(f"yaa.{area}")


def setup(level: str, *, stream: TextIO | None = None, folder: Path | None = None) -> None:
    """Send the log to `stream` (stderr) and, where `folder` is given, to `<folder>/yaa.log`.

    Calling it again replaces the handlers. Raises OSError when the file cannot be opened.
    """
    handlers: list[logging.Handler] = [logging.StreamHandler(stream or sys.stderr)]
    if folder is not None:
        handlers.append(logging.FileHandler(folder / "yaa.log", encoding="utf-8"))
    root = logging.getLogger("yaa")
    for old in list(root.handlers):
        root.removeHandler(old)
        old.close()
    for handler in handlers:
        handler.setFormatter(Line())
        root.addHandler(handler)
    root.setLevel(level.upper())
    root.propagate = False


class Line(logging.Formatter):
    """`2026-11-21T05:20:07.123Z INFO yaa.api run=run_1 text`, with line breaks escaped.

    A trace follows its message on the same line: a record that spreads over lines could be forged
    by anyone whose text is logged. `sed 's/\\\\n/\\n/g'` makes it readable again.
    """

    def format(self, record: logging.LogRecord) -> str:
        text = str(masked(record.msg))
        if record.args:
            text = text % masked(record.args)
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        run = run_id.get()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        head = f"{stamp}.{int(record.msecs):03d}Z {record.levelname} {record.name}"
        text = safe(text)
        return one_line(f"{head} run={run} {text}" if run else f"{head} {text}")


def safe(text: str) -> str:
    """`text` masked. One that is too long ends well before the cut, where half a key may stand."""
    if len(text) <= LONGEST:
        return mask(text)
    return f"{mask(text[:LONGEST])[:-1024]}… ({len(text)} characters)"


def one_line(text: str) -> str:
    """`text` with every control character and line separator written as an escape."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
