"""Notice that the clock of the machine was set, which would make everything expire at once.

Files are as old as the clock says. It is compared with one that nobody can set and that goes on
while the machine sleeps. After a jump nothing expires for a day: time to set it right.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

JUMP_S = 3600.0  # more than what a time server corrects
PAUSE_S = 86_400.0

_log = logging.getLogger("yaa.app")


def steady_s() -> float:
    """Return seconds that no setting of the clock changes, with those of sleep on Linux."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class ClockJumps:
    """The jumps of a clock in the life of a process. `clock`: Unix seconds."""

    def __init__(
        self, clock: Callable[[], float] = time.time, steady: Callable[[], float] = steady_s
    ) -> None:
        self._clock, self._steady = clock, steady
        self._ahead = clock() - steady()
        self._trusted_at = steady()

    def may_expire(self) -> bool:
        """Return whether the clock can be trusted to say that something is old."""
        ahead, now = self._clock() - self._steady(), self._steady()
        jump, self._ahead = ahead - self._ahead, ahead
        if abs(jump) > JUMP_S:
            self._trusted_at = now + PAUSE_S
            text = "the clock of this machine was set by %+d s: nothing expires for a day"
            _log.warning(text, round(jump))
        return now >= self._trusted_at
