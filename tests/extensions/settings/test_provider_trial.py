"""Providers that are tried: which work, which do not, what is sent where, what nobody is told."""

from __future__ import annotations

import json
import logging
import unittest
from typing import Any

from server.config import ConfigError
from server.extensions.settings.provider_trial import try_provider
from server.lib.http.client import Client

from ...models.fakes import KEY, STOP, Peer, Reply, Server, answer, error, said, serving, sse


def listing(*models: Any) -> bytes:
    data = [{"id": model} if isinstance(model, str) else model for model in models]
    return answer(json.dumps({"data": data}).encode(), kind="application/json")


ABSENT = error("404 Not Found", "no such page")
OK = answer(sse(said("OK"), STOP))
BAD_KEY = error("401 Unauthorized", f"Incorrect API key provided: {KEY}")


class Case(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.client = Client()
        self.addAsyncCleanup(self.client.close)

    async def attempt(
        self, *replies: Reply, env: dict[str, str] | None = None, **entry: Any
    ) -> tuple[Any, Server]:
        """Try a custom provider at a server that answers request n with reply n."""
        async with serving(*replies) as server:
            given = {"api_url": server.url, "api_key": KEY, **entry}
            return await try_provider("mine", given, self.client, env or {}), server


class Trials(Case):
    async def test_a_list_proves_an_address(self) -> None:
        found, server = await self.attempt(listing("a", {"id": "b", "context_length": 4096}))
        self.assertLess(found.pop("took_ms"), 60_000)
        self.assertEqual(
            found,
            {
                "ok": True,
                "preset": "custom",
                "model_name": "a",
                "models": [{"name": "a"}, {"name": "b", "window": 4096}],
                "proof": "models",
            },
        )
        self.assertEqual(len(server.requests), 1, "a list costs nothing; a call would")

    async def test_a_call_proves_what_no_list_does(self) -> None:
        forbidden = error("403 Forbidden", "Missing scopes: api.model.read")
        for first in (ABSENT, forbidden, answer(b"<html>"), listing("other")):
            with self.subTest(first[:40]):
                found, server = await self.attempt(first, OK, model_name="m-1")
                self.assertEqual((found["ok"], found["proof"]), (True, "answer"))
                self.assertEqual(found["model_name"], "m-1")
                self.assertEqual(server.requests[1].json["model"], "m-1")
                self.assertLessEqual(server.requests[1].json["max_tokens"], 512)
                self.assertNotIn("tools", server.requests[1].json)

    async def test_what_does_not_work(self) -> None:
        async def mute(peer: Peer) -> None:
            await peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n")

        cases: list[tuple[list[Reply], str, str]] = [
            ([BAD_KEY], "upstream_auth", "mine answered 401"),
            ([error("403 No", "country not supported"), BAD_KEY], "upstream_auth", "401"),
            ([listing("x"), error("404 No", "model m-1 not found")], "upstream_error", "m-1"),
            ([ABSENT, ABSENT], "upstream_error", "404"),
            ([error("429 No", "insufficient quota")], "upstream_rate_limit", "quota"),
            ([mute], "upstream_truncated", ""),
            ([answer(b"", "301 Moved", "location: http://10.0.0.1/")], "upstream_error", "redire"),
        ]
        for replies, code, words in cases:
            with self.subTest(code=code, words=words):
                found, _ = await self.attempt(*replies, model_name="m-1")
                self.assertEqual((found["ok"], found["problem"]["code"]), (False, code))
                self.assertIn(words, found["problem"]["detail"])
                self.assertEqual((found["models"], found["proof"]), ([], ""))

    async def test_an_address_without_models(self) -> None:
        for reply, words in ((listing(), "an empty list"), (ABSENT, "no list of models")):
            with self.subTest(words):
                found, server = await self.attempt(reply)
                self.assertEqual(found["problem"]["code"], "model_unknown")
                self.assertIn(words, found["problem"]["detail"])
                self.assertEqual(len(server.requests), 1)

    async def test_nobody_is_there(self) -> None:
        async with serving(OK) as server:
            url = server.url
        found = await try_provider("mine", {"api_url": url}, self.client, {})
        self.assertEqual(found["problem"]["code"], "upstream_unreachable")

    async def test_entries_that_no_server_would_start_with(self) -> None:
        for entry, words in (
            ({"preset": "costum"}, "preset: 'costum' is not known; did you mean custom?"),
            ({}, "api_url is missing"),
            ({"api_url": "ftp://x"}, "api_url: an API address starts with http"),
            ({"api_url": "http://a:b@x"}, "put credentials into api_key"),
        ):
            with self.subTest(entry), self.assertRaisesRegex(ConfigError, words):
                await try_provider("mine", entry, self.client, {})

    async def test_names_that_mean_something_elsewhere(self) -> None:
        async with serving(listing("a")) as server:
            for name in ("auto", "demo", "__proto__", "x" * 200, "é"):
                with self.subTest(name):
                    found = await try_provider(name, {"api_url": server.url}, self.client, {})
                    self.assertTrue(found["ok"])


class Secrets(Case):
    async def test_no_secret_is_in_what_is_told(self) -> None:
        hidden = "s3cretS3cretS3cret"
        told = f"{KEY} {hidden}"
        for replies in (
            (error("401 No", f"your key {told} is wrong"),),
            (ABSENT, error("400 No", told)),
            (listing(KEY, f"x-{hidden}"),),
        ):
            with self.subTest(replies[0][:20]), self.assertLogs("yaa", "DEBUG") as logs:
                logging.getLogger("yaa").debug("there is at least this line")
                found, _ = await self.attempt(
                    *replies, model_name="x", headers={"x-api-token": hidden}
                )
                for text in (json.dumps(found), *logs.output):
                    self.assertNotIn(KEY, text)
                    self.assertNotIn(hidden, text)

    async def test_a_list_that_anybody_may_read_proves_no_key(self) -> None:
        """The name is reached through a proxy, as addresses of this machine need no key."""
        entry = {"api_url": "http://models.example/v1", "api_key": KEY}
        refused = error("401 No", "no key")
        for replies, proof, requests in (
            ((listing("m"), refused), "models", 2),
            ((listing("m"), listing("m"), OK), "answer", 3),
            ((listing("m"), listing("m"), BAD_KEY), "", 3),
        ):
            async with serving(*replies) as server:
                client = Client({"http_proxy": f"http://127.0.0.1:{server.port}"})
                found = await try_provider("mine", entry, client, {})
                await client.close()
            with self.subTest(proof):
                self.assertEqual(found["proof"], proof)
                self.assertEqual(found["ok"], bool(proof))
                keys = ["authorization" in each.headers for each in server.requests]
                self.assertEqual(keys, [True, False, True][:requests])


if __name__ == "__main__":
    unittest.main()
