"""One line for each event of a model, and no key in them, however it is cut."""

from __future__ import annotations

import io
import json
import unittest
from typing import Any

from server.agent import observer
from server.telemetry import log

CANARY = "sk-Zq9canaryZq9"


def text(piece: str) -> Any:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": piece}


def args(piece: str) -> Any:
    return {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": piece}


END: Any = {"type": "TEXT_MESSAGE_END", "messageId": "m"}


class Deltas(unittest.TestCase):
    def setUp(self) -> None:
        self.stream = io.StringIO()
        log.setup("debug", style="json", stream=self.stream)
        self.addCleanup(log.setup, "error", stream=io.StringIO())
        self.deltas = observer.DeltaLog()
        self.deltas.step("step 3")

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def test_one_line_each_in_order_with_stage_and_time(self) -> None:
        for event in (text("Hel"), text("lo"), args('{"a"'), args(":1}"), END):
            self.deltas.see(event)
        found = self.lines()
        self.assertEqual([e.get("delta") for e in found], ["Hel", "lo", '{"a"', ":1}", None])
        self.assertEqual({e["stage"] for e in found}, {"step 3"})
        self.assertEqual(found[-1]["event"], "TEXT_MESSAGE_END")
        self.assertEqual({e["logger"] for e in found}, {"yaa.model"})
        self.assertTrue(all(isinstance(e["ms"], float) for e in found))

    def test_a_text_is_told_line_by_line(self) -> None:
        self.deltas.see(text("one\n"))
        self.assertEqual(len(self.lines()), 1)
        self.deltas.see(text("two"))
        self.assertEqual(len(self.lines()), 1)
        self.deltas.flush()
        self.assertEqual([e["delta"] for e in self.lines()], ["one\n", "two"])

    def test_a_secret_cut_anywhere(self) -> None:
        """Also over two lines, and in arguments, where only the whole is JSON."""
        key = "\n".join(("-----BEGIN PRIVATE KEY-----", CANARY, "-----END PRIVATE KEY-----"))
        for make, whole in (
            (text, f"use {CANARY} now"),
            (text, f"Authorization: Bearer {CANARY}"),
            (text, f"your password:\n{CANARY[3:]}"),
            (text, f"the file:\n{key}\nthat is all"),
            (args, json.dumps({"password": CANARY[3:], "path": "/x"})),
        ):
            for cut in range(len(whole) + 1):
                self.stream.truncate(0)
                self.stream.seek(0)
                for piece in (whole[:cut], whole[cut:]):
                    self.deltas.see(make(piece))
                self.deltas.flush()
                found = [e["delta"] for e in self.lines()]
                with self.subTest(whole=whole, cut=cut):
                    self.assertEqual(len(found), 2)
                    self.assertNotIn("canary", "".join(found))
                    self.assertIn(found[1], ("…", "that is all"))

    def test_what_is_held_is_bounded(self) -> None:
        for _ in range(100):
            self.deltas.see(text("x" * 1000))
        self.assertGreater(len(self.lines()), 60)

    def test_nothing_below_debug(self) -> None:
        self.assertTrue(observer.is_debug_on())
        log.setup("info", stream=self.stream)
        self.assertFalse(observer.is_debug_on())


if __name__ == "__main__":
    unittest.main()
