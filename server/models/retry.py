"""Another attempt: when it may help, how long to wait, and the loop that makes it.

In the walk: between `openai.stream` and one attempt. The rule of the file: once an event has been
given out there is no second attempt, for the reader would see the beginning twice; the failure
becomes the last event and the session can be sent again.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

from ..session.events import Event
from ..telemetry import log
from .failure import Failure

LEAST_PACED = 256  # sessions that are remembered before any is dropped
LONGEST_PAUSE_S = 30.0  # of our own doubling
IMF_FIXDATE = "%a, %d %b %Y %H:%M:%S GMT"  # RFC 9110 section 5.6.7
LONGEST_ASKED_S = 120.0  # a provider that wants more is not worth a waiting person

Sleep = Callable[[float], Awaitable[None]]

logger = log.get("llm")


@dataclass(frozen=True)
class Policy:
    """`times`: extra attempts; `delay`: the first pause in seconds, doubled each time."""

    times: int
    delay: float

    def pause(self, failure: Failure, attempt: int) -> float | None:
        """Seconds to wait after attempt number `attempt` (from 1), or None to give up."""
        if not failure.retryable or attempt > self.times:
            return None
        doubled = self.delay * (1 << min(attempt - 1, 30))
        pause = min(doubled, max(self.delay, LONGEST_PAUSE_S))
        if failure.retry_after is None:
            return pause
        return max(pause, failure.retry_after) if failure.retry_after <= LONGEST_ASKED_S else None


class Pace:
    """The least gap between the starts of two calls of one session, which waits for no other."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._free_at: dict[str, float] = {}  # by session; what has passed may be dropped
        self._room = LEAST_PACED

    def wait(self, session_id: str, interval: float) -> float:
        """Reserve the session's next start; returns the seconds until then."""
        now = self._clock()
        start = max(now, self._free_at.get(session_id, now))
        if interval:
            self._free_at[session_id] = start + interval
        if len(self._free_at) > self._room:
            self._free_at = {name: at for name, at in self._free_at.items() if at > now}
            self._room = max(LEAST_PACED, 2 * len(self._free_at))
        return start - now

    def give_back(self, session_id: str, interval: float) -> None:
        """Undo a reservation whose call was not made."""
        if session_id in self._free_at:
            self._free_at[session_id] -= interval


async def attempts(
    attempt: Callable[[float | None], AsyncGenerator[Event, None]],
    policy: Policy,
    *,
    limit: float | None,
    clock: Callable[[], float],
    sleep: Sleep,
) -> AsyncGenerator[Event, None]:
    """The events of the first attempt that gets anywhere; failures become one RUN_ERROR.

    `attempt` is given the seconds left of `limit`, which counts for all attempts together.
    """
    end = None if limit is None else clock() + limit
    for number in count(1):
        begun = False
        left = None if end is None else max(end - clock(), 0.001)
        try:
            async with aclosing(attempt(left)) as events:
                async for event in events:
                    begun = True
                    yield event
            return
        except Failure as caught:
            failure = caught
        pause = None if begun else policy.pause(failure, number)
        if pause is None or (end is not None and clock() + pause >= end):
            logger.warning("attempt %d failed for good: %s", number, failure.message)
            yield failure.event(number)
            return
        logger.info("attempt %d failed, next in %.1f s: %s", number, pause, failure.message)
        del failure  # its traceback has the request, which is as large as the session
        await sleep(pause)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """The pause a provider asks for, in seconds; `now` is Unix time (RFC 9110 section 10.2.3)."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < 1e9:  # neither NaN nor infinite
            return seconds
    try:
        when = datetime.strptime(headers["retry-after"], IMF_FIXDATE).replace(tzinfo=UTC)
    except (KeyError, ValueError):
        return None
    return max(when.timestamp() - now, 0.0)
