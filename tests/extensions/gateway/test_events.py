"""The events of a run in the gateway's words, and chats as snapshots."""

from __future__ import annotations

import unittest
from typing import Any

from server.extensions.gateway.events import QueryTranslator, awaiting_events, chat, reply
from server.json_types import Event
from server.session import events as e
from server.session.events import alias

Json = Any
NOW = 1_700_000_000_000

INTERRUPT = {
    "id": "int-c2",
    "reason": "tool_call",
    "call_id": "c2",
    "message": "Allow rm?",
    "tool": "rm",
    "args": {"path": "x"},
    "response_schema": {"type": "object"},
}


def session(**more: Any) -> Any:
    return {
        "id": "s1",
        "title": "A title",
        "messages": [],
        "interrupts": [],
        "rev": 0,
        "run": {"id": "run_1"},
        "config": {"yaa": {}},
        "tools": [{"name": "page"}],
        **more,
    }


def told(run: list[Event], at: Any, **more: Any) -> list[Json]:
    telling = QueryTranslator(
        at, {"type": "request.query", "message": "hi"}, **{"new": False} | more
    )
    return [each for event in run for each in telling.translate(event, alias(event), NOW)]


class Wording(unittest.TestCase):
    def test_a_whole_run(self) -> None:
        at = session(finish_reason="completed", agent="coder")
        run = [
            e.run_started("s1", {"id": "run_1"}, 1),
            e.state_delta(e.put("title", value="x")),
            e.step_started(1, 2),
            *e.think_start("r1", "m1", "reasoning_content", 1),
            e.think_delta("r1", " "),
            *e.think_end("r1"),
            e.text_start("m1", 3),
            e.text_delta("m1", "Look"),
            e.text_delta("m1", "\n"),
            e.tool_start("c1", "page", "m1"),
            e.tool_args("c1", '{"a"'),
            e.tool_args("c1", ":1}"),
            e.tool_end("c1"),
            e.text_delta("m1", "more"),
            e.text_end("m1", {}, 4),
            e.tool_exec("c1", [], 5),
            e.tool_output("c1", "one\n", first=True),
            e.tool_output("c1", "two\n", first=False),
            e.tool_result("c1", "page", '{"b": 2}', 6),
            e.step_finished("step 1", 7),
            e.run_finished(at, "completed", "completed", [], 8),
        ]
        found = told(run, at, new=True)
        self.assertEqual([each["seq"] for each in found], list(range(1, len(found) + 1)))
        self.assertEqual([each["timestamp"] for each in found if each["seq"] < 4], [1, 1, 1])
        self.assertEqual({type(each["timestamp"]) for each in found}, {int})
        bare = [{k: v for k, v in x.items() if k not in ("seq", "timestamp")} for x in found]
        self.assertEqual(
            bare,
            [
                {"type": "request.query", "message": "hi", "requestId": "run_1", "chatId": "s1"},
                {"type": "chat.start", "chatId": "s1"},
                {
                    "type": "run.start",
                    "runId": "run_1",
                    "requestId": "run_1",
                    "chatId": "s1",
                    "agentKey": "coder",
                },
                {"type": "reasoning.start", "reasoningId": "r1"},
                {"type": "reasoning.delta", "reasoningId": "r1", "delta": " "},
                {"type": "reasoning.end", "reasoningId": "r1"},
                {"type": "content.start", "contentId": "m1", "runId": "run_1"},
                {"type": "content.delta", "contentId": "m1", "delta": "Look"},
                {"type": "content.delta", "contentId": "m1", "delta": "\n"},
                {"type": "content.end", "contentId": "m1"},
                {
                    "type": "tool.start",
                    "toolId": "c1",
                    "toolName": "page",
                    "toolType": "frontend",
                    "runId": "run_1",
                },
                {"type": "tool.args", "toolId": "c1", "delta": '{"a"', "chunkIndex": 0},
                {"type": "tool.args", "toolId": "c1", "delta": ":1}", "chunkIndex": 1},
                {"type": "tool.end", "toolId": "c1"},
                {"type": "content.start", "contentId": "m1-2", "runId": "run_1"},
                {"type": "content.delta", "contentId": "m1-2", "delta": "more"},
                {"type": "content.end", "contentId": "m1-2"},
                {"type": "tool.exec", "toolId": "c1"},
                {"type": "tool.output", "toolId": "c1", "delta": "one\n"},
                {"type": "tool.output", "toolId": "c1", "delta": "two\n"},
                {"type": "tool.result", "toolId": "c1", "result": {"b": 2}},
                {
                    "type": "run.complete",
                    "runId": "run_1",
                    "finishReason": "end_turn",
                    "chatName": "A title",
                    "session": at,
                },
            ],
        )

    def test_every_alias_is_told_or_known_not_to_be(self) -> None:
        """A new kind of event has to take the decision."""
        silent = {"session.snapshot", "session.delta", "step.start", "step.end", "custom"}
        silent |= {"think.begin", "think.done", "text.start", "messages.snapshot"}
        samples: dict[str, Json] = {
            "text.delta": e.text_delta("m", "x"),
            "run.end": e.run_finished(session(), "completed", "completed", [], 1),
            "run.error": e.run_error("x", "y"),
            "tool.output": e.tool_output("c", "x", first=True),
            "tool.result": e.tool_result("c", "n", "x", 1),
            "run.start": e.run_started("s1", {"id": "run_1"}, 1),
        }
        other = {"messageId": "m", "toolCallId": "c", "toolCallName": "n", "delta": "x"}
        for name in set(e.ALIASES.values()) - silent:
            event = samples.get(name, other)
            telling = QueryTranslator(session(), {"type": "request.query"}, new=False)
            telling.translate(e.text_delta("m", "x"), "text.delta", NOW)
            self.assertTrue(telling.translate(event, name, NOW), name)

    def test_what_is_waited_for_is_asked_before_the_end(self) -> None:
        at = session(finish_reason="awaiting", interrupts=[INTERRUPT])
        found = told([e.run_finished(at, "interrupted", "awaiting", [], 8)], at)
        self.assertEqual([each["type"] for each in found], ["awaiting.ask", "run.complete"])
        self.assertEqual(found[1]["finishReason"], "awaiting")
        ask = {key: value for key, value in found[0].items() if key not in ("seq", "timestamp")}
        self.assertEqual(
            ask,
            {
                "type": "awaiting.ask",
                "awaitingId": "int-c2",
                "toolId": "c2",
                "mode": "approval",
                "toolName": "rm",
                "toolParams": {"path": "x"},
                "message": "Allow rm?",
                "payloadSchema": {"type": "object"},
            },
        )

    def test_a_run_that_breaks_in_the_middle_of_a_text(self) -> None:
        at = session(finish_reason="failed", interrupts=[{"id": "model", "reason": "model_error"}])
        run = [
            e.run_started("s1", {"id": "run_1"}, 1),
            e.text_start("m1", 3),
            e.text_delta("m1", "Lo"),
            e.run_error("It hung up.", "upstream_error", retryable=True),
        ]
        found = told(run, at)[2:]
        kinds = ["content.start", "content.delta", "content.end", "awaiting.ask", "run.error"]
        self.assertEqual([each["type"] for each in found], kinds)
        self.assertEqual(found[3]["toolId"], "model")
        self.assertEqual(found[4]["retriable"], True)
        self.assertIs(found[4]["session"], at)

    def test_a_result_that_is_no_json(self) -> None:
        failed = e.tool_result("c1", "n", "{not json", 1, state="failed", is_error=True)
        (result,) = told([failed], session())
        self.assertEqual((result["result"], result["isError"]), ("{not json", True))

    def test_one_answer_of_a_server_that_stopped(self) -> None:
        found = reply(session(status="in_progress", messages=[]), "run_1")
        self.assertEqual((found["finishReason"], found["content"]), ("stopped", ""))

    def test_one_answer_of_a_run_that_failed_is_not_the_one_before(self) -> None:
        before = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "42"}]
        broke = {"role": "error", "content": "Nobody answers", "code": "upstream_error"}
        at = session(finish_reason="failed", messages=[*before, before[0], broke])
        found = reply(at, "run_1", first=2)
        self.assertEqual((found["finishReason"], found["content"]), ("failed", ""))
        self.assertEqual(found["error"], {"code": "upstream_error", "message": "Nobody answers"})
        self.assertNotIn("error", reply(session(finish_reason="completed", messages=before), "r"))

    def test_one_answer(self) -> None:
        messages = [
            {"role": "assistant", "content": [{"type": "text", "text": "Hi"}, {"type": "x"}]},
            {"role": "tool", "content": "r"},
        ]
        at = session(finish_reason="awaiting", interrupts=[INTERRUPT], messages=messages)
        found = reply(at, "run_1")
        self.assertEqual(found["content"], "Hi")
        self.assertEqual([each["toolId"] for each in found["awaiting"]], ["c2"])
        self.assertEqual(found["session"], at)
        self.assertEqual(awaiting_events(session()), [])

    def test_one_answer_that_was_given_to_finish(self) -> None:
        silent = {"role": "assistant", "content": ""}
        done = {"role": "tool", "name": "finish", "content": "all done"}
        at = session(finish_reason="completed", messages=[silent, done])
        self.assertEqual(reply(at, "run_1")["content"], "all done")
        at |= {"output": {"a": 1}, "config": {"yaa": {"output_schema": {"type": "object"}}}}
        self.assertEqual(reply(at, "run_1")["content"], '{"a":1}')


class Chats(unittest.TestCase):
    def test_snapshots_of_what_was_said_and_done(self) -> None:
        call = {"id": "c1", "type": "function", "function": {"name": "page", "arguments": "{}"}}
        at = session(
            messages=[
                {"id": "u", "role": "user", "content": "hi", "at": 1},
                {"id": "m", "role": "assistant", "content": "", "tool_calls": [call], "at": 2},
                {"id": "t", "role": "tool", "tool_call_id": "c1", "content": "[1]"},
                {"role": "agent", "content": None},
            ]
        )
        found = chat(at, with_events=True)
        self.assertEqual((found["chatId"], found["chatName"]), ("s1", "A title"))
        self.assertEqual([m.get("ts") for m in found["messages"]], [1, 2, None, None])
        self.assertEqual(
            found["events"],
            [
                {
                    "seq": 1,
                    "type": "message.snapshot",
                    "messageId": "u",
                    "role": "user",
                    "text": "hi",
                    "timestamp": 1,
                },
                {
                    "seq": 2,
                    "type": "tool.snapshot",
                    "toolId": "c1",
                    "toolName": "page",
                    "contentId": "m",
                    "toolType": "frontend",
                    "arguments": "{}",
                    "result": [1],
                    "timestamp": 2,
                },
                {
                    "seq": 3,
                    "type": "message.snapshot",
                    "messageId": "message-3",
                    "role": "assistant",
                    "text": "",
                },
            ],
        )
        self.assertEqual(chat(at, with_events=False)["events"], [])
        self.assertEqual(chat({}, with_events=True)["events"], [])


if __name__ == "__main__":
    unittest.main()
