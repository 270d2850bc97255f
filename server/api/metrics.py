"""`GET /metrics`: the counters of all workers, for Prometheus. It needs a key like everything else.

The rule of the file: asking costs no more than adding numbers up, and the answer is only numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from .router import Call

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Scrape:
    """`text` makes the answer (metrics.Metrics.text)."""

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text

    async def get(self, call: Call) -> None:
        await call.reply(200, self._text().encode(), {"Content-Type": CONTENT_TYPE})
