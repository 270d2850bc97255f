"""The HTTP client over real sockets: framing, keeping, limits, cancelling, TLS, proxies, SSRF."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import gzip
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import weakref
import zlib
from pathlib import Path
from typing import Any

from server.lib.http.client import Client, ClientError, Timeouts

from ..models.fakes import CHUNKED, Peer, answer, chunk, read_request, serving
from ..tooling import patience
from .live import soon

OK = answer(b"hello", kind="text/plain")


async def fetch(client: Client, url: str, **more: Any) -> bytes:
    async with await client.request("GET", url, **more) as response:
        return await response.read(1 << 20)


class Case(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.client = Client()

    async def asyncTearDown(self) -> None:
        await self.client.close()

    async def refused(self, url: str, client: Client | None = None, **more: Any) -> ClientError:
        with self.assertRaises(ClientError) as caught:
            await fetch(client or self.client, url, **more)
        return caught.exception


class Answers(Case):
    async def test_every_framing_in_every_cut(self) -> None:
        whole = [
            OK,
            CHUNKED + chunk(b"he") + chunk(b"llo") + b"0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhello",
            b"HTTP/1.0 200 OK\r\n\r\nhello",
            b"HTTP/1.1 103 Early\r\nx: y\r\n\r\n" + OK,
        ]
        for data in whole:
            for size in (1, 3, len(data)):

                async def script(peer: Peer, data: bytes = data, size: int = size) -> None:
                    for place in range(0, len(data), size):
                        await peer.send(data[place : place + size])
                        await asyncio.sleep(0)

                async with serving(script) as server:
                    with self.subTest(data, size=size):
                        self.assertEqual(await fetch(self.client, server.url), b"hello")

    async def test_no_body(self) -> None:
        for reply in (b"HTTP/1.1 204 No\r\n\r\n", answer(b""), answer(b"", "304 Same")):
            async with serving(reply) as server:
                with self.subTest(reply):
                    self.assertEqual(await fetch(self.client, server.url), b"")

    async def test_the_request(self) -> None:
        async with serving(OK) as server:
            base = server.url
            await fetch(self.client, f"{base}/a b?q=é&r=%20#frag", headers={"X-A": "1"})
            async with await self.client.request("POST", base, {"A": "b"}, b"body") as response:
                self.assertEqual(response.status, 200)
        first, second = server.requests
        self.assertEqual(first.line, "GET /v1/a%20b?q=%C3%A9&r=%20 HTTP/1.1")
        self.assertEqual(first.headers["host"], f"127.0.0.1:{server.port}")
        self.assertEqual(first.headers["x-a"], "1")
        self.assertNotIn("content-length", first.headers)
        self.assertEqual(second.body, b"body")

    async def test_pieces_arrive_as_they_are_sent(self) -> None:
        go_on = asyncio.Event()

        async def script(peer: Peer) -> None:
            await peer.send(CHUNKED + chunk(b"one"))
            await go_on.wait()
            await peer.send(chunk(b"two") + b"0\r\n\r\n")

        async with serving(script) as server:
            async with await self.client.request("GET", server.url) as response:
                pieces = response.chunks()
                self.assertEqual(await anext(pieces), b"one")
                go_on.set()
                self.assertEqual([piece async for piece in pieces], [b"two"])

    async def test_an_idle_connection_keeps_nothing_of_who_opened_it(self) -> None:
        session: contextvars.ContextVar[Any] = contextvars.ContextVar("session")

        async with serving(OK) as server:

            async def one_run() -> weakref.ref[Any]:
                document = asyncio.Event()
                session.set(document)
                await fetch(self.client, server.url)
                return weakref.ref(document)

            document = await asyncio.create_task(one_run())
            await asyncio.sleep(0)  # until then the loop has the task that has ended
            gc.collect()
            self.assertIsNone(document())

    async def test_a_cut_answer_is_freed_without_the_collector(self) -> None:
        class Document:
            """What waits for the answer."""

        async def one_run(url: str) -> weakref.ref[Any]:
            document = Document()
            try:  # assertRaises would free the frames
                await fetch(self.client, url)
            except ClientError:
                return weakref.ref(document)
            raise AssertionError("it is an answer")

        gc.disable()
        self.addCleanup(gc.enable)
        for cut in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", b"what\r\n\r\n"):

            async def script(peer: Peer, cut: bytes = cut) -> None:
                await peer.send(cut)
                peer.writer.close()

            with self.subTest(cut=cut):
                async with serving(script) as server:
                    document = await asyncio.create_task(one_run(server.url))
                    await asyncio.sleep(0)
                    self.assertIsNone(document())

    async def test_what_was_compressed_unasked(self) -> None:
        """A refusal is one although its words cannot be read."""
        words = b"some words " * 9
        for status, coding, body, read in (
            ("200 OK", "gzip", gzip.compress(words), words),
            ("200 OK", "GZIP", gzip.compress(words), words),
            ("200 OK", "deflate", zlib.compress(words), words),
            ("200 OK", "identity", words, words),
            ("200 OK", "br", b"", b""),
            ("401 No", "gzip", gzip.compress(words), words),
            ("401 No", "gzip", b"\x1f\x8b...", b""),
            ("401 No", "gzip", gzip.compress(words)[:-1], words),
            ("200 OK", "gzip", b"", b""),
            ("401 No", "br", b"...", b""),
        ):
            async with serving(answer(body, status, f"content-encoding: {coding}")) as server:
                with self.subTest(status, coding=coding):
                    async with await self.client.request("POST", server.url) as response:
                        found = str(response.status), await response.read(99)
                        self.assertEqual(found, (status[:3], read))

    async def test_a_compressed_stream_arrives_piece_by_piece(self) -> None:
        go_on = asyncio.Event()

        async def script(peer: Peer) -> None:
            packer = zlib.compressobj(wbits=31)
            head = CHUNKED.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n")
            packed = packer.compress(b"one") + packer.flush(zlib.Z_SYNC_FLUSH)
            await peer.send(head + chunk(packed))
            await go_on.wait()
            await peer.send(chunk(packer.compress(b"two") + packer.flush()) + b"0\r\n\r\n")

        async with serving(script) as server:
            async with await self.client.request("GET", server.url) as response:
                pieces = response.chunks()
                self.assertEqual(await anext(pieces), b"one")
                go_on.set()
                self.assertEqual(b"".join([piece async for piece in pieces]), b"two")

    async def test_a_few_bytes_are_not_gigabytes(self) -> None:
        bomb = answer(gzip.compress(bytes(1 << 20)), "200 OK", "content-encoding: gzip")
        client = Client(max_response=100_000)
        async with serving(bomb) as server:
            error = await self.refused(server.url, client)
        self.assertEqual(error.kind, "protocol")
        self.assertIn("sent too much", error.message)
        await client.close()

    async def test_redirects_are_answers(self) -> None:
        async with serving(answer(b"", "302 Found", "location: http://127.0.0.1:1/")) as server:
            async with await self.client.request("GET", server.url) as response:
                self.assertEqual(response.status, 302)

    async def test_a_slow_reader_holds_the_sender_back(self) -> None:
        sent = 0

        async def flood(peer: Peer) -> None:
            nonlocal sent
            await peer.send(CHUNKED)
            for _ in range(1000):
                await peer.send(chunk(b"x" * 65536))
                sent += 65536

        limits = Timeouts(idle=0.05)
        async with serving(flood) as server:
            async with await self.client.request("GET", server.url, timeouts=limits) as response:
                before = -1
                while sent != before:  # until the kernel's and our buffers are full
                    before = sent
                    await asyncio.sleep(0.15)
                self.assertLess(sent, 40 << 20)
                total = 0  # our own laziness was not taken for the server's silence
                async for piece in response.chunks():
                    total += len(piece)
                    if total > 50 << 20:
                        break
                self.assertGreater(total, 50 << 20)


class Broken(Case):
    async def test_kinds(self) -> None:
        async def hang_up(peer: Peer) -> None:
            pass

        async def reset(peer: Peer) -> None:
            peer.writer.transport.abort()

        cases: list[tuple[Any, str | None]] = [
            (hang_up, "closed"),
            (reset, "closed"),
            (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\nhello", None),
            (b"garbage\r\n\r\n", "protocol"),
            (b"HTTP/1.1 200 OK\nx: y\n\n", "protocol"),
            (b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n", "protocol"),
            (CHUNKED + b"zz\r\n", "protocol"),
            (b"HTTP/1.1 101 Switch\r\n\r\n", "protocol"),
            (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 200 + b"\r\n", "protocol"),
            (b"HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n", "protocol"),
            (answer(b"...", "200 OK", "content-encoding: br"), "protocol"),
            (answer(b"...", "200 OK", "content-encoding: gzip"), "protocol"),
            (answer(gzip.compress(b"words")[:-9], "200 OK", "content-encoding: gzip"), "closed"),
        ]
        for reply, kind in cases:
            if kind is None:  # cut inside a body of known length

                async def cut(peer: Peer, data: bytes = reply) -> None:
                    await peer.send(data)

                reply, kind = cut, "closed"
            async with serving(reply) as server:
                with self.subTest(reply):
                    error = await self.refused(server.url)
                    self.assertEqual(error.kind, kind)
                    self.assertIn(str(server.port), error.message)
                    self.assertNotIn("/v1", error.message)

    async def test_addresses_that_cannot_be_asked(self) -> None:
        cases = ["ftp://a/", "/x", "http://", "http://u:p@h/", "http://h:99999/", "http://a..b/"]
        for url in cases:
            with self.subTest(url):
                self.assertEqual((await self.refused(url)).kind, "refused")

    async def test_headers_that_cannot_be_sent(self) -> None:
        for value in ("a\r\nb: c", "a\nb", "\0", "日本"):
            with self.subTest(value):
                error = await self.refused("http://127.0.0.1:1/", headers={"x": value})
                self.assertEqual(error.kind, "refused")
                self.assertIn("the header 'x' holds what none can", error.message)
                self.assertNotIn(value, error.message)

    async def test_nobody_there(self) -> None:
        async with serving(OK) as server:
            url = server.url
        error = await self.refused(url)
        self.assertEqual(error.kind, "connect")
        self.assertRegex(error.message, r"^127\.0\.0\.1:\d+ cannot be reached: Connection refused$")
        self.assertEqual((await self.refused("http://no-such-host.invalid/")).kind, "connect")

    async def test_read_has_a_limit(self) -> None:
        async with serving(answer(b"x" * 100)) as server:
            async with await self.client.request("GET", server.url) as response:
                with self.assertRaisesRegex(ClientError, "more than 99 bytes"):
                    await response.read(99)

    async def test_the_whole_answer_has_a_limit(self) -> None:
        async def flood(peer: Peer) -> None:
            await peer.send(CHUNKED)
            while not peer.writer.is_closing():
                await peer.send(chunk(b"x" * 65536))

        client = Client(max_response=1 << 20)
        async with serving(flood) as server:
            with self.assertRaisesRegex(ClientError, "larger than 1048576"):
                async with await client.request("GET", server.url) as response:
                    async for _ in response.chunks():
                        pass


class Keeping(Case):
    async def test_one_connection_for_many_requests(self) -> None:
        async with serving(OK) as server:
            for _ in range(5):
                await fetch(self.client, server.url)
            self.assertEqual(server.connections, 1)

    async def test_at_once_means_several(self) -> None:
        async with serving(OK) as server:
            await asyncio.gather(*(fetch(self.client, server.url) for _ in range(4)))
            self.assertEqual(server.connections, 4)
            await asyncio.gather(*(fetch(self.client, server.url) for _ in range(4)))
            self.assertEqual(server.connections, 4)

    async def test_not_kept(self) -> None:
        cases = [
            answer(b"hello", "200 OK", "connection: close"),
            b"HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello",
            OK + b"HTTP/1.1 200 OK\r\n\r\nan answer to no question",
        ]
        for reply in cases:
            async with serving(reply) as server:
                with self.subTest(reply):
                    for _ in range(3):
                        self.assertEqual(await fetch(self.client, server.url), b"hello")
                    self.assertEqual(server.connections, 3)

    async def test_a_body_left_unread_costs_the_connection(self) -> None:
        async def script(peer: Peer) -> None:
            await peer.send(CHUNKED + chunk(b"x"))
            await peer.gone()

        async with serving(script, OK) as server:
            async with await self.client.request("GET", server.url):
                pass
            self.assertEqual(await fetch(self.client, server.url), b"hello")
            self.assertEqual(server.connections, 2)

    async def test_a_kept_connection_that_was_closed(self) -> None:
        """The server closes as soon as it has answered; our next request meets a dead socket."""

        async def once(peer: Peer) -> None:
            await peer.send(OK)
            await read_request(peer.reader)  # takes the second request and hangs up

        for method, resendable, good in (
            ("GET", None, True),
            ("POST", None, False),
            ("POST", True, True),
            ("GET", False, False),
        ):
            async with serving(once, OK) as server:
                await fetch(self.client, server.url)
                with self.subTest(method, resendable=resendable):
                    try:
                        more = {"resendable": resendable}
                        request = self.client.request(method, server.url, **more)  # type: ignore[arg-type]
                        async with await request as response:
                            self.assertEqual(await response.read(9), b"hello")
                        self.assertTrue(good)
                    except ClientError as error:
                        self.assertFalse(good)
                        self.assertEqual(error.kind, "closed")

    async def test_the_beginning_of_a_body(self) -> None:
        cases: tuple[tuple[str, bytes, bytes], ...] = (
            ("whole", chunk(b"abc") + b"0\r\n\r\n", b"abc"),
            ("as much as is wanted", chunk(b"abcdef") + b"0\r\n\r\n", b"abcd"),
            ("cut off", chunk(b"ab") + b"9\r\nx", b"abx"),
            ("empty", b"0\r\n\r\n", b""),
        )
        for name, raw, wanted in cases:

            async def script(peer: Peer, raw: bytes = raw) -> None:
                await peer.send(CHUNKED + raw)  # and closes

            async with serving(script) as server:
                with self.subTest(name):
                    async with await self.client.request("GET", server.url) as response:
                        self.assertEqual(await response.read_prefix(4), wanted)

    async def test_the_beginning_of_a_body_that_does_not_end(self) -> None:
        async def script(peer: Peer) -> None:
            await peer.send(CHUNKED + chunk(b"abcd"))
            await peer.gone()

        async with serving(script) as server:
            async with await self.client.request("GET", server.url) as response:
                self.assertEqual(await response.read_prefix(4), b"abcd")

    @unittest.skipUnless(sys.platform == "linux", "needs TCP_USER_TIMEOUT")
    async def test_a_kept_connection_that_leads_nowhere(self) -> None:
        """What is sent on it is not confirmed, and nobody says so."""
        over = asyncio.Event()

        async def once(peer: Peer) -> None:
            peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
            await peer.send(OK)
            await over.wait()

        body = bytes(16 << 20)  # more than two systems take unread
        async with serving(once, OK) as server:
            await fetch(self.client, server.url)
            request = self.client.request(
                "POST", server.url, body=body, timeouts=Timeouts(0.3), resendable=True
            )
            async with await soon(request) as response:
                self.assertEqual(await response.read(9), b"hello")
            over.set()
            self.assertEqual(server.connections, 2)

    @unittest.skipUnless(sys.platform == "linux", "needs TCP_USER_TIMEOUT")
    async def test_a_slow_peer_keeps_what_cannot_be_sent_again(self) -> None:
        """It takes nothing for a while; on a connection that was to hurry before."""
        patience = []

        async def twice(peer: Peer) -> None:
            await peer.send(OK)
            for _ in range(2):
                await read_request(peer.reader)
                (connection,) = self.client._pool.open
                sock = connection.transport.get_extra_info("socket")
                patience.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT))
                await peer.send(OK)

        async with serving(twice) as server:
            for resendable in (True, True, False):
                more = {"timeouts": Timeouts(0.3), "resendable": resendable}
                request = self.client.request("POST", server.url, **more)  # type: ignore[arg-type]
                async with await request as response:
                    self.assertEqual(await response.read(9), b"hello")
            self.assertEqual((server.connections, patience), (1, [300, 0]))

    async def test_never_twice_once_a_byte_came(self) -> None:
        async def twice(peer: Peer) -> None:
            await peer.send(OK)
            await read_request(peer.reader)
            await peer.send(b"H")

        async with serving(twice, OK) as server:
            await fetch(self.client, server.url)
            error = await self.refused(server.url)
            self.assertEqual((error.kind, len(server.requests)), ("closed", 1))

    async def test_release(self) -> None:
        """The tail may come after the reader is content; a long one may not."""
        for tail, connections in ((b"0\r\n\r\n", 1), (chunk(b"x" * 70_000), 2)):
            go_on = asyncio.Event()

            async def script(peer: Peer, tail: bytes = tail, go_on: asyncio.Event = go_on) -> None:
                await peer.send(CHUNKED + chunk(b"all"))
                await go_on.wait()
                await peer.send(tail)
                if await read_request(peer.reader):
                    await peer.send(OK)

            async with serving(script, OK) as server:
                async with await self.client.request("GET", server.url) as response:
                    async for _ in response.chunks():
                        response.release()
                        break
                go_on.set()
                for _ in range(2000):
                    await asyncio.sleep(0)
                self.assertEqual(await fetch(self.client, server.url), b"hello")
                with self.subTest(tail[:9]):
                    self.assertEqual(server.connections, connections)

    async def test_close_closes(self) -> None:
        """What waits for the next request, and what is still read."""
        for sent in (OK, CHUNKED + chunk(b"all")):
            gone = asyncio.Event()

            async def script(peer: Peer, sent: bytes = sent, gone: asyncio.Event = gone) -> None:
                await peer.send(sent)
                await peer.gone()
                gone.set()

            async with serving(script) as server:
                async with await self.client.request("GET", server.url) as response:
                    chunks = response.chunks()
                    await anext(chunks)
                    await self.client.close()
                    with self.subTest(sent):
                        async with asyncio.timeout(patience.seconds(10)):
                            await gone.wait()
                        if sent != OK:
                            with self.assertRaises(ClientError) as caught:
                                await anext(chunks)
                            self.assertEqual(caught.exception.kind, "closed")


class Limits(Case):
    async def test_each_phase(self) -> None:
        async def mute(peer: Peer) -> None:
            await peer.gone()

        async def stalls(peer: Peer) -> None:
            await peer.send(CHUNKED + chunk(b"x"))
            await peer.gone()

        cases = [
            (mute, Timeouts(first_byte=0.05), "sent no answer for 0.05 s"),
            (stalls, Timeouts(first_byte=60, idle=0.05), "went silent for 0.05 s"),
            (stalls, Timeouts(total=0.05), "was not done after 0.05 s"),
            (stalls, Timeouts(total=0.0499597), "was not done after 0.05 s"),  # what was left
        ]
        for script, limits, says in cases:
            async with serving(script) as server:
                with self.subTest(says):
                    error = await self.refused(server.url, timeouts=limits)
                    self.assertEqual(error.kind, "timeout")
                    self.assertIn(says, error.message)

    async def test_connecting(self) -> None:
        """A port that takes connections and never answers the TLS hello."""

        async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        listener = await asyncio.start_server(mute, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        client, started = Client(tls=ssl.create_default_context()), time.monotonic()
        error = await self.refused(f"https://127.0.0.1:{port}/", client, timeouts=Timeouts(0.05))
        self.assertEqual(error.kind, "timeout")
        self.assertLess(time.monotonic() - started, patience.seconds(5))
        listener.close()

    async def test_steady_bytes_keep_the_idle_limit_away(self) -> None:
        async def drips(peer: Peer) -> None:
            await peer.send(CHUNKED)
            for _ in range(10):
                await peer.send(chunk(b"x"))
                await asyncio.sleep(0.06)
            await peer.send(b"0\r\n\r\n")

        async with serving(drips) as server:
            limits = Timeouts(first_byte=0.5, idle=0.5)
            body = await fetch(self.client, server.url, timeouts=limits)
            self.assertEqual(body, b"x" * 10)

    async def test_cancelling_closes_at_once(self) -> None:
        gone = asyncio.Event()

        async def mute(peer: Peer) -> None:
            await peer.gone()
            gone.set()

        async def streams(peer: Peer) -> None:
            await peer.send(CHUNKED + chunk(b"x"))
            await peer.gone()
            gone.set()

        for script in (mute, streams):
            gone.clear()
            async with serving(script) as server:
                task = asyncio.create_task(fetch(self.client, server.url))
                await server.asked.wait()
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                async with asyncio.timeout(patience.seconds(10)):
                    await gone.wait()


class Proxies(Case):
    async def test_plain_http(self) -> None:
        async with serving(OK) as proxy:
            env = {"HTTP_PROXY": f"http://me:s3cret@127.0.0.1:{proxy.port}"}
            client = Client(env)
            self.assertEqual(await fetch(client, "http://model.example/x?y=1"), b"hello")
            await client.close()
        (request,) = proxy.requests
        self.assertEqual(request.line, "GET http://model.example/x?y=1 HTTP/1.1")
        self.assertEqual(request.headers["host"], "model.example")
        self.assertEqual(request.headers["proxy-authorization"], "Basic bWU6czNjcmV0")

    async def test_never_for_this_machine(self) -> None:
        async with serving(OK) as server:
            client = Client({"http_proxy": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1"})
            self.assertEqual(await fetch(client, server.url), b"hello")
            await client.close()

    async def test_a_proxy_that_refuses(self) -> None:
        async with serving(answer(b"no", "407 No")) as proxy:
            client = Client({"https_proxy": f"http://u:s3cret@127.0.0.1:{proxy.port}"})
            error = await self.refused("https://model.example/", client)
        self.assertEqual(error.kind, "refused")
        self.assertIn("407", error.message)
        self.assertNotIn("s3cret", error.message)
        self.assertEqual(proxy.requests[0].line, "CONNECT model.example:443 HTTP/1.1")

    async def test_a_proxy_that_is_not_there_is_named(self) -> None:
        async with serving(OK) as server:
            place = f"127.0.0.1:{server.port}"
        client = Client({"all_proxy": f"http://me:s3cret@{place}"})
        for scheme in ("http", "https"):
            error = await self.refused(f"{scheme}://model.example/", client)
            wanted = f"model.example (through the proxy {place}) cannot be reached: "
            self.assertEqual(error.message, wanted + "Connection refused")

    async def test_no_password_is_quoted(self) -> None:
        """An address that Python cannot read, as written by somebody or in the environment."""
        wrong = "http://me:s3cr#et@h:1"
        for url, env in ((wrong, {}), ("http://a.example/", {"all_proxy": wrong})):
            error = await self.refused(url, Client(env))
            self.assertEqual(error.kind, "refused")
            self.assertNotIn("s3cr", error.message)

    async def test_socks_is_not_spoken(self) -> None:
        error = await self.refused("http://model.example/", Client({"all_proxy": "socks5://h:1"}))
        self.assertEqual(error.kind, "refused")


class PublicOnly(Case):
    async def test_nothing_local_is_asked(self) -> None:
        async with serving(OK) as server:
            hosts = ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "0x7f.1"]
            hosts += ["169.254.169.254", "10.0.0.1", "[fe80::1]", "[64:ff9b::a00:1]", "2130706433"]
            for host in hosts:
                with self.subTest(host):
                    url = f"http://{host}:{server.port}/"
                    error = await self.refused(url, public_only=True, timeouts=Timeouts(2.0))
                    self.assertIn(error.kind, ("refused", "connect"))
            self.assertEqual(server.requests, [])

    async def test_a_kept_connection_is_not_borrowed(self) -> None:
        async with serving(OK) as server:
            await fetch(self.client, server.url)
            error = await self.refused(server.url, public_only=True)
            self.assertEqual(error.kind, "refused")


@unittest.skipUnless(shutil.which("openssl"), "openssl is not installed: TLS is NOT tested")
class Secure(Case):
    folder: tempfile.TemporaryDirectory[str]
    server_side: ssl.SSLContext
    trusting: ssl.SSLContext

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        path = Path(cls.folder.name)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
            + ["-keyout", str(path / "key"), "-out", str(path / "cert"), "-subj", "/CN=localhost"]
            + ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"],
            check=True,
            capture_output=True,
        )
        cls.server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        cls.server_side.load_cert_chain(path / "cert", path / "key")
        cls.trusting = ssl.create_default_context(cafile=str(path / "cert"))

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        # The server's side of a refused handshake is not what is tested.
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)

    async def test_streams_and_is_kept(self) -> None:
        client = Client(tls=self.trusting)
        async with serving(OK, tls=self.server_side) as server:
            for _ in range(3):
                self.assertEqual(await fetch(client, server.url), b"hello")
            self.assertEqual(server.connections, 1)
            await client.close()

    async def test_a_certificate_nobody_trusts(self) -> None:
        async with serving(OK, tls=self.server_side) as server:
            error = await self.refused(server.url)
        self.assertEqual(error.kind, "tls")
        self.assertIn("not trusted", error.message)
        self.assertEqual(server.requests, [])

    async def test_a_certificate_for_another_name(self) -> None:
        client = Client(tls=self.trusting)
        async with serving(OK, tls=self.server_side) as server:
            error = await self.refused(f"https://127.0.0.2:{server.port}/", client)
            self.assertIn(error.kind, ("tls", "connect"))
        self.assertEqual(server.requests, [])

    async def test_a_server_without_tls(self) -> None:
        async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
            writer.close()

        listener = await asyncio.start_server(plain, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        error = await self.refused(f"https://127.0.0.1:{port}/", Client(tls=self.trusting))
        self.assertEqual(error.kind, "tls")
        listener.close()

    async def test_cancelling(self) -> None:
        gone = asyncio.Event()

        async def script(peer: Peer) -> None:
            await peer.send(CHUNKED + chunk(b"x"))
            await peer.gone()
            gone.set()

        client = Client(tls=self.trusting)
        async with serving(script, tls=self.server_side) as server:
            task = asyncio.create_task(fetch(client, server.url))
            await server.asked.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            async with asyncio.timeout(patience.seconds(10)):
                await gone.wait()

    async def test_through_a_tunnel(self) -> None:
        async with serving(OK, tls=self.server_side) as server:
            asked: list[str] = []

            async def tunnel(peer: Peer) -> None:
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                await peer.send(b"HTTP/1.1 200 Connected\r\n\r\n")

                async def copy(source: Any, target: Any) -> None:
                    while data := await source.read(65536):
                        target.write(data)
                    target.close()

                try:
                    await asyncio.gather(copy(peer.reader, writer), copy(reader, peer.writer))
                finally:
                    writer.transport.abort()
                    await asyncio.sleep(0)

            async with serving(tunnel) as proxy:
                # "model.example" is not in the certificate: only its name for the proxy counts
                # here, so trust without names.
                context = ssl.create_default_context()
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                client = Client({"https_proxy": f"127.0.0.1:{proxy.port}"}, tls=context)
                for _ in range(2):
                    url = "https://model.example/v1"
                    self.assertEqual(await fetch(client, url, headers={"a": "key"}), b"hello")
                asked = [request.line for request in proxy.requests]
                self.assertNotIn("a", proxy.requests[0].headers)
                await client.close()
            self.assertEqual(asked, ["CONNECT model.example:443 HTTP/1.1"])
            self.assertEqual(server.requests[0].headers["host"], "model.example")


if __name__ == "__main__":
    unittest.main()
