"""Changes with an `Idempotency-Key`: made once, answered as often as they are sent."""

from __future__ import annotations

import asyncio
import json
import unittest
from typing import Any

from server.api.auth import Keys
from server.api.idempotency import KEPT_S, MAX_KEY, MOST, MOST_BYTES, Repeats
from server.api.router import RequestContext, Route, Router
from server.errors import Problem

from . import fakes
from .fakes import nothing

KEYS = [{"name": name, "key": name * 20} for name in ("a", "b")]


class Case(unittest.IsolatedAsyncioTestCase):
    """A server whose only change counts how often it was made."""

    def setUp(self) -> None:
        self.now, self.made = 0.0, 0
        self.refusal: Exception | None = None
        self.size, self.status = 0, 200
        self.wait, self.begun = asyncio.Event(), asyncio.Event()
        self.wait.set()
        repeats = Repeats(lambda: self.now)
        paths = (("PUT", "/thing"), ("DELETE", "/thing"), ("GET", "/thing"))
        self.router = Router(
            repeats.wrap(dict.fromkeys(paths, Route(self.change))), nothing, Keys(KEYS)
        )

    async def change(self, call: RequestContext) -> None:
        self.begun.set()
        await self.wait.wait()
        if self.refusal:
            raise self.refusal
        self.made += 1
        await call.json({"made": self.made, "more": "x" * self.size}, status=self.status)

    def call(self, key: str | None = "k", **other: Any) -> fakes.Call:
        given = {"method": "PUT", "path": "/thing", "who": "a", "body": b"1", "piece": ""} | other
        fields = {"Authorization": f"Bearer {given['who'] * 20}"}
        fields |= {} if key is None else {"Idempotency-Key": key}
        fields |= {"Content-Range": given["piece"]} if given["piece"] else {}
        return fakes.Call(given["method"], given["path"], fields, given["body"])

    async def ask(self, key: str | None = "k", **other: Any) -> Any:
        call = self.call(key, **other)
        await self.router(call.exchange)
        return call


class Repeated(Case):
    async def test_the_same_request_has_the_same_answer(self) -> None:
        self.status = 201
        first, second = await self.ask(), await self.ask()
        self.assertEqual((self.made, first.answer, first.status), (1, second.answer, second.status))
        marks = [each.headers.get("idempotent-replayed") for each in (first, second)]
        self.assertEqual(marks, [None, "true"])

    async def test_what_is_another_request(self) -> None:
        await self.ask()
        others: list[tuple[str | None, dict[str, Any]]] = [
            *(("other", {}), (None, {}), (None, {}), ("k", {"body": b"2"})),
            *(("k", {"who": "b"}), ("k", {"method": "DELETE"}), ("k", {"path": "/thing?x=1"})),
            *(("k", {"piece": "bytes 0-0/2"}), ("k", {"method": "GET"}), ("k", {"method": "GET"})),
        ]
        for number, (key, other) in enumerate(others, 2):
            with self.subTest(key, **other):
                self.assertEqual((await self.ask(key, **other)).json["made"], number)

    async def test_one_that_is_under_way_is_waited_for(self) -> None:
        self.wait.clear()
        both = [asyncio.ensure_future(self.ask()) for _ in range(2)]
        await self.begun.wait()
        self.wait.set()
        self.assertEqual([each.json["made"] for each in await asyncio.gather(*both)], [1, 1])

    async def test_it_is_made_though_its_client_is_gone(self) -> None:
        self.wait.clear()
        first = asyncio.ensure_future(self.ask())
        await self.begun.wait()
        first.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await first
        self.wait.set()
        self.assertEqual((await self.ask()).json["made"], 1)
        self.assertEqual(self.made, 1)

    async def test_a_refusal_is_no_answer_for_the_next_time(self) -> None:
        self.refusal = Problem("workspace_busy", "later")
        refused = await self.ask()
        self.assertEqual((refused.status, refused.json["detail"]), (409, "later"))
        self.refusal = None
        self.assertEqual((await self.ask()).json["made"], 1)

    async def test_a_piece_is_taken_each_time(self) -> None:
        self.status = 202
        self.assertEqual([(await self.ask()).json["made"] for _ in range(2)], [1, 2])

    async def test_it_is_kept_for_minutes(self) -> None:
        await self.ask()
        self.now = KEPT_S
        self.assertEqual((await self.ask()).json["made"], 1)
        self.now = KEPT_S + 1
        self.assertEqual((await self.ask()).json["made"], 2)

    async def test_the_answers_of_one_person_are_limited(self) -> None:
        await self.ask("of b", who="b")
        for size, answers in ((0, MOST), (MOST_BYTES // 4, 3)):
            self.size = size
            for number in range(answers + 1):
                await self.ask(f"{size} {number}")
            before = self.made
            await self.ask(f"{size} {answers}")
            await self.ask("of b", who="b")
            self.assertEqual(self.made, before)
            await self.ask(f"{size} 0")
            self.assertEqual(self.made, before + 1)

    async def test_a_key_that_is_too_long(self) -> None:
        refused = await self.ask("k" * (MAX_KEY + 1))
        self.assertEqual((refused.status, self.made), (422, 0))
        self.assertIn("Idempotency-Key has 256 characters", json.loads(refused.answer)["detail"])


if __name__ == "__main__":
    unittest.main()
