"""One server as a peer: when it is opened again, when its tools are asked for again, and by a clock
that the test sets. Real servers are in test_mcp.py."""

from __future__ import annotations

import asyncio
import unittest
from collections.abc import Mapping
from typing import Any

from server.extensions.mcp.inbox import Inbox
from server.extensions.mcp.peer import (
    BACKOFF_S,
    FRESH_S,
    MAX_PAGES,
    LinkError,
    Peer,
    RpcError,
)
from server.json_types import Json

from ...tooling import patience


class Link:
    """Answers at once, as `answers` says by method."""

    def __init__(self, **answers: Any) -> None:
        self.modern, self.version, self.inbox = True, "", Inbox("a")
        self.alive, self.last_words = False, ""
        self.starts = self.aborts = 0
        self.asked: list[str] = []
        self.answers: Any = {
            "server/discover": {"supportedVersions": ["2026-07-28"]},
            "tools/list": {"tools": [{"name": "a"}]},
            "tools/call": {"content": []},
            "initialize": {"protocolVersion": "2025-11-25"},
        } | {name.replace("_", "/"): answer for name, answer in answers.items()}

    async def restart(self) -> None:
        self.starts += 1
        self.alive = True

    def abort(self) -> None:
        self.aborts += 1
        self.alive = False

    async def close(self) -> None:
        self.alive = False

    async def send(self, message: Json) -> None:
        self.asked.append(message["method"])

    async def listen(self) -> None:
        self.asked.append("listen")

    async def request(self, message: Json, headers: Mapping[str, str] | None = None) -> Json:
        self.asked.append(message["method"])
        answer = self.answers[message["method"]]
        if callable(answer):
            answer = answer(message.get("params"))
        if isinstance(answer, Exception):
            self.alive = False
            raise answer
        return {"id": message["id"], "result": answer}


class Case(unittest.IsolatedAsyncioTestCase):
    now = 1000.0

    def peer(self, link: Link, era: str = "modern") -> Peer:
        return Peer(link, era, 5, clock=lambda: self.now)


class Opened(Case):
    async def test_each_failure_in_a_row_waits_longer(self) -> None:
        link = Link(tools_call=LinkError("it died"))
        peer = self.peer(link)
        for count, delay in enumerate((*BACKOFF_S, BACKOFF_S[-1]), 1):
            with self.assertRaisesRegex(LinkError, "it died"):
                await peer.ask("tools/call", {})
            self.assertEqual((link.starts, link.aborts), (count, count))
            if delay:
                self.now += delay - 0.1
                with self.assertRaisesRegex(LinkError, f"failed {count} times in a row"):
                    await peer.ask("tools/call", {})
                self.assertEqual(link.starts, count)
                self.now += 0.1
        link.answers["tools/call"] = {"content": []}
        self.assertEqual(await peer.ask("tools/call", {}), {"content": []})
        link.answers["tools/call"] = LinkError("again")
        for _ in range(2):  # an answer makes good for everything: the first failure costs no wait
            with self.assertRaisesRegex(LinkError, "again"):
                await peer.ask("tools/call", {})

    async def test_an_error_is_an_answer(self) -> None:
        link = Link(tools_call=None)
        peer = self.peer(link)
        for _ in range(5):
            with self.assertRaises(LinkError):
                await peer.ask("tools/call", {})  # "an answer without a result", and yet alive
        self.assertEqual(link.starts, 1)

    async def test_a_version_that_is_unknown(self) -> None:
        link = Link(initialize={"protocolVersion": "1999-01-01"})
        peer = self.peer(link, "legacy")
        with self.assertRaisesRegex(LinkError, "1999-01-01"):
            await peer.entries("tools")
        self.assertEqual(link.aborts, 1)

    async def test_one_that_stays_silent_is_not_asked_what_it_is_each_time(self) -> None:
        """It may be the question that it cannot bear."""

        class Silent(Link):
            async def request(self, message: Json, headers: Any = None) -> Json:
                if self.starts < 2:
                    self.asked.append(message["method"])
                    await asyncio.get_running_loop().create_future()
                return await super().request(message, headers)

        link = Silent()
        peer = Peer(link, "", 0.01)
        given_up = asyncio.create_task(peer.entries("tools"))
        async with asyncio.timeout(patience.seconds(10)):
            while len(link.asked) < 2:
                await asyncio.sleep(0)
        given_up.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await given_up
        self.assertEqual(link.asked, ["server/discover", "initialize"])
        link.asked.clear()
        await peer.entries("tools")
        self.assertEqual(
            link.asked, ["initialize", "notifications/initialized", "listen", "tools/list"]
        )
        self.assertEqual((peer.era, link.starts), ("legacy", 2))

    async def test_a_modern_one_that_was_slow_once_stays_a_modern_one(self) -> None:
        class Slow(Link):
            async def request(self, message: Json, headers: Any = None) -> Json:
                if message["method"] == "server/discover":
                    while "initialize" not in self.asked:
                        await asyncio.sleep(0)
                elif message["method"] == "initialize" and self.starts < 2:
                    self.asked.append("initialize")
                    await asyncio.get_running_loop().create_future()
                return await super().request(message, headers)

        link = Slow()
        peer = Peer(link, "", 0.01)
        await peer.entries("tools")
        self.assertEqual((peer.era, link.modern), ("modern", True))
        link.alive = False
        link.asked.clear()
        await peer.ask("tools/call", {})
        self.assertEqual((link.asked, link.modern), (["tools/call"], True))


class Listed(Case):
    async def test_when_it_is_due_again(self) -> None:
        for era, ttl_ms, seconds in (
            ("modern", None, FRESH_S),
            ("modern", 0, FRESH_S),
            ("modern", 5_000, FRESH_S),
            ("modern", 90_000, 90.0),
            ("modern", "soon", FRESH_S),
            ("modern", True, FRESH_S),
            ("modern", float("nan"), FRESH_S),
            ("modern", -1, FRESH_S),
            ("legacy", 1_000, None),
        ):
            with self.subTest(era=era, ttl_ms=ttl_ms):
                link = Link(tools_list={"tools": [], "ttlMs": ttl_ms})
                peer = self.peer(link, era)
                self.assertTrue(peer.is_due(), "never listed")
                await peer.entries("tools")
                self.assertFalse(peer.is_due())
                link.inbox.changed.add("tools")
                self.assertTrue(peer.is_due(), "it said so")
                await peer.entries("tools")
                self.now += (seconds or 1e9) - 1
                self.assertFalse(peer.is_due())
                self.now += 1
                self.assertEqual(peer.is_due(), seconds is not None)

    async def test_not_while_it_is_left_alone(self) -> None:
        link = Link(tools_list=LinkError("no"))
        peer = self.peer(link)
        for _ in range(3):
            with self.assertRaisesRegex(LinkError, "no"):
                await peer.entries("tools")
            self.now += FRESH_S
        link.inbox.changed.add("tools")
        self.assertTrue(peer.is_due())
        with self.assertRaises(LinkError):
            await peer.entries("tools")
        link.inbox.changed.add("tools")
        self.assertFalse(peer.is_due())

    async def test_pages(self) -> None:
        def page(params: Json) -> Json:
            number = int(params.get("cursor", "0"))
            return {"tools": [{"name": f"t{number}"}], "nextCursor": str(number + 1)}

        self.assertEqual(len(await self.peer(Link(tools_list=page)).entries("tools")), MAX_PAGES)
        circle = Link(tools_list={"tools": [], "nextCursor": "x"})
        with self.assertRaisesRegex(LinkError, "circle"):
            await self.peer(circle).entries("tools")
        large = Link(
            tools_list=lambda params: {
                "tools": [{"name": "x" * 6_000_000}],
                "nextCursor": params.get("cursor", "") + "1",
            }
        )
        bad_pages: list[Any] = [
            ("more than 16777216 characters", large),
            ("circle", Link(tools_list={"tools": [{"name": "a"}], "nextCursor": "x"})),
            ("no list", Link(tools_list=lambda p: PAGES[len(p.get("cursor", ""))])),
            ("Method not found", Link(tools_list=_one_page)),
        ]
        for why, link in bad_pages:
            with self.subTest(why):
                peer = self.peer(link)
                self.assertEqual(len(await peer.entries("tools")) > 0, True)
                self.assertRegex(peer.cut["tools"], f"what follows page [12] of .*{why}")
        odd: list[Any] = [{}, {"tools": None}, {"tools": {}}, {"tools": "x"}]
        for answer in odd:
            with self.subTest(answer), self.assertRaisesRegex(LinkError, "no list"):
                await self.peer(Link(tools_list=answer)).entries("tools")

    async def test_a_server_without_tools_says_so(self) -> None:
        link = Link()
        link.request = _refuses  # type: ignore[method-assign]
        with self.assertRaisesRegex(RpcError, "Method not found"):
            await self.peer(link).entries("tools")


PAGES: list[Json] = [{"tools": [{"name": "a"}], "nextCursor": "x"}, {"tools": 5}]


def _one_page(params: Json) -> Json:
    if "cursor" in params:
        raise RpcError({"code": -32601, "message": "Method not found"})
    return PAGES[0]


async def _refuses(message: Json, headers: Any = None) -> Json:
    return {"id": message["id"], "error": {"code": -32601, "message": "Method not found"}}


if __name__ == "__main__":
    unittest.main()
