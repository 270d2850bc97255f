"""What a stranger may make this server talk to: addresses one by one, then every hostile form of a
URL against a trap that counts, by the client and by `fetch_url`, directly and by a redirect."""

from __future__ import annotations

import asyncio
import json
import socket
import unittest
from pathlib import Path
from typing import Any

from server.lib.http.client import Client, ClientError, Timeouts, is_public, resolve, resolve_public
from server.tools.decorators import ToolError
from server.tools.fetch import fetch

from ..tooling import patience

TABLE: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "ssrf.json").read_text("utf-8")
)


def quick() -> Timeouts:
    return Timeouts(connect=patience.seconds(0.3), total=patience.seconds(2))


class Addresses(unittest.TestCase):
    def test_public(self) -> None:
        for address in TABLE["public"]:
            with self.subTest(address):
                self.assertTrue(is_public(address))

    def test_local(self) -> None:
        for address in TABLE["local"]:
            with self.subTest(address):
                self.assertFalse(is_public(address))


class Names(unittest.IsolatedAsyncioTestCase):
    async def test_names_of_this_machine(self) -> None:
        self.assertTrue(await resolve("localhost", 80))
        for host in ("localhost", "127.1", "0x7f.1", "2130706433", "0"):
            with self.subTest(host):
                self.assertEqual(await resolve_public(host, 80), [])

    async def test_an_address_is_itself(self) -> None:
        self.assertEqual(await resolve_public("1.1.1.1", 443), ["1.1.1.1"])

    async def test_no_such_name(self) -> None:
        with self.assertRaises(OSError):
            await resolve_public("no-such-host.invalid", 80)


class Trap(unittest.IsolatedAsyncioTestCase):
    """A server on the loopback addresses of both families that counts who comes."""

    async def asyncSetUp(self) -> None:
        self.asked: list[str] = []  # names, in the order in which the resolver was asked for them
        self.client = Client(resolve=self.resolve)
        self.addAsyncCleanup(self.client.close)
        self.hits = 0
        server = await asyncio.start_server(self.count, "127.0.0.1", 0)
        self.addCleanup(server.close)
        self.port = server.sockets[0].getsockname()[1]
        try:
            other = await asyncio.start_server(self.count, "::1", self.port)
            self.addCleanup(other.close)
        except OSError:
            pass  # a machine without IPv6

    async def count(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.hits += 1
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi")
        writer.close()

    async def resolve(self, host: str, port: int) -> list[str]:
        """The table's names; others as the system has it."""
        for about in TABLE["names"]:
            if about["name"] == host:
                before = self.asked.count(host)
                self.asked.append(host)
                answers: list[list[str]] = about["answers"]
                return answers[min(before, len(answers) - 1)]
        return await resolve(host, port)

    def urls(self) -> list[tuple[str, str]]:
        """(URL, why) of everything that is hostile."""
        urls = [(each["url"], each["why"]) for each in TABLE["urls"]]
        names = [("http://" + each["name"] + ":{port}/", each["why"]) for each in TABLE["names"]]
        return [(url.replace("{port}", str(self.port)), why) for url, why in (*urls, *names)]

    async def redirecting(self, target: str) -> str:
        """The URL of a server that leads to `target` and is not counted."""

        async def lead(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            place = target.encode("utf-8").replace(b"\n", b"%0a")
            writer.write(b"HTTP/1.1 302 Found\r\ncontent-length: 0\r\nlocation: " + place)
            writer.write(b"\r\nconnection: close\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(lead, "127.0.0.1", 0)
        self.addCleanup(server.close)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


class Reached(Trap):
    def test_the_table_is_long(self) -> None:
        urls = [url for url, _ in self.urls_with(1)]
        self.assertEqual(len(set(urls)), len(urls))
        self.assertGreaterEqual(len(urls), 100)

    def urls_with(self, port: int) -> list[tuple[str, str]]:
        self.port = port
        return self.urls()

    async def test_the_trap_works(self) -> None:
        """What is not guarded falls into it: a trap that nobody can reach would prove nothing."""
        for host in ("127.0.0.1", "127.1", "0x7f.1", "localhost"):
            response = await self.client.request("GET", f"http://{host}:{self.port}/")
            await response.read(100)
        self.assertEqual(self.hits, 4)
        found = await fetch(self.client, f"http://127.1:{self.port}/", ("127.1",), 5)
        self.assertEqual((found.body, self.hits), (b"hi", 5))

    async def test_not_by_the_client(self) -> None:
        for url, why in self.urls():
            with self.subTest(url, why=why):
                with self.assertRaises(ClientError):
                    await self.client.request("GET", url, timeouts=quick(), public_only=True)
                self.assertEqual(self.hits, 0)

    async def test_not_by_fetch_url(self) -> None:
        for url, why in self.urls():
            with self.subTest(url, why=why):
                with self.assertRaises(ToolError):
                    await fetch(self.client, url, (), 1)
                self.assertEqual(self.hits, 0)

    async def test_not_by_a_redirect(self) -> None:
        for url, why in self.urls():
            with self.subTest(url, why=why):
                first = await self.redirecting(url)
                port = first.rpartition(":")[2].strip("/")
                try:
                    found = await fetch(self.client, first, (f"127.0.0.1:{port}",), 1)
                except ToolError:
                    pass
                else:  # it led back to where it came from, as what is not absolute does
                    self.assertEqual(found.status, 302)
                self.assertEqual(self.hits, 0)

    async def test_a_name_is_asked_for_once(self) -> None:
        """The connection goes to the address that was judged, whatever the name says next."""
        for name in ("rebinding.test", "rebinding-later.test"):
            self.asked.clear()
            with self.subTest(name):
                with self.assertRaisesRegex(ClientError, "cannot be reached|could not be reached"):
                    url = f"http://{name}:{self.port}/"
                    await self.client.request("GET", url, timeouts=quick(), public_only=True)
                self.assertEqual(self.asked, [name])
        self.assertEqual(self.hits, 0)

    async def test_a_proxy_is_told_the_address_too(self) -> None:
        told: list[bytes] = []

        async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            told.append(await reader.readline())
            writer.write(b"HTTP/1.1 403 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(proxy, "127.0.0.1", 0)
        self.addCleanup(server.close)
        port = server.sockets[0].getsockname()[1]
        env = {"http_proxy": f"http://127.0.0.1:{port}"}
        client = Client(env, resolve=self.resolve)
        self.addAsyncCleanup(client.close)
        for name in ("rebinding.test", "trap.test", "mixed.test"):
            with self.subTest(name), self.assertRaises(ClientError):
                await client.request("GET", f"http://{name}/", timeouts=quick(), public_only=True)
        self.assertEqual(told, [b"CONNECT [3000::1]:80 HTTP/1.1\r\n"])


class Sockets(unittest.TestCase):
    def test_what_the_system_takes_for_addresses(self) -> None:
        """The forms that matter are those that the system's own resolver reads as loopback."""
        read = {
            socket.getaddrinfo(host, 80, type=socket.SOCK_STREAM)[0][4][0]
            for host in ("127.1", "0x7f.1", "2130706433", "0177.0.0.1")
        }
        self.assertEqual(read, {"127.0.0.1"})


if __name__ == "__main__":
    unittest.main()
