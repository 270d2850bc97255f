"""How long a second is: limits on time that hold on a slow machine and under a tracer, too."""

from __future__ import annotations

import sys
import time
from functools import cache

USUAL = 0.1  # CPU seconds for the loop below on the machine where the limits were chosen


@cache
def second() -> float:
    """The CPU seconds that this interpreter needs for what a usual one does in one."""
    start, total = time.process_time(), 0
    for number in range(1_000_000):
        total += number & 7
    tracer = 5 if sys.gettrace() else 1  # it slows calls down, and there are none in the loop
    return tracer * max(1.0, (time.process_time() - start) / USUAL)
