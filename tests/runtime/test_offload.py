"""Work beside the loop: where it is done, what it gives, and a collector that is on again."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
import time
import unittest

from server.lib.runtime.accounts import crowded, person
from server.lib.runtime.offload import LARGE, RESTS, offload

from ..tooling import patience


class Offload(unittest.IsolatedAsyncioTestCase):
    async def test_large_work_is_done_in_a_thread(self) -> None:
        for size, apart in ((LARGE - 1, False), (LARGE, True)):
            with self.subTest(size=size):
                thread = await offload(size, threading.get_ident)
                self.assertEqual(thread != threading.get_ident(), apart)

    async def test_results_and_faults(self) -> None:
        for size in (0, LARGE):
            self.assertEqual(await offload(size, sorted, [2, 1], reverse=True), [2, 1])
            with self.assertRaises(ZeroDivisionError):
                await offload(size, divmod, 1, 0)
        self.assertTrue(gc.isenabled())

    async def test_what_is_cancelled_ends_with_its_thread(self) -> None:
        """What its work holds is counted until then."""
        held, begun = threading.Event(), threading.Event()

        def wait() -> None:
            begun.set()
            held.wait(patience.seconds(10))

        waiting = asyncio.create_task(offload(LARGE, wait))
        await asyncio.to_thread(begun.wait, patience.seconds(10))
        waiting.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.assertFalse(waiting.done())
        held.set()
        with self.assertRaises(asyncio.CancelledError):
            await waiting

    async def test_people_take_turns(self) -> None:
        """Whatever one person has waiting, another's work begins at once."""
        held, done = threading.Event(), []

        def work(name: str) -> None:
            held.wait(patience.seconds(10))
            done.append(name)

        async def ask(who: str, name: str) -> None:
            person.set(who)
            await offload(LARGE, work, name)

        mine = [asyncio.create_task(ask("mal", f"mal {n}")) for n in range(9)]
        await asyncio.sleep(0)
        begun = asyncio.Event()

        async def other() -> None:
            person.set("gil")
            await offload(LARGE, asyncio.get_running_loop().call_soon_threadsafe, begun.set)

        async with asyncio.timeout(patience.seconds(5)):
            await other()
            await begun.wait()
        self.assertEqual(done, [])
        held.set()
        await asyncio.gather(*mine)
        self.assertEqual(sorted(done), [f"mal {n}" for n in range(9)])

    async def test_who_has_more_waiting_rests_beside_others(self) -> None:
        """Their threads keep the interpreter from the loop; others' requests get it meanwhile."""
        crowded.set({"mal": True}.__contains__)
        spans: list[tuple[float, float]] = []

        def work() -> None:
            began = time.monotonic()
            threading.Event().wait(took_s)
            spans.append((began, time.monotonic()))

        async def ask(who: str) -> None:
            person.set(who)
            await offload(LARGE, work)

        # A busy machine makes pauses, too: where there is to be none, one would be long.
        for who, rests, took_s in (("mal", RESTS, 0.03), ("gil", 0, 0.2)):
            spans.clear()
            await asyncio.gather(*(ask(who) for _ in range(3)))
            pauses = [after[0] - before[1] for before, after in itertools.pairwise(spans)]
            self.assertEqual([pause > took_s * rests for pause in pauses], [True] * 2, who)
            if not rests:
                self.assertLess(min(pauses), took_s * RESTS)

    async def test_the_collector_is_on_after_the_last(self) -> None:
        held, begun = threading.Event(), threading.Event()

        def wait() -> bool:
            begun.set()
            held.wait(patience.seconds(10))
            return gc.isenabled()

        person.set("one")
        waiting = asyncio.create_task(offload(LARGE, wait))
        person.set("another")
        await asyncio.to_thread(begun.wait, patience.seconds(10))
        self.assertFalse(await offload(LARGE, gc.isenabled))
        self.assertFalse(gc.isenabled(), "one is still at work")
        held.set()
        self.assertFalse(await waiting)
        self.assertTrue(gc.isenabled())


if __name__ == "__main__":
    unittest.main()
