"""One connection over a real socket: order, bodies, deadlines, limits, and clients that leave."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import socket
import time
import unittest
import weakref
from pathlib import Path

from server.lib.http.connection import ServerLimits
from server.lib.http.exchange import Exchange

from ..tooling import patience
from .live import CALM, PATIENCE, connected, echo, get, post, quick, request, serving, soon

CHUNKED = "Transfer-Encoding: chunked"
MEGABYTE = 1 << 20


class Requests(unittest.IsolatedAsyncioTestCase):
    async def test_one_after_the_other(self) -> None:
        async with serving() as server, connected(server) as client:
            for path in ("/a", "/b", "/c"):
                response, body = await client.ask(get(path))
                self.assertEqual((response.status, body), (200, f"GET {path}".encode()))
                self.assertTrue(response.reusable)

    async def test_pipelined_in_order(self) -> None:
        """The first answer takes longest; the others wait for it, also where a body is between."""
        release = asyncio.Event()

        async def handle(exchange: Exchange) -> None:
            if exchange.request.path == "/slow":
                await release.wait()
            await echo(exchange)

        async with serving(handle) as server, connected(server) as client:
            await client.send(get("/slow") + post(b"x" * 6500) + get("/b") + get("/c"))
            release.set()
            bodies = [(await client.answer())[1] for _ in range(4)]
            self.assertEqual(bodies, [b"GET /slow", b"x" * 6500, b"GET /b", b"GET /c"])

    async def test_more_pipelined_than_is_read_ahead(self) -> None:
        busy, release = asyncio.Event(), asyncio.Event()

        async def handle(exchange: Exchange) -> None:
            busy.set()
            await release.wait()
            await exchange.respond(204)

        async with serving(handle) as server, connected(server) as client:
            sending = asyncio.create_task(client.send(get("/" + "x" * 1000) * 1000))
            await soon(busy.wait())
            release.set()
            for _ in range(1000):
                self.assertEqual((await client.answer())[0].status, 204)
            await soon(sending)

    async def test_byte_by_byte(self) -> None:
        raw = post(b"hello", "/", "X: y") + get("/end")
        async with serving() as server, connected(server) as client:
            client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await client.send(*(raw[i : i + 1] for i in range(len(raw))))
            self.assertEqual((await client.answer())[1], b"hello")
            self.assertEqual((await client.answer())[1], b"GET /end")

    async def test_connection_ends_when_asked(self) -> None:
        for raw, header in (
            (get("/", "Connection: close"), "close"),
            (get(version="1.0"), "close"),
        ):
            async with serving() as server, connected(server) as client:
                response, _ = await client.ask(raw)
                self.assertEqual(response.headers["connection"], header)
                self.assertTrue(await client.closed())

    async def test_keep_alive_on_1_0(self) -> None:
        async with serving() as server, connected(server) as client:
            for _ in range(2):
                response, _ = await client.ask(get("/", "Connection: keep-alive", version="1.0"))
                self.assertEqual(response.headers["connection"], "keep-alive")

    async def test_refused_and_closed(self) -> None:
        """Nothing behind a broken request is looked at, the answer is JSON any page can read."""
        for raw, status in (
            (b"GET /\r\n\r\n", 400),
            (b"\x16\x03\x01", 400),
            (get("/", "Content-Length: 1", CHUNKED), 400),
            (request("BREW", "/"), 501),
            (get(version="2.0"), 505),
            (get("/" + "a" * 17_000), 414),
            (get("/", "X: " + "a" * 33_000), 431),
            (get("/", *["X: a"] * 101), 431),
        ):
            with self.subTest(raw=raw[:40]):
                async with serving() as server, connected(server) as client:
                    response, body = await client.ask(raw + get("/smuggled"))
                    self.assertEqual(response.status, status)
                    self.assertEqual(response.headers["access-control-allow-origin"], "*")
                    self.assertEqual(response.headers["content-type"], "application/json")
                    self.assertEqual(json.loads(body)["status"], status)
                    self.assertTrue(await client.closed())


class Bodies(unittest.IsolatedAsyncioTestCase):
    async def test_sizes_and_framings(self) -> None:
        for size in (0, 1, 6500, 5_000_000):
            body = bytes(range(251)) * (size // 251 + 1)
            body = body[:size]
            chunks = [body[i : i + 70_001] for i in range(0, size, 70_001)]
            framed = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
            async with serving() as server, connected(server) as client:
                for raw in (post(body), request("POST", "/", CHUNKED) + framed + b"0\r\n\r\n"):
                    with self.subTest(size=size):
                        _, answer = await client.ask(raw)
                        self.assertEqual(answer, body or b"POST /")

    async def test_too_large(self) -> None:
        """By Content-Length before a byte is read; by chunks at the size line that is too much."""
        for raw in (
            request("POST", "/", "Content-Length: 6000001"),
            request("POST", "/", CHUNKED) + b"5b8d81\r\n",
        ):
            async with serving() as server, connected(server) as client:
                response, body = await client.ask(raw)
                self.assertEqual((response.status, response.reusable), (413, False))
                self.assertEqual(json.loads(body)["code"], "body_too_large")

    async def test_broken_chunks(self) -> None:
        async with serving() as server, connected(server) as client:
            response, _ = await client.ask(request("POST", "/", CHUNKED) + b"1\r\nab\r\n")
            self.assertEqual((response.status, response.reusable), (400, False))
            self.assertTrue(await client.closed())

    async def test_refused_before_the_body_is_read(self) -> None:
        """A client that only reads after 10 MB are out still gets its 401."""

        async def handle(exchange: Exchange) -> None:
            await exchange.respond(401, {"WWW-Authenticate": "Bearer"})

        async with serving(handle) as server, connected(server) as client:
            await client.send(request("POST", "/", "Content-Length: 10485760"))
            for _ in range(10):
                await client.send(bytes(MEGABYTE))
            response, _ = await client.answer()
            self.assertEqual((response.status, response.reusable), (401, False))
            self.assertTrue(await client.closed())

    async def test_unread_body_that_is_here_costs_nothing(self) -> None:
        async def handle(exchange: Exchange) -> None:
            await exchange.respond(200, {}, exchange.request.path.encode())

        async with serving(handle) as server, connected(server) as client:
            for path in ("/a", "/b"):
                response, body = await client.ask(post(b"unread", path))
                self.assertEqual((body, response.reusable), (path.encode(), True))

    async def test_continue_only_when_the_body_is_wanted(self) -> None:
        async def handle(exchange: Exchange) -> None:
            if exchange.request.path == "/refused":
                await exchange.respond(401)
            else:
                await echo(exchange)

        expecting = ("Content-Length: 5", "Expect: 100-Continue")
        async with serving(handle) as server, connected(server) as client:
            await client.send(request("POST", "/", *expecting))
            leave = b"HTTP/1.1 100 Continue\r\n\r\n"
            self.assertEqual(await client.more(), leave)
            client.buffer.skip(len(leave))
            self.assertEqual((await client.ask(b"hello"))[1], b"hello")
            # A body that is on its way already needs no leave.
            await client.send(request("POST", "/", *expecting) + b"he")
            await client.send(b"llo")
            self.assertEqual((await client.answer())[1], b"hello")
            # Whether a refused body still comes nobody can tell, so nothing may follow it.
            response, _ = await client.ask(request("POST", "/refused", *expecting))
            self.assertEqual((response.status, response.reusable), (401, False))

    async def test_expectations(self) -> None:
        for raw, status in (
            (request("POST", "/", "Content-Length: 1", "Expect: a-lot"), 417),
            (request("GET", "/", "Expect: 100-continue"), 200),
            (request("GET", "/", "Expect: a-lot", version="1.0"), 200),
            (request("POST", "/", "Content-Length: 6000001", "Expect: 100-continue"), 413),
        ):
            async with serving() as server, connected(server) as client:
                await client.send(raw)
                self.assertTrue((await client.more()).startswith(b"HTTP/1.1 %d " % status))

    async def test_reading_waits_while_nobody_wants_it(self) -> None:
        """A client may not fill our memory while its handler is busy with something else."""
        busy, release = asyncio.Event(), asyncio.Event()

        async def handle(exchange: Exchange) -> None:
            busy.set()
            await release.wait()
            await exchange.respond(200, {}, b"%d" % len(await exchange.body()))

        size = 64 * MEGABYTE
        async with serving(handle, ServerLimits(body=size)) as server, connected(server) as client:
            sending = asyncio.create_task(client.send(post(bytes(size))))
            await soon(busy.wait())
            # The kernel's buffers take a few MB; the rest must still be with the client.
            done, _ = await asyncio.wait([sending], timeout=0.3)
            self.assertFalse(done)
            release.set()
            self.assertEqual((await client.answer())[1], b"%d" % size)
            await soon(sending)


class Deadlines(unittest.IsolatedAsyncioTestCase):
    async def test_heads(self) -> None:
        """A head has one deadline however often a byte comes, and others are not held up by it."""
        limits = ServerLimits(head_timeout_s=patience.seconds(0.5))
        async with serving(limits=limits) as server, contextlib.AsyncExitStack() as stack:
            slow = []
            for _ in range(200):
                slow.append(await stack.enter_async_context(connected(server)))
                await slow[-1].send(b"GET / HTTP/1.1\r\nX: ")
            async with connected(server) as healthy:
                self.assertEqual((await healthy.ask(get()))[0].status, 200)

            async def drip() -> None:
                while True:
                    for client in slow[:20]:
                        client.writer.write(b"x")
                    await asyncio.sleep(0.02)

            dripping = asyncio.create_task(drip())
            for client in slow:
                self.assertEqual((await client.answer())[0].status, 408)
            dripping.cancel()

    async def test_silence_is_closed_without_a_word(self) -> None:
        async with serving(limits=quick()) as server:
            async with connected(server) as client:
                self.assertTrue(await client.closed())
            async with connected(server) as client:
                await client.ask(get())
                self.assertTrue(await client.closed())

    async def test_between_requests_the_idle_time_counts_and_no_other(self) -> None:
        """A client is kept for as long as that, be it shorter or longer than a head may take."""
        for idle, head in ((0.2, 60.0), (1.5, 0.5)):
            limits = ServerLimits(idle_timeout_s=idle, head_timeout_s=head, linger_idle_s=60)
            with self.subTest(idle=idle, head=head):
                async with serving(limits=limits) as server, connected(server) as client:
                    began = time.monotonic()
                    await client.ask(get())
                    self.assertTrue(await client.closed())
                    self.assertGreaterEqual(time.monotonic() - began, idle)

    async def test_bodies_must_flow(self) -> None:
        limits = ServerLimits(body_grace_s=0.2, body_min_rate=100_000)
        for name, first in (("stalled from the start", b""), ("stalled later", bytes(500_000))):
            with self.subTest(name):
                async with serving(limits=limits) as server, connected(server) as client:
                    began = time.monotonic()
                    head = request("POST", "/", "Content-Length: 600000")
                    response, _ = await client.ask(head + first)
                    self.assertEqual((response.status, response.reusable), (408, False))
                    # What came early buys no time later.
                    self.assertLess(time.monotonic() - began, patience.seconds(3))

    async def test_a_trickle_is_too_slow(self) -> None:
        """One byte every so often keeps no connection, however long the body it promises."""
        async with serving(limits=quick()) as server, connected(server) as client:
            await client.send(request("POST", "/", "Content-Length: 600000"))

            async def drip() -> None:
                while True:
                    client.writer.write(b"x")
                    await asyncio.sleep(0.02)

            dripping = asyncio.create_task(drip())
            response, _ = await client.answer()
            self.assertEqual(response.status, 408)
            dripping.cancel()

    async def test_bodies_of_all_requests_share_the_memory(self) -> None:
        limits = ServerLimits(max_memory=1_000_000)
        async with (
            serving(limits=limits) as server,
            connected(server) as one,
            connected(server) as other,
        ):
            for client in (one, other):
                await client.send(request("POST", "/", "Content-Length: 800000"))
            await one.send(b"x" * 700_000)
            while server.accounts.pools["memory"].total < 700_000:
                await asyncio.sleep(0.01)
            await other.send(b"x" * 700_000)
            response, body = await other.answer()
            self.assertEqual((response.status, response.headers["retry-after"]), (503, "2"))
            self.assertIn(b"server.limits.max_memory", body)
            await one.send(b"x" * 100_000)
            self.assertEqual(len((await one.answer())[1]), 800_000)
            self.assertEqual(server.accounts.pools["memory"].total, 0)

    async def test_who_hangs_up_gives_the_memory_back(self) -> None:
        """What its handler still does is not counted, since nobody would give that back."""
        late = asyncio.Event()

        def hold_late(exchange: Exchange) -> None:
            exchange.hold(9)
            late.set()

        async def handle(exchange: Exchange) -> None:
            exchange.hold(1_000)
            asyncio.get_running_loop().call_later(0.3, hold_late, exchange)
            await exchange.body()

        async with serving(handle) as server:
            memory = server.accounts.pools["memory"]
            async with connected(server) as client:
                await client.send(request("POST", "/", "Content-Length: 800000"))
                await client.send(b"x" * 700_000)
                while memory.total < 700_000:
                    await asyncio.sleep(0.01)
            await late.wait()
            while server.tasks:
                await asyncio.sleep(0.01)
            self.assertEqual(memory.total, 0)

    async def test_who_takes_too_little_of_an_answer_is_dropped(self) -> None:
        """Of 64 MB a client must have taken more than some of it in each `write_timeout_s`."""

        async def handle(exchange: Exchange) -> None:
            await exchange.respond(200, {}, bytes(64_000_000))

        limits = ServerLimits(write_timeout_s=0.4, body_min_rate=1e9)
        async with serving(handle, limits) as server, connected(server) as client:
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            await client.send(get())
            taken = 0
            with contextlib.suppress(ConnectionError):
                while taken < 40_000_000:
                    with contextlib.suppress(BlockingIOError):
                        taken += len(data := os.read(client.socket.fileno(), 500_000))
                        if not data:
                            break
                    await asyncio.sleep(0.02)
            self.assertLess(taken, 40_000_000)

    async def test_without_a_rate_only_a_pause_ends_a_body(self) -> None:
        grace_s = patience.seconds(0.4)
        limits = ServerLimits(body_grace_s=grace_s, body_min_rate=0)
        async with serving(limits=limits) as server, connected(server) as client:
            await client.send(request("POST", "/", "Content-Length: 40"))
            for _ in range(40):  # twice the grace
                await client.send(b"x")
                await asyncio.sleep(grace_s / 20)
            self.assertEqual((await client.answer())[1], b"x" * 40)
            response, _ = await client.ask(request("POST", "/", "Content-Length: 2") + b"x")
            self.assertEqual(response.status, 408)

    async def test_no_patience_is_too_long_for_the_system(self) -> None:
        for seconds in (1e7, 1e300):
            limits = ServerLimits(write_timeout_s=seconds)
            async with serving(limits=limits) as server, connected(server) as client:
                with self.subTest(seconds=seconds):
                    self.assertEqual((await client.ask(get()))[0].status, 200)
                    self.assertEqual(len(server._connections), 1, "it is looked after")

    async def test_a_handler_has_no_deadline_of_ours(self) -> None:
        async def handle(exchange: Exchange) -> None:
            await asyncio.sleep(4 * limits.head_timeout_s)
            await exchange.respond(204)

        limits = quick()
        async with serving(handle, limits) as server, connected(server) as client:
            self.assertEqual((await client.ask(get()))[0].status, 204)

    async def test_lingering_ends(self) -> None:
        """A refused client is read on for a while, not for as long as it likes to send."""
        for dripping in (False, True):
            async with serving(limits=quick()) as server, connected(server) as client:
                await client.ask(get(version="3.0"))
                self.assertTrue(await client.closed())
                with self.assertRaises(ConnectionError):  # once nobody is there any more
                    while True:
                        if dripping:
                            client.writer.write(b"x")
                        await asyncio.sleep(0.05)
                        if not server._connections:
                            await client.send(b"x", b"x", b"x")

    async def test_lingering_waits_until_the_answer_is_out(self) -> None:
        async def handle(exchange: Exchange) -> None:
            [connection] = server._connections
            sock = connection._transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            await exchange.respond(200, {}, bytes(60_000))

        limits = ServerLimits(linger_idle_s=0.05, linger_s=0.05)
        async with serving(handle, limits) as server, connected(server, 4096) as client:
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            await client.send(get("/", "Connection: close"))
            await asyncio.sleep(0.3)
            client.writer.transport.resume_reading()  # type: ignore[attr-defined]
            self.assertEqual(len((await client.answer())[1]), 60_000)

    async def test_a_client_that_does_not_read_is_dropped(self) -> None:
        cancelled = asyncio.Event()
        written = 0

        async def handle(exchange: Exchange) -> None:
            nonlocal written
            stream = exchange.stream(200)
            try:
                while True:
                    stream.write(bytes(10_000))
                    written += 10_000
                    await stream.drain()
            finally:
                cancelled.set()

        async with serving(handle, quick()) as server, connected(server) as client:
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            await client.send(get())
            await soon(cancelled.wait())
            self.assertLess(written, 16 * MEGABYTE)  # the kernel's buffers and our 64 KiB


class Leaving(unittest.IsolatedAsyncioTestCase):
    async def leave(self, how: str) -> float:
        """Seconds from leaving to the cancellation of a handler that waits for something else."""
        entered, cancelled = asyncio.Event(), asyncio.Event()
        gone = False

        async def handle(exchange: Exchange) -> None:
            nonlocal gone
            stream = exchange.stream(200) if how != "silent" else None
            entered.set()
            try:
                await asyncio.Event().wait()
            finally:
                gone = exchange.gone
                cancelled.set()
                if stream is not None:
                    stream.write(b"nobody reads this")

        async with serving(handle) as server, connected(server) as client:
            # "unread": more than we read ahead, so that reading is paused when it leaves
            await client.send(get() + (bytes(100_000) if how == "unread" else b""))
            await soon(entered.wait())
            if how == "unread later":
                await client.send(bytes(100_000))
            began = time.monotonic()
            if how == "reset":
                client.reset()
            elif how == "half":
                client.writer.write_eof()
            else:
                client.writer.close()
            await soon(cancelled.wait())
            self.assertTrue(gone)
            return time.monotonic() - began

    async def test_handler_is_cancelled_within_a_second(self) -> None:
        for how in ("close", "reset", "half", "silent", "unread", "unread later"):
            with self.subTest(how):
                self.assertLess(await self.leave(how), patience.seconds(1))

    async def test_inside_a_body(self) -> None:
        failed: asyncio.Queue[Exception] = asyncio.Queue()

        async def handle(exchange: Exchange) -> None:
            try:
                await exchange.body()
            except Exception as error:
                failed.put_nowait(error)
                raise

        async with serving(handle) as server, connected(server) as client:
            await client.send(request("POST", "/", "Content-Length: 5") + b"hel")
            client.writer.write_eof()
            response, _ = await client.answer()
            self.assertEqual(response.status, 400)
            self.assertIn("closed", str(await soon(failed.get())))

    async def test_a_broken_body_is_freed_without_the_collector(self) -> None:
        """What is kept until a collection adds up where many clients leave, and nobody waits."""

        class Document:
            """What a handler has made."""

        ended: asyncio.Queue[weakref.ref[Document]] = asyncio.Queue()

        async def handle(exchange: Exchange) -> None:
            document = Document()
            ended.put_nowait(weakref.ref(document))
            await exchange.body()

        gc.disable()
        self.addCleanup(gc.enable)
        for framing, start in (
            ("Content-Length: 5", b"hel"),
            ("Content-Length: 5", b""),
            ("Transfer-Encoding: chunked", b"5\r\nhel"),
            ("Transfer-Encoding: chunked", b"what\r\n"),
            ("Content-Length: 500000000", b""),
        ):
            with self.subTest(framing=framing, start=start):
                async with serving(handle) as server, connected(server) as client:
                    await client.send(request("POST", "/", framing) + start)
                    client.writer.write_eof()
                    self.assertIn((await client.answer())[0].status, (400, 413))
                    document = await soon(ended.get())
                self.assertIsNone(document())

    async def test_half_closed_still_gets_a_quick_answer(self) -> None:
        async with serving() as server, connected(server) as client:
            await client.send(get("/a") + post(b"b"))
            client.writer.write_eof()
            self.assertEqual((await client.answer())[1], b"GET /a")
            self.assertEqual((await client.answer())[1], b"b")
            self.assertTrue(await client.closed())

    async def test_half_closed_does_not_wait_for_ever(self) -> None:
        """Nor for a request that came before the close but was reached after it."""

        async def handle(exchange: Exchange) -> None:
            if exchange.request.path == "/stubborn":
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.Event().wait()
                await exchange.respond(204)
            else:
                await asyncio.Event().wait()

        async with serving(handle) as server:
            for then in (get("/slow"), b"GET / HT"):
                async with connected(server) as client:
                    await client.send(get("/stubborn") + then)
                    client.writer.write_eof()
                    self.assertEqual((await client.answer())[0].status, 204)
                    self.assertTrue(await client.closed())

    async def test_in_a_head_or_between_requests(self) -> None:
        async with serving() as server:
            for raw in (b"", b"GET / HT"):
                async with connected(server) as client:
                    await client.send(raw)
                    client.writer.write_eof()
                    self.assertTrue(await client.closed())

    async def test_others_go_on(self) -> None:
        async with serving() as server, connected(server) as other:
            await other.ask(get())
            async with connected(server) as client:
                await client.send(post(bytes(MEGABYTE)))
                client.reset()
            self.assertEqual((await other.ask(get()))[0].status, 200)


class Configuration(unittest.TestCase):
    def test_defaults_are_those_of_the_configuration(self) -> None:
        path = Path(__file__).parents[2] / "config.default.json"
        self.assertEqual(
            ServerLimits.of(json.loads(path.read_text())["server"]["limits"]), ServerLimits()
        )

    def test_limits_are_read(self) -> None:
        limits = ServerLimits.of({"max_request_size": 5, "max_connections": 6, "max_runs": 7})
        self.assertEqual((limits.body, limits.max_connections, limits.line), (5, 6, CALM.line))
        self.assertGreater(PATIENCE, limits.body_grace_s)


if __name__ == "__main__":
    unittest.main()
