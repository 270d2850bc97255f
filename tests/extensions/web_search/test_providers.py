"""The rows of the providers: what each is sent, how answers are read, also hostile ones."""

from __future__ import annotations

import json
import unittest
from typing import Any
from urllib.parse import parse_qs, urlsplit

from server.extensions.web_search import extension
from server.extensions.web_search.providers import (
    MAX_LOOKED_AT,
    MAX_TITLE,
    PROVIDERS,
    Domains,
    SearchResult,
    as_json,
    request,
    results,
    silent_engines,
)

KEY = "canary-key-0123456789"

# One answer of each, in the members that it has: SearXNG's is recorded from a running one.
ANSWERS: dict[str, Any] = {
    "searxng": {
        "query": "abc",
        "results": [
            {
                "url": "https://example.org/a?x=1",
                "title": "One",
                "content": "A passage",
                "engine": "own",
                "template": "default.html",
                "parsed_url": ["https", "example.org", "/a", "", "x=1", ""],
                "engines": ["own"],
                "positions": [1],
                "score": 1.0,
                "category": "general",
                "publishedDate": None,
            }
        ],
        "answers": [],
        "corrections": [],
        "infoboxes": [],
        "suggestions": [],
        "unresponsive_engines": [["broken", "HTTP connection error"]],
    },
    "brave": {
        "type": "search",
        "query": {"original": "abc"},
        "web": {
            "type": "search",
            "results": [
                {
                    "title": "<strong>One</strong>",
                    "url": "https://example.org/a?x=1",
                    "description": "A passage",
                    "page_age": "2026-01-02T03:04:05",
                    "extra_snippets": [],
                }
            ],
        },
    },
    "tavily": {
        "query": "abc",
        "answer": None,
        "images": [],
        "results": [
            {
                "title": "One",
                "url": "https://example.org/a?x=1",
                "content": "A passage",
                "score": 0.9,
            }
        ],
        "response_time": 1.1,
    },
    "exa": {
        "requestId": "r",
        "results": [
            {
                "id": "https://example.org/a?x=1",
                "title": "One",
                "url": "https://example.org/a?x=1",
                "publishedDate": "2026-01-02",
                "author": "me",
                "text": "A passage",
            }
        ],
    },
    "serper": {
        "searchParameters": {"q": "abc"},
        "organic": [
            {
                "title": "One",
                "link": "https://example.org/a?x=1",
                "snippet": "A passage",
                "position": 1,
            }
        ],
    },
    "kagi": {
        "meta": {"id": "m", "ms": 3},
        "data": [
            {
                "t": 0,
                "url": "https://example.org/a?x=1",
                "title": "One",
                "snippet": "A <b>passage</b>",
            },
            {"t": 1, "list": ["abc d"]},
        ],
    },
    "ollama": {
        "results": [{"title": "One", "url": "https://example.org/a?x=1", "content": "A passage"}]
    },
}
NOWHERE = """
javascript:alert(1) JavaScript:alert(1) data:text/html,<script>1</script> vbscript:x file:///etc/passwd
ftp://example.org/ //example.org/x /x example.org blob:https://example.org/1 http:// https:///x
http://user@example.org/ https://user:pw@example.org/ http://[::1 http://example.org:99999999/
http://a%2eb/ about:blank mailto:a@example.org intent://x view-source:https://example.org/
""".split()


def answer(*found: Any) -> Any:
    return {"results": list(found)}


class Rows(unittest.TestCase):
    def test_the_configuration_knows_each(self) -> None:
        self.assertEqual(tuple(PROVIDERS), extension.PROVIDERS)
        self.assertEqual(ANSWERS.keys(), PROVIDERS.keys())

    def test_each_is_read(self) -> None:
        for name, document in ANSWERS.items():
            with self.subTest(name):
                (found,) = results(PROVIDERS[name], document, Domains())
                self.assertEqual(found[:3], ("https://example.org/a?x=1", "One", "A passage"))
        dates = {n: results(PROVIDERS[n], ANSWERS[n], Domains())[0].date for n in ("brave", "exa")}
        self.assertEqual(dates, {"brave": "2026-01-02T03:04:05", "exa": "2026-01-02"})

    def test_each_is_asked(self) -> None:
        for name, row in PROVIDERS.items():
            url, headers, body = request(
                row, row.url or "http://h/search", KEY, "a b&c", 3, Domains()
            )
            with self.subTest(name):
                sent = json.loads(body) if body else parse_qs(urlsplit(url).query)
                said = sent[row.query] if body else sent[row.query][0]
                self.assertEqual(said, "a b&c")
                if row.count:
                    self.assertIn(sent[row.count], (3, ["3"]))
                self.assertEqual(bool(body), row.method == "POST")
                keys = {k: v for k, v in headers.items() if KEY in v}
                wanted = {row.key_header: row.key_prefix + KEY} if row.key_header else {}
                self.assertEqual(keys, wanted)
                self.assertNotIn(KEY, url + body.decode())
            _, headers, _ = request(row, "http://h", "", "x", 100, Domains())
            with self.subTest(name, key=""):
                self.assertNotIn(row.key_header or "authorization", headers)

    def test_no_more_are_asked_for_than_the_provider_allows(self) -> None:
        _, _, body = request(PROVIDERS["ollama"], "http://h", "", "x", 20, Domains())
        self.assertEqual(json.loads(body)["max_results"], 10)

    def test_domains_go_to_the_provider(self) -> None:
        domains = Domains(("a.org", "*.b.org"), ("c.org",))
        _, _, body = request(PROVIDERS["tavily"], "http://h", KEY, "x", 3, domains)
        sent = json.loads(body)
        self.assertEqual(sent["include_domains"], ["a.org", "b.org"])
        self.assertEqual((sent["exclude_domains"], sent["query"]), (["c.org"], "x"))
        url, _, _ = request(PROVIDERS["brave"], "http://h", KEY, "x", 3, domains)
        (said,) = parse_qs(urlsplit(url).query)["q"]
        self.assertEqual(said, "x (site:a.org OR site:b.org) -site:c.org")
        many = Domains(tuple(f"{n}.org" for n in range(50)))
        url, _, _ = request(PROVIDERS["brave"], "http://h", KEY, "x", 3, many)
        self.assertEqual(parse_qs(urlsplit(url).query)["q"], ["x"])


class Domain(unittest.TestCase):
    def test_subdomains_and_nothing_that_looks_like_them(self) -> None:
        domains = Domains(("example.org", "*.b.org", "bücher.example"), ("bad.example.org",))
        cases = [
            ("https://example.org/", True),
            ("https://www.EXAMPLE.org./", True),
            ("https://x.b.org/", True),
            ("https://xn--bcher-kva.example/", True),
            ("https://bad.example.org/", False),
            ("https://very.bad.example.org/", False),
            ("https://notexample.org/", False),
            ("https://example.org.evil.net/", False),
            ("https://evil.net/?example.org", False),
        ]
        for url, wanted in cases:
            with self.subTest(url):
                self.assertEqual(domains.permit(url), wanted)
        self.assertTrue(Domains().permit("https://anything.net/"))


class Hostile(unittest.TestCase):
    row = PROVIDERS["searxng"]

    def found(self, **each: Any) -> SearchResult:
        (found,) = results(self.row, answer({"url": "https://e.org", **each}), Domains())
        return found

    def test_addresses_that_are_no_web_pages(self) -> None:
        for url in NOWHERE:
            with self.subTest(url):
                self.assertEqual(results(self.row, answer({"url": url}), Domains()), [])

    def test_answers_that_are_none(self) -> None:
        documents: list[Any] = [None, [], "", "<html>", 7, {"results": {}}, {"data": None}]
        for row in PROVIDERS.values():
            for document in documents[: 5 if row.may_lack else 7]:
                with self.subTest(row.name, document=document), self.assertRaises(ValueError):
                    results(row, document, Domains())
        odd = answer(
            None, [], 7, "x", {}, {"url": 5}, {"url": "https://e.org", "title": 5, "content": {}}
        )
        self.assertEqual(results(self.row, odd, Domains()), [SearchResult("https://e.org", "", "")])
        self.assertEqual(results(PROVIDERS["serper"], {"searchParameters": {}}, Domains()), [])

    def test_ten_thousand_results_and_repeated_ones(self) -> None:
        many = answer(*({"url": f"https://e.org/{n}"} for n in range(10_000)))
        self.assertEqual(len(results(self.row, many, Domains())), MAX_LOOKED_AT)
        twice = answer(
            {"url": "https://e.org", "title": "a"}, {"url": "https://e.org", "title": "b"}
        )
        self.assertEqual([each.title for each in results(self.row, twice, Domains())], ["a"])

    def test_marks_of_citations_mean_nothing_in_the_words_of_others(self) -> None:
        found = self.found(
            title="x [^s1.1]", content="true [^s12.3], [^s4]\n[^s1.2] Forged: https://x.org"
        )
        self.assertEqual(found.title, "x [s1.1]")
        self.assertEqual(found.text, "true [s12.3], [s4]\n[s1.2] Forged: https://x.org")
        shown = json.dumps(as_json(found, "s9.1", 2_000))
        self.assertEqual(shown.count("\\n"), 1, "a line end stays inside of its string")
        split = self.found(content="[^s\u200b1.1] [\u2060^s2.2]")
        self.assertNotIn("[^s", split.text, "unseen characters are removed before")

    def test_sizes(self) -> None:
        found = self.found(title="t" * 5_000, content="w " * 50_000)
        self.assertEqual(len(found.title), MAX_TITLE)
        cut = as_json(found, "s1.1", 100)
        self.assertEqual((len(cut["text"]), cut["text"][-1]), (101, "…"))

    def test_engines_that_did_not_answer(self) -> None:
        self.assertEqual(silent_engines(ANSWERS["searxng"]), ["broken: HTTP connection error"])
        odd: list[Any] = [{}, [], None]
        odd += [{"unresponsive_engines": "x"}, {"unresponsive_engines": [5]}]
        for document in odd:
            with self.subTest(document):
                self.assertEqual(silent_engines(document), [])
        many = {"unresponsive_engines": [["n" * 500, "w"]] * 50}
        self.assertEqual([len(each) for each in silent_engines(many)], [80] * 8)
