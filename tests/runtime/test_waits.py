"""What is said of a wait, and when nothing is."""

from __future__ import annotations

import asyncio
import unittest
from typing import Any

from server.lib.runtime.accounts import Pool
from server.lib.runtime.waits import listener, wait_notice


class Waits(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.said: list[Any] = []
        listener.set(self.said.append)

    async def test_table(self) -> None:
        retry = {"awaits": "retry", "waited_s": 0, "left_s": 20}
        cases: list[tuple[tuple[Any, ...], dict[str, Any], list[Any]]] = [
            (("retry", 20.0), {}, [retry]),
            (("retry", 20.0), {"cause": "c"}, [{**retry, "cause": "c"}]),
            (("retry", 0.5), {}, []),  # too short to be read
            (("place", 20.0), {"after_s": 19.5}, []),
            (("model",), {"after_s": 60}, []),  # over before
        ]
        for position, named, wanted in cases:
            with self.subTest(position, **named):
                self.said.clear()
                with wait_notice(*position, **named):
                    await asyncio.sleep(0)
                self.assertEqual(self.said, wanted)

    async def test_it_is_said_while_it_is_awaited(self) -> None:
        told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        listener.set(told.set_result)
        with wait_notice("place", 9.0, after_s=0.001):
            await told
        self.assertEqual(told.result(), {"awaits": "place", "waited_s": 0.0, "left_s": 9.0})

    async def test_nobody_listens(self) -> None:
        listener.set(None)
        with wait_notice("retry", 20.0):
            await asyncio.sleep(0)
        self.assertEqual(self.said, [])

    async def test_a_place_in_a_queue(self) -> None:
        """`turn` is the one place in which people wait for each other."""
        told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        listener.set(told.set_result)
        pool, held = Pool(1), asyncio.Event()

        async def hold() -> None:
            async with pool.turn("a"):
                held.set()
                await told

        other = asyncio.create_task(hold())
        await held.wait()
        async with pool.turn("b"):
            self.assertEqual(told.result()["awaits"], "place")
        await other


if __name__ == "__main__":
    unittest.main()
