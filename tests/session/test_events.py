"""Events: their names on the wire, their JSON, and AG-UI's spelling of an interrupt."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.lib.strict_json import pointer
from server.session import events as e


class Wire(unittest.TestCase):
    def test_exec_is_named_apart_from_other_changes(self) -> None:
        self.assertEqual(e.alias(e.state_delta(e.put("title", value="x"))), "session.delta")
        self.assertEqual(e.alias(e.tool_exec("c1", [], 1)), "tool.exec")

    def test_the_fast_spelling_is_the_same_json(self) -> None:
        for text in ("", " ", "\n", '"', "\\", "\x00\x1f\x7f", "世界😀", "\u2028", "</script>"):
            event = e.text_delta("m1", text)
            with self.subTest(text):
                self.assertEqual(json.loads(e.dumps(event)), event)
                self.assertNotIn("\n", e.dumps(event))
        marked: Any = {**e.text_delta("m1", "x"), "metadata": {"yaa": {}}}
        self.assertEqual(json.loads(e.dumps(marked)), marked)

    def test_pointers_escape(self) -> None:
        self.assertEqual(pointer("a/b", "c~d", 0, "~1"), "/a~1b/c~0d/0/~01")

    def test_rev_stays_at_the_largest_that_a_session_may_have(self) -> None:
        for rev, after in ((0, 1), (2**53 - 2, 2**53 - 1), (2**53 - 1, 2**53 - 1)):
            session: Any = {"id": "s", "rev": rev, "run": {"id": "r"}, "interrupts": []}
            event: Any = e.run_finished(session, "completed", "completed", [], 1)
            self.assertEqual(event["result"]["rev"], after)
        self.assertEqual(e.next_rev({}), 1)

    def test_interrupts_in_agui_spelling(self) -> None:
        interrupts = [
            {"id": "i1", "reason": "tool_call", "call_id": "c", "message": "?", "tool": "rm"},
            {
                "id": "i2",
                "reason": "client_tool",
                "call_id": "d",
                "response_schema": {"type": "object"},
            },
        ]
        session: Any = {"id": "s", "rev": 0, "run": {"id": "r"}, "interrupts": interrupts}
        outcome = e.run_finished(session, "interrupted", "awaiting", [], 1)["outcome"]
        self.assertEqual(outcome["type"], "interrupt")
        self.assertEqual(
            outcome["interrupts"],
            [
                {
                    "id": "i1",
                    "reason": "tool_call",
                    "toolCallId": "c",
                    "message": "?",
                    "metadata": {"yaa": {"tool": "rm"}},
                },
                {
                    "id": "i2",
                    "reason": "yaa:client_tool",
                    "toolCallId": "d",
                    "responseSchema": {"type": "object"},
                },
            ],
        )


if __name__ == "__main__":
    unittest.main()
