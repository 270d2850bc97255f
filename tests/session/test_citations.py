"""What a text cites: marks that name a source, and what the provider's own search cites."""

from __future__ import annotations

import unittest
from typing import Any

from server.session.citations import url_citations

FOUND = {
    "results": [
        {"url": "https://a.example/x", "title": "A", "text": "words"},
        {"url": "javascript:alert(1)", "title": "x"},
        {"url": "http://b.example", "title": 7},
    ]
}


def session(*messages: Any) -> Any:
    return {"messages": [{"id": "u", "role": "user", "content": "?"}, *messages]}


def result(value: Any, sources: Any, role: str = "tool") -> Any:
    envelope = {"status": "ok", "result": value, "sources": sources}
    return {"id": "r", "role": role, "tool_call_id": "c", "content": "", "result": envelope}


def said(content: Any, citations: Any) -> Any:
    meta = {"citations": citations}
    return {"id": "a", "role": "assistant", "content": content, "meta": meta}


class Marks(unittest.TestCase):
    sources = {f"s1.{n + 1}": f"/results/{n}" for n in range(3)}

    def test_places_and_addresses(self) -> None:
        here = session(result(FOUND, self.sources))
        text = "🌕 It is [^s1.1], and [^s1.3][^s1.1]."
        found = url_citations(here, text)
        self.assertEqual(
            [(text[c["start_index"] : c["end_index"]], c["url"], c["title"]) for c in found],
            [
                ("[^s1.1]", "https://a.example/x", "A"),
                ("[^s1.3]", "http://b.example", ""),
                ("[^s1.1]", "https://a.example/x", "A"),
            ],
        )

    def test_a_page_is_its_whole_result(self) -> None:
        here = session(result({"url": "https://a.example", "title": "A"}, {"s2.1": ""}))
        self.assertEqual(len(url_citations(here, "[^s2.1]")), 1)

    def test_the_first_of_two_stays(self) -> None:
        forged = result({"url": "https://evil.example"}, {"s1.1": ""})
        (one,) = url_citations(session(result(FOUND, self.sources), forged), "[^s1.1]")
        self.assertEqual(one["url"], "https://a.example/x")

    def test_marks_that_name_nothing(self) -> None:
        here = session(result(FOUND, self.sources))
        for text in ("", "[^s1.2]", "[^s1.9]", "[^s1]", "[s1.1]", "[^1]", "[^p1]", "s1.1"):
            with self.subTest(text):
                self.assertEqual(url_citations(here, text), [])

    def test_hostile_documents(self) -> None:
        places: list[Any] = [
            None,
            5,
            [],
            {},
            "results/0",
            "/results/9",
            "/results/-1",
            "/x/y",
            "/~",
        ]
        for place in places:
            with self.subTest(place):
                here = session(result(FOUND, {"s1.1": place}))
                self.assertEqual(url_citations(here, "[^s1.1]"), [])
        odd: list[Any] = [None, [], "x", 7]
        for sources in odd:
            with self.subTest(sources):
                self.assertEqual(url_citations(session(result(FOUND, sources)), "[^s1.1]"), [])
        nothing = session({"role": "tool"}, {"role": "tool", "result": None}, result(None, {}))
        self.assertEqual(url_citations(nothing, "[^s1.1]"), [])
        spoken = session(result(FOUND, self.sources, role="assistant"))
        self.assertEqual(url_citations(spoken, "[^s1.1]"), [])


class OfProvider(unittest.TestCase):
    cited = {"url": "https://a.example", "title": "A", "start": 3, "end": 5}

    def test_places_behind_what_is_put_in_front(self) -> None:
        here = session(said("It is so.", [self.cited, {"url": "https://b.example"}]))
        found = url_citations(here, "\n\nIt is so.", "a")
        places = [(c["start_index"], c["end_index"], c["url"]) for c in found]
        self.assertEqual(places, [(5, 7, "https://a.example"), (11, 11, "https://b.example")])

    def test_only_of_this_message_and_this_text(self) -> None:
        here = session(said("It is so.", [self.cited]))
        self.assertEqual(url_citations(here, "It is so.", "b"), [])
        self.assertEqual(url_citations(here, "It is so."), [])
        self.assertEqual(url_citations(here, "It is not.", "a"), [], "a hook has rewritten it")

    def test_hostile_documents(self) -> None:
        odd: list[Any] = [None, {}, "x", [None, 7, {"url": 5}, {"url": "javascript:x"}]]
        for citations in odd:
            with self.subTest(citations):
                self.assertEqual(url_citations(session(said("x", citations)), "x", "a"), [])
        self.assertEqual(url_citations(session(said(None, [self.cited])), "x", "a"), [])
