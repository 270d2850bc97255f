"""`/settings/try/…`: whose keys may try what, where secrets go, and where they never do."""

from __future__ import annotations

import asyncio
import json
import unittest
from typing import Any

from server.api.auth import Keys
from server.errors import Problem
from server.extensions.settings.trial_routes import AT_ONCE, with_kept

from ...models.fakes import KEY, Peer, serving
from .served_trials import SECRET, Case

PROVIDER = "/settings/try/provider"


class Access(Case):
    async def test_only_owners_try_anything(self) -> None:
        await self.start()
        for key, status in (("b", 403), ("", 401), ("c", 401)):
            with self.subTest(key):
                self.assertEqual((await self.ask(PROVIDER, {"name": "main"}, key)).status, status)
        self.assertEqual(self.model.requests, [])

    async def test_foreign_pages_are_kept_out(self) -> None:
        loose = Keys([], required=False)
        await self.start({"server.auth_required": False}, loose)
        foreign = {"Origin": "https://evil.example"}
        for headers in (foreign, {"Content-Type": "text/plain"}):
            call = await self.ask(PROVIDER, {"name": "main"}, "", **headers)
            with self.subTest(headers):
                self.assertIn(call.status, (403, 415))
        self.assertEqual(self.model.requests, [])

    async def test_bodies_that_say_nothing(self) -> None:
        await self.start()
        bodies: tuple[Any, ...] = (
            *({}, {"provider": 5}, {"key": KEY}, {"name": ""}, {"other": 1}),
            *({"provider": {"api_url": 1}},),
            {"provider": {"api_url": "http://x.example", "__proto__": {}}},
        )
        for body in bodies:
            with self.subTest(body=str(body)[:60]):
                await self.refused(PROVIDER, body, "request_invalid")
        huge = {"provider": {"api_url": "http://x.example", "model_name": "x" * (1 << 18)}}
        await self.refused(PROVIDER, huge, "body_too_large")


class Providers(Case):
    async def test_a_saved_one(self) -> None:
        await self.start()
        found = await self.attempt(name="main")
        self.assertEqual((found["ok"], found["model_name"]), (True, "m-1"))
        self.assertIn(KEY, self.sent(self.model))
        self.assertNotIn(KEY, json.dumps(found))
        await self.refused(PROVIDER, {"name": "mian"}, "provider_unknown", "Known: main")

    async def test_a_whole_one(self) -> None:
        await self.start()
        found = await self.attempt(provider={"api_url": self.other.url, "api_key": "k" * 20})
        self.assertTrue(found["ok"])
        self.assertIn("Bearer " + "k" * 20, self.sent(self.other))
        self.assertNotIn(KEY, self.sent(self.other))
        for entry, words in (
            ({"preset": "costum"}, "did you mean custom?"),
            ({"api_url": "ftp://x"}, "an API address starts with"),
            ({"api_url": "http://x", "apikey": "k"}, "did you mean api_key?"),
        ):
            with self.subTest(words):
                call = await self.refused(PROVIDER, {"provider": entry}, "request_invalid", words)
                self.assertTrue(call.json["errors"][0]["pointer"].startswith("/provider"))

    async def test_a_kept_secret_stays_with_its_address(self) -> None:
        await self.start()
        kept = {"api_key": SECRET, "headers": {"x-team": {"secret": True}}}
        same = {"api_url": self.model.url, **kept}
        self.assertTrue((await self.attempt(name="main", provider=same))["ok"])
        self.assertIn(KEY, self.sent(self.model))
        self.assertIn("secret-team", self.sent(self.model))
        for url in (
            self.other.url,
            self.model.url.replace("127.0.0.1", "localhost"),
            self.model.url.replace("http:", "https:"),
            self.model.url.replace("://", "://evil.example/?x=http://"),
        ):
            with self.subTest(url):
                body = {"name": "main", "provider": {**kept, "api_url": url}}
                call = await self.refused(PROVIDER, body, "request_invalid", "saved secrets belong")
                self.assertNotIn(KEY, call.answer.decode())
        body = {"name": "main", "provider": {"api_url": "https://x.example", "api_key": SECRET}}
        await self.refused(PROVIDER, body, "request_invalid", "saved secrets belong")
        self.assertEqual((self.other.requests, self.proxy.requests), ([], []))

    async def test_a_secret_that_is_not_saved(self) -> None:
        await self.start()
        for name in ({}, {"name": "other"}, {"name": "__proto__"}):
            body = {**name, "provider": {"api_url": self.model.url, "api_key": SECRET}}
            with self.subTest(name):
                await self.refused(PROVIDER, body, "request_invalid", "nothing is saved here")
        body = {"name": "main", "provider": {"api_url": self.model.url, "model_name": SECRET}}
        await self.refused(PROVIDER, body, "request_invalid", "/provider/model_name")


class Variables(Case):
    env = {"OPENAI_API_KEY": "sk-proj-variable-0123456789", "OTHER": "other-secret-value"}

    async def test_variables_are_not_read_out(self) -> None:
        await self.start()
        for text in ("${OTHER}", "${OPENAI_API_KEY}", "${env:OTHER}", "x${OTHER:-y}", "$${OTHER}"):
            for place in ({"api_key": text}, {"headers": {"x": text}}, {"model_name": text}):
                body = {"name": "main", "provider": {"api_url": self.other.url, **place}}
                with self.subTest(place):
                    await self.refused(PROVIDER, body, "request_invalid", "save it first")
        self.assertEqual(self.other.requests, [])

    async def test_a_saved_reference_is_used_where_it_was_saved_for(self) -> None:
        saved = {"api_url": self.model.url, "api_key": self.env["OTHER"]}
        await self.start({"server.providers": {"main": saved}})
        same = {"api_url": self.model.url, "api_key": "${OTHER}"}
        self.assertTrue((await self.attempt(name="main", provider=same))["ok"])
        moved = {"name": "main", "provider": {**same, "api_url": self.other.url}}
        await self.refused(PROVIDER, moved, "request_invalid", "saved secrets belong")
        self.assertIn(self.env["OTHER"], self.sent(self.model))
        self.assertEqual(self.other.requests, [])


class OverTheNetwork(Case):
    async def test_nothing_of_the_machine_is_tried(self) -> None:
        await self.start({"server.host": "0.0.0.0", "server.hosts": ["me.example"]})
        inner = self.other.url
        bodies: tuple[Any, ...] = (
            {"provider": {"api_url": inner, "model_name": "m"}},
            {"name": "main", "provider": {"api_url": inner, "model_name": "m"}},
            {"provider": {"api_url": "https://x.example", "models": [{"api_url": inner}]}},
        )
        for body in bodies:
            with self.subTest(body):
                await self.refused(PROVIDER, body, "forbidden")
        self.assertEqual(self.other.requests, [])
        self.assertTrue((await self.ask(PROVIDER, {"name": "main"})).json["ok"], "it is saved")


class Kept(unittest.TestCase):
    def test_places(self) -> None:
        env = {"A": "value"}
        for value, saved, filled, kept in (
            ({"a": 1}, None, {"a": 1}, []),
            ({"a": {"secret": True}}, {"a": "x"}, {"a": "x"}, [("m", "a")]),
            ({"a": ["${A}", "b"]}, {"a": ["value", "b"]}, {"a": ["value", "b"]}, [("m", "a", "0")]),
            ({"a": {"secret": True, "more": 1}}, {}, {"a": {"secret": True, "more": 1}}, []),
            ({"a": {"secret": False}}, {}, {"a": {"secret": False}}, []),
        ):
            with self.subTest(value):
                self.assertEqual(with_kept(value, saved, env, "m"), (filled, kept))

    def test_what_is_not_there(self) -> None:
        env = {"A": "value"}
        for value, saved in (
            ({"a": {"secret": True}}, {}),
            ({"a": {"secret": True}}, {"a": 5}),
            ({"a": [{"secret": True}]}, {"a": ["x", "y"]}),
            ({"a": "${A}"}, {"a": "other"}),
            ({"a": "${B}"}, {"a": "${B}x"}),
            ({"a": "${A}"}, None),
        ):
            with self.subTest(value), self.assertRaises(Problem) as caught:
                with_kept(value, saved, env, "m")
            self.assertTrue(caught.exception.errors[0]["pointer"].startswith("/m/a"))


class Slow(Case):
    async def test_a_client_that_leaves_ends_its_trial(self) -> None:
        ended = asyncio.Event()

        async def mute(peer: Peer) -> None:
            await peer.gone()
            ended.set()

        async with serving(mute) as server:
            await self.start()
            body = {"provider": {"api_url": server.url}}
            trials = [asyncio.create_task(self.ask(PROVIDER, body)) for _ in range(AT_ONCE)]
            await server.asked.wait()
            for trial in trials:
                trial.cancel()
            await asyncio.gather(*trials, return_exceptions=True)
            await ended.wait()
            self.assertTrue((await self.attempt(name="main"))["ok"], "a turn is free again")


if __name__ == "__main__":
    unittest.main()
