"""Log each event of a model as a line, with its time.

A secret that a model repeats arrives in pieces, none of which masking would recognise. So the lines
of a text are held until its line is complete, and arguments until they end. If the whole has
something to mask, the first line gets the masked whole and the others a "…". There are as many
lines as events, each with the milliseconds since its step began.
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
GOES_ON = (":", "=", "：", "＝", "is", "是", "为")  # ends of a line that a secret may follow

logger = log.get("model")


def wanted() -> bool:
    """Return whether the log has lines of level debug."""
    return logger.isEnabledFor(logging.DEBUG)


class Deltas:
    """The lines of one run. Call `flush` at its end, however it ends."""

    def __init__(self) -> None:
        self._stage = ""
        self._began = time.perf_counter()
        self._source: tuple[str, Any] = ("", None)
        self._held: list[dict[str, Any]] = []
        self._texts: list[str] = []
        self._size = 0

    def step(self, stage: str) -> None:
        """Begin a step: later events belong to it."""
        self.flush()
        self._stage, self._began = stage, time.perf_counter()

    def see(self, event: Event) -> None:
        """Log an event, or hold it until its text is complete."""
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
        """Write the held lines, masked."""
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
