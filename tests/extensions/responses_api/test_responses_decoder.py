"""Streams of the Responses API: every event, every cut, every way to end."""

from __future__ import annotations

import json
import unittest
from functools import partial
from typing import Any

from server.models.failure import Failure

from ...models import whole
from ...models.fakes import message
from ...models.speakers import Responses, frame

Json = dict[str, Any]

SPEAKER = Responses()
read = partial(whole.read, "responses")


def stream(*events: Json) -> bytes:
    return b"".join(map(frame, events))


def said(text: str, index: int = 0) -> Json:
    return {"type": "response.output_text.delta", "output_index": index, "delta": text}


def end(status: str = "completed", **more: Any) -> Json:
    response = {"object": "response", "status": status, "output": [], **more}
    return {"type": f"response.{status}", "response": response}


def item(kind: str, **more: Any) -> Json:
    return {"type": kind, "id": "x", **more}


def done(each: Json, index: int = 0) -> Json:
    return {"type": "response.output_item.done", "output_index": index, "item": each}


def output_text(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": []}


class Whole(whole.Whole):
    api, speaker = "responses", SPEAKER

    def check(self, *chunks: bytes) -> Any:
        made = super().check(*chunks)
        details = made["reasoning"]["details"]
        seals = [each["item"]["encrypted_content"] for each in details]
        self.assertEqual(seals, ["c2lnMQ==", "c2lnMg=="])
        self.assertEqual(made["meta"]["usage"]["cached_tokens"], 20)
        return made

    def test_an_answer_in_one_piece(self) -> None:
        last = SPEAKER.frames(whole.PARTS)[-1].split(b"data: ", 1)[1]
        self.check(json.dumps(json.loads(last)["response"]).encode())

    def test_a_server_that_tells_everything_once(self) -> None:
        """Only the items, only the end, or only the whole texts: each is enough."""
        frames = SPEAKER.frames(whole.PARTS)
        for kept in (b"output_item.done", b"response.completed"):
            with self.subTest(kept):
                few = [each for each in frames if kept in each or b"response.completed" in each]
                self.check(*few)
        no_deltas = [each for each in frames if b".delta\n" not in each]
        self.check(*no_deltas)


class Events(unittest.TestCase):
    def test_what_is_not_known_is_passed_over(self) -> None:
        names = (
            *("queued", "audio.delta", "audio.done", "audio.transcript.delta", "steer.pending"),
            *("code_interpreter_call_code.delta", "file_search_call.searching", "new.thing"),
            *("image_generation_call.partial_image", "mcp_call_arguments.delta", "mcp_list_tools"),
            *("output_text.annotation.added", "web_search_call.completed", "compaction.x"),
            *("custom_tool_call_input.delta", "content_part.added", "reasoning_summary_part.done"),
        )
        strange: list[Json] = [{"type": f"response.{name}", "delta": "no"} for name in names]
        strange += [
            {"type": "keepalive"},
            {"type": ""},
            {"type": "response.output_item.added", "output_index": 5, "item": None},
            {"type": "response.output_item.added", "output_index": 6, "item": item("new")},
            done(item("web_search_call", action={}), 6),
            {"type": "response.output_text.delta", "delta": None, "output_index": 0},
            {"type": "response.function_call_arguments.delta", "delta": "{}", "output_index": 9},
        ]
        made = message(read(stream(*strange, said("hi"), end())))
        self.assertEqual((made["content"], made.get("tool_calls")), ("hi", None))

    def test_refusals_are_text(self) -> None:
        refusal = {"type": "response.refusal.delta", "output_index": 0, "delta": "I may "}
        whole = {"type": "response.refusal.done", "output_index": 0, "refusal": "I may not."}
        parts = [{"type": "refusal", "refusal": "I may not."}]
        for events in (
            [refusal, {**refusal, "delta": "not."}, whole],
            [whole],
            [done(item("message", content=parts))],
        ):
            made = message(read(stream(*events, end())))
            self.assertEqual(made["content"], "I may not.")

    def test_open_thoughts(self) -> None:
        """Local models show theirs as they are."""
        place = {"output_index": 0, "content_index": 0}
        content = [{"type": "reasoning_text", "text": "hm"}]
        events = [
            {"type": "response.reasoning_text.delta", **place, "delta": "h"},
            {"type": "response.reasoning_text.delta", **place, "delta": "m"},
            {"type": "response.reasoning_text.done", **place, "text": "hm"},
            done(item("reasoning", summary=[], content=content)),
        ]
        made = message(read(stream(*events, said("hi", 1), end())))
        self.assertEqual((made["reasoning"]["text"], made["content"]), ("hm", "hi"))

    def test_parts_of_a_summary_stand_apart(self) -> None:
        name = "response.reasoning_summary_text"
        events = [
            {"type": f"{name}.delta", "output_index": 0, "summary_index": n, "delta": text}
            for n, text in enumerate(("one", "two"))
        ]
        made = message(read(stream(*events, said("hi", 1), end())))
        self.assertEqual(made["reasoning"]["text"], "one\n\ntwo")

    def test_phases_and_places(self) -> None:
        first = item("message", phase="commentary", content=[output_text("look. ")])
        second = item("message", phase="final_answer", content=[output_text("Done.")])
        thought = item("reasoning", summary=[], encrypted_content="gAAA", status="completed")
        events = [done(first), done(thought, 1), done(second, 2)]
        made = message(read(stream(*events, end())))
        self.assertEqual(
            made["reasoning"]["details"],
            [
                {"at": [0, 0], "item": {"type": "message", "phase": "commentary"}},
                {
                    "at": [6, 0],
                    "item": {
                        "type": "reasoning",
                        "id": "x",
                        "summary": [],
                        "encrypted_content": "gAAA",
                    },
                },
                {"at": [6, 0], "item": {"type": "message", "phase": "final_answer"}},
            ],
        )

    def test_a_plain_answer_keeps_nothing(self) -> None:
        plain = item("message", content=[output_text("hi")], phase=None)
        self.assertNotIn("reasoning", message(read(stream(done(plain), end()))))

    def test_items_without_numbers(self) -> None:
        """As llama.cpp and others send them: what belongs together has an id, or comes together."""
        for kept in (("item_id", "id"), ("item_id", "call_id"), ("id",), ()):
            for told in (True, False):
                frames = SPEAKER.frames(whole.PARTS)
                events = [json.loads(each.split(b"data: ", 1)[1]) for each in frames]
                if not told:
                    events[-1]["response"]["output"] = []
                for event in events:
                    event.pop("output_index", None)
                    inner = event.get("response", {}).get("output", [])
                    for each in (event, event.get("item", {}), *inner):
                        for name in {"item_id", "id", "call_id"} - {*kept}:
                            if name != "call_id" or "id" in kept:
                                each.pop(name, None)
                with self.subTest(kept, told=told):
                    made = message(read(stream(*events)))
                    self.assertEqual(made["content"], "Then I say 🙂.")
                    self.assertEqual(made["reasoning"]["text"], "First I think. ☃\n\nAnd again.")
                    calls = [each["function"] for each in made["tool_calls"]]
                    self.assertEqual([each["name"] for each in calls], ["f", "g"])
                    self.assertEqual([each["arguments"] for each in calls], ['{"a":"é"}', "{}"])

    def test_calls_side_by_side(self) -> None:
        added = "response.output_item.added"
        piece = "response.function_call_arguments.delta"
        events: list[Json] = []
        for n in (0, 1):
            call = item("function_call", call_id=f"c{n}", name=f"f{n}", arguments="")
            events.append({"type": added, "output_index": n, "item": call})
        for text in ('{"n":', "{}}"):
            events += ({"type": piece, "output_index": n, "delta": text} for n in (0, 1))
        made = message(read(stream(*events, end())))
        calls = [(c["id"], c["function"]["arguments"]) for c in made["tool_calls"]]
        self.assertEqual(calls, [("call_new1", '{"n":{}}'), ("call_new2", '{"n":{}}')])


class Ends(unittest.TestCase):
    def test_incomplete(self) -> None:
        cases = {
            "max_output_tokens": "length",
            "content_filter": "content_filter",
            "steered": "steered",
            None: "incomplete",
        }
        for raw, wanted in cases.items():
            with self.subTest(raw):
                last = end("incomplete", incomplete_details={"reason": raw})
                made = message(read(stream(said("hi"), last)))
                self.assertEqual(made["meta"]["finish_reason"], wanted)

    def test_a_call_cut_at_the_limit_is_not_made_whole(self) -> None:
        half = item("function_call", call_id="c", name="f", arguments='{"a', status="incomplete")
        last = end("incomplete", incomplete_details={"reason": "max_output_tokens"})
        made = message(read(stream(done(half), last)))
        self.assertEqual(made["meta"]["finish_reason"], "length")
        self.assertEqual(made["tool_calls"][0]["function"]["arguments"], '{"a')

    def test_errors_in_the_stream(self) -> None:
        cases = [
            ("server_error", "upstream_error", True),
            ("rate_limit_exceeded", "upstream_rate_limit", True),
            ("insufficient_quota", "upstream_error", False),
            ("invalid_prompt", "upstream_error", False),
            ("image_too_large", "upstream_error", False),
            ("bio_policy", "upstream_error", False),
            ("context_length_exceeded", "context_overflow", False),
            ("something_new", "upstream_error", True),
        ]
        for name, code, retryable in cases:
            error = {"code": name, "message": f"{name}: no"}
            failed = end("failed", error=error)
            for chunk in (
                stream(said("hi"), failed),
                json.dumps(failed["response"]).encode(),
                stream({"type": "error", "param": None, **error}),
                stream({"type": "error", "error": error}),
                b"data: " + json.dumps({"type": "error", **error}).encode() + b"\n\n",
            ):
                with self.subTest(name, chunk=chunk[:40]), self.assertRaises(Failure) as caught:
                    read(chunk)
                self.assertEqual(
                    (caught.exception.code, caught.exception.retryable), (code, retryable)
                )

    def test_failed_without_a_word(self) -> None:
        for status in ("failed", "cancelled"):
            last = end(status)
            last["type"] = "response.failed"
            with self.subTest(status), self.assertRaises(Failure) as caught:
                read(stream(last))
            self.assertIn(f"the response is {status}", caught.exception.message)

    def test_a_stream_that_breaks_off(self) -> None:
        created = {"type": "response.created", "response": {"status": "in_progress"}}
        for chunk in (b"", stream(created), stream(created, said("hi"))):
            with self.subTest(chunk[:20]), self.assertRaises(Failure) as caught:
                read(chunk)
            self.assertEqual(caught.exception.code, "upstream_truncated")

    def test_places_and_kinds_that_are_none(self) -> None:
        """Found by fuzzing: what no dict can have as a key broke the run."""
        for odd in ([], {}, [1], {"a": 1}, True, 1e300, "0", None):
            text = {"type": odd, "text": "never shown"}
            whole = item("message", content=[text, output_text("!")])
            last = end(output=[item("message", content=[text])])
            with self.subTest(odd=odd):
                piece = {**said("hi"), "output_index": odd, "content_index": odd}
                added = {"type": "response.output_item.added", "output_index": odd, "item": whole}
                found = read(stream(piece, added, done(whole, 7), last))
                self.assertEqual(message(found)["content"], "hi!")

    def test_nothing_is_read_behind_the_end(self) -> None:
        made = message(read(stream(said("hi"), end()), b"data: {oops\n\n"))
        self.assertEqual(made["content"], "hi")


if __name__ == "__main__":
    unittest.main()
