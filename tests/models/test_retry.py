"""When another attempt is made, and how long the pause is."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import unittest
import weakref
from collections.abc import AsyncGenerator
from typing import Any

from server.json_types import Event
from server.lib.runtime import waits
from server.models.failure import Failure
from server.models.retry import (
    LEAST_PACED,
    LONGEST_PAUSE_S,
    CallPacer,
    RetryPolicy,
    attempts,
    retry_after,
)

from .fakes import FakeTime

DELTA: Event = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a"}


class Pauses(unittest.TestCase):
    def test_table(self) -> None:
        fail, final = Failure("x", "m"), Failure("x", "m", retryable=False)
        asked, too_long = Failure("x", "m", retry_after=7), Failure("x", "m", retry_after=999)
        cases: list[tuple[RetryPolicy, Failure, int, float | None]] = [
            (RetryPolicy(3, 2), fail, 1, 2),
            (RetryPolicy(3, 2), fail, 2, 4),
            (RetryPolicy(3, 2), fail, 3, 8),
            (RetryPolicy(3, 2), fail, 4, None),
            (RetryPolicy(0, 2), fail, 1, None),
            (RetryPolicy(99, 2), fail, 50, LONGEST_PAUSE_S),
            (RetryPolicy(99, 100), fail, 9, 100),
            (RetryPolicy(3, 0), fail, 3, 0),
            (RetryPolicy(3, 2), final, 1, None),
            (RetryPolicy(3, 2), asked, 1, 7),
            (RetryPolicy(3, 20), asked, 1, 20),
            (RetryPolicy(3, 2), too_long, 1, None),
        ]
        for policy, failure, attempt, wanted in cases:
            with self.subTest(policy, attempt=attempt, asked=failure.retry_after):
                self.assertEqual(policy.pause(failure, attempt), wanted)

    def test_retry_after(self) -> None:
        now = 784111777.0  # Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110
        cases: list[tuple[dict[str, str], float | None]] = [
            ({}, None),
            ({"retry-after": "120"}, 120),
            ({"retry-after": "1.5"}, 1.5),
            ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
            ({"retry-after": "Sun, 06 Nov 1994 08:50:07 GMT"}, 30),
            ({"retry-after": "Sun, 06 Nov 1994 08:00:00 GMT"}, 0),
            ({"retry-after": "soon"}, None),
            ({"retry-after": "-5"}, None),
            ({"retry-after": "nan"}, None),
            ({"retry-after": "inf"}, None),
            ({"retry-after": "Sun, 99 Nov 1994 08:00:00 GMT"}, None),
        ]
        for headers, wanted in cases:
            with self.subTest(headers):
                self.assertEqual(retry_after(headers, now), wanted)

    def test_pace(self) -> None:
        clock = FakeTime()
        pace = CallPacer(clock)
        self.assertEqual([pace.wait("s", 5) for _ in range(3)], [0, 5, 10])
        self.assertEqual([pace.wait("s", 0), pace.wait("s", 5)], [15, 15])
        clock.now += 100
        self.assertEqual([pace.wait("s", 0), pace.wait("s", 0)], [0, 0])

    def test_a_call_that_was_not_made_is_not_waited_for(self) -> None:
        clock = FakeTime()
        pace = CallPacer(clock)
        pace.wait("s", 5)
        for _ in range(4):
            self.assertEqual(pace.wait("s", 5), 5)
            pace.give_back("s", 5)
        pace.give_back("nobody", 5)
        self.assertEqual(pace.wait("s", 5), 5)

    def test_no_session_waits_for_another(self) -> None:
        clock = FakeTime()
        pace = CallPacer(clock)
        waits = {name: [pace.wait(name, 60) for _ in range(2)] for name in ("a", "b", "")}
        self.assertEqual(waits, dict.fromkeys(waits, [0, 60]))

    def test_what_is_kept_of_sessions_is_bounded_by_those_that_wait(self) -> None:
        clock = FakeTime()
        pace = CallPacer(clock)
        for number in range(20 * LEAST_PACED):
            pace.wait(f"s{number}", 0.5)
            clock.now += 1
        self.assertLessEqual(len(pace._free_at), LEAST_PACED + 1)
        for number in range(4 * LEAST_PACED):  # nothing that is still waited for is dropped
            pace.wait(f"t{number}", 3600)
        self.assertEqual({pace.wait(f"t{n}", 0) for n in range(4 * LEAST_PACED)}, {3600})


class Loop(unittest.IsolatedAsyncioTestCase):
    async def events(
        self, *scripts: list[Any], times: int = 3, limit: float | None = None, lasts: float = 0
    ) -> tuple[list[Event], FakeTime, list[float | None]]:
        clock, lefts, plays = FakeTime(), [], iter(scripts)

        async def attempt(left: float | None) -> AsyncGenerator[Event, None]:
            lefts.append(left)
            clock.now += lasts
            for item in next(plays):
                if isinstance(item, Failure):
                    raise item
                yield item

        policy = RetryPolicy(times, 2)
        self.waits: list[Any] = []
        waits.listener.set(self.waits.append)
        made = attempts(attempt, policy, limit=limit, clock=clock, sleep=clock.sleep)
        return [event async for event in made], clock, lefts

    async def test_an_answer_at_once(self) -> None:
        events, clock, lefts = await self.events([DELTA])
        self.assertEqual((events, clock.slept, lefts), ([DELTA], [], [None]))

    async def test_until_it_works(self) -> None:
        fail = Failure("x", "m")
        events, clock, _ = await self.events([fail], [fail], [DELTA])
        self.assertEqual((events, clock.slept), ([DELTA], [2, 4]))
        wait = {"awaits": "retry", "waited_s": 0, "of": 4, "cause": "m"}
        wanted = [{**wait, "attempt": 2, "left_s": 2}, {**wait, "attempt": 3, "left_s": 4}]
        self.assertEqual(self.waits, wanted)

    async def test_what_failed_for_good_is_freed_at_once(self) -> None:
        """A failure knows the frames that it came through, and these the request."""

        def ask() -> AsyncGenerator[Event, None]:
            request = threading.Event()
            self.request = weakref.ref(request)

            async def attempt(left: float | None) -> AsyncGenerator[Event, None]:
                yield DELTA
                failure = Failure(f"{request.is_set()}", "m")
                raise failure

            clock = FakeTime()
            return attempts(attempt, RetryPolicy(0, 2), limit=None, clock=clock, sleep=clock.sleep)

        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        self.assertEqual(len([event async for event in ask()]), 2)
        self.assertIsNone(self.request())

    async def test_a_silent_model_is_said_to_be_awaited(self) -> None:
        said: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        waits.listener.set(said.set_result)

        async def attempt(left: float | None) -> AsyncGenerator[Event, None]:
            await said
            yield DELTA

        made = attempts(
            attempt,
            RetryPolicy(1, 2, quiet_s=0.001),
            limit=None,
            clock=time.monotonic,
            sleep=asyncio.sleep,
        )
        self.assertEqual([event async for event in made], [DELTA])
        wait = {"awaits": "model", "waited_s": 0.0, "attempt": 1, "of": 2}
        self.assertEqual(said.result(), wait)

    async def test_never_twice_after_an_event(self) -> None:
        events, clock, _ = await self.events([DELTA, Failure("x", "m")], [DELTA])
        self.assertEqual([event["type"] for event in events], [DELTA["type"], "RUN_ERROR"])
        self.assertEqual(clock.slept, [])

    async def test_the_limit_counts_for_all_attempts(self) -> None:
        fail = Failure("x", "m")
        events, clock, lefts = await self.events(*[[fail]] * 9, times=9, limit=10, lasts=3)
        self.assertEqual(lefts, [10, 5])  # 3 s and a pause of 2, then 3 s and 4 would be 12
        self.assertEqual(clock.slept, [2])
        self.assertEqual(events[-1]["metadata"]["yaa"]["attempts"], 2)


if __name__ == "__main__":
    unittest.main()
