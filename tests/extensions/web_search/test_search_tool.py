"""web_search against servers: results, refusals, lies, and keys."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any
from unittest import IsolatedAsyncioTestCase

from server.config import Config
from server.extensions.web_search.choice import MAX_ANSWER, SearchEndpoint
from server.extensions.web_search.providers import PROVIDERS, Domains
from server.extensions.web_search.search_tool import WebSearchTool, count_searches, web_search
from server.lib.http.client import Client
from server.tools.sources import ABOUT
from server.tools.toolbox import Toolbox

from ...fakes import DEFAULTS, events_of
from ...models.fakes import Peer, Reply, answer, serving
from ...tools.test_sources import session
from .test_providers import ANSWERS, KEY

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
            toolbox.add([made])
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

    def test_calls_before_that_have_run(self) -> None:
        names = ("web_search", "fetch_url", "web_search", "web_search", "web_search")
        states = {"c0": "done", "c2": "denied", "c3": "failed", "c4": "started"}
        made = session(*names, states=states)
        found = [count_searches(made, f"c{n}") for n in (0, 2, 3, 4)]
        self.assertEqual(found, [0, 1, 1, 2])

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
