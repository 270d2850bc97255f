"""The handler of `GET /metrics`: the counters of all workers, in the format of Prometheus.

The route needs a key.
"""

from __future__ import annotations

from collections.abc import Callable

from .router import Call

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Scrape:
    """The handler of `GET /metrics`. `text` returns the body (metrics.Metrics.text)."""

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text

    async def get(self, call: Call) -> None:
        """Send the counters."""
        await call.reply(200, self._text().encode(), {"Content-Type": CONTENT_TYPE})
