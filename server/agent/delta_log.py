"""A log line for each event of a model, so that one can find out what it said and when.

A key that a model repeats arrives in pieces, and no piece looks like one. So the lines of a text
are held until its line is complete, and arguments until they end; where the whole has something to
mask, the first line gets the masked whole and the others only say that they were there. The rule of
the file: as many lines as events, each with the milliseconds since its step began.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from ..telemetry import log
from ..telemetry.redact import mask

Event = dict[str, Any]

HELD = {
    "TEXT_MESSAGE_CONTENT": "messageId",
    "REASONING_MESSAGE_CONTENT": "messageId",
    "TOOL_CALL_ARGS": "toolCallId",
}
GOES_ON = (":", "=", "：", "＝", "is", "是", "为")  # what a secret may follow on the next line

logger = log.get("model")


def wanted() -> bool:
    return logger.isEnabledFor(logging.DEBUG)


class Deltas:
    """The lines of one run. `flush` at its end, whatever the end is."""

    def __init__(self) -> None:
        self._stage = ""
        self._began = time.perf_counter()
        self._source: tuple[str, Any] = ("", None)
        self._held: list[dict[str, Any]] = []
        self._texts: list[str] = []
        self._size = 0

    def step(self, stage: str) -> None:
        """What follows belongs to this step."""
        self.flush()
        self._stage, self._began = stage, time.perf_counter()

    def see(self, event: Event) -> None:
        kind = event["type"]
        key = HELD.get(kind)
        if key is None:
            self.flush()
            logger.debug(self._line({k: v for k, v in event.items() if k != "type"}, kind))
            return
        source = (kind, event.get(key))
        if source != self._source:
            self.flush()
            self._source = source
        self._held.append(self._line({key: event.get(key)}, kind))
        self._texts.append(event["delta"])
        self._size += len(event["delta"])
        if self._size > log.LONGEST // 2 or ("\n" in event["delta"] and self._complete()):
            self.flush()

    def flush(self) -> None:
        whole = "".join(self._texts)
        shown = mask(whole)
        told = self._texts if shown == whole else [shown] + ["…"] * (len(self._held) - 1)
        for line, text in zip(self._held, told, strict=True):
            line["delta"] = text
            logger.debug(line)
        self._held, self._texts, self._size, self._source = [], [], 0, ("", None)

    def _line(self, data: dict[str, Any], kind: str) -> dict[str, Any]:
        ms = round((time.perf_counter() - self._began) * 1000, 1)
        return {"stage": self._stage, "ms": ms, "event": kind, **data}

    def _complete(self) -> bool:
        text = "".join(self._texts)
        if self._source[0] == "TOOL_CALL_ARGS" or text.rstrip().endswith(GOES_ON):
            return False
        return text.endswith("\n") and text.count("-----BEGIN") <= text.count("-----END")
