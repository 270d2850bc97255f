"""`/settings/try/key`: whose keys may try one, and where it goes."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.extensions import present

from ...models.fakes import KEY
from ..settings.served_trials import Case

PROVIDER, TRY = "/settings/try/provider", "/settings/try/key"
ANTHROPIC = "sk-ant-api03-f3a91c07d24e68b5"


class PastedKeys(Case):
    """The proxy sees where a key would go; it never gets further, so nobody is asked outside."""

    async def test_a_key_goes_to_its_vendor(self) -> None:
        await self.start()
        for key, vendor, host in (
            *([(ANTHROPIC, "", "api.anthropic.com")] if "messages_api" in present() else ()),
            (" gsk_f3a91c07d24e68b5\n", "", "api.groq.com"),
            ("sk-f3a91c07d24e68b5", "deepseek", "api.deepseek.com"),
            ("sk-f3a91c07d24e68b5", "kimi", "api.moonshot.cn"),
            ("f3a91c07d24e68b5", "mistral", "api.mistral.ai"),
        ):
            self.proxy.requests.clear()
            named = {"vendor": vendor} if vendor else {}
            found = await self.try_key({"key": key, **named})
            with self.subTest(host):
                lines = {each.line for each in self.proxy.requests}
                self.assertEqual(lines, {f"CONNECT {host}:443 HTTP/1.1"})
                self.assertFalse(found["ok"])
                self.assertEqual(found["problem"]["code"], "upstream_unreachable")
                self.assertNotIn(key.strip(), json.dumps(found) + self.sent(self.proxy))
                self.assertNotIn("api_key", found["entry"])

    async def test_a_key_that_may_be_of_several_goes_nowhere(self) -> None:
        await self.start()
        for key in ("sk-f3a91c07d24e68b5", "f3a91c07d24e68b5", f"{'0' * 32}.{'a' * 16}"):
            with self.subTest(key):
                found = await self.try_key({"key": key})
                self.assertEqual(found["problem"]["code"], "vendor_unclear")
                self.assertTrue(found["candidates"])
                self.assertNotIn(key, json.dumps(found))
        self.assertEqual(self.proxy.requests, [])

    async def test_a_key_of_one_vendor_is_not_sent_to_another(self) -> None:
        await self.start()
        for body in (
            {"key": ANTHROPIC, "vendor": "openai"},
            {"provider": {"preset": "openai", "api_key": ANTHROPIC}},
            {"provider": {"api_url": "https://api.openai.com/v1", "api_key": ANTHROPIC}},
        ):
            with self.subTest(body):
                found = await self.try_key(body)
                self.assertEqual(found["problem"]["code"], "vendor_differs")
                self.assertEqual(found["candidates"][0]["vendor"], "anthropic")
        self.assertEqual(self.proxy.requests, [])

    async def test_what_is_no_key(self) -> None:
        await self.start()
        for key in ("", "two words", "ключ", "x" * 5_000):
            with self.subTest(key[:10]):
                call = await self.refused(TRY, {"key": key}, "request_invalid", "/key")
                self.assertNotIn("x" * 20, call.answer.decode())
        for vendor in ("nobody", "custom", "ollama"):
            body = {"key": KEY, "vendor": vendor}
            with self.subTest(vendor):
                await self.refused(TRY, body, "request_invalid", "/vendor")

    async def try_key(self, body: Any) -> Any:
        call = await self.ask(PROVIDER if "provider" in body else TRY, body)
        self.assertEqual(call.status, 200, call.answer)
        return call.json

    async def test_only_owners_try_one(self) -> None:
        await self.start()
        for key, status in (("b", 403), ("", 401), ("c", 401)):
            with self.subTest(key):
                self.assertEqual((await self.ask(TRY, {"key": ANTHROPIC}, key)).status, status)
        self.assertEqual(self.proxy.requests, [])

    async def test_bodies_that_say_nothing(self) -> None:
        await self.start()
        for body in (
            *({}, {"vendor": "openai"}, {"key": 5}, {"key": KEY, "name": "main"}),
            *({"key": KEY, "provider": {}}, {"key": KEY, "vendor": ""}),
        ):
            with self.subTest(str(body)):
                await self.refused(TRY, body, "request_invalid")

    async def test_a_server_that_does_not_name_it(self) -> None:
        await self.start({"server.extensions": ["settings"]})
        self.assertEqual((await self.ask(TRY, {"key": ANTHROPIC})).status, 404)
        entry = {"api_url": "https://api.openai.com/v1", "api_key": ANTHROPIC}
        found = await self.try_key({"provider": entry})
        self.assertEqual(found["problem"]["code"], "upstream_unreachable")


if __name__ == "__main__":
    unittest.main()
