"""Codes of links: good once, for minutes, whoever asks; and the two routes."""

from __future__ import annotations

import json
import multiprocessing
import tempfile
import unittest
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from server.api.auth import Keys
from server.api.router import Router
from server.api.sign_in import SignInLinks
from server.api.sign_in_codes import FOLDER, LIFETIME_S, MOST, SignInCodes
from server.errors import Problem

from ..tooling import patience
from . import fakes
from .fakes import TYPE, nothing

KEY = "Schlüssel-of-the-owner-0123456789"


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.now = 1_000_000.0
        self.codes = SignInCodes(self.home, clock=lambda: self.now)

    def refused(self, code: str, codes: SignInCodes | None = None) -> None:
        with self.assertRaises(Problem) as caught:
            (codes or self.codes).redeem(code)
        self.assertEqual((caught.exception.code, caught.exception.status), ("link_expired", 410))
        self.assertIn("python3 -m server link", caught.exception.detail)


def race(home: str, codes: list[str], barrier: Barrier, results: Any) -> None:
    """Redeem each code at the same moment as other processes."""
    here, won = SignInCodes(Path(home)), []
    for code in codes:
        barrier.wait()
        try:
            won.append(here.redeem(code) and code)
        except Problem:
            won.append("")
    results.put(won)


class Codes(Case):
    def test_a_code_is_good_once(self) -> None:
        code, other = self.codes.make(KEY), self.codes.make("another")
        self.assertEqual(self.codes.redeem(code), KEY)
        self.refused(code)
        self.assertEqual(SignInCodes(self.home, clock=lambda: self.now).redeem(other), "another")

    def test_for_ten_minutes(self) -> None:
        for after, good in ((LIFETIME_S - 1, True), (LIFETIME_S, False), (1e9, False)):
            with self.subTest(after=after):
                self.now = 1_000_000.0
                code = self.codes.make(KEY)
                self.now += after
                if good:
                    self.assertEqual(self.codes.redeem(code), KEY)
                else:
                    self.refused(code)
                    self.now = 1_000_000.0
                    self.refused(code)  # and none that comes back with the clock

    def test_wrong_ones(self) -> None:
        good = self.codes.make(KEY)
        (file,) = (self.home / FOLDER).iterdir()
        for code in (
            "",
            "x",
            good[:-1],
            good + "x",
            "../key",
            file.name,
            "\ud800",
            "\0",
            "ä" * 200,
        ):
            with self.subTest(code=code):
                self.refused(code)
        for content in (b"", b"{", b"[]", b'{"expires": "x", "key": "00"}', b'{"expires": 9e9}'):
            with self.subTest(content=content):
                file.write_bytes(content)
                self.refused(good)
        self.refused(good, SignInCodes(self.home / "none"))

    def test_the_folder_holds_neither_the_code_nor_the_key(self) -> None:
        code = self.codes.make(KEY)
        (file,) = (self.home / FOLDER).iterdir()
        text = file.name + file.read_text()
        for secret in (code, KEY, KEY.encode().hex()):
            self.assertNotIn(secret, text)
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        self.assertEqual(file.parent.stat().st_mode & 0o777, 0o700)

    def test_a_clock_that_was_wrong(self) -> None:
        """One that is set back a year makes no code good for long, and locks nobody out."""
        late = 1_000_000.0 + 365 * 86_400
        self.now = late
        codes = [self.codes.make(KEY) for _ in range(3)]
        self.now = 1_000_000.0
        self.refused(codes[0])
        self.assertEqual(self.codes.redeem(self.codes.make(KEY, most=2)), KEY)
        self.now = late
        self.refused(codes[1])

    def test_of_many_workers_exactly_one_wins(self) -> None:
        codes = [SignInCodes(self.home).make(KEY) for _ in range(50)]
        context = multiprocessing.get_context("spawn")
        barrier, results = context.Barrier(4), context.Queue()
        arguments = (str(self.home), codes, barrier, results)
        workers = [context.Process(target=race, args=arguments) for _ in range(4)]
        for worker in workers:
            worker.start()
        won = [results.get(timeout=patience.seconds(60)) for _ in workers]
        for worker in workers:
            worker.join()
        for place, code in enumerate(codes):
            self.assertEqual([each[place] for each in won if each[place]], [code])

    def test_what_is_never_used_does_not_pile_up(self) -> None:
        for _ in range(3):
            self.codes.make(KEY, most=3)
        with self.assertRaises(Problem) as caught:
            self.codes.make(KEY, most=3)
        self.assertEqual(caught.exception.code, "rate_limited")
        self.codes.make(KEY)  # the terminal always gets one
        self.now = 1e12
        self.assertEqual(self.codes.sweep(), 0)
        self.assertEqual(list((self.home / FOLDER).iterdir()), [])


class Routes(Case):
    def setUp(self) -> None:
        super().setUp()
        self.begin(Keys([{"name": "ann", "key": "a" * 20}, {"name": "bob", "key": "b" * 20}]))

    def begin(self, keys: Keys) -> None:
        self.router = Router(SignInLinks(self.home, keys).routes(), nothing, keys)

    async def ask(self, path: str, body: Any, key: str = "") -> fakes.Call:
        fields = {**TYPE, **({"Authorization": f"Bearer {key * 20}"} if key else {})}
        call = fakes.Call("POST", path, fields, json.dumps(body).encode())
        await self.router(call.exchange)
        return call

    async def test_from_a_key_to_a_link_and_back(self) -> None:
        made = await self.ask("/sign-in/link", {}, "b")
        self.assertEqual((made.status, made.json["expires_s"]), (201, 600))
        code = made.json["link"].removeprefix("/#code=")
        self.assertNotIn("b" * 20, str(made.json))
        got = await self.ask("/sign-in", {"code": code})
        self.assertEqual((got.status, got.json), (200, {"key": "b" * 20, "name": "bob"}))
        again = await self.ask("/sign-in", {"code": code})
        self.assertEqual((again.status, again.json["code"]), (410, "link_expired"))

    async def test_who_may_make_one(self) -> None:
        for key, status in (("", 401), ("x", 401), ("a", 201)):
            self.assertEqual((await self.ask("/sign-in/link", {}, key)).status, status)
        for _ in range(MOST - 1):
            SignInCodes(self.home).make(KEY)
        full = await self.ask("/sign-in/link", {}, "a")
        self.assertEqual((full.status, full.json["code"]), (429, "rate_limited"))

    async def test_a_key_that_is_no_more(self) -> None:
        code = SignInCodes(self.home).make("c" * 20)
        self.assertEqual((await self.ask("/sign-in", {"code": code})).json["code"], "link_expired")

    async def test_bodies(self) -> None:
        for body in ({}, {"code": 1}, {"code": ""}, {"code": "x" * 201}, {"code": "x", "y": 1}):
            with self.subTest(body=body):
                self.assertEqual((await self.ask("/sign-in", body)).status, 400)
        for body in ({"code": "x\ud800"}, {"code": "../../key"}):
            self.assertIn((await self.ask("/sign-in", body)).status, (400, 410))

    async def test_a_server_without_keys(self) -> None:
        self.begin(Keys([], required=False))
        made = await self.ask("/sign-in/link", {})
        self.assertEqual((made.status, made.json["code"]), (422, "request_invalid"))


if __name__ == "__main__":
    unittest.main()
