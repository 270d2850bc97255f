"""The search of the provider itself in the three APIs: asked for, cited, sent back unchanged."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.models.chat_request import ModelRequest, ToolNameMap
from server.models.provider_search import MOST, Citations, search_options
from server.models.tool_mode import NATIVE

from ..extensions import needs
from . import whole
from .fakes import APIS, message, options, provider, sse, tool
from .speakers import frame

Json = dict[str, Any]

USER: Json = {"role": "user", "content": "when?"}


def build(api: str, *messages: Any, tools: Any = (), asked: Any = True, **changes: Any) -> Json:
    source = provider(**{"preset": "custom", **changes})
    given = options(settings={} if asked is None else {"web_search": asked})
    names = ToolNameMap()
    wanted = ModelRequest(source, list(messages), list(tools), given, NATIVE, names)
    body: Json = APIS[api].request(wanted)
    return json.loads(json.dumps(body, default=str))  # type: ignore[no-any-return]


class Asked(unittest.TestCase):
    def test_each_api_in_its_own_words(self) -> None:
        own = {"max_uses": 3}
        cases: list[tuple[str, str, Any, Json]] = [
            ("chat", "openrouter", True, {"plugins": [{"id": "web"}]}),
            (
                "chat",
                "openrouter",
                {"max_results": 2},
                {"plugins": [{"id": "web", "max_results": 2}]},
            ),
            ("chat", "openai", True, {"web_search_options": {}}),
            ("responses", "openai", True, {"tools": [{"type": "web_search"}]}),
            (
                "responses",
                "openai",
                {"filters": {"allowed_domains": ["a.org"]}},
                {"tools": [{"type": "web_search", "filters": {"allowed_domains": ["a.org"]}}]},
            ),
            (
                "messages",
                "anthropic",
                own,
                {"tools": [{"type": "web_search_20250305", "name": "web_search", **own}]},
            ),
            (
                "messages",
                "anthropic",
                {"type": "web_search_20260209", "name": "x"},
                {"tools": [{"type": "web_search_20260209", "name": "web_search"}]},
            ),
        ]
        for api, preset, asked, members in cases:
            if api not in APIS:
                continue
            with self.subTest(api, asked=asked):
                body = build(api, USER, asked=asked, preset=preset)
                for tool_sent in body.get("tools", ()):
                    tool_sent.pop("cache_control", None)
                self.assertEqual({k: body.get(k) for k in members}, members)
                self.assertNotIn("web_search", body)

    def test_only_if_it_is_asked_for(self) -> None:
        for api in APIS:
            nothing: list[Any] = [None, False, 0, "yes", [], 1]
            for asked in nothing:
                body = build(api, USER, asked=asked)
                with self.subTest(api, asked=asked):
                    found = {"tools", "plugins", "web_search_options", "web_search"} & body.keys()
                    self.assertEqual(found, set())

    def test_the_sessions_word_is_used_instead_of_the_providers(self) -> None:
        source = provider(settings={"web_search": {"max_uses": 1}})
        self.assertEqual(search_options(source, options()), {"max_uses": 1})
        self.assertIsNone(search_options(source, options(settings={"web_search": False})))
        self.assertEqual(search_options(source, options(settings={"web_search": True})), {})

    def test_two_searches_of_one_name_are_not_offered(self) -> None:
        tools = [tool("f"), tool("web_search")]
        for api in APIS:
            with self.subTest(api):
                named = json.dumps(build(api, USER, tools=tools, asked=None)["tools"])
                self.assertEqual(named.count('"web_search"'), 1)
                body = build(api, USER, tools=tools)
                both = json.dumps(body["tools"])
                self.assertIn('"f"', both)
                self.assertNotIn("does web_search", both)


class Documents(unittest.TestCase):
    def test_what_has_no_address_is_cited_by_its_name(self) -> None:
        for raw, wanted in (
            (
                {"type": "page_location", "cited_text": "12 kg", "document_index": 0}
                | {"document_title": "Manual", "start_page_number": 3, "end_page_number": 4},
                {"title": "Manual", "text": "12 kg", "page": 3},
            ),
            (
                {"type": "char_location", "cited_text": "12 kg", "document_title": None},
                {"title": "", "text": "12 kg"},
            ),
            (
                {"type": "search_result_location", "source": "https://a.example/", "title": "A"},
                {"url": "https://a.example/", "title": "A"},
            ),
            (
                {"type": "search_result_location", "source": "wiki/12", "title": "A"},
                {"title": "A"},
            ),
            (
                {"type": "file_citation", "file_id": "f", "filename": "a.pdf", "index": 4},
                {"title": "a.pdf"},
            ),
            ({"type": "file_path", "file_id": "file-1", "index": 4}, {"title": "file-1"}),
            ({"url": "javascript:x", "title": "A"}, None),
            ({"type": "char_location"}, None),
        ):
            cited = Citations()
            cited.add(raw)
            with self.subTest(raw):
                self.assertEqual(cited.all, [wanted] if wanted else [])


SEARCH: Json = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "moon"},
}
SEAL: Json = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}


@needs("responses_api")
class Responses(unittest.TestCase):
    text = "It was 1969 ([a.example](https://a.example/))."
    note: Json = {
        "type": "url_citation",
        "start_index": 12,
        "end_index": 45,
        "url": "https://a.example/",
        "title": "A",
    }

    def output(self) -> list[Json]:
        part = {"type": "output_text", "text": self.text, "annotations": [self.note]}
        return [SEAL, SEARCH, {"type": "message", "id": "msg_1", "content": [part]}]

    def check(self, made: Json) -> None:
        self.assertEqual(made["content"], self.text)
        cited = {"url": "https://a.example/", "title": "A", "start": 12, "end": 45}
        self.assertEqual(made["meta"]["citations"], [cited])
        self.assertEqual(self.text[12:45], "([a.example](https://a.example/))")
        items = build("responses", USER, made, USER)["input"]
        self.assertEqual(items[1:3], [SEAL, SEARCH], "where it was and as it was")

    def test_streamed_and_in_one_piece(self) -> None:
        end = {"type": "response.completed", "response": {"status": "completed"}}
        events: list[Json] = []
        for index, each in enumerate(self.output()):
            added = {**each, "content": []} if each["type"] == "message" else each
            events.append(
                {"type": "response.output_item.added", "output_index": index, "item": added}
            )
            if each["type"] == "message":
                events += (
                    {"type": "response.output_text.delta", "output_index": index, "delta": word}
                    for word in (self.text[:9], self.text[9:])
                )
                events.append({"type": "response.output_text.annotation.added"})
            events.append(
                {"type": "response.output_item.done", "output_index": index, "item": each}
            )
        self.check(message(whole.read("responses", *map(frame, [*events, end]))))
        document = {"object": "response", "status": "completed", "output": self.output()}
        self.check(message(whole.read("responses", json.dumps(document).encode())))


class Chat(unittest.TestCase):
    def test_annotations(self) -> None:
        note = {
            "type": "url_citation",
            "url_citation": {
                "url": "https://a.example/",
                "title": "A",
                "content": "words",
                "start_index": 0,
                "end_index": 2,
            },
        }
        chunks: list[Json] = [
            {"choices": [{"index": 0, "delta": {"content": "Hi"}}]},
            {"choices": [{"index": 0, "delta": {"content": "", "annotations": [note]}}]},
            {"choices": [{"index": 0, "delta": {"annotations": [note]}, "finish_reason": "stop"}]},
        ]
        made = message(whole.read("chat", sse(*chunks)))
        cited = {"url": "https://a.example/", "title": "A", "text": "words", "start": 0, "end": 2}
        self.assertEqual(made["meta"]["citations"], [cited], "said twice, kept once")
        spoken = {"role": "assistant", "content": "Hi", "annotations": [note]}
        document = {"choices": [{"index": 0, "message": spoken, "finish_reason": "stop"}]}
        made = message(whole.read("chat", json.dumps(document).encode()))
        self.assertEqual(made["meta"]["citations"], [cited])

    def test_sources_beside_the_answer(self) -> None:
        """Perplexity has them at the top of each chunk, and their addresses once more."""
        named = [{"title": "A", "url": "https://a.example/", "date": "2026-01-01"}]
        addresses = ["https://a.example/", "javascript:x"]
        spoken = {"role": "assistant", "content": "It is so [1]."}
        choice = {"index": 0, "delta": spoken, "finish_reason": "stop"}
        for more, title in (
            ({"search_results": named, "citations": addresses}, "A"),
            ({"citations": addresses}, ""),
        ):
            chunk = {"choices": [choice], **more}
            document = {"choices": [{**choice, "message": spoken, "delta": {}}], **more}
            for sent in (sse(chunk, chunk), json.dumps(document).encode()):
                with self.subTest(sent=sent):
                    made = message(whole.read("chat", sent))
                    wanted = [{"url": "https://a.example/", "title": title}]
                    self.assertEqual(made["meta"]["citations"], wanted)


class Parts(unittest.TestCase):
    def test_citations_that_are_none(self) -> None:
        found = Citations()
        odd_ones: list[Any] = [None, 7, [], {}, {"url": 5}, {"url": "javascript:x"}]
        for raw in (*odd_ones, {"url": "http://" + "x" * 9999}):
            found.add(raw, 0, 1)
        found.add_annotations("x")
        found.add_annotations([None, 7, {"type": "file_citation"}, {"url_citation": 5}])
        self.assertEqual(found.all, [])
        odd: Json = {"url": "https://a.example", "title": 5, "start_index": True, "end_index": "x"}
        found.add_annotations([odd, {**odd, "start_index": 5, "end_index": 5}])
        self.assertEqual(found.all, [{"url": "https://a.example", "title": ""}])
        found.add({"url": "https://b.example", "title": "t" * 999, "cited_text": "c" * 9999})
        self.assertEqual([len(found.all[1][k]) for k in ("title", "text")], [300, 2000])
        for number in range(500):
            found.add({"url": f"https://a.example/{number}"})
        self.assertEqual(len(found.all), MOST)
