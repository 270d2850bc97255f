"""What is known of the arrival of bytes, over a real socket."""

from __future__ import annotations

import asyncio
import socket
import sys
import unittest

from server.lib.http.connection import ServerConnection
from server.lib.http.exchange import Exchange, wait_for_acknowledgement

from ..api.fakes import Channel, request
from .live import connected, get, serving, soon


@unittest.skipUnless(sys.platform == "linux", "only Linux tells")
class Arriving(unittest.IsolatedAsyncioTestCase):
    """Bytes have arrived when the client's system says so, whoever reads them."""

    async def reached(self, size: int, window: int, within_s: float) -> bool | None:
        said: asyncio.Future[bool | None] = asyncio.get_running_loop().create_future()

        async def handle(exchange: Exchange) -> None:
            try:
                stream = exchange.stream(200)
                stream.write(bytes(size))
                stream.push()
                said.set_result(await wait_for_acknowledgement(exchange, within_s))
            except asyncio.CancelledError:
                said.set_result(None)
                raise

        async with serving(handle) as server, connected(server, window) as client:
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            await client.send(get())
            return await soon(said)

    async def test_what_was_announced(self) -> None:
        """A client whose system takes nothing is waited for, and not for ever."""
        self.assertIs(await self.reached(5, 0, 10.0), True)
        self.assertIs(await self.reached(60_000, 4096, 0.05), False)

    async def test_where_nobody_knows(self) -> None:
        """A closed socket tells nothing: nothing is waited for."""
        closed = socket.socket()
        closed.close()
        for each in (None, closed):
            connection = ServerConnection.__new__(ServerConnection)
            connection.socket = each
            self.assertIsNone(connection.unacknowledged_bytes())
        exchange = Exchange(Channel(), request("GET", "/"), "r", "")
        self.assertTrue(await wait_for_acknowledgement(exchange, 9))


if __name__ == "__main__":
    unittest.main()
