"""The search of the provider itself in the three APIs: asked for, cited, sent back unchanged."""

from __future__ import annotations

import json
import unittest
from functools import partial
from typing import Any

from server.models.chat_request import ModelRequest, ToolNameMap
from server.models.provider_search import (
    MOST,
    Citations,
    cited_blocks,
    input_of,
    returned_items,
    search_options,
)

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
    wanted = ModelRequest(source, list(messages), list(tools), given, "native", names)
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


def block(index: int, content: Json, *deltas: Json) -> bytes:
    events = [{"type": "content_block_start", "index": index, "content_block": content}]
    events += ({"type": "content_block_delta", "index": index, "delta": d} for d in deltas)
    return b"".join(map(frame, [*events, {"type": "content_block_stop", "index": index}]))


USE: Json = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "moon"},
}
FOUND: Json = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {
            "type": "web_search_result",
            "url": "https://a.example/",
            "title": "A",
            "encrypted_content": "Eo8=",
            "page_age": None,
        }
    ],
}
CITATION: Json = {
    "type": "web_search_result_location",
    "url": "https://a.example/",
    "title": "A",
    "encrypted_index": "Eo9=",
    "cited_text": "It was 1969.",
}
BEHIND: Json = {
    "type": "message_delta",
    "delta": {"stop_reason": "end_turn"},
    "usage": {"output_tokens": 3},
}


class Messages(unittest.TestCase):
    read = staticmethod(partial(whole.read, "messages"))
    content = [
        {"type": "text", "text": "I look. "},
        USE,
        FOUND,
        {"type": "text", "text": "It was "},
        {"type": "text", "text": "in 1969 ☃👩‍💻", "citations": [CITATION]},
        {"type": "text", "text": ", they say."},
    ]

    def check(self, made: Json) -> None:
        self.assertEqual(made["content"], "I look. It was in 1969 ☃👩‍💻, they say.")
        start = len("I look. It was ")
        self.assertEqual(
            made["meta"]["citations"],
            [
                {
                    "url": "https://a.example/",
                    "title": "A",
                    "text": "It was 1969.",
                    "start": start,
                    "end": start + len("in 1969 ☃👩‍💻"),
                }
            ],
        )
        body = build("messages", USER, made, USER, preset="anthropic")
        self.assertEqual(body["messages"][1], {"role": "assistant", "content": self.content})
        other = build("messages", USER, {**made, "meta": {"model": "other"}}, USER)
        self.assertEqual(
            other["messages"][1]["content"], [{"type": "text", "text": made["content"]}]
        )

    def test_streamed(self) -> None:
        pieces = ['{"que', 'ry":"moon"}']
        deltas = [{"type": "input_json_delta", "partial_json": each} for each in pieces]
        stream = [
            frame({"type": "message_start", "message": {"role": "assistant", "usage": None}}),
            block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I look. "}),
            block(1, {**USE, "input": {}}, *deltas),
            block(2, FOUND),
            block(3, {"type": "text", "text": ""}, {"type": "text_delta", "text": "It was "}),
            block(
                4,
                {"type": "text", "text": "", "citations": []},
                {"type": "text_delta", "text": "in 1969 "},
                {"type": "citations_delta", "citation": CITATION},
                {"type": "text_delta", "text": "☃👩‍💻"},
            ),
            block(5, {"type": "text", "text": ""}, {"type": "text_delta", "text": ", they say."}),
            frame(BEHIND),
            frame({"type": "message_stop"}),
        ]
        self.check(message(self.read(*stream)))

    def test_in_one_piece(self) -> None:
        document = {"type": "message", "content": self.content, "stop_reason": "end_turn"}
        self.check(message(self.read(json.dumps(document).encode())))

    def test_what_cannot_go_back_does_not(self) -> None:
        """A use whose result never came, and the other way round, would be refused for ever."""
        for lost in (USE, FOUND):
            content = [each for each in self.content if each is not lost]
            document = {"type": "message", "content": content, "stop_reason": "end_turn"}
            made = message(self.read(json.dumps(document).encode()))
            body = build("messages", USER, made, USER, preset="anthropic")
            kinds = [each["type"] for each in body["messages"][1]["content"]]
            with self.subTest(lost["type"]):
                self.assertEqual(kinds, ["text"] * 4)

    def test_a_newer_search_runs_code_and_names_the_caller(self) -> None:
        caller = {"type": "code_execution_20260209", "tool_id": "srvtoolu_0"}
        code = {**USE, "id": "srvtoolu_0", "name": "code_execution", "input": {"code": "s()"}}
        ran: Json = {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_0"}
        ran |= {"content": {"type": "code_execution_result", "stdout": "x", "return_code": 0}}
        content: list[Json] = [code, {**USE, "caller": caller}, {**FOUND, "caller": caller}, ran]
        content.append({"type": "text", "text": "In 1969."})
        document = {"type": "message", "content": content, "stop_reason": "end_turn"}
        made = message(self.read(json.dumps(document).encode()))
        self.assertNotIn("warnings", made["meta"])
        body = build("messages", USER, made, USER, preset="anthropic")
        self.assertEqual(body["messages"][1]["content"], content)

    def test_a_failed_search_goes_back_and_cites_nothing(self) -> None:
        error = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
        content = [USE, {**FOUND, "content": error}, {"type": "text", "text": "No idea."}]
        document = {"type": "message", "content": content, "stop_reason": "end_turn"}
        made = message(self.read(json.dumps(document).encode()))
        self.assertNotIn("citations", made["meta"])
        body = build("messages", USER, made, USER, preset="anthropic")
        self.assertEqual(body["messages"][1]["content"], content)

    def test_blocks_that_are_none(self) -> None:
        odd = [
            {"type": "server_tool_use", "input": []},
            {"type": "server_tool_use", "id": 5, "input": {"a": 1}},
            {"type": "web_search_tool_result", "content": "x"},
            {"type": "text", "text": "Hi", "citations": [None, 7, {"url": "javascript:x"}]},
        ]
        document = {"type": "message", "content": odd, "stop_reason": "end_turn"}
        made = message(self.read(json.dumps(document).encode()))
        self.assertEqual(made["content"], "Hi")
        self.assertNotIn("citations", made["meta"])
        build("messages", USER, made, USER, preset="anthropic")


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

    def test_input(self) -> None:
        self.assertEqual(input_of('{"a": 1}'), {"a": 1})
        for text in ("", "[", "[1]", "[" * 9999, "null"):
            with self.subTest(text[:9]):
                self.assertEqual(input_of(text), {})

    def test_blocks_of_a_text(self) -> None:
        cited: Json = {"type": "cited_text", "chars": 2, "citations": [CITATION]}
        first = {"type": "text", "text": "ab", "citations": [CITATION]}
        rest = {"type": "text", "text": "c"}
        cases: list[tuple[str, Any, list[Json]]] = [
            ("abc", cited, [first, rest]),
            ("ab", cited, [first]),
            ("c", None, [rest]),
            (" ", None, []),
            ("c", {"chars": "x", "citations": []}, [rest]),
            ("c", {"chars": 1, "citations": None}, [rest]),
        ]
        for text, given, blocks in cases:
            with self.subTest(text, cited=given):
                self.assertEqual(list(cited_blocks(text, given)), blocks)

    def test_pairs(self) -> None:
        said = {"type": "text", "text": "x"}
        self.assertEqual(returned_items([USE, FOUND, said]), [USE, FOUND, said])
        self.assertEqual(returned_items([USE, said]), [said])
        self.assertEqual(returned_items([FOUND, said]), [said])
