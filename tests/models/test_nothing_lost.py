"""No answer is lost without a word: half, empty, twice, and with contents of other kinds."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.models.decoder import ANSWER_EMPTY, ANSWER_UNREAD
from server.models.failure import Failure
from server.models.tool_call_assembler import MAX_OPAQUE

from ..extensions import needs
from . import whole
from .fakes import APIS, message
from .speakers import BY_API, Part, frame

EMPTY: list[list[Part]] = [[], [("text", [])], [("think", ["Hm"], "c2ln")]]
SOUND: Any = {"id": "a", "data": "AAAA", "transcript": "Good morning"}
PICTURE: Any = {"type": "image_generation_call", "id": "i", "status": "completed", "result": "AA"}
BLOCK: Any = {"type": "container_upload", "file_id": "f"}


def outcome(api: str, *chunks: bytes) -> tuple[str, list[str]]:
    """(text, codes of warnings) of an answer; ("", [failure's code]) of a failed one."""
    try:
        made = message(whole.read(api, *chunks))
    except Failure as failure:
        return "", [failure.code]
    return made["content"], [each["code"] for each in made["meta"].get("warnings", ())]


def chat(delta: Any, finish: str = "stop") -> bytes:
    document = {"choices": [{"message": delta, "finish_reason": finish}]}
    return json.dumps(document).encode()


def response(status: str = "completed", *output: Any) -> bytes:
    return json.dumps({"object": "response", "status": status, "output": output}).encode()


class Shapes(unittest.TestCase):
    def test_half(self) -> None:
        """A prefix of an answer is a failure, or all of it but its end."""
        for api, speaker in BY_API.items():
            frames = speaker.frames([("text", ["He", "y"]), ("call", "c", "f", ["{}"])])
            for count in range(len(frames)):
                with self.subTest(api, frames=count):
                    text, codes = outcome(api, *frames[:count])
                    self.assertIn((text, codes), [("", ["upstream_truncated"]), ("Hey", [])])

    def test_empty(self) -> None:
        for api, speaker in BY_API.items():
            for parts in EMPTY:
                with self.subTest(api, parts=parts):
                    self.assertEqual(outcome(api, *speaker.frames(parts)), ("", [ANSWER_EMPTY]))

    def test_twice(self) -> None:
        """What a gateway sends after it has begun anew is no part of the first answer."""
        for api in {"messages", "responses"} & APIS.keys():
            frames = BY_API[api].frames([("text", ["Hey"]), ("call", "c", "f", ["{", "}"])])
            again = [each.replace(b"_01", b"_02").replace(b"resp_1", b"resp_2") for each in frames]
            for count in range(1, len(frames)):
                with self.subTest(api, frames=count):
                    found = outcome(api, *frames[:count], *again)
                    self.assertEqual(found, ("", ["upstream_truncated"]))
            self.assertEqual(outcome(api, *frames, *again), ("Hey", []))
            self.assertEqual(outcome(api, frames[0], *frames), ("Hey", []))

    @needs("responses_api")
    def test_the_text_of_a_server_that_counts_thoughts_as_parts(self) -> None:
        """In deltas it is part 1, in the whole item the first one (Bedrock)."""
        frames = BY_API["responses"].frames([("text", ["He", "y"])])
        counted = [each.replace(b'"content_index": 0', b'"content_index": 1') for each in frames]
        self.assertEqual(outcome("responses", *counted), ("Hey", []))


class Contents(unittest.TestCase):
    def test_other_kinds(self) -> None:
        text = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "ok"}]}
        part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
        for api, body, wanted in (
            ("chat", chat({"content": None, "audio": SOUND}), ("Good morning", [ANSWER_UNREAD])),
            ("chat", chat({"content": "ok", "images": [part]}), ("ok", [ANSWER_UNREAD])),
            (
                "chat",
                chat({"content": [{"type": "text", "text": "ok"}, part]}),
                ("ok", [ANSWER_UNREAD]),
            ),
            ("chat", chat({"content": [part]}), ("", ["upstream_error"])),
            ("responses", response("completed", PICTURE), ("", ["upstream_error"])),
            ("responses", response("completed", PICTURE, text), ("ok", [ANSWER_UNREAD])),
            ("responses", response("queued"), ("", ["upstream_error"])),
            ("responses", response("in_progress"), ("", ["upstream_error"])),
            ("responses", response("completed", text), ("ok", [])),
            (
                "messages",
                json.dumps({"content": [BLOCK, {"type": "text", "text": "ok"}]}).encode(),
                ("ok", [ANSWER_UNREAD]),
            ),
            ("messages", json.dumps({"content": [BLOCK]}).encode(), ("", ["upstream_error"])),
        ):
            with self.subTest(api, body=body):
                if api in APIS:
                    self.assertEqual(outcome(api, body), wanted)

    def test_sound_in_pieces(self) -> None:
        deltas = [{"audio": {"id": "a"}}, {"audio": {"transcript": "Good "}}]
        deltas += [{"audio": {"transcript": "day"}}, {"audio": {"data": "AA"}}]
        chunks: list[Any] = [{"choices": [{"index": 0, "delta": each}]} for each in deltas]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        frames = [frame(each, named=False) for each in chunks]
        self.assertEqual(outcome("chat", *frames), ("Good day", [ANSWER_UNREAD]))

    @needs("responses_api")
    def test_a_queued_answer_says_what_to_do(self) -> None:
        with self.assertRaisesRegex(Failure, "queued.*`background`") as caught:
            whole.read("responses", response("queued"))
        self.assertFalse(caught.exception.retryable)

    def test_what_is_too_large_to_be_kept_is_said(self) -> None:
        """Of a message and of a call; and what is not, is kept."""
        for size, codes in ((MAX_OPAQUE + 1, [ANSWER_UNREAD]), (9, [])):
            block = [{"type": "thinking", "signature": "x" * size}]
            call = {"id": "c", "function": {"name": "f", "arguments": "{}"}, "seal": block}
            for delta in ({"content": "ok", "thinking_blocks": block}, {"tool_calls": [call]}):
                with self.subTest(size, delta=list(delta)):
                    made = message(whole.read("chat", chat(delta)))
                    found = made["meta"].get("warnings", [])
                    self.assertEqual([each["code"] for each in found], codes)
                    for each in found:
                        self.assertRegex(each["message"], "thinking_blocks|seal")


if __name__ == "__main__":
    unittest.main()
