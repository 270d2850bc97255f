"""web_search against servers: results, refusals, lies, keys, and how a provider is chosen."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any
from unittest import IsolatedAsyncioTestCase

from server.config import Config
from server.lib.http.client import Client
from server.settings.schema import kind_of, problems
from server.tools.decorators import tool
from server.tools.search_providers import PROVIDERS, Domains
from server.tools.sources import ABOUT
from server.tools.toolbox import Toolbox
from server.tools.web_search import (
    MAX_ANSWER,
    SearchChoice,
    SearchEndpoint,
    WebSearchTool,
    find_search,
    web_search,
)

from ..fakes import DEFAULTS, events_of
from ..models.fakes import Peer, Reply, answer, serving
from .test_search_providers import ANSWERS, KEY

JSON = "application/json"


def reply(document: Any, status: str = "200 OK", *headers: str) -> bytes:
    return answer(json.dumps(document).encode(), status, *headers, kind=JSON)


def found(*results: tuple[str, str, str]) -> bytes:
    return reply({"results": [{"url": u, "title": t, "content": c} for u, t, c in results]})


def messages(*args: dict[str, Any], name: str = "web_search") -> Any:
    """The messages of calls c1, c2, …"""
    calls = [
        {"id": f"c{n}", "function": {"name": name, "arguments": json.dumps(each)}}
        for n, each in enumerate(args, 1)
    ]
    return [{"id": "m", "role": "assistant", "content": "", "tool_calls": calls}]


class Case(IsolatedAsyncioTestCase):
    provider = "searxng"
    key = ""
    domains = Domains()
    most: float | None = None

    async def asyncSetUp(self) -> None:
        self.client = Client()
        self.addAsyncCleanup(self.client.close)
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.config = Config(DEFAULTS["server"], DEFAULTS["session"], Path(holder.name))
        self.session: Any = {
            "id": "s",
            "config": copy.deepcopy(DEFAULTS["session"]["config"]),
            "grants": [],
            "calls": {},
            "messages": [],
        }

    async def envelope(self, script: Reply, number: int = 1, **args: Any) -> dict[str, Any]:
        """The envelope of a call; `self.text` is for the model, `self.asked` are the requests."""
        arguments = {"query": "abc", **args}
        if not self.session["messages"]:
            self.session["messages"] = messages(arguments)
        async with serving(script) as server:
            endpoint = SearchEndpoint(PROVIDERS[self.provider], server.url, self.key)
            made = WebSearchTool.of(
                web_search,
                client=self.client,
                endpoint=endpoint,
                domains=self.domains,
                most=self.most,
            )
            toolbox = Toolbox(self.config, self.client)
            await toolbox.load_owner_tools([made])
            call: Any = self.session["messages"][0]["tool_calls"][number - 1]
            verdict = toolbox.verdict(self.session, call)
            self.assertEqual(verdict.action, "ask", "it asks first, as fetch_url does")
            events = await events_of(toolbox, self.session, call, verdict.args, {})
        self.asked = server.requests
        self.text: str = events[-1]["content"]
        said: dict[str, Any] = events[-1]["metadata"]["yaa"]["result"]
        return said

    async def error(self, script: Reply, **args: Any) -> str:
        said = await self.envelope(script, **args)
        self.assertEqual(said["status"], "error", said)
        self.assertNotIn("sources", said)
        text: str = said["error"]["message"]
        return text


class Results(Case):
    async def test_ids_passages_and_whose_words_they_are(self) -> None:
        two = found(("https://a.org/x", "A", "first"), ("https://b.org/", "B", "second"))
        said = await self.envelope(two, count=5)
        self.assertEqual(said["sources"], {"s1.1": "/results/0", "s1.2": "/results/1"})
        result = said["result"]
        self.assertEqual(
            result["results"][1],
            {"id": "s1.2", "title": "B", "url": "https://b.org/", "text": "second"},
        )
        self.assertEqual(result["about"], ABOUT.format("s1.1"))
        self.assertEqual(json.loads(self.text), result, "the model reads what is kept")
        self.assertTrue(self.text.startswith('{"about"'), "before any word of others")

    async def test_a_second_call_has_other_ids(self) -> None:
        self.session["messages"] = messages({"query": "a"}, {"query": "b"})
        said = await self.envelope(found(("https://a.org/", "A", "x")), number=2)
        self.assertEqual(said["sources"], {"s2.1": "/results/0"})

    async def test_no_more_than_wanted_and_within_the_limits(self) -> None:
        many = [(f"https://a.org/{n}", "t" * 900, "w" * 30_000) for n in range(100)]
        said = await self.envelope(found(*many[:30]), count=20)
        self.assertEqual(len(said["result"]["results"]), 20)
        self.assertLess(len(self.text), 20_000, "the model reads all of it")
        self.assertEqual(json.loads(self.text), said["result"])

    async def test_nothing_found_and_why(self) -> None:
        silent = {"results": [], "unresponsive_engines": [["google", "Suspended: CAPTCHA"]]}
        said = await self.envelope(reply(silent))
        self.assertEqual(said["result"]["results"], [])
        self.assertEqual(said["result"]["not_asked"], ["google: Suspended: CAPTCHA"])
        self.assertNotIn("sources", said)

    async def test_blank_words_are_not_sent(self) -> None:
        self.assertIn("query is blank", await self.error(found(), query=" \t "))
        self.assertEqual(self.asked, [])


class Bounded(Case):
    domains = Domains(("example.org",), ("bad.example.org",))

    async def test_domains(self) -> None:
        pages = found(
            ("https://example.org/a", "", ""),
            ("https://bad.example.org/", "", ""),
            ("https://evil.net/", "", ""),
        )
        said = await self.envelope(pages)
        self.assertEqual([r["url"] for r in said["result"]["results"]], ["https://example.org/a"])
        self.assertIn("site%3Aexample.org", self.asked[0].line)

    async def test_a_site_of_the_model_narrows_only(self) -> None:
        pages = found(("https://docs.example.org/a", "", ""), ("https://example.org/b", "", ""))
        said = await self.envelope(pages, site="https://docs.example.org/x")
        (one,) = said["result"]["results"]
        self.assertEqual(one["url"], "https://docs.example.org/a")

    async def test_a_site_that_is_not_allowed(self) -> None:
        for site in ("evil.net", "bad.example.org", "x.bad.example.org", "example.org.evil.net"):
            self.session["messages"] = []
            with self.subTest(site):
                self.assertIn("does not search", await self.error(found(), site=site))
                self.assertEqual(self.asked, [])
        self.session["messages"] = []
        self.assertIn("wanted a domain", await self.error(found(), site="a b"))


class Limited(Case):
    most = 1

    async def test_searches_of_one_session(self) -> None:
        self.session["messages"] = messages({"query": "a"}, {"query": "b"})
        self.session["calls"] = {"c1": {"state": "denied"}}
        one = found(("https://a.org/", "", ""))
        self.assertEqual((await self.envelope(one, number=2))["status"], "ok")
        self.session["calls"] = {"c1": {"state": "done"}}
        said = await self.envelope(one, number=2)
        self.assertIn("has made its 1 searches", said["error"]["message"])
        self.assertEqual(self.asked, [])


class Refusals(Case):
    async def test_answers_that_are_none(self) -> None:
        deep = b'{"results": ' + b"[" * 100_000
        huge = b'{"results": [' + b" " * MAX_ANSWER + b"]}"
        cases: list[tuple[Reply, str]] = [
            (answer(b"<html>please prove you are human", kind="text/html"), "something else than"),
            (answer(b"", kind=JSON), "something else than results"),
            (answer(deep, kind=JSON), "something else than results"),
            (answer(huge, kind=JSON), f"more than {MAX_ANSWER} bytes"),
            (reply([1, 2]), "something else than results"),
            (reply({"results": "no"}), "something else than results"),
            (reply({"error": "engine \u202e gone"}), "than results: engine gone"),
            (reply({}, "403 No"), "list json under search.formats"),
            (reply({}, "429 Slow"), "too many searches"),
            (reply({}, "404 No"), "no search at this address"),
            (reply({}, "418 Tea"), "it was refused"),
            (answer(b"<html>", "502 Bad", kind="text/html"), "502: the service failed"),
        ]
        for script, wanted in cases:
            self.session["messages"] = []
            with self.subTest(wanted):
                text = await self.error(script)
                self.assertIn(wanted, text)
                self.assertTrue(text.startswith("SearXNG"), text)
                self.assertNotRegex(text, "[<\u202e]")

    async def test_peers_that_die(self) -> None:
        async def cut(peer: Peer) -> None:
            await peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{")

        async def mute(peer: Peer) -> None:
            await peer.gone()

        self.assertIn("SearXNG: ", await self.error(cut))
        self.session["messages"] = []
        self.session["config"]["limits"]["tool"]["wall_s"] = 0.5
        self.assertIn("SearXNG: ", await self.error(mute))


class Keys(Case):
    provider, key = "brave", KEY

    async def test_every_kind_of_refusal_says_what_the_service_says(self) -> None:
        shapes: list[tuple[str, Any]] = [
            ("brave", {"type": "ErrorResponse", "error": {"code": "X", "detail": "why not"}}),
            ("tavily", {"detail": {"error": "why not"}}),
            ("exa", {"requestId": "r", "error": "why not", "tag": "INVALID_API_KEY"}),
            ("serper", {"message": "why not", "statusCode": 403}),
            ("kagi", {"meta": {}, "data": None, "error": [{"code": 1, "msg": "why not"}]}),
            ("ollama", {"error": "why not"}),
        ]
        for self.provider, document in shapes:
            for status, wanted in (
                ("401 No", "the key is wrong"),
                ("429 Slow", "too many searches"),
            ):
                self.session["messages"] = []
                with self.subTest(self.provider, status=status):
                    text = await self.error(reply(document, status))
                    self.assertIn(f"{PROVIDERS[self.provider].title} answered {status[:3]}", text)
                    self.assertIn(wanted, text)
                    self.assertTrue(text.endswith(": why not"), text)

    async def test_an_error_that_calls_itself_200(self) -> None:
        self.provider = "kagi"
        document = {"data": None, "error": [{"code": 1, "msg": "why not"}]}
        self.assertIn("than results: why not", await self.error(reply(document)))

    async def test_it_is_in_no_answer(self) -> None:
        echo = {"error": {"detail": f"bad key {KEY}"}}
        self.assertNotIn(KEY, await self.error(reply(echo, "401 No")))
        self.assertIn(KEY, json.dumps(self.asked[0].headers))
        self.session["messages"] = []
        page = {
            "web": {"results": [{"url": f"https://e.org/?{KEY}", "title": KEY, "description": KEY}]}
        }
        said = await self.envelope(reply(page))
        self.assertEqual(said["status"], "ok")
        self.assertNotIn(KEY, json.dumps(said) + self.text)

    async def test_it_follows_no_redirect(self) -> None:
        async with serving(reply({})) as other:
            for status in ("301 Moved", "302 Found", "303 See", "307 Same", "308 Same"):
                self.session["messages"] = []
                with self.subTest(status):
                    text = await self.error(reply({}, status, f"location: {other.url}"))
                    self.assertIn("it redirects, which is not followed", text)
            self.assertEqual(other.requests, [])

    async def test_every_provider_end_to_end(self) -> None:
        for self.provider, document in ANSWERS.items():
            self.session["messages"] = []
            with self.subTest(self.provider):
                said = await self.envelope(reply(document))
                (one,) = said["result"]["results"]
                self.assertEqual((one["title"], one["text"]), ("One", "A passage"))
                self.assertEqual(len(self.asked), 1)


class Choice(Case):
    """Which provider searches: what is configured, what is found, and what the owner is told."""

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
        self.assertEqual(choice.tools, ())
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


class Names(Case):
    async def test_the_owners_own_tool_of_that_name_stays(self) -> None:
        def web_search(query: str) -> str:
            """Search our archive."""
            return query

        toolbox = Toolbox(self.config, self.client)
        toolbox.add([tool(web_search)])
        server = {"search": DEFAULTS["server"]["search"] | {"url": "http://127.0.0.1:1"}}
        choice = await find_search({**server, "discover": False}, self.client, {})
        self.assertEqual([each.name for each in choice.tools], ["web_search"])
        await toolbox.load_owner_tools(choice.tools)
        (one,) = [each for each in toolbox.info() if each["name"] == "web_search"]
        self.assertEqual(one["description"], "Search our archive.")
