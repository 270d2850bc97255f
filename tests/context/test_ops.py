"""What each operation does to a message, and hostile lists of them."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.context.view import apply_ops, pinned_ids, preview_text, shorten_call, text_of
from server.json_types import Op

CALL = {"id": "c", "type": "function", "function": {"name": "w", "arguments": "{}"}}
CHAT: list[Any] = [
    {"id": "u", "role": "user", "content": "question"},
    {"id": "a", "role": "assistant", "content": "", "tool_calls": [CALL]},
    {"id": "t", "role": "tool", "tool_call_id": "c", "name": "w", "content": "x" * 900},
    {"id": "b", "role": "assistant", "content": "answer"},
]


class Operations(unittest.TestCase):
    def test_previews(self) -> None:
        cases = [
            ("short", 10, 10, "short"),
            ("a" * 50, 10, 0, "a" * 10 + "\n[… 40 of 50 characters are left out here."),
            ("line one\nline two\nline three\n" * 9, 60, 0, "line one\nline two\nline three\n"),
        ]
        for text, head, tail, begins in cases:
            with self.subTest(text=text[:12]):
                self.assertTrue(preview_text(text, head, tail, 3).startswith(begins))

    def test_long_arguments_stay_json(self) -> None:
        value = {"path": "a", "content": "é\n" * 500, "deep": [{"x": "y" * 500}], "n": 1}
        call: Any = {"id": "c", "function": {"name": "w", "arguments": json.dumps(value)}}
        short = json.loads(shorten_call(call, 40, 7)["function"]["arguments"])
        self.assertEqual((short["path"], short["n"], list(short)), ("a", 1, list(value)))
        self.assertIn("m7", short["content"])
        self.assertLess(len(short["deep"][0]["x"]), 90)
        for broken in ("{", "", "[1", '"x"'):
            same: Any = {"id": "c", "function": {"name": "w", "arguments": broken}}
            self.assertIs(shorten_call(same, 4, 7), same)

    def test_operations_on_nothing(self) -> None:
        """A client may be on another branch, or wrong."""
        odd: list[Any] = [
            {"op": "stub", "ids": ["nowhere", "u", "b"]},
            {"op": "preview", "id": "nowhere", "head": 1, "tail": 1},
            {"op": "args", "id": "u", "keep": 0},
            {"op": "fold", "from": "b", "to": "u", "text": "backwards"},
            {"op": "fold", "from": "u", "to": "nowhere", "text": "x"},
            {"op": "shrink", "id": "u"},
        ]
        for op in odd:
            with self.subTest(op=op):
                self.assertEqual(apply_ops(CHAT, [op]), CHAT)

    def test_folds(self) -> None:
        inner: Op = {"op": "fold", "from": "a", "to": "t", "text": "inner"}
        outer: Op = {"op": "fold", "from": "a", "to": "b", "text": "outer"}
        across: Op = {"op": "fold", "from": "u", "to": "a", "text": "across"}
        for ops, shown in (
            ([inner, outer], "outer"),
            ([outer, inner], "inner"),
            ([outer, across], "across"),
        ):
            with self.subTest(ops=[op["text"] for op in ops]):
                self.assertIn(shown, str(apply_ops(CHAT, ops)))
                self.assertEqual(len([m for m in apply_ops(CHAT, ops) if "id" not in m]), 1)

    def test_pins_are_taken_back(self) -> None:
        pin: Op = {"op": "pin", "ids": ["a", "b"]}
        unpin: Op = {"op": "unpin", "ids": ["a"]}
        self.assertEqual(pinned_ids([pin, unpin]), {"b"})
        self.assertEqual(pinned_ids([unpin, pin]), {"a", "b"})

    def test_texts_of_parts(self) -> None:
        parts = [
            {"type": "text", "text": "a"},
            {"type": "image_url"},
            "odd",
            {"text": 5, "type": "z"},
        ]
        self.assertEqual(text_of(parts), "a\n[image_url]\n[z]")
