"""Every quirk of vectors/llm_stream.json, decoded whole and cut everywhere."""

from __future__ import annotations

import json
import random
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from server.json_types import Event
from server.models.chat_decoder import Decoder
from server.models.decoder import StreamReader
from server.models.failure import Failure
from server.models.tool_mode import NO_CALLS, Readers

from ..tooling import turns
from .fakes import check_brackets, message, options, provider, said

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "vectors" / "llm_stream.json").read_text()
)
SENT = 100  # bytes of the request, for estimates
SMALL = 700  # streams up to this size are cut at every byte


PROVIDER = provider()


def decoder_of(vector: dict[str, Any], readers: Readers = NO_CALLS) -> Decoder:
    source = provider(preset=vector.get("preset", "custom"), quirks=vector.get("quirks", {}))
    names = vector.get("names", {})
    return Decoder(source, options(), lambda name: names.get(name, name), *readers)


def wire(vector: dict[str, Any]) -> bytes:
    """The vector as the bytes of an event stream."""
    if "raw" in vector:
        return str(vector["raw"]).encode()
    frames = [f"data: {json.dumps(chunk)}\n\n" for chunk in vector["chunks"]]
    done = "data: [DONE]\n\n" if vector.get("done", True) else ""
    return ("".join(frames) + done).encode()


def read(
    vector: dict[str, Any], pieces: list[bytes], readers: Readers = NO_CALLS
) -> tuple[list[Event], Failure | None]:
    """The events of a stream in these pieces, and the failure that ended it."""
    decoder = decoder_of(vector, readers)
    reader = StreamReader(decoder, PROVIDER)
    events: list[Event] = []
    try:
        for piece in pieces:
            for event in reader.feed(piece):
                events.append(event)
            if decoder.ended:
                break
        events.extend(reader.finish(SENT))
    except Failure as failure:
        return events, failure
    return events, None


def cuts(data: bytes) -> Iterator[list[bytes]]:
    """Byte by byte, then at every place (small streams) or at random ones."""
    yield [data[i : i + 1] for i in range(len(data))]
    if len(data) <= SMALL:
        for place in turns.share(range(1, len(data)), 4):
            yield [data[:place], data[place:]]
    seed = random.Random(len(data))
    for _ in range(20):
        places = sorted(seed.sample(range(len(data) + 1), min(8, len(data) + 1)))
        yield [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


class Unread(unittest.TestCase):
    def test_pictures_beside_a_text_are_said(self) -> None:
        pictures = {"images": [{"type": "image_url"}], "audio": {"id": "a"}}
        half = {"content": ["ok", {"type": "a\ud800"}]}  # no session may have half a pair
        rows: tuple[tuple[dict[str, Any], list[str]], ...]
        rows = (({}, []), (pictures, ["audio, images"]), (half, ["a\ufffd"]))
        for more, wanted in rows:
            chunk = {"choices": [{"delta": {"content": "ok", **more}, "finish_reason": "stop"}]}
            vector = {"chunks": [chunk]}
            events, failure = read(vector, [wire(vector)])
            assert failure is None
            found = message(events)["meta"].get("warnings", [])
            self.assertEqual([each["code"] for each in found], ["answer_unread"] * len(wanted))
            for each, words in zip(found, wanted, strict=True):
                self.assertIn(words, each["message"])

    def test_what_an_answer_without_a_text_consists_of_can_be_sent(self) -> None:
        chunk = {
            "choices": [{"delta": {"content": [{"type": "a\ud800"}]}, "finish_reason": "stop"}]
        }
        _, failure = read({"chunks": [chunk]}, [wire({"chunks": [chunk]})])
        self.assertIn("it consists of a\ufffd,", str(failure))


class Vectors(unittest.TestCase):
    maxDiff = None
    vectors = VECTORS

    def readers(self, vector: dict[str, Any]) -> Readers:
        return NO_CALLS

    def check(self, vector: dict[str, Any], events: list[Event], failure: Failure | None) -> None:
        if "error" in vector:
            assert failure is not None, "no failure"
            self.assertEqual(failure.code, vector["error"])
            self.assertIn(vector.get("says", ""), failure.message)
            self.assertEqual(failure.retryable, vector.get("retryable", failure.retryable))
            text = "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")
            self.assertEqual(text, vector.get("text", ""))
            return
        if failure is not None:
            raise failure
        self.assertEqual(check_brackets(events), [])
        self.assertEqual(events[-1]["type"], "TEXT_MESSAGE_END")
        made = message(events)
        json.dumps(made).encode()
        json.dumps(made, ensure_ascii=False).encode()  # no half pairs
        calls = made.get("tool_calls", [])
        got = {
            "calls": [[c["function"]["name"], c["function"]["arguments"]] for c in calls],
            "finish": made["meta"]["finish_reason"],
            "text": made["content"],
            "think": made.get("reasoning", {}).get("text", ""),
        }
        self.assertEqual(got, {key: vector[key] for key in got})
        self.assertEqual(made["at"], 1_700_000_000_000, "whether a thought or a word comes first")
        self.assertEqual(len({call["id"] for call in calls}), len(calls))
        if "ids" in vector:
            self.assertEqual([call["id"] for call in calls], vector["ids"])
        if "extra" in vector:
            self.assertEqual([call.get("extra") for call in calls], vector["extra"])
        if "usage" in vector:
            self.assertEqual(made["meta"]["usage"], vector["usage"])
        for key in ("field", "details"):
            if key in vector:
                self.assertEqual(made["reasoning"].get(key), vector[key])

    def test_names_are_unique(self) -> None:
        names = [vector["name"] for vector in self.vectors]
        self.assertEqual(len(set(names)), len(names))

    def test_whole(self) -> None:
        for vector in self.vectors:
            with self.subTest(vector["name"]):
                self.check(vector, *read(vector, [wire(vector)], self.readers(vector)))

    def test_cut_everywhere(self) -> None:
        for vector in self.vectors:
            data = wire(vector)
            whole, failure = read(vector, [data], self.readers(vector))
            with self.subTest(vector["name"]):
                for pieces in cuts(data):
                    again, same = read(vector, pieces, self.readers(vector))
                    if (again, str(same)) != (whole, str(failure)):  # a message for each is slow
                        self.fail(f"in pieces of {[len(piece) for piece in pieces][:9]}: {again}")

    def test_chunk_by_chunk(self) -> None:
        """Without the event stream: the decoder alone."""
        for vector in self.vectors:
            if "chunks" in vector and "error" not in vector and "done" not in vector:
                with self.subTest(vector["name"]):
                    decoder = decoder_of(vector, self.readers(vector))
                    events = [e for chunk in vector["chunks"] for e in decoder.feed(chunk)]
                    self.check(vector, events + decoder.finish(SENT), None)


class Streaming(unittest.TestCase):
    def test_one_delta_in_one_event_out(self) -> None:
        decoder = Decoder(provider(), options())
        first = decoder.feed(said("a"))
        self.assertEqual(
            [event["type"] for event in first], ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]
        )
        for delta in ("b", " ", "\n", "```", "<", "<think>", "{", "日"):
            with self.subTest(delta):
                (event,) = decoder.feed(said(delta))
                self.assertEqual(event["delta"], delta)

    def test_one_thought_in_one_event_out(self) -> None:
        for name in ("reasoning_content", "reasoning"):
            decoder = Decoder(provider(), options())
            decoder.feed({"choices": [{"delta": {name: "a"}}]})
            for delta in (" ", "\n", "\n\n", "b", "日"):
                with self.subTest(name, delta=delta):
                    (event,) = decoder.feed({"choices": [{"delta": {name: delta}}]})
                    self.assertEqual(event["type"], "REASONING_MESSAGE_CONTENT")
                    self.assertEqual(event["delta"], delta)

    def test_argument_fragments_leave_at_once(self) -> None:
        decoder = Decoder(provider(), options())
        call: dict[str, Any] = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": ""}}
        decoder.feed({"choices": [{"delta": {"tool_calls": [call]}}]})
        for piece in ('{"', "a", '":', " ", "1", "}"):
            with self.subTest(piece):
                part = {"index": 0, "function": {"arguments": piece}}
                (event,) = decoder.feed({"choices": [{"delta": {"tool_calls": [part]}}]})
                self.assertEqual((event["type"], event["delta"]), ("TOOL_CALL_ARGS", piece))

    def test_a_call_ends_when_the_next_begins(self) -> None:
        decoder = Decoder(provider(), options())
        calls = [
            {"index": i, "id": f"c{i}", "function": {"name": "f", "arguments": '{"a":1}'}}
            for i in range(2)
        ]
        decoder.feed({"choices": [{"delta": {"tool_calls": calls[:1]}}]})
        events = decoder.feed({"choices": [{"delta": {"tool_calls": calls[1:]}}]})
        self.assertEqual(
            [(event["type"], event["toolCallId"]) for event in events],
            [
                ("TOOL_CALL_END", "call_new1"),
                ("TOOL_CALL_START", "call_new2"),
                ("TOOL_CALL_ARGS", "call_new2"),
            ],
        )

    def test_only_an_undecided_tag_waits(self) -> None:
        decoder = Decoder(provider(), options())
        self.assertEqual(decoder.feed(said("<thi")), [])
        events = decoder.feed(said("s>"))
        self.assertEqual(events[-1]["delta"], "<this>")

    def test_meta(self) -> None:
        times = iter((1000, 1250, 1300, 2000, 2000))
        source = provider(costs={"total": 0.002}, cost_unit="USD")
        decoder = Decoder(source, options(now_ms=lambda: next(times)))
        decoder.feed(said("a"))
        decoder.feed({"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 500}})
        decoder.ended = True
        meta = decoder.finish(SENT)[-1]["metadata"]["yaa"]["meta"]
        self.assertEqual(
            meta,
            {
                "model": "m-1",
                "provider": "main",
                "finish_reason": "stop",
                "ms": 1000,
                "first_ms": 300,
                "usage": {
                    "prompt_tokens": 1000,
                    "completion_tokens": 500,
                    "total_tokens": 1500,
                    "cost_micro": 3000,
                    "cost_unit": "USD",
                },
            },
        )

    def test_an_error_in_a_choice_is_a_failure(self) -> None:
        """As OpenRouter tells of a provider that broke down; it is no whole answer."""
        wrong = {"code": 502, "message": "Provider disconnected"}
        for inner in ({"delta": {"content": ""}}, {"message": {"content": "Hal"}}):
            choice = {"index": 0, "finish_reason": "error", "error": wrong, **inner}
            whole = json.dumps({"choices": [choice]}).encode()
            for text in (whole, b"data: " + whole + b"\n\n"):
                with self.subTest(inner, start=text[:5]):
                    _, failure = read({}, [text])
                    assert failure is not None
                    self.assertEqual((failure.code, failure.retryable), ("upstream_error", True))
                    self.assertIn("Provider disconnected", failure.message)

    def test_a_chunk_that_is_no_object_is_a_failure(self) -> None:
        for chunk in ("[]", "[1]", '[{"choices": []}]', '[{"choices": [{}]}, 2]', '"x"', "1"):
            with self.subTest(chunk):
                _, failure = read({}, [b"data: " + chunk.encode() + b"\n\n"])
                assert failure is not None
                self.assertIn("instead of an object", failure.message)

    def test_an_answer_without_a_word_says_why(self) -> None:
        """It would look as if the model had nothing to say."""
        for reason, retryable, words in (
            ("length", False, "limit of tokens"),
            ("content_filter", False, "a filter"),
            ("function_call_filter: MALFORMED_FUNCTION_CALL", True, "MALFORMED_FUNCTION_CALL"),
            ("error", True, "error"),
        ):
            with self.subTest(reason):
                end = {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
                events, failure = read({}, [wire({"chunks": [end]})])
                assert failure is not None
                self.assertEqual((events, failure.retryable), ([], retryable))
                self.assertIn(words, failure.message)
                said_so = wire({"chunks": [said("x"), end]})
                self.assertIsNone(read({}, [said_so])[1])
        paid = {"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12}
        cut = {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}
        _, failure = read({}, [wire({"chunks": [cut, {"choices": [], "usage": paid}]})])
        assert failure is not None
        self.assertEqual(failure.details, {"usage": paid})
        for reason in ("stop", "eos", "eos_token", "stop_sequence"):
            end = {"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": reason}]}
            self.assertIsNone(read({}, [wire({"chunks": [end]})])[1])

    def test_a_call_in_which_an_answer_breaks_off_gets_no_arguments(self) -> None:
        """Whatever ends it: without them it is not run."""
        for reason, arguments in (
            *((cut, "") for cut in ("length", "model_length", "sensitive", "abort", "error")),
            *((whole, "{}") for whole in ("stop", "tool_calls", "eos", "function_call")),
        ):
            with self.subTest(reason):
                decoder = Decoder(provider(), options())
                call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}
                decoder.feed({"choices": [{"delta": {"tool_calls": [call]}}]})
                decoder.feed({"choices": [{"delta": {}, "finish_reason": reason}]})
                decoder.ended = True
                found = [e["delta"] for e in decoder.finish(SENT) if "delta" in e]
                self.assertEqual("".join(found), arguments)

    def test_deep_nesting_is_a_failure(self) -> None:
        for depth in (2_000, 100_000):
            for text in (b"data: " + b"[" * depth + b"\n\n", b"[" * depth):
                with self.subTest(depth=depth, start=text[:6]):
                    _, failure = read({}, [text])
                    assert failure is not None
                    self.assertEqual(failure.code, "upstream_error")

    def test_absurd_details_are_dropped(self) -> None:
        deep: Any = "x"
        for _ in range(200):
            deep = [deep]
        decoder = Decoder(provider(), options())
        delta = {"reasoning_details": [{"a": deep}], "content": "a"}
        decoder.feed({"choices": [{"delta": delta}]})
        decoder.ended = True
        end = decoder.finish(SENT)[-1]
        self.assertEqual(end["metadata"]["yaa"]["reasoning_details"], [{}])

    def test_details_whose_text_is_none(self) -> None:
        decoder = Decoder(provider(), options())
        for text in ("a", 2, None, ["b"], "c"):
            detail = {"type": "reasoning.text", "index": 0, "text": text}
            decoder.feed({"choices": [{"delta": {"reasoning_details": [detail], "content": "x"}}]})
        decoder.ended = True
        end = decoder.finish(SENT)[-1]
        (kept,) = end["metadata"]["yaa"]["reasoning_details"]
        self.assertEqual(kept["type"], "reasoning.text")

    def test_cost_of_many_fragments_is_linear(self) -> None:
        """One id per fragment asks whether the arguments are complete every time."""
        decoder = Decoder(provider(), options())
        pieces = ['{"a":"', *["x" * 10] * 20_000, '"}']
        for number, piece in enumerate(pieces):
            name = {"name": "f"} if number == 0 else {}
            part = {"index": 0, "id": f"c{number}", "function": {**name, "arguments": piece}}
            decoder.feed({"choices": [{"delta": {"tool_calls": [part]}}]})
        decoder.ended = True
        self.assertEqual(
            decoder.finish(SENT)[-1]["metadata"]["yaa"]["meta"]["finish_reason"], "tool_calls"
        )


if __name__ == "__main__":
    unittest.main()
