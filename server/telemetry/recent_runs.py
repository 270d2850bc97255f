"""The last runs of this process, for its owner: when, which and how they ended, no content.

In memory only, and shared by all Apps of the process. With several workers each has its own.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

MOST = 200  # runs


class RecentRuns:
    """The last `most` runs. `clock`: seconds since 1970."""

    def __init__(self, most: int = MOST, clock: Callable[[], float] = time.time) -> None:
        self._runs: deque[dict[str, Any]] = deque(maxlen=most)
        self._clock = clock

    def add(self, line: Mapping[str, Any]) -> None:
        """Keep the log line of a run that has ended now."""
        self._runs.append({"at": round(self._clock() * 1000), **line})

    def listing(self) -> list[dict[str, Any]]:
        """Return the runs, the last first. `at` is when a run ended, in ms since 1970."""
        return [dict(run) for run in reversed(self._runs)]


of_process = RecentRuns()
