"""Streams of the Messages API: every event, every cut, every way to end."""

from __future__ import annotations

import json
import unittest
from functools import partial
from typing import Any

from server.extensions.messages_api.messages import AnthropicDecoder
from server.json_types import Event
from server.models.decoder import StreamReader
from server.models.failure import Failure

from ...models import whole
from ...models.fakes import message, options, provider
from ...models.speakers import Messages, frame

Json = dict[str, Any]

SPEAKER = Messages()
read = partial(whole.read, "messages")


def start(usage: Any = None) -> bytes:
    return frame({"type": "message_start", "message": {"role": "assistant", "usage": usage}})


def block(index: int, content: Json, *deltas: Json) -> bytes:
    events = [{"type": "content_block_start", "index": index, "content_block": content}]
    events += ({"type": "content_block_delta", "index": index, "delta": d} for d in deltas)
    return b"".join(map(frame, [*events, {"type": "content_block_stop", "index": index}]))


def end(reason: Any = "end_turn", **more: Any) -> bytes:
    delta = {"stop_reason": reason, **more}
    usage = {"output_tokens": 3}
    return frame({"type": "message_delta", "delta": delta, "usage": usage}) + frame(
        {"type": "message_stop"}
    )


SAID = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "hi"})


class Whole(whole.Whole):
    api, speaker = "messages", SPEAKER

    def check(self, *chunks: bytes) -> Any:
        made = super().check(*chunks)
        self.assertEqual(
            [each["item"] for each in made["reasoning"]["details"]],
            [
                {"type": "thinking", "thinking": "First I think. ☃", "signature": "c2lnMQ=="},
                {"type": "thinking", "thinking": "And again.", "signature": "c2lnMg=="},
            ],
        )
        return made

    def test_a_long_text_is_hardly_parsed(self) -> None:
        """The reader learns what a delta looks like here, too."""
        fed: list[Any] = []

        class Counting(AnthropicDecoder):
            def feed(self, chunk: Any) -> list[Event]:
                fed.append(chunk)
                return super().feed(chunk)

        source = provider(api="messages")
        reader = StreamReader(Counting(source, options()), source)
        pieces = [f"word{n} " for n in range(500)]
        found = list(reader.feed(SPEAKER.stream([("text", pieces)])))
        found += reader.finish(1)
        self.assertEqual(message(found)["content"], "".join(pieces))
        self.assertLess(len(fed), 20)

    def test_an_answer_in_one_piece(self) -> None:
        thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
        content = [
            thinking,
            {"type": "redacted_thinking", "data": "xx"},
            {"type": "text", "text": "hi"},
            {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": [1, "é"]}},
            {"type": "tool_use", "id": "t2", "name": "g", "input": {}},
        ]
        usage = {"input_tokens": 5, "output_tokens": 2}
        document = {"type": "message", "content": content, "usage": usage}
        made = message(read(json.dumps({**document, "stop_reason": "tool_use"}).encode()))
        self.assertEqual((made["content"], made["reasoning"]["text"]), ("hi", "hm"))
        self.assertEqual([each["item"] for each in made["reasoning"]["details"]], content[:2])
        arguments = [call["function"]["arguments"] for call in made["tool_calls"]]
        self.assertEqual(arguments, ['{"a":[1,"é"]}', "{}"])
        self.assertEqual(made["meta"]["usage"]["total_tokens"], 7)


class Events(unittest.TestCase):
    def test_what_is_not_known_is_passed_over(self) -> None:
        strange: list[Json] = [
            {"type": "ping"},
            {"type": "content_block_sideways", "index": 0},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta"}},
            {"type": "content_block_delta", "index": 9, "delta": {"type": "signature_delta"}},
            {"type": "content_block_delta", "index": 9, "delta": {"type": "input_json_delta"}},
            {"type": "content_block_delta", "index": 0, "delta": None},
            {"type": "content_block_delta"},
            {"type": "content_block_start", "index": 7, "content_block": {"type": "new"}},
            {"type": "content_block_delta", "index": 7, "delta": {"type": "new_delta"}},
            {"type": "content_block_stop", "index": 7},
            {"type": "content_block_stop", "index": "x"},
            {"type": "message_delta", "delta": None, "usage": None},
            {"type": "message_start", "message": None},
        ]
        server_tool = block(
            1,
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"q":1}'},
        )
        found = read(start(), *map(frame, strange), SAID, server_tool, end())
        made = message(found)
        self.assertEqual((made["content"], made.get("tool_calls")), ("hi", None))

    def test_events_without_names(self) -> None:
        """The type inside is what counts, as with servers that send `data:` only."""
        lines = [line for line in SPEAKER.stream(whole.PARTS).split(b"\n") if b"event:" not in line]
        self.assertEqual(message(read(b"\n".join(lines)))["content"], "Then I say 🙂.")

    def test_thoughts_without_words(self) -> None:
        """Sealed altogether, or with `display: omitted`: nothing to read, and they go back."""
        omitted = block(
            1,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "signature_delta", "signature": "c2ln"},
        )
        sealed = block(0, {"type": "redacted_thinking", "data": "xx"})
        made = message(
            read(start(), sealed, omitted, SAID.replace(b'"index": 0', b'"index": 2'), end())
        )
        items = [each["item"] for each in made["reasoning"]["details"]]
        self.assertEqual(items[0], {"type": "redacted_thinking", "data": "xx"})
        self.assertEqual(items[1], {"type": "thinking", "thinking": "", "signature": "c2ln"})
        self.assertEqual(made["reasoning"]["text"], "")

    def test_arguments_at_the_start_of_the_block(self) -> None:
        """Some servers send them whole there; deltas that follow count instead."""
        use = {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}
        more = {"type": "input_json_delta", "partial_json": '{"a":2}'}
        for deltas, wanted in (((), '{"a":1}'), ((more,), '{"a":2}')):
            (call,) = message(read(start(), block(0, use, *deltas), end("tool_use")))["tool_calls"]
            self.assertEqual(call["function"]["arguments"], wanted)
        never_stopped = frame({"type": "content_block_start", "index": 0, "content_block": use})
        (call,) = message(read(start(), never_stopped, end("tool_use")))["tool_calls"]
        self.assertEqual(call["function"]["arguments"], '{"a":1}')

    def test_usage(self) -> None:
        """Counts are cumulative; input from the cache is told beside the rest of it."""
        first = {"input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 1}
        first |= {"cache_creation_input_tokens": 20}
        costs = {"input": 3.0, "output": 15.0, "cached": 0.3, "cache_write": 3.75}
        used = message(read(start(first), SAID, end(), costs=costs))["meta"]["usage"]
        self.assertEqual(
            used,
            {
                "prompt_tokens": 125,
                "completion_tokens": 3,
                "total_tokens": 128,
                "cached_tokens": 100,
                "cache_write_tokens": 20,
                "cost_micro": 5 * 3000 + 100 * 300 + 20 * 3750 + 3 * 15000,
            },
        )
        late: Json = {"input_tokens": 9, "cache_read_input_tokens": None, "output_tokens": 4}
        late |= {"output_tokens_details": {"thinking_tokens": 2}}
        change = frame({"type": "message_delta", "delta": {}, "usage": late})
        used = message(read(start(first), SAID, change, end()))["meta"]["usage"]
        self.assertEqual((used["prompt_tokens"], used["reasoning_tokens"]), (129, 2))


class Gateways(unittest.TestCase):
    def test_thoughts_in_a_block_that_was_begun_as_text(self) -> None:
        """LiteLLM sends them so. Without a signature they are shown, and never sent back."""
        text = {"type": "text", "text": ""}
        deltas = (
            {"type": "thinking_delta", "thinking": "Hm."},
            {"type": "text_delta", "text": "Yes."},
        )
        made = message(read(start(), start(), block(0, text, *deltas), end()))
        self.assertEqual((made["reasoning"]["text"], made["content"]), ("Hm.", "Yes."))
        self.assertNotIn("details", made["reasoning"])


class Ends(unittest.TestCase):
    def test_reasons(self) -> None:
        cases = {
            "end_turn": "stop",
            "stop_sequence": "stop",
            "max_tokens": "length",
            "refusal": "content_filter",
            "pause_turn": "pause_turn",
            "model_context_window_exceeded": "model_context_window_exceeded",
            "something_new": "something_new",
        }
        for raw, wanted in cases.items():
            with self.subTest(raw):
                made = message(read(start(), SAID, end(raw)))
                self.assertEqual(made["meta"]["finish_reason"], wanted)

    def test_a_refusal_says_why(self) -> None:
        why = {"type": "refusal", "category": "cyber", "explanation": "I may not."}
        made = message(read(start(), end("refusal", stop_details=why)))
        self.assertEqual(made["content"], "I may not.")
        made = message(read(start(), SAID, end("refusal", stop_details=why)))
        self.assertEqual(made["content"], "hi", "it has said something itself")

    def test_a_call_cut_at_the_limit_is_not_made_whole(self) -> None:
        use = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
        half = {"type": "input_json_delta", "partial_json": '{"a'}
        made = message(read(start(), block(0, use, half), end("max_tokens")))
        self.assertEqual(made["meta"]["finish_reason"], "length")
        self.assertEqual(made["tool_calls"][0]["function"]["arguments"], '{"a')

    def test_errors_in_the_stream(self) -> None:
        cases = [
            ("overloaded_error", "upstream_error", True),
            ("api_error", "upstream_error", True),
            ("rate_limit_error", "upstream_rate_limit", True),
            ("timeout_error", "upstream_timeout", True),
            ("authentication_error", "upstream_auth", False),
            ("permission_error", "upstream_auth", False),
            ("invalid_request_error", "upstream_error", False),
            ("billing_error", "upstream_error", False),
            ("request_too_large", "context_overflow", False),
        ]
        for kind, code, retryable in cases:
            error = {"type": "error", "error": {"type": kind, "message": f"{kind}: no"}}
            for stream in (start() + SAID + frame(error), json.dumps(error).encode()):
                with self.subTest(kind, stream=stream[:9]), self.assertRaises(Failure) as caught:
                    read(stream)
                self.assertEqual(
                    (caught.exception.code, caught.exception.retryable), (code, retryable)
                )
                self.assertIn("main failed", caught.exception.message)

    def test_a_stream_that_breaks_off(self) -> None:
        for stream in (b"", start(), start() + SAID, b"data: {}\n\n"):
            with self.subTest(stream[:20]), self.assertRaises(Failure) as caught:
                read(stream)
            self.assertEqual(caught.exception.code, "upstream_truncated")

    def test_nothing_is_read_behind_the_end(self) -> None:
        self.assertEqual(message(read(start(), SAID, end(), b"data: {oops\n\n"))["content"], "hi")


if __name__ == "__main__":
    unittest.main()
