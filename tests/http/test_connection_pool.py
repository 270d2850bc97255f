"""Idle connections: kept, limited, forgotten. What runs on them is in test_client."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
import unittest
from typing import Any

from server.lib.http.connection_pool import (
    ClientConnection,
    ClientError,
    ConnectionPool,
    Timeouts,
    plain,
)
from server.lib.http.parser import CHUNKED, MessageLimits

from ..tooling import patience


class Transport(asyncio.Transport):
    """A socket that remembers what was done to it."""

    def __init__(self) -> None:
        super().__init__()
        self.sent, self.aborted, self.paused = b"", False, False

    def write(self, data: Any) -> None:
        self.sent += bytes(data)

    def abort(self) -> None:
        self.aborted = True

    def is_closing(self) -> bool:
        return self.aborted

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


def connect(pool: ConnectionPool | None = None) -> tuple[ClientConnection, Transport]:
    connection = ClientConnection("h", "h", pool or ConnectionPool(8, 60))
    transport = Transport()
    connection.connection_made(transport)
    return connection, transport


class Idle(unittest.IsolatedAsyncioTestCase):
    async def test_last_in_first_out(self) -> None:
        pool = ConnectionPool(8, 60)
        first, second = connect()[0], connect()[0]
        pool.put("a", first)
        pool.put("a", second)
        self.assertIsNone(pool.take("b"))
        self.assertEqual([pool.take("a"), pool.take("a"), pool.take("a")], [second, first, None])

    async def test_dead_ones_are_not_given_out(self) -> None:
        pool = ConnectionPool(8, 60)
        good, closed, half = connect()[0], connect()[0], connect()[0]
        for connection in (good, closed, half):
            pool.put("a", connection)
        closed.abort()
        half.eof_received()
        self.assertEqual([pool.take("a"), pool.take("a")], [good, None])

    async def test_the_oldest_goes_when_there_are_too_many(self) -> None:
        pool = ConnectionPool(2, 60)
        made = [connect() for _ in range(4)]
        for connection, _ in made:
            pool.put("a", connection)
        self.assertEqual([side.aborted for _, side in made], [True, True, False, False])

    async def test_nobody_waits_for_ever(self) -> None:
        pool = ConnectionPool(8, 0)
        connection, side = connect()
        pool.put("a", connection)
        async with asyncio.timeout(patience.seconds(5)):
            while not side.aborted:
                await asyncio.sleep(0)
        self.assertIsNone(pool.take("a"))

    async def test_each_waits_for_its_own_time(self) -> None:
        """Although there is one timer for all."""
        pool = ConnectionPool(8, 0.05)
        made = [connect() for _ in range(4)]
        first, taken, second, third = (connection for connection, _ in made)
        until = first.loop.time() + 0.05  # at the earliest
        pool.put("a", first)
        pool.put("b", taken)
        self.assertIs(pool.take("b"), taken)
        while first.loop.time() < until - 0.01:
            await asyncio.sleep(0)
        pool.put("a", second)
        pool.put("b", third)
        async with asyncio.timeout(patience.seconds(5)):
            while not made[0][1].aborted:
                await asyncio.sleep(0)
            self.assertGreaterEqual(first.loop.time(), until)
            while not (made[2][1].aborted and made[3][1].aborted):
                await asyncio.sleep(0)
        self.assertFalse(made[1][1].aborted)
        self.assertIsNone(pool.take("a"))

    async def test_close(self) -> None:
        pool = ConnectionPool(8, 60)
        connection, side = connect(pool)
        pool.put("a", connection)
        pool.close()
        self.assertTrue(side.aborted)
        self.assertIsNone(pool.take("a"))

    async def test_an_answer_to_no_question(self) -> None:
        pool = ConnectionPool(8, 60)
        connection, side = connect()
        pool.put("a", connection)
        connection.data_received(b"HTTP/1.1 200 OK\r\n\r\n")
        self.assertTrue(side.aborted)
        self.assertIsNone(pool.take("a"))


class Exchanges(unittest.IsolatedAsyncioTestCase):
    HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"

    def start(self, **limits: float) -> tuple[Any, ClientConnection, Transport, ConnectionPool]:
        pool = ConnectionPool(8, 60)
        connection, side = connect(pool)
        now = connection.loop.time()
        exchange = connection.start("GET", b"hello", MessageLimits(), Timeouts(**limits), now)
        return exchange, connection, side, pool

    async def test_every_byte_alone(self) -> None:
        exchange, connection, side, pool = self.start()
        for byte in self.HEAD + b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n":
            connection.data_received(bytes([byte]))
        self.assertEqual((exchange.take(), exchange.done, exchange.error), (b"onetwo", True, None))
        self.assertEqual(exchange.head.framing, CHUNKED)
        self.assertIs(pool.take("h"), connection)
        self.assertEqual(side.sent, b"hello")

    async def test_nothing_outlives_its_pool(self) -> None:
        """Not what is being read, nor what only waits for a tail; that had been forgotten."""
        reads, _, reading, pool = self.start()
        lets_go, waiting = connect(pool)
        lets_go.start("GET", b"", MessageLimits(), Timeouts(), 0).release()
        pool.close()
        self.assertEqual((reading.aborted, waiting.aborted), (True, True))
        reads.connection.connection_lost(None)
        self.assertEqual(reads.error.kind, "closed")
        self.assertEqual(pool.open, set())

    async def test_a_full_reader_pauses_the_socket(self) -> None:
        exchange, connection, side, _ = self.start()
        connection.data_received(self.HEAD)
        for _ in range(9):
            connection.data_received(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        self.assertTrue(side.paused)
        self.assertEqual(len(exchange.take()), 9 * 65536)
        self.assertFalse(side.paused)
        connection.data_received(b"1\r\nx\r\n")  # what was taken counts no more
        self.assertFalse(side.paused)

    async def test_abort_is_told_to_the_socket_once(self) -> None:
        exchange, connection, side, _ = self.start()
        exchange.abort(ClientError("closed", "first"))
        exchange.abort(ClientError("closed", "second"))
        connection.data_received(self.HEAD)
        connection.connection_lost(None)
        self.assertTrue(side.aborted)
        self.assertEqual(str(exchange.error), "first")

    async def test_the_waiter_is_woken(self) -> None:
        exchange, connection, _, _ = self.start()
        for data in (self.HEAD, b"1\r\nx\r\n"):
            waiter = exchange.wait()
            connection.data_received(data)
            self.assertTrue(waiter.done())
        waiter = exchange.wait()
        connection.connection_lost(ConnectionResetError(104, "Connection reset by peer"))
        self.assertTrue(waiter.done())
        self.assertEqual(exchange.error.kind, "closed")

    async def test_only_an_orderly_end_ends_a_body(self) -> None:
        reset = ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
        for error, kind in ((None, None), (reset, "closed"), (ssl.SSLError(1, "bad"), "closed")):
            exchange, connection, _, _ = self.start()
            connection.data_received(b"HTTP/1.1 200 OK\r\n\r\nhalf of")
            connection.connection_lost(error)
            with self.subTest(error=error):
                self.assertEqual(exchange.error and exchange.error.kind, kind)
                self.assertEqual(exchange.done, kind is None)

    async def test_what_the_peer_ends_is_over_while_the_request_is_still_sent(self) -> None:
        """The socket closes only once all is sent, which a peer that reads no more never lets."""
        exchange, connection, _, _ = self.start()
        connection.data_received(b"HTTP/1.1 200 OK\r\n\r\nall")
        connection.eof_received()
        self.assertEqual((exchange.take(), exchange.done, exchange.error), (b"all", True, None))

    async def test_one_timer(self) -> None:
        """The limit of the phase, told apart from the limit of the whole."""
        for limits, says in (({"first_byte": 0.0}, "sent no answer"), ({"total": 0.0}, "not done")):
            exchange, _, side, _ = self.start(**limits)
            async with asyncio.timeout(patience.seconds(5)):
                await exchange.wait()
            self.assertIn(says, str(exchange.error))
            self.assertTrue(side.aborted)

    async def test_silence_in_the_middle_is_shorter_than_before_the_first_byte(self) -> None:
        exchange, connection, side, _ = self.start(first_byte=60.0, idle=0.05)
        connection.data_received(self.HEAD + b"1\r\nx\r\n")
        async with asyncio.timeout(patience.seconds(5)):
            while not exchange.error:
                await exchange.wait()
        self.assertIn("went silent for 0.05 s", str(exchange.error))
        self.assertTrue(side.aborted)

    async def test_before_the_first_byte_the_idle_limit_does_not_count(self) -> None:
        exchange, connection, side, _ = self.start(first_byte=60.0, idle=0.01)
        until = connection.loop.time() + 0.05
        while connection.loop.time() < until:
            await asyncio.sleep(0)
        self.assertEqual((exchange.error, side.aborted), (None, False))
        connection.data_received(self.HEAD)
        self.assertIsNone(exchange.error)


class Words(unittest.TestCase):
    def test_why_without_where(self) -> None:
        refused = "[Errno 111] Connect call failed"
        several = f"Multiple exceptions: {refused} ('::1', 1, 0, 0), {refused} ('127.0.0.1', 1)"
        mixed = f"Multiple exceptions: [Errno 101] Network is unreachable, {refused} ('h', 1)"
        for error, expected in (
            (OSError(errno.ECONNREFUSED, "Connect call failed ('h', 1)"), "Connection refused"),
            (OSError(several), os.strerror(111)),
            (OSError(mixed), f"{os.strerror(101)}, {os.strerror(111)}"),
            (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
            (
                socket.gaierror(8, "nodename nor servname provided"),
                "nodename nor servname provided",
            ),
            (ConnectionResetError(), "ConnectionResetError"),
        ):
            with self.subTest(error=error):
                self.assertEqual(plain(error), expected)


if __name__ == "__main__":
    unittest.main()
