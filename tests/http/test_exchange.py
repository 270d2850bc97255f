"""Answers and streams over a real socket: framing, gathering, back-pressure, what is refused."""

from __future__ import annotations

import asyncio
import json
import unittest
from collections.abc import Awaitable, Callable, Mapping

from server.errors import Problem
from server.lib.http.cors import Origins
from server.lib.http.exchange import GATHER, PIECE, Exchange, problem_of, problem_response
from server.lib.http.parser import Buffer, MessageLimits, ProtocolError, advance, parse_request

from .live import connected, get, request, serving, soon

MEGABYTE = 1 << 20


def respond(
    status: int, headers: Mapping[str, str] | None = None, body: bytes = b""
) -> Callable[[Exchange], Awaitable[None]]:
    async def handle(exchange: Exchange) -> None:
        await exchange.respond(status, headers, body)

    return handle


class Sink:
    """A channel that takes everything at once and never waits."""

    ended = behind = False
    person = ""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.gate: asyncio.Event | None = None  # when there is one, it is waited for

    def send(self, data: bytes) -> None:
        self.sizes.append(len(data))

    async def drain(self) -> None:
        if self.gate is not None:
            await self.gate.wait()

    async def flush(self) -> None: ...
    async def read_body(self) -> bytes:
        return b""

    def abort(self) -> None:
        """Nothing is open."""

    def hold(self, size: int, *, always: bool = False) -> None:
        return None

    def unacknowledged_bytes(self) -> int | None:
        return None

    def end_reading(self) -> bool:
        return True

    def date(self) -> str:
        return "now"


def buffered(data: bytes) -> Buffer:
    buffer = Buffer()
    buffer.feed(data)
    return buffer


class Answers(unittest.IsolatedAsyncioTestCase):
    async def test_framing_follows_status_method_and_version(self) -> None:
        """Each answer is followed by another on the same connection, nothing may be left over."""
        length = "content-length"
        for name, raw, status, headers, body, expected in (
            ("plain", get(), 200, {}, b"hi", ("2", b"hi")),
            ("empty", get(), 200, {}, b"", ("0", b"")),
            ("unknown status", get(), 299, {}, b"hi", ("2", b"hi")),
            ("HEAD", request("HEAD", "/"), 200, {}, b"hi", ("2", b"")),
            ("HEAD of a file", request("HEAD", "/"), 200, {length: "9"}, b"", ("9", b"")),
            ("204", get(), 204, {}, b"hi", (None, b"")),
            ("304", get(), 304, {}, b"", (None, b"")),
            ("304 of a file", get(), 304, {"Content-Length": "9"}, b"", ("9", b"")),
            ("length of its own", get(), 200, {"Content-Length": "2"}, b"hi", ("2", b"hi")),
        ):
            method = raw.split()[0].decode()
            with self.subTest(name):
                async with serving(respond(status, headers, body)) as server:
                    async with connected(server) as client:
                        for _ in range(2):
                            response, content = await client.ask(raw, method)
                            self.assertEqual(response.status, status)
                            self.assertEqual(response.headers.get(length), expected[0])
                            self.assertEqual(content, expected[1])
                            self.assertNotIn("connection", response.headers)

    async def test_common_headers(self) -> None:
        async with serving(respond(200, {"X-Own": "é"})) as server, connected(server) as client:
            response, _ = await client.ask(get())
            self.assertEqual(response.headers["server"], "yaa")
            self.assertRegex(response.headers["date"], r"^\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT$")
            self.assertEqual(response.headers["x-own"], "é")

    async def test_what_a_handler_may_not_say(self) -> None:
        """A refused answer leaves the exchange open, so that the border can still say 500."""
        for name, status, headers in (
            ("header injection", 200, {"X": "a\r\nSet-Cookie: b"}),
            ("framing", 200, {"Transfer-Encoding": "chunked"}),
            ("the connection's end", 200, {"connection": "close"}),
            ("a wrong length", 200, {"Content-Length": "3"}),
            ("no length", 200, {"Content-Length": "+2"}),
            ("interim status", 100, {}),
            ("no status", 99, {}),
        ):
            with self.subTest(name), self.assertLogs("yaa.listener", "ERROR"):
                handle = respond(status, headers, b"hi")
                async with serving(handle) as server, connected(server) as client:
                    response, _ = await client.ask(get())
                    self.assertEqual(response.status, 500)

    async def test_answered_once(self) -> None:
        async def handle(exchange: Exchange) -> None:
            await exchange.respond(200, {}, b"first")
            for again in (exchange.respond(200), exchange.body()):
                with self.assertRaises(RuntimeError):
                    await again
            with self.assertRaises(RuntimeError):
                exchange.stream(200)

        async with serving(handle) as server, connected(server) as client:
            for _ in range(2):
                self.assertEqual((await client.ask(get()))[1], b"first")

    async def test_body_may_be_asked_for_twice(self) -> None:
        async def handle(exchange: Exchange) -> None:
            first = await exchange.body()
            await exchange.respond(200, {}, first + await exchange.body())

        async with serving(handle) as server, connected(server) as client:
            raw = request("POST", "/", "Content-Length: 2") + b"ab"
            self.assertEqual((await client.ask(raw))[1], b"abab")

    async def test_the_body_is_let_go_when_the_answer_begins(self) -> None:
        """It is as large as a session, and a stream may take hours."""

        async def handle(exchange: Exchange) -> None:
            body = await exchange.body()
            await exchange.respond(200, {}, body)
            with self.assertRaises(RuntimeError):
                await exchange.body()

        async with serving(handle) as server, connected(server) as client:
            raw = request("POST", "/", "Content-Length: 2") + b"ab"
            for _ in range(2):
                self.assertEqual((await client.ask(raw))[1], b"ab")

    async def test_what_a_client_does_not_read_is_not_copied(self) -> None:
        """Of a large answer the connection gets a piece at a time."""
        body = bytes(range(256)) * (64 * MEGABYTE // 256)
        async with serving(respond(200, {}, body)) as server, connected(server) as client:
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            await client.send(get())
            while not any(each.behind for each in server._connections):
                await asyncio.sleep(0.01)
            [connection] = server._connections
            self.assertLessEqual(connection._unsent(), 2 * PIECE)
            self.assertEqual(server.accounts.pools["memory"].total, len(body))
            client.writer.transport.resume_reading()  # type: ignore[attr-defined]
            self.assertEqual((await client.answer())[1], body)
            self.assertEqual((await client.ask(get()))[0].status, 200)
            self.assertEqual(server.accounts.pools["memory"].total, 0)

    async def test_a_large_answer_is_handed_over_when_the_server_closes(self) -> None:
        """Its handler is cancelled then, and the connection still sends what it has. Of an answer
        to a client that is gone nothing more is made."""
        for gone in (False, True):
            sink = Sink()
            sink.gate = asyncio.Event()
            asked = advance(parse_request(buffered(get()), MessageLimits()))
            assert asked is not None
            exchange = Exchange(sink, asked, "1", "127.0.0.1")
            answering = asyncio.create_task(exchange.respond(200, {}, bytes(4 * MEGABYTE)))
            while not sink.sizes:
                await asyncio.sleep(0)
            sink.ended = gone
            answering.cancel()
            with self.subTest(gone=gone), self.assertRaises(asyncio.CancelledError):
                await answering
            self.assertEqual(exchange.finished, not gone)
            self.assertEqual(sum(sink.sizes) > 4 * MEGABYTE, not gone)

    async def test_the_exchange_knows_its_client(self) -> None:
        async def handle(exchange: Exchange) -> None:
            self.assertFalse(exchange.gone)
            await exchange.respond(200, {}, f"{exchange.peer} {exchange.id}".encode())

        async with serving(handle) as server, connected(server) as client:
            first, second = [(await client.ask(get()))[1].split() for _ in range(2)]
            self.assertEqual(first[0], b"127.0.0.1")
            self.assertNotEqual(first[1], second[1])


class Streams(unittest.IsolatedAsyncioTestCase):
    async def test_framing_follows_version_and_length(self) -> None:
        for name, raw, headers, expected in (
            ("1.1", get(), {}, ("chunked", None, None)),
            ("1.1 with a length", get(), {"Content-Length": "4"}, (None, "4", None)),
            ("1.0", get(version="1.0"), {}, (None, None, "close")),
            (
                "1.0 keep-alive cannot be had",
                get("/", "Connection: keep-alive", version="1.0"),
                {},
                (None, None, "close"),
            ),
        ):

            async def handle(exchange: Exchange, headers: Mapping[str, str] = headers) -> None:
                stream = exchange.stream(200, headers)
                stream.write(b"ab")
                stream.write(b"")
                await asyncio.sleep(0)
                stream.write(b"cd")
                await stream.close()
                await stream.close()

            with self.subTest(name):
                async with serving(handle) as server, connected(server) as client:
                    response, body = await client.ask(raw)
                    self.assertEqual(body, b"abcd")
                    names = ("transfer-encoding", "content-length", "connection")
                    self.assertEqual(tuple(map(response.headers.get, names)), expected)
                    if response.reusable:
                        self.assertEqual((await client.ask(raw))[1], b"abcd")
                    else:
                        self.assertTrue(await client.closed())

    async def test_no_body_where_none_belongs(self) -> None:
        for raw, method, status in ((request("HEAD", "/"), "HEAD", 200), (get(), "GET", 204)):

            async def handle(exchange: Exchange, status: int = status) -> None:
                stream = exchange.stream(status)
                stream.write(b"unseen")
                await stream.drain()
                await stream.close()

            async with serving(handle) as server, connected(server) as client:
                for _ in range(2):
                    response, body = await client.ask(raw, method)
                    self.assertEqual(
                        (response.status, body, response.reusable), (status, b"", True)
                    )

    async def test_each_write_leaves_at_once(self) -> None:
        """200 events, each written only after the client has the one before: none is held back."""
        received = asyncio.Semaphore(0)

        async def handle(exchange: Exchange) -> None:
            stream = exchange.stream(200, {"Content-Type": "text/event-stream"})
            for number in range(200):
                stream.write(b"data: %d\n\n" % number)
                await soon(received.acquire())
            await stream.close()

        async with serving(handle) as server, connected(server) as client:
            await client.send(get())
            await client.head()
            seen = bytes(client.buffer.data)
            for number in range(200):
                while b"data: %d\n" % number not in seen:
                    seen += await client.more()
                self.assertNotIn(b"data: %d\n" % (number + 1), seen)
                received.release()

    async def test_writes_of_one_turn_leave_together(self) -> None:
        """The head and 50 events: one send, so one chunk, and one read on the other side."""

        async def handle(exchange: Exchange) -> None:
            stream = exchange.stream(200)
            for number in range(50):
                stream.write(b"data: %d\n\n" % number)
                await stream.drain()  # does not split what one turn wrote
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            stream.write(b"later")
            await stream.close()

        events = b"".join(b"data: %d\n\n" % number for number in range(50))
        async with serving(handle) as server, connected(server) as client:
            await client.send(get())
            data = await client.more()
            while not data.endswith(b"0\r\n\r\n"):
                data += await client.more()
            _, body = data.split(b"\r\n\r\n", 1)
            framed = b"%x\r\n%b\r\n5\r\nlater\r\n0\r\n\r\n" % (len(events), events)
            self.assertEqual(body, framed)

    async def test_head_goes_out_before_the_first_write(self) -> None:
        release = asyncio.Event()

        async def handle(exchange: Exchange) -> None:
            stream = exchange.stream(200)
            await release.wait()
            await stream.close()

        async with serving(handle) as server, connected(server) as client:
            await client.send(get())
            self.assertEqual((await client.head()).status, 200)
            release.set()

    async def test_a_reader_that_stops_holds_the_writer(self) -> None:
        """Memory stays bounded, and nothing is lost when the reader goes on."""
        written = 0

        async def handle(exchange: Exchange) -> None:
            nonlocal written
            stream = exchange.stream(200)
            for _ in range(1280):
                stream.write(bytes(50_000))
                written += 50_000
                await asyncio.sleep(0)  # events come in turns of their own
                if stream.full:
                    await stream.drain()
            await stream.close()

        async with serving(handle) as server, connected(server) as client:
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            await client.send(get())
            while True:  # until a quarter of a second brings nothing
                before = written
                await asyncio.sleep(0.25)
                if before and before == written:
                    break
            self.assertLess(written, 16 * MEGABYTE)  # what the kernel's two buffers hold
            client.writer.transport.resume_reading()  # type: ignore[attr-defined]
            _, body = await client.answer()
            self.assertEqual(len(body), 64_000_000)

    async def test_flush_waits_for_the_kernel(self) -> None:
        flushed = asyncio.Event()
        left = -1

        async def handle(exchange: Exchange) -> None:
            nonlocal left
            stream = exchange.stream(200)
            stream.write(b"small")
            await stream.flush()
            stream.write(bytes(16 * MEGABYTE))
            await stream.flush()
            [connection] = server._connections
            left = connection._transport.get_write_buffer_size()
            flushed.set()
            await stream.flush()
            await stream.close()

        async with serving(handle) as server, connected(server) as client:
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            await client.send(get())
            with self.assertRaises(TimeoutError):
                await asyncio.wait_for(flushed.wait(), 0.2)
            client.writer.transport.resume_reading()  # type: ignore[attr-defined]
            self.assertEqual(len((await client.answer())[1]), 16 * MEGABYTE + 5)
            self.assertEqual(left, 0)

    async def test_a_busy_stream_lets_others_in(self) -> None:
        """A client that takes everything at once must not keep the loop to itself."""
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        buffer = Buffer()
        buffer.feed(get())
        head = advance(parse_request(buffer, MessageLimits()))
        assert head is not None
        sink = Sink()
        stream = Exchange(sink, head, "id", "").stream(200)
        running = asyncio.create_task(others())
        for _ in range(101):
            stream.write(bytes(GATHER // 4))
            await stream.drain()
        running.cancel()
        self.assertGreaterEqual(turns, 20)
        self.assertLessEqual(max(sink.sizes), GATHER + GATHER // 4 + 1000)

    async def test_promised_length_is_kept(self) -> None:
        for name, pieces in (("short", [b"abc"]), ("long", [b"abc", b"def"])):

            async def handle(exchange: Exchange, pieces: list[bytes] = pieces) -> None:
                stream = exchange.stream(200, {"content-length": "5"})
                for piece in pieces:
                    stream.write(piece)
                await stream.close()

            with self.subTest(name), self.assertLogs("yaa.listener", "ERROR"):
                async with serving(handle) as server, connected(server) as client:
                    await client.send(get())
                    self.assertTrue(await client.cut())

    async def test_closed_is_closed(self) -> None:
        async def handle(exchange: Exchange) -> None:
            stream = exchange.stream(200)
            await stream.close()
            with self.assertRaises(RuntimeError):
                stream.write(b"late")

        async with serving(handle) as server, connected(server) as client:
            self.assertEqual((await client.ask(get()))[1], b"")

    async def test_writing_to_nobody(self) -> None:
        """After the client is gone writes are dropped, and waiting says so."""
        outcome: asyncio.Queue[str] = asyncio.Queue()

        async def handle(exchange: Exchange) -> None:
            stream = exchange.stream(200)
            stream.write(b"x")
            await stream.drain()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.assertTrue(stream.full, "there is something to be told")
                for wait in (stream.drain, stream.flush, stream.close):
                    stream.write(b"y" if wait is not stream.close else b"")
                    try:
                        await wait()
                    except ConnectionResetError:
                        outcome.put_nowait("reset")

        async with serving(handle) as server, connected(server) as client:
            await client.send(get())
            await client.head()
            client.reset()
            self.assertEqual([await soon(outcome.get()) for _ in range(3)], ["reset"] * 3)


class Problems(unittest.TestCase):
    def test_answer(self) -> None:
        status, headers, body = problem_response(
            Problem("busy", "Later.", headers={"Retry-After": "3"}), Origins().headers({})
        )
        self.assertEqual((status, headers["Retry-After"]), (429, "3"))
        self.assertEqual(headers["Access-Control-Allow-Origin"], "*")
        told = json.loads(body)
        self.assertEqual((told["status"], told["code"]), (429, "busy"))
        self.assertEqual(told["error"]["message"], "Later.")

    def test_what_a_client_is_told(self) -> None:
        for error, status, code in (
            (ProtocolError("x"), 400, "bad_request"),
            (ProtocolError("x", 413), 413, "body_too_large"),
            (ProtocolError("x", 501), 501, "not_implemented"),
            (Problem("busy", "x"), 429, "busy"),
            (KeyError("/home/secret"), 500, "internal"),
        ):
            with self.subTest(error=error):
                problem = problem_of(error, "id-7")
                self.assertEqual((problem.status, problem.code), (status, code))
                self.assertNotIn("secret", json.dumps(problem.body()))
        self.assertIn("id-7", problem.detail)


if __name__ == "__main__":
    unittest.main()
