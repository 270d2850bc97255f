"""Repeat failed attempts: when another attempt may help, how long to wait, and the loop.

Used by `http_model`. After the first event of an attempt there is no other one, since the client
would get the beginning twice; the failure becomes the last event, and the session can be sent
again.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

from ..json_types import Event
from ..lib.runtime.waits import QUIET_S, wait_notice
from ..telemetry import log
from .failure import Failure

LEAST_PACED = 256  # sessions that are kept before any is dropped
LONGEST_PAUSE_S = 30.0  # limit of the doubled pause, unless the session's delay is longer
IMF_FIXDATE = "%a, %d %b %Y %H:%M:%S GMT"  # RFC 9110 section 5.6.7
LONGEST_ASKED_S = 120.0  # a longer retry-after ends the attempts

logger = log.get("llm")
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class RetryPolicy:
    """How often and after which pause a call is repeated.

    `times`: extra attempts; `delay`: the first pause in seconds, doubled each time; `quiet_s`: the
    seconds without an event after which it is said that the model is waited for.
    """

    times: int
    delay: float
    quiet_s: float = QUIET_S

    def pause(self, failure: Failure, attempt: int) -> float | None:
        """Return the seconds to wait after attempt number `attempt` (from 1), None to give up."""
        if not failure.retryable or attempt > self.times:
            return None
        doubled = self.delay * (1 << min(attempt - 1, 30))
        pause = min(doubled, max(self.delay, LONGEST_PAUSE_S))
        if failure.retry_after is None:
            return pause
        return max(pause, failure.retry_after) if failure.retry_after <= LONGEST_ASKED_S else None


class CallPacer:
    """The least interval between the starts of two calls of one session.

    Sessions are independent.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._free_at: dict[str, float] = {}  # by session; past times may be dropped
        self._room = LEAST_PACED

    def wait(self, session_id: str, interval: float) -> float:
        """Reserve the session's next start and return the seconds until then."""
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
    policy: RetryPolicy,
    *,
    limit: float | None,
    clock: Callable[[], float],
    sleep: Sleep,
) -> AsyncGenerator[Event, None]:
    """Yield the events of the first attempt that gives any; a final failure becomes one RUN_ERROR.

    `attempt` is called with the seconds left of `limit`, which counts for all attempts together.
    """
    end = None if limit is None else clock() + limit
    most = 1 + policy.times
    for number in count(1):
        begun = False
        left = None if end is None else max(end - clock(), 0.001)
        try:
            async with aclosing(attempt(left)) as events:
                with wait_notice("model", after_s=policy.quiet_s, attempt=number, of=most):
                    first = await anext(events, None)
                if first is not None:
                    begun = True
                    yield first
                async for event in events:
                    yield event
            return
        except Failure as caught:
            failure = caught.with_traceback(None)  # which refers to this frame, and so to itself
        pause = None if begun else policy.pause(failure, number)
        if pause is None or (end is not None and clock() + pause >= end):
            logger.warning("attempt %d failed for good: %s", number, failure.message)
            yield failure.event(number)
            return
        logger.info("attempt %d failed, next in %.1f s: %s", number, pause, failure.message)
        cause = failure.message
        del failure  # its context holds the request, which is as large as the session
        with wait_notice("retry", pause, attempt=number + 1, of=most, cause=cause):
            await sleep(pause)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the pause a provider asks for in its headers, in seconds; None if it asks for none.

    `now` is Unix time in seconds, for an answer without a date. Source: RFC 9110 section 10.2.3;
    `retry-after-ms` is a vendors' extension in milliseconds.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < 1e9:  # neither NaN nor infinite
            return seconds
    when, sent = (_moment(headers.get(name, "")) for name in ("retry-after", "date"))
    if when is None:
        return None
    return max(when - (now if sent is None else sent), 0.0)  # one clock, whether right or wrong


def _moment(text: str) -> float | None:
    """Return the Unix time of a date of HTTP; None if it is none."""
    with suppress(ValueError):
        return datetime.strptime(text, IMF_FIXDATE).replace(tzinfo=UTC).timestamp()
    return None
