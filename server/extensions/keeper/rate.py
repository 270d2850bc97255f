"""Count how often something is done for each of many keys, and say when it may be done again."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from ...lib.runtime.accounts import fill

MOST_KEYS = 10_000


class Rate:
    """A limit: once in `every_s` seconds on average, and `burst` times at once."""

    def __init__(
        self, every_s: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._every_s, self._burst, self._clock = every_s, burst, clock
        self._free_at: dict[Hashable, float] = {}  # when nothing will be left to count

    def take(self, key: Hashable) -> float:
        """Count one and return 0, or return after how many seconds one more is allowed."""
        now = self._clock()
        if len(self._free_at) >= MOST_KEYS:
            self._free_at = {each: at for each, at in self._free_at.items() if at > now}
        free_at = self._free_at.get(key, now)
        if free_at > now + self._every_s * self._burst:  # the clock was put back
            free_at = now
        free_at, wait_s = fill(free_at, now, self._burst, 1 / self._every_s)
        if wait_s <= 1e-6:  # seconds that were added up are not exact
            self._free_at[key] = free_at
            return 0.0
        return wait_s
