"""Signing in from the page: whose keys may, what the callback takes, what nobody is told."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import logging
import tempfile
import unittest
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from server.api.auth import Keys
from server.app import App, routes
from server.config import load
from server.extensions.mcp.oauth.metadata import REASONS
from server.extensions.mcp.sign_in_routes import FAILED

from ...api import fakes
from ...tools.mcp_sign_in_server import World

CALLBACK = "http://127.0.0.1:12345/mcp/callback"
TYPE = {"Content-Type": "application/json"}
ENTRIES: list[dict[str, Any]] = [
    {"name": "ann", "key": "a" * 20, "owner": True},
    {"name": "bob", "key": "b" * 20},
    {"name": "carol", "key": "c" * 20, "owner": True},
]


class SignIns(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.world = World()
        await self.world.start()
        self.addAsyncCleanup(self.world.close)
        self.home = home = Path(self.enterContext(tempfile.TemporaryDirectory()), "home")
        flags = {
            "server.discover": False,
            "server.sandbox.require": "none",
            "server.mcpServers": {"notes": {"url": self.world.url}},
        }
        self.app = await self.enterAsyncContext(App(load(home, None, {}, flags), {}))
        self.router = routes(self.app, Keys(ENTRIES))

    async def ask(self, method: str, path: str, body: Any = None, key: str = "a") -> fakes.Call:
        data = b"" if body is None else json.dumps(body).encode()
        fields = {**TYPE, "Authorization": f"Bearer {key * 20}"} if key else {}
        call = fakes.Call(method, path, fields, data)
        await self.router(call.exchange)
        return call

    async def begin(self, key: str = "a", **more: Any) -> fakes.Call:
        body = {"server": "notes", "callback": CALLBACK, **more}
        return await self.ask("POST", "/mcp/sign-in", body, key)

    async def answers(self, *begun: fakes.Call) -> list[dict[str, str]]:
        """The parameters with which the browsers come back from sign-ins that were begun."""
        urls = [each.json["url"] for each in begun]
        return [dict(parse_qsl(urlsplit(await self.world.browse(url)).query)) for url in urls]

    async def come_back(self, told: dict[str, str]) -> fakes.Call:
        return await self.ask("GET", f"/mcp/callback?{urlencode(told)}", key="")

    async def test_two_people_sign_in_at_once(self) -> None:
        """Each code is redeemed as what it was asked for as, and what is kept is of one of them."""
        told = await self.answers(*await asyncio.gather(self.begin("a"), self.begin("c")))
        self.assertNotEqual(told[0]["state"], told[1]["state"])
        codes = {each["code"]: self.world.codes[each["code"]] for each in told}
        done = await asyncio.gather(*(self.come_back(each) for each in reversed(told)))
        self.assertEqual([each.status for each in done], [200, 200])
        sent = [each.form for each in self.world.token_requests("authorization_code")]
        self.assertEqual(len({each["code_verifier"] for each in sent}), 2)
        for form in sent:
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            self.assertEqual(codes[form["code"]]["code_challenge"], proof)
            self.assertEqual(codes[form["code"]]["client_id"], form["client_id"])
        self.assertEqual(await self.states(), ["signed_in"])
        (kept,) = [json.loads(each.read_text()) for each in (self.home / "oauth").glob("*.json")]
        number = kept["access_token"].rpartition("-")[2]
        self.assertEqual(kept["refresh_token"], f"refresh-token-{number}")
        self.assertEqual(kept["client"]["id"], self.world.refreshable[kept["refresh_token"]][0])
        for each in done:
            for token in (*self.world.valid, *self.world.refreshable):
                self.assertNotIn(token, each.answer.decode())

    async def test_the_code_of_one_person_is_not_good_for_another(self) -> None:
        """Else whoever makes an owner follow a link has them use a foreign account."""
        one, two = await self.answers(await self.begin("a"), await self.begin("c"))
        self.assertEqual(len(self.world.clients), 1, "else it is refused for its client")
        for mine, theirs in ((one, two), (two, one)):
            done = await self.come_back({**mine, "code": theirs["code"]})
            self.assertEqual(done.status, 400)
        self.assertEqual((self.world.valid, await self.states()), ({}, ["needed"]))

    async def states(self) -> list[str]:
        listed = (await self.ask("GET", "/mcp/sign-ins")).json["servers"]
        return [each["state"] for each in listed]

    async def test_a_sign_in_from_the_page(self) -> None:
        self.assertEqual(await self.states(), ["needed"])
        begun = (await self.begin()).json
        self.assertEqual(begun["issuer"], self.world.issuer)
        answer = urlsplit(await self.world.browse(begun["url"]))
        self.assertEqual(f"http://{answer.netloc}{answer.path}", CALLBACK)
        done = await self.ask("GET", f"/mcp/callback?{answer.query}", key="")
        self.assertEqual(done.status, 200)
        self.assertIn(b"Signed in at the MCP server notes", done.answer)
        self.assertEqual(done.headers["content-security-policy"][:18], "default-src 'none'")
        self.assertEqual(done.headers["referrer-policy"], "no-referrer")
        self.assertEqual(await self.states(), ["signed_in"])
        for path in ("/mcp/sign-ins", "/info"):
            told = (await self.ask("GET", path)).answer.decode()
            for token in (*self.world.valid, *self.world.refreshable):
                self.assertNotIn(token, told)
        again = await self.ask("GET", f"/mcp/callback?{answer.query}", key="")
        self.assertEqual(again.status, 400, "a code is good for one use")
        gone = await self.ask("POST", "/mcp/sign-out", {"server": "notes"})
        self.assertEqual(gone.json, {"signed_out": True})
        self.assertEqual(await self.states(), [""])

    async def test_only_the_owner_signs_in(self) -> None:
        self.assertEqual((await self.ask("GET", "/mcp/sign-ins", key="b")).json, {"servers": []})
        self.assertEqual((await self.ask("GET", "/mcp/sign-ins", key="")).status, 401)
        for path in ("/mcp/sign-in", "/mcp/sign-out"):
            body = {"server": "notes", "callback": CALLBACK}
            for key, status, code in (("b", 403, "forbidden"), ("", 401, "unauthorized")):
                with self.subTest(path, key=key):
                    call = await self.ask("POST", path, body, key)
                    self.assertEqual((call.status, call.json["code"]), (status, code))
        self.assertEqual(self.world.clients, {})

    async def test_what_cannot_be_begun(self) -> None:
        nobody, evil = "no MCP server 'other' takes a sign-in", "http://evil.example/mcp/callback"
        failed, invalid = "sign_in_failed", "request_invalid"
        for more, code, words, reason in (
            ({"server": "other"}, failed, nobody, "misconfigured"),
            ({"callback": "http://127.0.0.1:1/other"}, invalid, "ends in /mcp/callback", None),
            ({"callback": evil}, failed, "wants https", "unsafe"),
            ({"callback": "javascript:/mcp/callback"}, failed, "not an https address", "unsafe"),
            ({"callback": 5}, invalid, "", None),
            ({"server": ""}, invalid, "", None),
        ):
            with self.subTest(more):
                call = await self.begin(**more)
                self.assertEqual(call.json["code"], code)
                self.assertIn(words, call.json["detail"])
                self.assertLess(call.status, 500)
                self.assertEqual(call.json.get("reason"), reason)

    async def test_what_the_callback_refuses(self) -> None:
        for query in ("", "x", "code=a", "code=a&state=b", "state=eyJuYW1lIjoibm90ZXMifQ.x&code=a"):
            for tail in ("", "&x=" + "y" * 3_000, "&error=%3Cscript%3E"):
                with self.subTest(query=query, tail=tail[:10]):
                    call = await self.ask("GET", f"/mcp/callback?{query}{tail}", key="")
                    self.assertEqual(call.status, 400)
                    self.assertNotIn(b"<script", call.answer)
        self.assertEqual(self.world.token_requests(), [])

    async def test_a_server_that_is_away_is_nobodys_mistake_here(self) -> None:
        await self.world.auth.close()
        call = await self.begin()
        self.assertEqual((call.status, call.json["code"]), (422, "sign_in_failed"))
        self.assertEqual(call.json["reason"], "unreachable")

    async def test_the_page_of_the_callback_speaks_the_browsers_language(self) -> None:
        for wanted, words in (
            ("", "The sign-in is no longer valid. Begin again. (this sign-in was not begun here"),
            ("de,en;q=0.8", "The sign-in is no longer valid."),
            ("zh-CN,zh;q=0.9,en", "这次登录已失效，请重新开始。"),
        ):
            with self.subTest(wanted):
                fields = {"Accept-Language": wanted} if wanted else {}
                call = fakes.Call("GET", "/mcp/callback?code=a&state=b", fields)
                await self.router(call.exchange)
                self.assertIn(words, call.answer.decode())

    def test_every_reason_has_words_in_both_languages(self) -> None:
        client = Path(__file__).parents[3] / "client" / "js"
        texts = (client / "i18n" / "questions.js").read_text("utf-8")
        known = (client / "ui" / "mcp-sign-in.js").read_text("utf-8")
        for reason in REASONS:
            with self.subTest(reason):
                self.assertTrue(all(each[reason] for each in FAILED.values()))
                self.assertEqual(texts.count(f"'signIn.why.{reason}': '"), 2)
                self.assertIn(f"'{reason}'", known)
