"""HTTPS: requests, streams, refusals and stalls as without it; a new certificate on the way."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import unittest
from collections.abc import AsyncIterator
from pathlib import Path

from server.lib.http.connection import TLS_BUFFER, TLS_WORK, ServerLimits
from server.lib.http.exchange import Exchange
from server.lib.http.listener import SAID, TO_PLAIN_HTTP, BaseServer, Certificate, bind, reason

from .live import CALM, Client, echo, get, post, quick, soon

CURVE = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")


def pair(folder: Path, name: str, *more: str, newkey: tuple[str, ...] = CURVE) -> tuple[Path, Path]:
    """A certificate of its own for localhost."""
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = ["openssl", "req", "-x509", "-newkey", *newkey]
    command += ["-keyout", str(key), "-out", str(cert), "-days", "2", "-subj", f"/CN={name}"]
    command += ["-addext", "subjectAltName=DNS:localhost", *(more or ("-nodes",))]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key


@unittest.skipUnless(shutil.which("openssl"), "needs openssl to make certificates")
class Https(unittest.IsolatedAsyncioTestCase):
    folder: Path
    one: tuple[Path, Path]
    two: tuple[Path, Path]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.one, cls.two = pair(cls.folder, "one"), pair(cls.folder, "two")

    @contextlib.asynccontextmanager
    async def serving(
        self, certificate: Certificate, handle: object = echo, limits: ServerLimits = CALM
    ) -> AsyncIterator[BaseServer]:
        server = BaseServer(handle, limits)  # type: ignore[arg-type]
        await server.serve(bind("127.0.0.1", 0), certificate.context)
        try:
            yield server
        finally:
            await server.close()

    @contextlib.asynccontextmanager
    async def connected(
        self, server: BaseServer, trusted: Path, window: int = 0
    ) -> AsyncIterator[Client]:
        context = ssl.create_default_context(cafile=str(trusted))
        sock = socket.socket()
        sock.setblocking(False)
        if window:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        await soon(asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", server.port)))
        opening = asyncio.open_connection(sock=sock, ssl=context, server_hostname="localhost")
        client = Client(*await soon(opening))
        try:
            yield client
        finally:
            client.writer.transport.abort()

    async def test_requests_one_after_the_other(self) -> None:
        certificate = Certificate(*self.one)
        async with self.serving(certificate) as server:
            async with self.connected(server, self.one[0]) as client:
                for body in (b"a", b"b" * 300_000, b"c" * 5_000_000):
                    self.assertEqual((await client.ask(post(body)))[1], body)
                self.assertEqual((await client.ask(b"BAD\r\n\r\n"))[0].status, 400)

    async def test_its_buffers_are_counted(self) -> None:
        """asyncio has 256 KiB for each connection, also an idle one, unless that is made less."""
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def handle(exchange: Exchange) -> None:
            exchange.hold(1_000)
            begun.set()
            await go_on.wait()
            await echo(exchange)

        async with self.serving(Certificate(*self.one), handle) as server:
            memory = server.accounts.pools["memory"]
            async with self.connected(server, self.one[0]) as client:
                while not server._connections:
                    await asyncio.sleep(0.01)
                (connection,) = server._connections
                buffer = connection._transport._ssl_protocol._ssl_buffer  # type: ignore[attr-defined]
                self.assertEqual((memory.total, len(buffer)), (TLS_BUFFER, TLS_BUFFER))
                await client.send(get())
                await soon(begun.wait())
                self.assertEqual(memory.total, TLS_BUFFER + TLS_WORK + 1_000)
                go_on.set()
                await client.answer()
                self.assertEqual(memory.total, TLS_BUFFER)
            while server._connections:
                await asyncio.sleep(0.01)
            self.assertEqual(memory.total, 0)

    async def test_what_is_flushed_the_kernel_has(self) -> None:
        """asyncio keeps up to two buffers of its own under TLS; a call must not begin before its
        announcement has left both."""
        flushed, size = asyncio.Event(), 4_000_000

        async def handle(exchange: Exchange) -> None:
            stream = exchange.stream(200)
            stream.write(b"x" * size)
            await stream.flush()
            flushed.set()
            await stream.close()

        async with self.serving(Certificate(*self.one), handle) as server:
            async with self.connected(server, self.one[0], window=4096) as client:
                await client.send(get())
                await client.head()
                (connection,) = server._connections
                with self.assertRaises(TimeoutError):
                    await asyncio.wait_for(flushed.wait(), 0.2)
                self.assertGreater(connection._unsent(), 0)
                await client.more()
                reading = asyncio.create_task(client.closed())
                await soon(flushed.wait())
                self.assertEqual(connection._unsent(), 0)
                reading.cancel()

    async def test_who_reads_nothing_is_cut_off(self) -> None:
        ended = asyncio.Event()

        async def handle(exchange: Exchange) -> None:
            stream = exchange.stream(200)
            try:
                while True:
                    stream.write(b"x" * 65536)
                    await stream.drain()
            finally:
                ended.set()

        async with self.serving(Certificate(*self.one), handle, quick()) as server:
            async with self.connected(server, self.one[0], window=4096) as client:
                await client.send(get())
                await soon(ended.wait())

    async def test_no_handshake_no_connection_kept(self) -> None:
        """Neither plain HTTP nor silence holds a socket for longer than a head may take."""
        async with self.serving(Certificate(*self.one), limits=quick()) as server:
            for said in (get(), b"", b"\x16\x03", b"x" * 100):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(said)
                heard = await soon(reader.read())
                self.assertEqual(heard, TO_PLAIN_HTTP if b"HTTP" in said else b"")
                writer.close()

    async def test_who_speaks_plain_http_is_told_and_nothing_more_is_read(self) -> None:
        async with self.serving(Certificate(*self.one)) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            client = Client(reader, writer)
            found, text = await client.ask(post(b"x" * 9))
            self.assertEqual((found.status, text), (400, SAID))
            await client.send(get())
            self.assertEqual(await soon(reader.read()), b"")
            writer.close()

    async def test_a_new_certificate_disconnects_nobody(self) -> None:
        cert, key = self.folder / "live.pem", self.folder / "live.key"

        def put(source: tuple[Path, Path]) -> None:
            for made, place in zip(source, (cert, key), strict=True):
                draft = place.with_suffix(".draft")
                shutil.copy(made, draft)
                draft.replace(place)

        put(self.one)
        certificate = Certificate(cert, key)
        self.assertFalse(certificate.refresh())
        async with self.serving(certificate) as server:
            async with self.connected(server, self.one[0]) as old:
                await old.ask(get())
                shutil.copy(self.two[0], cert)  # half a pair: the key is still the other one's
                with self.assertLogs("yaa.tls", "WARNING") as said:
                    self.assertFalse(certificate.refresh())
                self.assertIn("do not belong together", said.output[0])
                async with self.connected(server, self.one[0]) as client:
                    self.assertEqual((await client.ask(get()))[0].status, 200)
                put(self.two)
                self.assertTrue(certificate.refresh())
                async with self.connected(server, self.two[0]) as client:
                    self.assertEqual((await client.ask(get()))[0].status, 200)
                with self.assertRaises(ssl.SSLCertVerificationError):
                    async with self.connected(server, self.one[0]):
                        pass
                self.assertEqual((await old.ask(get()))[0].status, 200)
                key.unlink()
                with self.assertLogs("yaa.tls", "WARNING") as said:
                    for _ in range(3):
                        self.assertFalse(certificate.refresh())
                self.assertEqual(len(said.output), 1, "once, however long it is missing")
                put(self.two)
                self.assertTrue(certificate.refresh())

    def test_what_cannot_be_used(self) -> None:
        locked = pair(self.folder, "locked", "-passout", "pass:secret")
        text = self.folder / "text.pem"
        text.write_text("not PEM")
        weak = pair(self.folder, "weak", newkey=("rsa:1024",))
        for cert, key, why in (
            (self.folder / "none", None, "No such file"),
            (text, None, "in PEM"),
            (self.one[0], None, "in PEM"),
            (self.one[0], self.two[1], "do not belong together"),
            (*locked, "has a passphrase"),
            (*weak, "ee key too small"),
        ):
            with self.subTest(why=why), self.assertRaises(OSError) as caught:
                Certificate(cert, key)
            self.assertIn(why, reason(caught.exception))


if __name__ == "__main__":
    unittest.main()
