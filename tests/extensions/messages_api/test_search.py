"""The search of the provider itself: cited, and sent back unchanged."""

from __future__ import annotations

import json
import unittest
from functools import partial
from typing import Any

from server.extensions.messages_api.messages import cited_blocks, input_of, returned_items

from ...models import whole
from ...models.fakes import message
from ...models.speakers import frame
from ...models.test_provider_search import USER, build

Json = dict[str, Any]


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


class Blocks(unittest.TestCase):
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


if __name__ == "__main__":
    unittest.main()
