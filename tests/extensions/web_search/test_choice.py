"""Which provider searches: what is configured, what is found, and what the owner is told."""

from __future__ import annotations

from typing import Any
from unittest import IsolatedAsyncioTestCase

from server.extensions.web_search.choice import SearchChoice, find_search
from server.extensions.web_search.providers import PROVIDERS
from server.lib.http.client import Client
from server.settings.schema import kind_of, problems

from ...fakes import DEFAULTS
from ...models.fakes import Reply, answer, serving
from .test_search_tool import reply


class Choice(IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.client = Client()
        self.addAsyncCleanup(self.client.close)

    async def choose(
        self, env: dict[str, str] | None = None, local: Any = None, **settings: Any
    ) -> SearchChoice:
        discover = settings.pop("discover", True)
        given = DEFAULTS["server"]["search"] | settings
        kind = kind_of(DEFAULTS)
        self.assertEqual(list(problems({"server": {"search": given}}, kind)), [])
        server = {"search": given, "discover": discover}
        return await find_search(server, self.client, env or {}, local or {})

    async def test_configured(self) -> None:
        own = PROVIDERS["brave"].url
        cases: list[tuple[dict[str, Any], dict[str, str], tuple[str, str, str] | str]] = [
            ({"url": "http://h:1/"}, {}, ("searxng", "http://h:1/search", "")),
            ({"url": "http://h/searx/search"}, {}, ("searxng", "http://h/searx/search", "")),
            ({"provider": "brave", "api_key": "k1"}, {}, ("brave", own, "k1")),
            ({"provider": "brave"}, {"BRAVE_SEARCH_API_KEY": "k2"}, ("brave", own, "k2")),
            ({"provider": "brave", "api_key": "k1"}, {"BRAVE_API_KEY": "k2"}, ("brave", own, "k1")),
            (
                {"provider": "brave", "url": "https://gate.lan/b", "api_key": "k1"},
                {"BRAVE_API_KEY": "k2"},
                ("brave", "https://gate.lan/b", "k1"),
            ),
            (
                {"provider": "brave", "url": "https://gate.lan/b"},
                {"BRAVE_API_KEY": "k"},
                "gets no key",
            ),
            (
                {"provider": "ollama", "url": "http://box:11434"},
                {"OLLAMA_API_KEY": "k"},
                ("ollama", "http://box:11434/api/experimental/web_search", ""),
            ),
            (
                {"provider": "searxng"},
                {"SEARXNG_URL": "http://s"},
                ("searxng", "http://s/search", ""),
            ),
            ({"provider": "brave"}, {}, "needs a key: server.search.api_key, or BRAVE_API_KEY"),
            ({"provider": "searxng"}, {}, "needs its address: server.search.url, or SEARXNG_URL"),
            ({"api_key": "k1"}, {}, "of no use without server.search.provider"),
            ({"provider": "kagi", "discover": False}, {"KAGI_API_KEY": "k"}, "which needs a key"),
        ]
        for settings, env, wanted in cases:
            with self.subTest(settings, env=env):
                choice = await self.choose(env, **settings)
                if isinstance(wanted, str):
                    self.assertIn(wanted, " ".join(choice.problems))
                    self.assertIsNone(choice.endpoint)
                    continue
                assert choice.endpoint is not None
                made = choice.endpoint
                self.assertEqual((made.provider.name, made.url, made.key), wanted)
                self.assertNotIn("k1", repr(choice))

    async def test_found(self) -> None:
        choice = await self.choose({"TAVILY_API_KEY": "k", "KAGI_API_KEY": "k"})
        assert choice.endpoint is not None
        self.assertEqual(choice.info()["provider"], "tavily")
        self.assertIn("TAVILY_API_KEY is set", choice.reason)
        for settings in ({"discover": False}, {"provider": "off"}):
            with self.subTest(settings):
                none = await self.choose({"TAVILY_API_KEY": "k"}, **settings)
                self.assertEqual((none.endpoint, none.problems), (None, ()))
                self.assertNotEqual(none.reason, "")

    async def test_nothing(self) -> None:
        choice = await self.choose()
        self.assertIsNone(choice.endpoint)
        self.assertEqual(choice.info()["provider"], "")
        for word in (
            "SearXNG",
            "json",
            "search.formats",
            "BRAVE_API_KEY",
            "KAGI_API_KEY",
            "Ollama",
        ):
            self.assertIn(word, choice.info()["reason"])

    async def test_a_searxng_on_this_machine(self) -> None:
        config = reply({"engines": [], "version": "2026.8.22"})
        cases: list[tuple[list[Reply], bool, str]] = [
            ([config, reply({"error": "No query"}, "400 Bad")], True, "SearXNG on port"),
            ([config, reply({}, "403 No")], False, "json is not among search.formats"),
            ([answer(b"<html>")], False, "web_search appears when"),
            ([reply({}, "404 No")], False, "web_search appears when"),
            ([reply({"engines": 5})], False, "web_search appears when"),
            (
                [reply({}, "302 Found", "location: http://169.254.169.254/")],
                False,
                "web_search appears",
            ),
        ]
        for replies, there, wanted in cases:
            async with serving(*replies) as server:
                base = f"http://127.0.0.1:{server.port}"
                choice = await self.choose(local={"searxng": (base,)})
                with self.subTest(wanted):
                    self.assertEqual(choice.endpoint is not None, there)
                    self.assertIn(wanted, choice.reason)
                    for request in server.requests:
                        self.assertNotIn("q=", request.line, "no search is made to look")

    async def test_an_ollama_on_this_machine(self) -> None:
        signed = reply({"name": "me", "email": "me@example.org"})
        cases: list[tuple[list[Reply], bool]] = [
            ([signed, reply({"error": "missing body"}, "400 Bad")], True),
            ([signed, reply({}, "404 No")], False),
            ([reply({"error": "unauthorized"}, "401 No")], False),
            ([reply({"name": "", "email": ""})], False),
        ]
        for number, (replies, there) in enumerate(cases):
            async with serving(*replies) as server:
                base = f"http://127.0.0.1:{server.port}"
                choice = await self.choose(local={"ollama": (base,)})
                with self.subTest(number):
                    self.assertEqual(choice.endpoint is not None, there)
                    for request in server.requests:
                        self.assertNotIn("authorization", request.headers)

    def test_settings_that_cannot_be(self) -> None:
        cases: list[tuple[dict[str, Any], str]] = [
            ({"provider": "gogle"}, "server.search.provider"),
            ({"url": "javascript:x"}, "server.search.url"),
            ({"url": "http://me:pw@h/"}, "server.search.url"),
            ({"url": "http://h/?key=1"}, "server.search.url"),
            ({"allow": ["https://a.org"]}, "server.search.allow.0"),
            ({"deny": ["a.org/x"]}, "server.search.deny.0"),
            ({"max_searches": -1}, "server.search.max_searches"),
            ({"max": 1}, "unknown key server.search.max"),
        ]
        for settings, wanted in cases:
            with self.subTest(settings):
                (line,) = problems({"server": {"search": settings}}, kind_of(DEFAULTS))
                self.assertIn(wanted, line)

    def test_no_secret_in_a_message(self) -> None:
        for url in ("ftp://me:canary-1@h", "http://h/?token=canary-1"):
            (line,) = problems({"server": {"search": {"url": url}}}, kind_of(DEFAULTS))
            self.assertIn("server.search.url", line)
            self.assertNotIn("canary-1", line)
