"""A thousand runs that begin at one moment all begin, and are open together."""

from __future__ import annotations

import asyncio
import unittest
from contextlib import ExitStack

from ..tooling.child import Yaa
from . import peers

MANY = 1000


class Arrivals(unittest.IsolatedAsyncioTestCase):
    async def test_a_thousand(self) -> None:
        with ExitStack() as stack:
            provider = peers.start(stack, "tests.bench.provider")
            yaa = stack.enter_context(Yaa(peers.config(provider)))
            assert yaa.child is not None
            peer = peers.Peer("yaa", yaa.url, yaa.child.process.pid, yaa.key)
            # An hour between two deltas: none ends before all have begun.
            request = peer.request("bench tokens=2 delay_us=3600000000", 10)
            readers = [await peers.begin(peer, request) for _ in range(MANY)]
            async with asyncio.timeout(peers.REPLY_S):
                while not all(reader.reply.begun for reader in readers):
                    for reader in readers:
                        if reader.ended.done():
                            self.fail(f"ended without a word: {reader.reply.body[-800:]!r}")
                    await asyncio.sleep(0.05)
            self.assertFalse(any(reader.ended.done() for reader in readers))
            for reader in readers:
                reader.transport.abort()


if __name__ == "__main__":
    unittest.main()
