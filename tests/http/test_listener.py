"""The server as a whole: who is let in, what a handler's failures become, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import resource
import socket
import unittest
from collections.abc import Iterator
from typing import ClassVar

from server.errors import Problem
from server.lib.http.connection import SPARE, ConnectionLimit, PlacedConnection, ServerLimits
from server.lib.http.exchange import Exchange
from server.lib.http.listener import BaseServer, bind
from server.lib.http.parser import ProtocolError

from ..tooling import patience
from .live import CALM, PATIENCE, Client, connected, echo, get, post, request, serving, soon


class Border(unittest.IsolatedAsyncioTestCase):
    async def test_failures_become_answers(self) -> None:
        async def handle(exchange: Exchange) -> None:
            match exchange.request.path:
                case "/problem":
                    raise Problem("busy", "Later.", headers={"Retry-After": "2"})
                case "/protocol":
                    raise ProtocolError("too much", 413)
                case "/os":
                    raise ConnectionResetError("of someone else")
                case "/nothing":
                    return
            raise KeyError("/home/secret")

        for path, status, code, logged in (
            ("/problem", 429, "busy", False),
            ("/protocol", 413, "body_too_large", False),
            ("/os", 500, "internal", True),
            ("/nothing", 500, "internal", True),
            ("/other", 500, "internal", True),
        ):
            with self.subTest(path), contextlib.ExitStack() as stack:
                if logged:
                    caught = stack.enter_context(self.assertLogs("yaa.listener"))
                else:
                    stack.enter_context(self.assertNoLogs("yaa.listener"))
                async with serving(handle) as server, connected(server) as client:
                    for _ in range(2):
                        response, body = await client.ask(get(path))
                        told = json.loads(body)
                        self.assertEqual((response.status, told["code"]), (status, code))
                        self.assertNotIn(b"secret", body)
                        self.assertNotIn(b"Error", body)
                if logged:
                    incident = caught.records[-1].getMessage().split()[0]
                    self.assertIn(incident, told["detail"])

    async def test_a_failure_inside_a_stream_cuts_it(self) -> None:
        """What was written arrives; that it is not all, the missing last chunk tells.

        The log has a traceback only of what nobody expected.
        """
        for failure, line in (
            ("raise", "GET / failed"),
            ("return", "GET / failed"),
            ("problem", "GET / was cut off: workspace_conflict: It was changed."),
            ("protocol", "GET / was cut off: bad_request: too short"),
        ):

            async def handle(exchange: Exchange, failure: str = failure) -> None:
                stream = exchange.stream(200)
                stream.write(b"last words")
                if failure == "raise":
                    raise KeyError("x")
                if failure == "problem":
                    raise Problem("workspace_conflict", "It was changed.")
                if failure == "protocol":
                    raise ProtocolError("too short", 400)

            with self.subTest(failure), self.assertLogs("yaa.listener", "WARNING") as said:
                async with serving(handle) as server, connected(server) as client:
                    await client.send(get())
                    self.assertFalse(await client.closed())
                    self.assertTrue(client.buffer.data.endswith(b"\r\n\r\na\r\nlast words\r\n"))
                (record,) = said.records
                self.assertEqual(record.getMessage().partition(" ")[2], line)
                self.assertEqual(record.exc_info is None, "cut off" in line)

    async def test_a_cancellation_of_its_own_is_an_answer_too(self) -> None:
        async def handle(exchange: Exchange) -> None:
            raise asyncio.CancelledError

        async with serving(handle) as server, connected(server) as client:
            self.assertEqual((await client.ask(get()))[0].status, 503)

    async def test_hosts(self) -> None:
        """No page of a foreign name reaches a loopback server, by Host or by target."""
        async with serving(hosts=["yaa.lan"]) as server, connected(server) as client:
            for host, status in (
                ("localhost", 200),
                ("127.0.0.1:1", 200),
                ("YAA.lan", 200),
                ("evil.example", 403),
            ):
                raw = f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
                self.assertEqual((await client.ask(raw))[0].status, status)
            raw = b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"
            head, body = await client.ask(raw)
            self.assertEqual(head.status, 403)
            self.assertIn(b"The name evil.example is not served here", body)
            raw = b"HEAD / HTTP/1.1\r\nHost: evil.example\r\n\r\n"
            self.assertEqual((await client.ask(raw, "HEAD"))[1], b"")
            raw = b"GET / HTTP/1.0\r\n\r\n"
            self.assertEqual((await client.ask(raw))[0].status, 200)

    async def test_a_browser_gets_a_page_for_a_foreign_name(self) -> None:
        browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
        cases = (
            ("GET", browser, "text/html; charset=utf-8"),
            ("GET", "TEXT/HTML", "text/html; charset=utf-8"),
            ("GET", "application/json", "application/json"),
            ("GET", "", "application/json"),
            ("POST", browser, "application/json"),
        )
        async with serving() as server, connected(server) as client:
            for method, accept, kind in cases:
                with self.subTest(method=method, accept=accept):
                    host = f"evil.example:{server.port}"
                    raw = f"{method} / HTTP/1.1\r\nHost: {host}\r\nAccept: {accept}\r\n\r\n"
                    head, body = await client.ask(raw.encode())
                    self.assertEqual((head.status, head.headers["content-type"]), (403, kind))
                    self.assertIn(b"evil.example", body)
                    if "html" in kind:
                        self.assertIn(f'href="//localhost:{server.port}/"'.encode(), body)
                        self.assertIn(b"server.hosts", body)
                        policy = head.headers["content-security-policy"]
                        self.assertEqual(policy, "default-src 'none'; frame-ancestors 'none'")

    async def test_other_peoples_client(self) -> None:
        """http.client, in a thread: sizes, reuse, chunks."""

        def talk(port: int) -> None:
            connection = http.client.HTTPConnection("localhost", port, timeout=patience.seconds(10))
            with contextlib.closing(connection):
                for body in (b"a", b"b" * 7000, b"c" * 300_000):
                    connection.request("POST", "/", body)
                    self.assertEqual(connection.getresponse().read(), body)
                connection.request("POST", "/", iter([b"d", b"e" * 9]), encode_chunked=True,
                                   headers={"Transfer-Encoding": "chunked"})  # fmt: skip
                self.assertEqual(connection.getresponse().read(), b"deeeeeeeee")
                connection.request("HEAD", "/")
                response = connection.getresponse()
                self.assertEqual((response.read(), response.headers["content-length"]), (b"", "6"))

        async with serving() as server:
            await asyncio.to_thread(talk, server.port)


class Scarce(ConnectionLimit):
    """No memory is left where a connection begins, then where its first request ends."""

    failed: ClassVar[list[str]] = []

    def fail_once(self, where: str) -> None:
        if where not in self.failed:
            self.failed.append(where)
            raise MemoryError

    def take(self, one: PlacedConnection) -> str:
        self.fail_once("take")
        return super().take(one)

    def end(self, one: PlacedConnection) -> None:
        self.fail_once("end")
        super().end(one)


class Slow:
    """A handler that answers `/slow` only when it is released."""

    def __init__(self) -> None:
        self.release, self.started = asyncio.Event(), asyncio.Semaphore(0)

    async def handle(self, exchange: Exchange) -> None:
        if exchange.request.path == "/slow":
            self.started.release()
            await self.release.wait()
        await echo(exchange)

    async def hold(self, clients: list[Client]) -> None:
        """Have each client ask, and wait until its request is being handled."""
        for client in clients:
            await client.send(get("/slow"))
            await soon(self.started.acquire())


class Crowds(unittest.IsolatedAsyncioTestCase):
    async def test_a_connection_without_memory_is_closed(self) -> None:
        """Else its client waits for ever, and its place is taken for ever."""
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        async with serving() as server:
            server.places = Scarce(1, 0, print)
            for where in ("take", "end"):
                async with connected(server) as client:
                    with contextlib.suppress(ConnectionError):
                        await client.send(get())
                    await client.closed()
                self.assertEqual(Scarce.failed[-1], where)
            async with connected(server) as client:
                self.assertEqual((await client.ask(get()))[0].status, 200)

    async def test_the_longest_idle_gives_way(self) -> None:
        """Also one that has never sent a whole head. None that is in a request."""
        slow = Slow()
        async with (
            serving(slow.handle, ServerLimits(max_connections=4)) as server,
            contextlib.AsyncExitStack() as stack,
        ):
            busy, idle, half, silent = [
                await stack.enter_async_context(connected(server)) for _ in range(4)
            ]
            await slow.hold([busy])
            await half.send(b"GET / HTTP/1.1\r\nHost: ")
            self.assertEqual((await idle.ask(get()))[0].status, 200)
            with self.assertLogs("yaa.listener") as said:
                for gone in (half, silent, idle):
                    new = await stack.enter_async_context(connected(server))
                    await slow.hold([new])  # until then it may give way, too
                    self.assertTrue(await gone.closed())
                late = await stack.enter_async_context(connected(server))
                self.assertEqual((await late.ask(get()))[0].status, 503)
            self.assertEqual(len(said.output), 1, said.output)
            slow.release.set()
            for client in (busy, new):
                self.assertEqual((await client.answer())[1], b"GET /slow")

    async def test_more_than_all_idle_ones(self) -> None:
        """1,024 idle connections keep nobody out."""
        async with (
            serving(limits=ServerLimits(max_connections=50)) as server,
            contextlib.AsyncExitStack() as stack,
        ):
            with self.assertLogs("yaa.listener") as said:
                for _ in range(120):
                    client = await stack.enter_async_context(connected(server))
                    self.assertEqual((await client.ask(get()))[0].status, 200)
            self.assertEqual(len(said.output), 1, said.output)

    async def test_too_many_connections(self) -> None:
        limits = ServerLimits(max_connections=3)
        slow = Slow()
        async with contextlib.AsyncExitStack() as stack:
            server = await stack.enter_async_context(
                serving(slow.handle, limits=limits, spared=["/health"])
            )
            inside = [await stack.enter_async_context(connected(server)) for _ in range(3)]
            await slow.hold(inside)
            with self.assertLogs("yaa.listener") as said:
                for _ in range(5):
                    async with connected(server) as client:
                        # Readable also by a client that sends a lot before it reads.
                        await client.send(post(bytes(1 << 20)))
                        response, body = await client.answer()
                        self.assertEqual((response.status, response.reusable), (503, False))
                        self.assertEqual(response.headers["retry-after"], "1")
                        self.assertEqual(json.loads(body)["code"], "overloaded")
                    async with connected(server) as client:
                        response, body = await client.ask(get("/health"))
                        self.assertEqual((response.status, response.reusable), (200, False))
                        self.assertEqual(body, b"GET /health")
                        self.assertTrue(await client.closed())
                    async with connected(server) as client:  # and nothing behind it
                        await client.send(get("/health") + get("/"))
                        self.assertEqual((await client.answer())[0].status, 200)
                        self.assertTrue(await client.closed())
                    async with connected(server) as client:
                        self.assertEqual((await client.ask(post(b"", "/health")))[0].status, 503)
            self.assertEqual(len(said.output), 1, said.output)
            self.assertIn("all 3 connections", said.output[0])
            await inside[1].close()
            # The place is free once the server has seen the end.
            while True:
                async with connected(server) as client:
                    if (await client.ask(get()))[0].status == 200:
                        break
            slow.release.set()
            self.assertEqual((await inside[0].answer())[0].status, 200)

    async def test_without_a_place_a_silent_client_is_turned_away(self) -> None:
        limits = ServerLimits(max_connections=1, head_timeout_s=0.2)
        release, started = asyncio.Event(), asyncio.Event()

        async def handle(exchange: Exchange) -> None:
            started.set()
            await release.wait()
            await echo(exchange)

        async with serving(handle, limits) as server, connected(server) as inside:
            await inside.send(get())
            await soon(started.wait())
            with self.assertLogs("yaa.listener"):
                for said in (b"", b"GET / HTTP/1.1\r\nHos"):
                    async with connected(server) as client:
                        await client.send(said)
                        self.assertEqual((await client.answer())[0].status, 503)
            release.set()
            self.assertEqual((await inside.answer())[0].status, 200)

    async def test_refused_connections_that_stay_keep_nobody_out(self) -> None:
        """The one that was refused first goes, also if its client sends on and never closes."""
        slow = Slow()
        async with contextlib.AsyncExitStack() as stack:
            limits = ServerLimits(max_connections=4, linger_s=600, linger_idle_s=600)
            server = await stack.enter_async_context(
                serving(slow.handle, limits=limits, spared=["/health"])
            )

            async def connect() -> Client:
                return await stack.enter_async_context(connected(server))

            inside = [await connect() for _ in range(4)]
            await slow.hold(inside)
            with self.assertLogs("yaa.listener"):
                lingering = []
                for _ in range(4):  # with these there are twice as many as may be
                    lingering.append(client := await connect())
                    self.assertEqual((await client.ask(post(b"x" * 10)))[0].status, 503)
                for first in lingering:
                    honest = await connect()
                    self.assertEqual((await honest.ask(get("/health")))[0].status, 200)
                    await soon(sends_in_vain(first))
            slow.release.set()
            for client in inside:
                self.assertEqual((await client.answer())[0].status, 200)

    async def test_even_saying_no_has_a_limit(self) -> None:
        most = SPARE + 2
        slow = Slow()
        async with contextlib.AsyncExitStack() as stack:
            limits = ServerLimits(max_connections=most, linger_s=600, linger_idle_s=600)
            server = await stack.enter_async_context(serving(slow.handle, limits))
            inside = [await stack.enter_async_context(connected(server)) for _ in range(most)]
            await slow.hold(inside)
            with self.assertLogs("yaa.listener"):
                late = [await stack.enter_async_context(connected(server)) for _ in range(most + 4)]
                heads = [await client.more() for client in late[:6]]
            self.assertEqual([head[9:12] for head in heads], [b"503"] * 6)
            for client in late[:4]:
                await soon(sends_in_vain(client))
            slow.release.set()

    async def test_out_of_file_descriptors(self) -> None:
        """Accepting pauses rather than spins, and goes on when there are some again."""
        async with serving() as server:
            with socket.socket() as waiting:
                with self.assertLogs("yaa.listener") as complaints, few_descriptors():
                    waiting.setblocking(False)
                    waiting.connect_ex(("127.0.0.1", server.port))
                    async with asyncio.timeout(patience.seconds(PATIENCE)):
                        while not complaints.records:  # the system has not told of it yet
                            await asyncio.sleep(0)
                    for _ in range(1000):
                        await asyncio.sleep(0)
                self.assertEqual(
                    complaints.output,
                    ["WARNING:yaa.listener:new connections wait: Too many open files"],
                )
                await asyncio.get_running_loop().sock_sendall(waiting, get())
                answer = await soon(asyncio.get_running_loop().sock_recv(waiting, 100))
                self.assertTrue(answer.startswith(b"HTTP/1.1 200"))


async def sends_in_vain(client: Client) -> None:
    """Send until the server has closed the connection in both directions."""
    with contextlib.suppress(ConnectionError):
        while True:
            client.writer.write(b"x")
            await client.writer.drain()
            await asyncio.sleep(0.001)


@contextlib.contextmanager
def few_descriptors() -> Iterator[None]:
    """Inside, no further file can be opened."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.socket() as highest:
        number = highest.fileno()
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Ending(unittest.IsolatedAsyncioTestCase):
    async def test_exchanges_may_end_within_the_grace(self) -> None:
        entered, release = asyncio.Event(), asyncio.Event()

        async def handle(exchange: Exchange) -> None:
            if exchange.request.path != "/quick":
                entered.set()
                await release.wait()
            await exchange.respond(200, {}, b"done")

        async with serving(handle) as server, connected(server) as client:
            async with connected(server) as idle:
                self.assertEqual((await idle.ask(get("/quick")))[0].status, 200)
                await client.send(get())
                await soon(entered.wait())
                closing = asyncio.create_task(server.close(5))
                self.assertTrue(await idle.closed())
            with self.assertRaises(OSError):
                await asyncio.open_connection("127.0.0.1", server.port)
            release.set()
            self.assertEqual((await client.answer())[1], b"done")
            self.assertTrue(await client.closed())
            await soon(closing)

    async def test_who_has_connected_already_is_answered(self) -> None:
        """Nothing is reset: not what waits to be accepted, not a head of which a part is here."""
        async with serving() as server, connected(server) as half:
            await half.send(get()[:9])
            waiting = [socket.create_connection(("127.0.0.1", server.port), 5) for _ in range(9)]
            for sock in waiting:
                sock.sendall(get())
            closing = asyncio.create_task(server.close(5))
            await asyncio.sleep(0)
            response, body = await half.ask(get()[9:])
            self.assertEqual((response.status, body), (200, b"GET /"))
            for sock in waiting:
                with sock:
                    self.assertIn(b"200", await asyncio.to_thread(sock.recv, 99))
            await soon(closing)

    async def test_the_rest_is_cancelled(self) -> None:
        entered = asyncio.Event()

        async def handle(exchange: Exchange) -> None:
            stream = exchange.stream(200) if exchange.request.path == "/stream" else None
            entered.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.assertFalse(exchange.gone)
                if stream is not None:
                    stream.write(b"cut")

        async with serving(handle) as server:
            async with connected(server) as streaming, connected(server) as waiting:
                await streaming.send(get("/stream"))
                await streaming.head()
                entered.clear()
                await waiting.send(get())
                await soon(entered.wait())
                closing = asyncio.create_task(server.close(0.05))
                response, _ = await waiting.answer()
                self.assertEqual((response.status, response.reusable), (503, False))
                self.assertFalse(await streaming.closed())
                self.assertEqual(streaming.buffer.data, b"3\r\ncut\r\n")
                await soon(closing)

    async def test_handlers_of_clients_that_left_are_waited_for(self) -> None:
        """What a run still has to put in order is not lost because its client is gone."""
        entered, ordered = asyncio.Event(), asyncio.Event()

        async def handle(exchange: Exchange) -> None:
            entered.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await asyncio.sleep(0.05)
                ordered.set()

        async with serving(handle) as server:
            async with connected(server) as client:
                await client.send(get())
                await soon(entered.wait())
                client.reset()
            while server._connections:
                await asyncio.sleep(0)
            await server.close(patience.seconds(PATIENCE))
            self.assertTrue(ordered.is_set())

    async def test_closing_twice_and_unused(self) -> None:
        server = BaseServer(echo, CALM)
        await server.close()
        await server.listen("127.0.0.1", 0)
        await server.close()
        await server.close()


class Binding(unittest.IsolatedAsyncioTestCase):
    async def ask(self, address: str, port: int, host: str) -> bytes:
        reader, writer = await soon(asyncio.open_connection(address, port))
        try:
            raw = request("GET", "/").replace(b"localhost", host.encode())
            writer.write(raw.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            return (await soon(reader.read()))[9:12]
        finally:
            writer.close()
            await writer.wait_closed()

    async def test_addresses(self) -> None:
        """Which addresses answer, and whether a foreign name is served there."""
        for host, addresses, foreign in (
            ("127.0.0.1", ["127.0.0.1"], b"403"),
            ("::1", ["::1"], b"403"),
            ("localhost", ["127.0.0.1"], b"403"),
            ("0.0.0.0", ["127.0.0.1"], b"200"),
            ("::", ["127.0.0.1", "::1"], b"200"),
            ("", ["127.0.0.1", "::1"], b"200"),
        ):
            with self.subTest(host):
                server = BaseServer(echo, CALM)
                try:
                    await server.listen(host, 0)
                    for address in addresses:
                        self.assertEqual(await self.ask(address, server.port, "[::1]"), b"200")
                        self.assertEqual(await self.ask(address, server.port, "a.b"), foreign)
                finally:
                    await server.close()

    async def test_nothing_waits_to_be_acknowledged(self) -> None:
        """With Nagle's algorithm a small write waits for the peer's word on the last one, which
        that delays by up to 40 ms once the connection is not new."""
        for address in ("127.0.0.1", "::1"):
            server = BaseServer(echo, CALM)
            await server.listen(address, 0)
            _, writer = await soon(asyncio.open_connection(address, server.port))
            try:
                while not server._connections:
                    await asyncio.sleep(0)
                [connection] = server._connections
                option = connection.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                self.assertTrue(option, address)
            finally:
                writer.close()
                await server.close()

    async def test_a_taken_port_is_an_error(self) -> None:
        async with serving() as server:
            with self.assertRaises(OSError):
                bind("127.0.0.1", server.port)
        with self.assertRaises(OSError):
            bind("192.0.2.1", 0)  # an address nobody has (RFC 5737)

    async def test_restarts_at_once(self) -> None:
        """The port is free again although connections of it are in TIME_WAIT."""
        async with serving() as server, connected(server) as client:
            await client.ask(get("/", "Connection: close"))
            await client.closed()
            port = server.port
        again = BaseServer(echo, CALM)
        await again.listen("127.0.0.1", port)
        self.assertEqual(again.port, port)
        await again.close()


if __name__ == "__main__":
    unittest.main()
