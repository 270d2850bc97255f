"""Every class of bad request, over a real socket to the server as its users start it.

The table names the rule that each case breaks; what a parser alone refuses comes from the table of
test_http11. Whatever it is, the answer is JSON that a page can read and that tells nothing of us,
nothing behind it is served, and the server goes on.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import statistics
import time
import unittest
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

from ..tooling.child import Yaa
from .live import Client, soon
from .test_parser import REFUSED

MOST = 100_000  # bytes of a body here
LIMITS = {"max_request_size": MOST, "head_timeout_s": 2, "body_grace_s": 2}
CONFIG: dict[str, dict[str, Any]] = {
    "server": {"discover": False, "hosts": ["a"], "limits": LIMITS}
}
AUTH = "Authorization: Bearer KEY"
JSON = "Content-Type: application/json"
NEXT = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"


class Bad(NamedTuple):
    """What is sent, and the status of the answer. `KEY` in it becomes the server's key."""

    raw: bytes
    status: int
    closes: bool = True  # nothing behind it on this connection is served
    header: str = ""  # that the answer has


def ask(method: str, path: str, *headers: str, body: bytes = b"", host: str = "a") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def post(body: bytes, *headers: str) -> bytes:
    return ask("POST", "/session", AUTH, *(headers or (JSON,)), body=body)


def packed(body: bytes) -> bytes:
    return post(body, JSON, "Content-Encoding: gzip")


BOMB = gzip.compress(b'{"messages":[]' + b" " * 40 * MOST + b"}")
DEEP = b'{"a":' * 3000 + b"1" + b"}" * 3000
NO_QUESTION = (
    b'{"messages":[],"interrupts":[{"id":"i","reason":"tool_call","call_id":"c",'
    b'"answer":{"status":"resolved","payload":{"approved":true}}}]}'
)

# By the rules of docs/reference/http.md, in its order.
CASES: dict[str, dict[str, Bad]] = {
    "methods": {
        "TRACE is off": Bad(ask("TRACE", "/health"), 405, False, "allow"),
        "known, but not here": Bad(ask("DELETE", "/session"), 405, False, "allow"),
        "405 before the body": Bad(
            ask("PUT", "/session", "Content-Length: 90000"), 405, True, "allow"
        ),
        "unknown": Bad(ask("BREW", "/"), 501),
        "CONNECT": Bad(b"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 501),
        "nothing there": Bad(ask("POST", "/nowhere", "Content-Length: 0"), 404, False),
    },
    "framing": {
        "a chunk beyond the limit, at its size line": Bad(
            ask("POST", "/session", AUTH, JSON, "Transfer-Encoding: chunked")
            + b"F4241\r\n",
            413,
        ),
        "a length beyond the limit, before the body": Bad(
            ask("POST", "/session", AUTH, JSON, "Content-Length: 100001"),
            413,
        ),
        "a body that ends early": Bad(
            ask("POST", "/session", AUTH, JSON, "Content-Length: 999") + b"{}",
            408,
        ),
    },
    "hosts": {
        "a foreign name": Bad(ask("GET", "/health", host="evil.example"), 403, False),
        "a foreign target": Bad(ask("GET", "http://b.example/", host="b.example"), 403, False),
        "a name that ends in ours": Bad(ask("GET", "/health", host="x.a"), 403, False),
        "an address": Bad(ask("GET", "/health", host="169.254.169.254"), 403, False),
    },
    "authentication": {
        "no key": Bad(ask("GET", "/info"), 401, False, "www-authenticate"),
        "a wrong key": Bad(
            ask("GET", "/info", "Authorization: Bearer no"), 401, False, "www-authenticate"
        ),
        "a key of another scheme": Bad(
            ask("GET", "/info", "Authorization: Basic KEY"), 401, False, "www-authenticate"
        ),
        "two keys": Bad(
            ask("GET", "/info", AUTH, AUTH), 401, False
        ),
        "before the body, without 100 Continue": Bad(
            ask("POST", "/session", JSON, "Content-Length: 90000", "Expect: 100-continue"), 401
        ),
        "before what the body is": Bad(
            ask("POST", "/session", "Content-Type: text/plain", "Content-Length: 90000"), 401
        ),
    },
    "streams": {  # known to be good before the first byte of one is sent
        name: Bad(post(body, JSON, "Accept: text/event-stream"), status, False)
        for name, body, status in (
            ("no JSON", b"{", 400),
            ("no session", b'{"messages":1}', 422),
            ("a newer one", b'{"messages":[],"version":99}', 422),
            ("an answer that fits nothing", NO_QUESTION, 422),
        )
    },
    "expectations": {
        "another one": Bad(ask("POST", "/session", "Expect: 200-ok", "Content-Length: 999"), 417),
        "415 without 100 Continue": Bad(
            ask("POST", "/session", AUTH, "Content-Type: text/plain",
                "Expect: 100-continue", "Content-Length: 90000"), 415,
        ),
        "413 without 100 Continue": Bad(
            ask("POST", "/session", AUTH, JSON, "Expect: 100-continue", "Content-Length: 100001"),
            413,
        ),
    },
    "content": {
        "text": Bad(post(b"{}", "Content-Type: text/plain"), 415, False),
        "a form": Bad(post(b"a=1", "Content-Type: application/x-www-form-urlencoded"), 415, False),
        "several parts": Bad(post(b"-", "Content-Type: multipart/form-data"), 415, False),
        "no type": Bad(post(b"{}", "X: y"), 415, False),
        "no UTF-8": Bad(post(b"{}", f"{JSON}; charset=gbk"), 415, False),
        "brotli": Bad(post(b"{}", JSON, "Content-Encoding: br"), 415, False),
        "a bomb": Bad(packed(BOMB), 413, False),
        "no gzip": Bad(packed(b"{}"), 400, False),
        "half a gzip": Bad(packed(gzip.compress(b"{}")[:-3]), 400, False),
        "empty": Bad(ask("POST", "/session", AUTH, JSON), 400, False),
        "not UTF-8": Bad(post(b'{"a":"\xff"}'), 400, False),
        "UTF-16": Bad(post('{"messages":[]}'.encode("utf-16")), 400, False),
        "NaN": Bad(post(b'{"a":NaN}'), 400, False),
        "a key twice": Bad(post(b'{"a":1,"a":1}'), 400, False),
        "too deep": Bad(post(DEEP), 400, False),
        "too many digits": Bad(post(b'{"a":' + b"9" * 5000 + b"}"), 400, False),
        "half a surrogate pair": Bad(post(b'{"a":"\\ud800"}'), 400, False),
        "more behind it": Bad(post(b"{} {}"), 400, False),
        "no object": Bad(post(b"[]"), 422, False),
        "no session": Bad(post(b'{"messages":1}'), 422, False),
        "no form that we have": Bad(post(b"{}", JSON, "Accept: image/png"), 406, False),
    },
    "files": {
        name: Bad(ask("GET", path), 404, False)
        for name, path in (
            ("up", "/../pyproject.toml"), ("up, encoded", "/%2e%2e/pyproject.toml"),
            ("up, half encoded", "/.%2e/pyproject.toml"), ("up, twice encoded", "/%252e%252e/x"),
            ("a slash encoded", "/..%2fpyproject.toml"), ("backslash", "/..%5cpyproject.toml"),
            ("NUL", "/index.html%00.js"), ("absolute", "//etc/passwd"), ("hidden", "/.git/config"),
            ("a folder", "/js"), ("bad escape", "/%zz"), ("not UTF-8", "/%ff"),
        )
    },
}  # fmt: skip

# What is allowed and easily mistaken: the answer, and the request behind it is served.
GOOD = {
    "Upgrade is ignored": ask("GET", "/health", "Connection: Upgrade, HTTP2-Settings",
                              "Upgrade: h2c, websocket", "HTTP2-Settings: AAA"),
    "a GET with a body leaves nothing in the pipe": ask("GET", "/health", body=NEXT),
    "a preflight needs no key": ask("OPTIONS", "/session", "Origin: null",
                                    "Access-Control-Request-Method: POST"),
}  # fmt: skip


class Refusals(unittest.IsolatedAsyncioTestCase):
    yaa: Yaa

    @classmethod
    def setUpClass(cls) -> None:
        cls.yaa = cls.enterClassContext(Yaa(CONFIG))

    async def refused(self, bad: Bad) -> None:
        raw = bad.raw.replace(b"KEY", self.yaa.key.encode())
        async with talking(self.yaa) as client:
            await client.send(raw)
            if bad.closes:
                await quietly(client, NEXT)
            answer, body = await client.answer()
            self.assertEqual(answer.status, bad.status, body)
            if bad.header:
                self.assertIn(bad.header, answer.headers)
            told = json.loads(body)
            self.assertEqual(told["status"], bad.status)
            self.assertTrue(told["code"] and told["detail"] and told["error"]["message"])
            for word in (b"Traceback", b"/server/", b".py", self.yaa.key.encode()):
                self.assertNotIn(word, body)
            headers = answer.headers
            self.assertEqual(headers["access-control-allow-origin"], "*")
            self.assertEqual(headers["cache-control"], "no-store")
            self.assertEqual(headers["x-content-type-options"], "nosniff")
            self.assertEqual(headers["referrer-policy"], "no-referrer")
            self.assertEqual(headers["server"], "yaa")
            self.assertTrue(headers["x-request-id"])
            if bad.closes:
                self.assertEqual(headers["connection"], "close")
                self.assertTrue(await client.closed(), "something behind it was answered")
            else:
                await self.served(client)

    async def served(self, client: Client) -> None:
        self.assertEqual((await client.ask(ask("GET", "/health")))[0].status, 200)

    async def test_whatever_a_parser_refuses(self) -> None:
        key = f"Authorization: Bearer KEY\r\n{JSON}\r\n".encode()
        for name, (raw, status) in REFUSED.items():
            with self.subTest(name):
                first, host, rest = raw.partition(b"Host: a\r\n")
                await self.refused(Bad(first + (host and host + key) + rest, status))

    async def test_by_rule(self) -> None:
        for rule, cases in CASES.items():
            for name, bad in cases.items():
                with self.subTest(rule, case=name):
                    await self.refused(bad)

    async def test_what_is_allowed(self) -> None:
        for name, raw in GOOD.items():
            async with talking(self.yaa) as client:
                with self.subTest(name):
                    answer, _ = await client.ask(raw)
                    self.assertIn(answer.status, (200, 204))
                    await self.served(client)

    async def test_head_is_get_without_its_body(self) -> None:
        for path in ("/health", "/info", "/", "/nothing.js"):
            found = []
            for method in ("GET", "HEAD"):
                async with talking(self.yaa) as client:
                    answer, body = await client.ask(ask(method, path), method)
                    headers = answer.headers | {"date": "", "x-request-id": ""}
                    found.append((answer.status, headers, bool(body)))
            with self.subTest(path):
                self.assertEqual(found, [(*found[0][:2], True), (*found[0][:2], False)])


HALVES = {
    "a head that drips": b"GET /health HTTP/1.1\r\nX: ",
    "a head that stops": b"POST /session HTTP/1.1\r\nHost: a\r\n",
    "a body that drips": b"",
    "chunks that drip": b"",
    "nothing at all": b"",
}
SLOW, ASKED = 300, 41


class SlowLoris(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.attacked, self.quiet = self.enterContext(Yaa(CONFIG)), self.enterContext(Yaa(CONFIG))

    async def test_nobody_else_waits_and_all_are_ended(self) -> None:
        """A server with hundreds of half requests and one without, asked in turns."""
        async with AsyncExitStack() as stack:
            slow = [await stack.enter_async_context(talking(self.attacked)) for _ in range(SLOW)]
            for number, client in enumerate(slow):
                await client.send(half(number, self.attacked.key))
            dripping = asyncio.create_task(drip(slow))
            waits: tuple[list[float], list[float]] = [], []
            for _ in range(ASKED):
                for yaa, found in zip((self.attacked, self.quiet), waits, strict=True):
                    found.append(await self.waited(yaa))
            ratio = statistics.median(waits[0]) / statistics.median(waits[1])
            self.assertLess(ratio, 5, f"the others wait {ratio:.1f} times as long")
            ends: dict[str, set[bytes]] = {name: set() for name in HALVES}
            for number, client in enumerate(slow):
                ends[list(HALVES)[number % len(HALVES)]].add(await ended(client))
            self.assertEqual(ends["nothing at all"], {b""})
            self.assertIn(b"HTTP/1.1 408 ", ends["a head that stops"])
            # Who still sends may miss it, and who was not read in time has said nothing.
            self.assertLessEqual(set().union(*ends.values()), {b"HTTP/1.1 408 ", b""})
            dripping.cancel()
        await self.waited(self.attacked)

    async def waited(self, yaa: Yaa) -> float:
        async with talking(yaa) as healthy:
            began = time.perf_counter()
            answer, _ = await healthy.ask(ask("GET", "/health"))
            self.assertEqual(answer.status, 200)
            return time.perf_counter() - began


class Overload(unittest.IsolatedAsyncioTestCase):
    """Too much of something is said at once, with the time to wait."""

    yaa: Yaa

    @classmethod
    def setUpClass(cls) -> None:
        limits = {"max_connections": 4, "head_timeout_s": 30, "rate_limit": "8/1h"}
        config = {"server": {**CONFIG["server"], "limits": limits}}
        cls.yaa = cls.enterClassContext(Yaa(config))

    async def test_connections(self) -> None:
        async with AsyncExitStack() as stack:
            held = [await stack.enter_async_context(talking(self.yaa)) for _ in range(4)]
            for client in held:  # the body is waited for
                header = AUTH.replace("KEY", self.yaa.key)
                waits = ("Content-Length: 9", "Expect: 100-continue")
                await client.send(ask("POST", "/session", header, JSON, *waits))
                while b" 100 " not in client.buffer.data:  # it may come in pieces
                    self.assertTrue(await client.more())
            async with talking(self.yaa) as late:
                await late.send(ask("GET", "/info"))
                await self.told_to_wait(late, 503)
                self.assertTrue(await late.closed())
            async with talking(self.yaa) as late:
                self.assertEqual((await late.ask(ask("GET", "/health")))[0].status, 200)

    async def test_requests(self) -> None:
        raw = ask("GET", "/info", AUTH.replace("KEY", self.yaa.key))
        async with talking(self.yaa) as client:
            asked = 0
            while (await client.ask(raw))[0].status == 200:
                asked += 1
            self.assertLessEqual(asked, 8)
            await client.send(raw)
            await self.told_to_wait(client, 429)
            self.assertEqual((await client.ask(ask("GET", "/health")))[0].status, 200)

    async def told_to_wait(self, client: Client, status: int) -> None:
        answer, body = await client.answer()
        self.assertEqual(answer.status, status, body)
        self.assertGreater(int(answer.headers["retry-after"]), 0)
        self.assertEqual(answer.headers["access-control-allow-origin"], "*")
        self.assertEqual(json.loads(body)["status"], status)


def half(number: int, key: str) -> bytes:
    name = list(HALVES)[number % len(HALVES)]
    headers = [f"Authorization: Bearer {key}", JSON]
    if name == "a body that drips":
        return ask("POST", "/session", *headers, "Content-Length: 90000")
    if name == "chunks that drip":
        return ask("POST", "/session", *headers, "Transfer-Encoding: chunked")
    return HALVES[name]


async def drip(slow: list[Client]) -> None:
    while True:
        for number, client in enumerate(slow):
            if "drip" in list(HALVES)[number % len(HALVES)] and not client.writer.is_closing():
                client.writer.write(b"1")
        await asyncio.sleep(0.1)


async def ended(client: Client) -> bytes:
    """How the answer begins with which a connection is closed; nothing if that was without one."""
    data = b""
    try:
        while more := await soon(client.reader.read(1 << 16)):
            data += more
    except ConnectionError:
        pass  # it was still sending
    return data[:13]


async def quietly(client: Client, data: bytes) -> None:
    """Sends to somebody who may have gone."""
    try:
        await client.send(data)
    except ConnectionError:
        pass


@asynccontextmanager
async def talking(yaa: Yaa) -> AsyncIterator[Client]:
    host, _, port = yaa.url.removeprefix("http://").partition(":")
    client = Client(*await soon(asyncio.open_connection(host, int(port))))
    try:
        yield client
    finally:
        try:
            await client.close()
        except ConnectionError:
            pass


if __name__ == "__main__":
    unittest.main()
