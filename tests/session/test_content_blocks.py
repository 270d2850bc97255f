"""Content blocks: each kind both ways, whatever a stranger writes, and what stays as it is."""

from __future__ import annotations

import itertools
import json
import random
import unittest
from typing import Any

from server.errors import Problem
from server.session import accept
from server.session.content_blocks import convert_document, from_blocks, to_blocks

USE = {"type": "tool_use", "id": "c1", "name": "t", "input": {"a": 1}}


def result(**more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "c1", "content": "r", **more}


class In(unittest.TestCase):
    def test_a_session_of_our_own_is_not_touched(self) -> None:
        messages: list[dict[str, Any]] = [
            {"role": "user", "content": [{"type": "text", "text": "x"}]},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]},
            {
                "role": "user",
                "content": [{"type": "image", "source": {"type": "data", "value": "v"}}],
            },
            {"role": "assistant", "content": None, "tool_calls": []},
            {"role": "tool", "tool_call_id": "c", "content": "r"},
        ]
        self.assertIsNone(convert_document({"messages": messages}))
        self.assertEqual(from_blocks(messages), [{"role": "user", "content": "x"}, *messages[1:]])

    def test_what_comes_out_needs_no_more_converting(self) -> None:
        messages = from_blocks([{"role": "assistant", "content": [USE]}, self.user(result())])
        self.assertIsNone(convert_document({"messages": messages}))

    def user(self, *blocks: Any) -> dict[str, Any]:
        return {"role": "user", "content": list(blocks), "id": "u"}

    def test_results_stand_before_the_rest_of_the_message(self) -> None:
        text = {"type": "text", "text": "go on"}
        found = from_blocks([self.user(text, result(is_error=True), result(tool_use_id="c2"))])
        self.assertEqual([m.get("tool_call_id") for m in found], ["c1", "c2", None])
        self.assertTrue(found[0]["is_error"])
        self.assertEqual(found[2], {"role": "user", "content": "go on", "id": "u"})

    def test_results_without_an_id_go_by_the_name(self) -> None:
        uses = [{"type": "tool_use", "name": "t", "input": {}}] * 2
        results = [
            {"role": "tool", "name": "t", "content": {"type": "tool_result", "output": n}}
            for n in ("one", "two")
        ]
        found = from_blocks([{"role": "assistant", "content": uses}, *results])
        ids = [call["id"] for call in found[0]["tool_calls"]]
        self.assertEqual(len(set(ids)), 2)
        self.assertEqual([m["tool_call_id"] for m in found[1:]], ids)

    def test_pictures_thoughts_and_sounds(self) -> None:
        data = {"type": "base64", "media_type": "image/png", "data": "QQ=="}
        sound = {"type": "base64", "media_type": "audio/mpeg", "data": "QQ=="}
        found = from_blocks(
            [
                self.user({"type": "image", "source": data}, {"type": "audio", "source": sound}),
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "hm", "signature": "s"},
                        {"type": "text", "text": "a"},
                        {"type": "text", "text": "b"},
                    ],
                },
            ]
        )
        image, audio = found[0]["content"]
        self.assertEqual(image["image_url"]["url"], "data:image/png;base64,QQ==")
        self.assertEqual(audio["input_audio"], {"data": "QQ==", "format": "mp3"})
        self.assertEqual((found[1]["content"], found[1]["reasoning"]["text"]), ("a\nb", "hm"))
        back = to_blocks(found, "anthropic")
        self.assertEqual(back[0]["content"][0], {"type": "image", "source": data})
        self.assertEqual(back[1]["content"][0]["signature"], "s")

    def test_a_stranger_can_write_anything(self) -> None:
        """It is refused in the usual way, or accepted; it never breaks."""
        odd = [
            None,
            1,
            "x",
            [],
            {},
            {"type": 5},
            USE,
            result(),
            [USE],
            {"type": "tool_use"},
            result(content=[[]]),
            result(content={"type": "tool_result"}),
            {"type": "thinking"},
            {"type": "image", "source": {"data": "d", "media_type": 5}},
            {"toolCallId": 5},
            {**USE, "input": "text"},
            {**USE, "input": None},
            {**USE, "name": None},
        ]
        choose = random.Random(7)
        for _ in range(2_000):
            messages: list[Any] = [
                {
                    "role": choose.choice(["user", "assistant", "tool", "TOOL", "system", 5, None]),
                    "content": choose.choice([*odd, choose.choices(odd, k=3)]),
                    **choose.choice([{}, {"tool_calls": choose.choice(odd)}, {"name": 5}]),
                }
                for _ in range(2)
            ]
            document = json.loads(json.dumps({"messages": messages}))
            try:
                accepted, _ = accept.accept_for_run(document)
            except Problem as problem:
                for error in problem.errors:
                    place = error["pointer"].split("/")
                    self.assertTrue(len(place) < 3 or int(place[2]) < 2, error)
                continue
            for shape in ("agentscope", "anthropic"):
                to_blocks(accepted["messages"], shape)

    def test_a_call_that_is_there_already_is_one(self) -> None:
        call = {"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{}"}}
        (found,) = from_blocks([{"role": "assistant", "content": [USE], "tool_calls": [call]}])
        self.assertEqual(found["tool_calls"], [call])


class Out(unittest.TestCase):
    def test_arguments_that_are_no_object(self) -> None:
        for arguments, expected in (
            ("{", {"arguments": "{"}),
            ("[1]", {"arguments": [1]}),
            ("", {}),
        ):
            call = {"id": "c", "function": {"name": "t", "arguments": arguments}}
            (found,) = to_blocks([{"role": "assistant", "content": "", "tool_calls": [call]}])
            self.assertEqual(found["content"][0]["input"], expected)

    def test_both_ways_is_the_same(self) -> None:
        calls = [
            {"id": f"c{n}", "type": "function", "function": {"name": "t", "arguments": '{"a":1}'}}
            for n in range(2)
        ]
        messages: list[dict[str, Any]] = [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": "y", "tool_calls": calls},
            {"role": "tool", "name": "t", "tool_call_id": "c0", "content": "r"},
            {"role": "tool", "name": "t", "tool_call_id": "c1", "content": "e", "is_error": True},
            {"role": "assistant", "content": "z"},
        ]
        for shape in ("agentscope", "anthropic"):
            with self.subTest(shape):
                self.assertEqual(from_blocks(to_blocks(messages, shape)), messages)

    def test_another_shape(self) -> None:
        with self.assertRaisesRegex(ValueError, "agentscope, anthropic"):
            to_blocks([], "openai")
        self.assertEqual(to_blocks(itertools.chain([{"role": "error", "content": "e"}])), [])


if __name__ == "__main__":
    unittest.main()
