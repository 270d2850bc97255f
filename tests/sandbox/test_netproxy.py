"""The filtering proxy: what it reads, what it refuses, and the whole way out of a sandbox."""

from __future__ import annotations

import asyncio
import shutil
import socket
import threading
import unittest
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from server.lib.sandbox import netproxy
from server.lib.sandbox.netproxy import NetProxy, ProxyRefusal, parse_head
from server.lib.sandbox.network_policy import NetworkPolicy
from server.lib.sandbox.policy import PROXY_PORT
from server.tools.runner import Job, Outcome

from ..tooling import patience
from ..tools.test_runner import LIMITS, SHELL, Case
from .test_tiers import OPTIONS

WAIT_S = 10


class Heads(unittest.TestCase):
    def test_what_is_read(self) -> None:
        for line, host, port, start in (
            (b"CONNECT a.org:443 HTTP/1.1", "a.org", 443, b""),
            (b"CONNECT A.Org.:443 HTTP/1.0", "a.org", 443, b""),
            (b"CONNECT [::1]:443 HTTP/1.1", "::1", 443, b""),
            (b"GET http://a.org HTTP/1.1", "a.org", 80, b"GET / HTTP/1.1\r\nHost: a.org\r\n"),
            (
                b"GET HTTP://a.org:81/x?y HTTP/1.1",
                "a.org",
                81,
                b"GET /x?y HTTP/1.1\r\nHost: a.org:81",
            ),
            (b"PUT http://[::1]/ HTTP/1.1", "::1", 80, b"PUT / HTTP/1.1\r\nHost: [::1]\r\n"),
        ):
            with self.subTest(line):
                fields = (
                    b"Host: evil\r\nX: y\r\nProxy-Authorization: secret\r\nConnection: x\r\n\r\n"
                )
                found = parse_head(line + b"\r\n" + fields)
                self.assertEqual((found.host, found.port), (host, port))
                self.assertTrue(found.head.startswith(start), found.head)
                self.assertNotIn(b"evil", found.head)
                self.assertNotIn(b"secret", found.head)
                if start:
                    self.assertIn(b"\r\nX: y\r\n\r\n", found.head)

    def test_what_is_refused(self) -> None:
        for head in (
            b"GET / HTTP/1.1\r\nHost: a.org\r\n\r\n",
            b"GET ftp://a.org/ HTTP/1.1\r\n\r\n",
            b"GET https://a.org/ HTTP/1.1\r\n\r\n",
            b"CONNECT a.org HTTP/1.1\r\n\r\n",
            b"CONNECT a.org:0 HTTP/1.1\r\n\r\n",
            b"CONNECT a.org:65536 HTTP/1.1\r\n\r\n",
            b"CONNECT a.org:443\0.b.org:443 HTTP/1.1\r\n\r\n",
            b"CONNECT a\0.org:443 HTTP/1.1\r\n\r\n",
            b"CONNECT evil.net\0.a.org:443 HTTP/1.1\r\n\r\n",
            b"CONNECT evil.net%00.a.org:443 HTTP/1.1\r\n\r\n",
            b"CONNECT x@a.org:443 HTTP/1.1\r\n\r\n",
            b"CONNECT a.org#b:443 HTTP/1.1\r\n\r\n",
            b"CONNECT a.org\\b:443 HTTP/1.1\r\n\r\n",
            b"CONNECT \xc3\xa9.org:443 HTTP/1.1\r\n\r\n",
            b"CONNECT a.org:443 HTTP/2.0\r\n\r\n",
            b"CONNECT [fe80::1%25eth0]:443 HTTP/1.1\r\n\r\n",
            b"GET http://u:p@a.org/ HTTP/1.1\r\n\r\n",
            b"GET http://a.org@evil.net/ HTTP/1.1\r\n\r\n",
            b"GET http://a.org\\@evil.net/ HTTP/1.1\r\n\r\n",
            b"GET http://a.org/a b HTTP/1.1\r\n\r\n",
            b"GET http://a.org/\0 HTTP/1.1\r\n\r\n",
            b"GET http://a.org/ HTTP/1.1\r\nX: a\0b\r\n\r\n",
            b"GET http://a.org/ HTTP/1.1\r\nX: a\rHost: b\r\n\r\n",
            b"GET http://a.org/ HTTP/1.1\r\nX: a\nHost: b\r\n\r\n",
            b"GET http://a.org/ HTTP/1.1\r\n folded\r\n\r\n",
            b"GET http://a.org/ HTTP/1.1\r\nX : y\r\n\r\n",
            b"GET http:///x HTTP/1.1\r\n\r\n",
            b"\r\n\r\n",
        ):
            with self.subTest(head), self.assertRaises(ProxyRefusal):
                parse_head(head)


class Resolver:
    """Names as it is told, each answer once: the next one differs (rebinding)."""

    def __init__(self, answers: dict[str, list[list[str]]]) -> None:
        self.answers, self.asked = answers, list[str]()

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        if not self.answers.get(host):
            raise OSError("no such name")
        return self.answers[host].pop(0)


class Site(BaseHTTPRequestHandler):
    """Says what it was asked; /away redirects."""

    def do_GET(self) -> None:
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", "http://other.test/")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = f"{self.path} of {self.headers['Host']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class WithSite(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.site = ThreadingHTTPServer(("127.0.0.1", 0), Site)
        self.port = self.site.server_port
        thread = threading.Thread(target=self.site.serve_forever)
        thread.start()
        self.addCleanup(self.site.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(self.site.shutdown)


class Proxy(WithSite):
    @asynccontextmanager
    async def proxy(self, *hosts: str, **names: list[list[str]]) -> AsyncIterator[NetProxy]:
        listener = socket.create_server(("127.0.0.1", 0))
        self.gate = listener.getsockname()[1]
        listener.setblocking(False)
        self.resolver = Resolver({name.replace("_", "."): found for name, found in names.items()})
        proxy = NetProxy(
            listener, NetworkPolicy("proxy", hosts, (self.port, 80, 443)), self.resolver
        )
        await proxy.open()
        try:
            yield proxy
        finally:
            proxy.close()

    async def say(self, data: bytes) -> bytes:
        async with asyncio.timeout(patience.seconds(WAIT_S)):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.gate)
            try:
                writer.write(data)
                return await reader.read()
            finally:
                writer.close()

    async def test_a_listed_host(self) -> None:
        place = f"site.test:{self.port}"
        async with self.proxy(place, site_test=[["127.0.0.1"], ["127.0.0.1"]]) as proxy:
            got = await self.say(f"GET http://{place}/x HTTP/1.1\r\nHost: y\r\n\r\n".encode())
            self.assertIn(f"/x of {place}".encode(), got)
            inside = b"GET /in HTTP/1.0\r\nHost: in\r\n\r\n"
            got = await self.say(f"CONNECT {place} HTTP/1.1\r\n\r\n".encode() + inside)
            self.assertIn(b"200 Connection established", got)
            self.assertIn(b"/in of in", got)
            self.assertEqual(proxy.refused, [])

    async def test_who_is_refused(self) -> None:
        cases: list[tuple[str, int, list[str], str]] = [
            ("other.test", self.port, ["127.0.0.1"], "lets through"),
            ("site.test", 22, ["127.0.0.1"], "lets through"),
            ("127.0.0.1", self.port, ["127.0.0.1"], "lets through"),
            ("private.ok.test", self.port, ["127.0.0.1"], "not on the public internet"),
            ("mixed.ok.test", self.port, ["1.1.1.1", "127.0.0.1"], "not on the public internet"),
            ("link.ok.test", self.port, ["169.254.169.254"], "not on the public internet"),
            ("mapped.ok.test", self.port, ["::ffff:127.0.0.1"], "not on the public internet"),
            ("zone.ok.test", self.port, ["fe80::1%lo"], "not on the public internet"),
        ]
        for host, port, addresses, said in cases:
            with self.subTest(host=host):
                async with self.proxy("*.ok.test", f"site.test:{self.port}") as proxy:
                    self.resolver.answers[host] = [addresses]
                    got = await self.say(f"CONNECT {host}:{port} HTTP/1.1\r\n\r\n".encode())
                    self.assertIn(b"403 Forbidden", got)
                    self.assertIn(said.encode(), got)
                    self.assertEqual(proxy.refused, [f"{host}:{port}"])

    async def test_numbers_that_resolve_to_this_machine(self) -> None:
        """With every public host let through, and the system's own resolver."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.gate = listener.getsockname()[1]
        listener.setblocking(False)
        proxy = NetProxy(listener, NetworkPolicy("proxy", ("*",), (self.port,)))
        await proxy.open()
        self.addCleanup(proxy.close)
        for host in (
            "127.1",
            "0x7f000001",
            "2130706433",
            "017700000001",
            "0",
            "localhost",
            "[::1]",
        ):
            with self.subTest(host):
                got = await self.say(f"CONNECT {host}:{self.port} HTTP/1.1\r\n\r\n".encode())
                self.assertNotIn(b"200 Connection", got)
                self.assertRegex(got, b"403 Forbidden|502 Bad Gateway")

    async def test_a_name_is_resolved_once(self) -> None:
        """Rebinding: the second answer would be another."""
        place = f"site.test:{self.port}"
        async with self.proxy(place, site_test=[["127.0.0.1"], ["10.0.0.1"]]):
            got = await self.say(f"GET http://{place}/ HTTP/1.1\r\n\r\n".encode())
            self.assertIn(b"200 OK", got)
            self.assertEqual(self.resolver.asked, ["site.test"])

    async def test_a_redirect_is_judged_like_any_request(self) -> None:
        place = f"site.test:{self.port}"
        async with self.proxy(place, site_test=[["127.0.0.1"]], other_test=[["127.0.0.1"]]):
            got = await self.say(f"GET http://{place}/away HTTP/1.1\r\n\r\n".encode())
            self.assertIn(b"302", got)  # it is the client's to follow, and then:
            got = await self.say(b"GET http://other.test/ HTTP/1.1\r\n\r\n")
            self.assertIn(b"403 Forbidden", got)

    async def test_what_never_ends(self) -> None:
        async with self.proxy(f"site.test:{self.port}"):
            got = await self.say(b"GET http://a.test/ HTTP/1.1\r\nX: " + b"x" * 2 * netproxy.HEAD)
            self.assertIn(b"431", got[:20] or b"431 the connection was reset")

    async def test_no_more_connections_than_there_may_be(self) -> None:
        async with self.proxy() as proxy:
            held = []
            for _ in range(netproxy.MOST):
                held.append(await asyncio.open_connection("127.0.0.1", self.gate))
            while len(proxy._tasks) < netproxy.MOST:
                await asyncio.sleep(0)
            reader, writer = await asyncio.open_connection("127.0.0.1", self.gate)
            with self.assertRaises(OSError):
                async with asyncio.timeout(patience.seconds(WAIT_S)):
                    if not await reader.read(1):
                        raise ConnectionResetError
            for _, one in [*held, (reader, writer)]:
                one.close()

    async def test_closing_ends_every_connection(self) -> None:
        async with self.proxy() as proxy:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.gate)
            while not proxy._tasks:
                await asyncio.sleep(0)
        async with asyncio.timeout(patience.seconds(WAIT_S)):
            self.assertEqual(await reader.read(), b"")
        writer.close()


@unittest.skipUnless(shutil.which("curl"), "curl is not on the PATH")
class Sandboxed(WithSite, Case):
    """Calls with each network, in tier A."""

    def setUp(self) -> None:
        WithSite.setUp(self)
        Case.setUp(self)

    async def open(self, network: str, *hosts: str) -> None:
        await self.runner.open({**OPTIONS, "network": network, "hosts": hosts})
        self.addCleanup(self.runner.close)
        if self.runner.sandbox["tier"] != "A":
            self.skipTest(f"no tier A here: {self.runner.sandbox['tried']}")

    async def curl(self, *words: str, reach: NetworkPolicy | None = None) -> Outcome:
        most_s = patience.seconds(WAIT_S)
        command = f"curl -sS -m {most_s:.0f} {' '.join(words)} http://127.0.0.1:{self.port}/x"
        return await self.call(command, reach)

    async def call(self, command: str, reach: NetworkPolicy | None = None) -> Outcome:
        job = Job(SHELL, {"command": command}, "s", LIMITS, reach=reach)
        return await self.runner.run(job)

    async def test_off(self) -> None:
        await self.open("off")
        found = await self.curl()
        self.assertNotEqual(found.result["exit_code"], 0)
        self.assertEqual((found.network, found.refused), ("off", ()))

    async def test_full(self) -> None:
        await self.open("full")
        found = await self.curl("--noproxy '*'")
        self.assertEqual(found.result["output"], f"/x of 127.0.0.1:{self.port}")
        self.assertEqual(found.network, "full")
        off = await self.curl(reach=NetworkPolicy("off"))
        self.assertNotEqual(off.result["exit_code"], 0)

    async def test_proxy(self) -> None:
        place = f"127.0.0.1:{self.port}"
        await self.open("proxy", place)
        found = await self.curl()
        self.assertEqual(found.result["output"], f"/x of {place}", found)
        self.assertEqual((found.network, found.refused), ("proxy", ()))
        tunnel = await self.curl("--proxytunnel")
        self.assertEqual(tunnel.result["output"], f"/x of {place}")
        python = (
            "python3 -c 'import urllib.request as u;"
            f' print(u.urlopen("http://{place}/p").read())\''
        )
        self.assertIn("/p of", (await self.call(python)).result["output"])
        away = await self.curl("-L", f"http://{place}/away")
        self.assertIn("other.test:80", away.refused)
        refused = await self.call("curl -sS https://example.org/")
        self.assertEqual(refused.refused, ("example.org:443",))

    async def test_an_approved_host_for_one_call(self) -> None:
        await self.open("off")
        place = f"127.0.0.1:{self.port}"
        found = await self.curl(reach=NetworkPolicy("proxy", (place,)))
        self.assertEqual(found.result["output"], f"/x of {place}")
        self.assertNotEqual((await self.curl()).result["exit_code"], 0)

    async def test_nothing_gets_past_the_proxy(self) -> None:
        await self.open("proxy", f"127.0.0.1:{self.port}")
        code = f"""
import socket
def t(name, f):
    try: print(name, "CAME THROUGH", f())
    except OSError as e: print(name, "stopped")
s = lambda *a: socket.socket(*a)
t("tcp", lambda: socket.create_connection(("127.0.0.1", {self.port}), 2))
t("tcp out", lambda: socket.create_connection(("1.1.1.1", 80), 2))
t("tcp6", lambda: socket.create_connection(("::1", {self.port}), 2))
t("udp", lambda: s(2, 2).sendto(b"x", ("1.1.1.1", 53)))
t("fast open", lambda: s().sendto(b"x", 0x20000000, ("127.0.0.1", {self.port})))
t("multipath", lambda: s(2, 1, 262).connect(("127.0.0.1", {self.port})))
t("raw", lambda: s(2, 3, 1))
t("packet", lambda: s(17, 3))
t("netlink", lambda: s(16, 3, 0))
t("unix", lambda: s(1))
t("listen", lambda: socket.create_server(("127.0.0.1", 0)))
t("dns", lambda: socket.getaddrinfo("example.org", 80))
"""
        found = await self.call(f"cat > t.py <<'X'\n{code}\nX\npython3 t.py")
        lines = found.result["output"].splitlines()
        self.assertEqual(len(lines), 12, found)
        self.assertEqual([line for line in lines if not line.endswith("stopped")], [])


class Tiers(unittest.TestCase):
    def test_constants_are_ones_that_programs_know(self) -> None:
        self.assertEqual(set(netproxy.ENV.values()), {f"http://127.0.0.1:{PROXY_PORT}"})


if __name__ == "__main__":
    unittest.main()
