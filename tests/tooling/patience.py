"""How long tests wait before they call something hung, on a machine of any speed and load.

A limit is written in seconds of an idle machine. `slowness` times a piece of work that is the same
everywhere, and `Watch` and `seconds` stretch a limit by what it says: a busy machine breaks none.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

STEPS = 500_000
USUAL_S = 0.0125  # of these steps, on an idle machine: more than a busy one gives at a time
LOOKS = 4  # of which the slowest counts: one of them may have had the processor for itself
LOOK_S = 5.0
_seen: list[tuple[float, float]] = []  # when it was measured, and what came of it


def slowness() -> float:
    """How many times longer work takes than on an idle machine; never below 1.

    It is measured anew when LOOK_S have passed.
    """
    if not _seen:
        _seen.extend(_look() for _ in range(LOOKS))
    elif time.monotonic() >= _seen[-1][0] + LOOK_S:
        _seen[:] = [*_seen[1:], _look()]
    return max(1.0, *(slow for _, slow in _seen))


def _look() -> tuple[float, float]:
    began = time.monotonic()
    total = 0
    for number in range(STEPS):
        total += number
    ended = time.monotonic()
    return ended, (ended - began) / USUAL_S


def seconds(idle_s: float) -> float:
    """A limit for one wait that begins now."""
    return idle_s * slowness()


class Allowance:
    """What is left of `limit_s`, told the time and how slow the machine is. Of no thread."""

    def __init__(self, limit_s: float, now_s: float) -> None:
        self._limit_s = limit_s
        self.restart(now_s)

    def restart(self, now_s: float) -> None:
        self.left_s, self._at_s = self._limit_s, now_s

    def spend(self, now_s: float, slow: float) -> None:
        """Takes off what passed since it was last told the time; half of it if `slow` is 2."""
        self.left_s -= (now_s - self._at_s) / slow
        self._at_s = now_s


class Watch:
    """Calls `late` in a thread of its own, once, when `limit_s` have passed without `restart`:
    `with Watch(60, process.kill) as watch:`. Every `look_s` it is measured how slow the machine is.
    """

    def __init__(self, limit_s: float, late: Callable[[], None], *, look_s: float = LOOK_S) -> None:
        self._late, self._look_s = late, min(look_s, limit_s)
        self._allowance = Allowance(limit_s, time.monotonic())
        self._lock = threading.Lock()
        self._over = threading.Event()
        self.thread = threading.Thread(target=self._count, name="watch", daemon=True)

    def __enter__(self) -> Watch:
        self.restart()
        self.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self.thread.join()

    def restart(self) -> None:
        with self._lock:
            self._allowance.restart(time.monotonic())

    def _count(self) -> None:
        left_s = self._look_s
        while left_s > 0:
            if self._over.wait(min(self._look_s, left_s)):
                return
            slow = slowness()
            with self._lock:
                self._allowance.spend(time.monotonic(), slow)
                left_s = self._allowance.left_s
        self._late()
