"""The rate limit of requests: a token bucket for each owner of keys.

So `100/1m` lets a hundred requests come at once, and after them one every 0.6 s. A refusal names
the time of the next accepted request and costs no token.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable

from ..errors import Problem
from .auth import Key

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Rates:
    """The rate limits of all keys. `limit` ("100/1m", "" for none) is the default of a key."""

    def __init__(self, limit: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # by owner: tokens, time of counting

    def take(self, key: Key) -> None:
        """Count a request. Raises Problem("rate_limited") with Retry-After."""
        limit = self._limit if key.rate_limit is None else key.rate_limit
        if not limit:
            return
        most, per_second = parse(limit)
        now = self._clock()
        tokens, then = self._buckets.get(key.owner, (most, now))
        tokens = min(most, tokens + (now - then) * per_second)
        if tokens < 1:
            wait = max(1, math.ceil((1 - tokens) / per_second))
            raise Problem(
                "rate_limited",
                f"This key may ask {limit} times; the next request is taken in {wait} s",
                headers={"Retry-After": str(wait)},
            )
        self._buckets[key.owner] = (tokens - 1, now)


def parse(limit: str) -> tuple[float, float]:
    """Return (requests at once, requests per second) of `100/1m` or `5/s`. Raises ValueError."""
    match = re.fullmatch(r"([0-9]+)/([0-9]*)([smhd])", limit)
    if match is None:
        raise ValueError(f"{limit} is no rate such as 100/1m")
    most = int(match[1])
    return most, most / (int(match[2] or 1) * SECONDS[match[3]])
