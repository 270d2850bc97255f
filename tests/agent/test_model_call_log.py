"""The lines of model calls: one each, however it ends, and nothing of a secret."""

from __future__ import annotations

import io
import json
import unittest
from typing import Any

from server.agent.observer import CUT, ModelCallLog, tool_call_fields
from server.telemetry import log

SECRET = "sk-" + "Zz9x" * 12
END = {"meta": {"finish_reason": "stop", "usage": {"prompt_tokens": 3, "completion_tokens": 2}}}
ANSWER: list[Any] = [
    {"type": "TEXT_MESSAGE_CONTENT", "delta": "sk-" + "Zz9x" * 6},
    {"type": "TEXT_MESSAGE_CONTENT", "delta": "Zz9x" * 6},
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "看"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"password":'},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '"hunter22"}'},
    {"type": "STATE_DELTA", "delta": []},
    {"type": "TEXT_MESSAGE_END", "metadata": {"yaa": END}},
]


class Lines(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(log.setup, "warning")
        self.log_at("info")

    def log_at(self, level: str) -> None:
        self.text = io.StringIO()
        log.setup(level, style="json", stream=self.text)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.getvalue().splitlines()]

    def test_an_answer(self) -> None:
        asked: list[Any] = [
            {"role": "user", "content": "问" * 5},
            {"role": "user", "content": None},
        ]
        asked.append({"role": "user", "content": [{"type": "text", "text": "abc"}, 5]})
        call = ModelCallLog("m", on=True).begin("step 1", asked, [{}])
        for event in ANSWER:
            call.see(event)
        call.end(CUT)
        (line,) = self.lines
        self.assertEqual((line["messages"], line["tools"], line["request_chars"]), (3, 1, 8))
        self.assertEqual((line["prompt_tokens"], line["completion_tokens"]), (3, 2))
        self.assertEqual((line["answer_chars"], line["finish_reason"]), (51 + 23, "stop"))
        self.assertLessEqual(line["first_ms"], line["ms"])
        self.assertNotIn("code", line)

    def test_no_answer(self) -> None:
        calls = ModelCallLog("m", on=True)
        calls.begin("step 1", [], []).see({"type": "RUN_ERROR", "code": "upstream_timeout"})
        calls.begin("step 2", [], []).end(CUT)
        self.assertEqual([line["code"] for line in self.lines], ["upstream_timeout", CUT])

    def test_off(self) -> None:
        ModelCallLog("m", on=False).begin("s", [], []).end(CUT)
        self.log_at("warning")
        ModelCallLog("m", on=True).begin("s", [], []).end(CUT)
        self.assertEqual(self.lines, [])

    def test_the_whole_at_debug_without_secrets(self) -> None:
        self.log_at("debug")
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 9999}}
        first: list[Any] = [
            {"role": "system", "content": f"key {SECRET}"},
            {"role": "user", "content": [picture, {"type": "text", "text": "x" * 100_000}]},
            {"role": "user", "content": '{"api_key": "hunter22"}', "token": "hunter22"},
        ]
        calls, tools = ModelCallLog("m", on=True), [{"function": {"name": "看"}}]
        call = calls.begin("step 1", first, tools)
        for event in ANSWER:
            call.see(event)
        calls.begin("step 2", [*first, {"role": "user", "content": "more"}], tools).end(CUT)
        text = self.text.getvalue()
        for secret in (SECRET, "Zz9x" * 6, "hunter22"):
            self.assertNotIn(secret, text)
        self.assertLess(len(text), 80_000)
        asked = [line for line in self.lines if line.get("event") == "request"]
        self.assertEqual([line.get("index") for line in asked], [None, 0, 1, 2, 3])
        (answer,) = [line for line in self.lines if line.get("event") == "answer"][:1]
        self.assertEqual(answer["calls"][0]["name"], "看")


class ToolCalls(unittest.TestCase):
    def test_fields(self) -> None:
        limit = {"status": "limit", "error": {"details": {"limit": "cpu_s"}}, "duration_ms": 20}
        limit |= {"usage": {"cpu_ms": 1900, "max_rss_kb": 7}, "sandbox": {"tier": "A"}}
        wanted = {"status": "limit", "limit": "cpu_s", "ms": 20, "cpu_ms": 1900, "max_rss_kb": 7}
        for ours, fields in (
            ({"state": "denied"}, {"status": "denied"}),
            ({"result": {"status": "ok", "result": SECRET}}, {"status": "ok"}),
            ({"state": "failed", "result": limit}, {**wanted, "tier": "A"}),
        ):
            with self.subTest(ours):
                event: Any = {"toolCallId": "c", "metadata": {"yaa": {"name": "burn", **ours}}}
                head = {"tool": "burn", "call": "c", "key_name": "me"}
                self.assertEqual(tool_call_fields(event, "me"), {**head, **fields})


if __name__ == "__main__":
    unittest.main()
