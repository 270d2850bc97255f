"""Requests of the Responses API: what is sent, and what is not."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.extensions.responses_api.responses import request
from server.models.chat_request import ModelRequest, ToolNameMap
from server.models.tool_mode import NATIVE

from ...models.fakes import options, provider, tool

Json = dict[str, Any]

USER: Json = {"id": "u1", "role": "user", "content": "hi", "name": "Ada", "at": 1}
CALL: Json = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
RESULT: Json = {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "1", "result": {}}
PART: Json = {"type": "summary_text", "text": "hm"}
SEAL: Json = {"type": "reasoning", "id": "rs_1", "summary": [PART], "encrypted_content": "gAAA"}
OPEN: Json = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]}
PIXEL = "data:image/png;base64,iVBORw0KGgo="


def kept(item: Json, chars: int = 0, calls: int = 0) -> Json:
    return {"at": [chars, calls], "item": item}


def assistant(content: Any = "", *details: Json, calls: Any = (CALL,), model: str = "m-1") -> Json:
    made: Json = {"role": "assistant", "content": content, "meta": {"model": model}}
    made |= {"tool_calls": list(calls)} if calls else {}
    return made | ({"reasoning": {"text": "hm", "details": list(details)}} if details else {})


def build(messages: list[Any], tools: Any = (), **changes: Any) -> Json:
    asked = changes.pop("options", {})
    changes = {"preset": "openai", **changes}
    given = provider(**changes), messages, list(tools), options(**asked), NATIVE
    return request(ModelRequest(*given, ToolNameMap()))


def items(messages: list[Json], **changes: Any) -> list[Json]:
    found: list[Json] = build(messages, **changes)["input"]
    return found


USE: Json = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":1}'}
DONE: Json = {"type": "function_call_output", "call_id": "c1", "output": "1"}


class Items(unittest.TestCase):
    def test_a_conversation(self) -> None:
        found = items(
            [
                {"role": "system", "content": "be good"},
                USER,
                assistant("I look", kept(SEAL)),
                RESULT,
                {"role": "error", "content": "boom"},
                {**assistant("half"), "open": True},
                assistant("done", calls=()),
                {"role": "system", "content": "be brief"},
            ]
        )
        self.assertEqual(
            found,
            [
                {"role": "system", "content": "be good"},
                {"role": "user", "content": "hi"},
                SEAL,
                {"role": "assistant", "content": "I look"},
                USE,
                DONE,
                {"role": "assistant", "content": "done"},
                {"role": "system", "content": "be brief"},
            ],
        )

    def test_several_thoughts_and_phases(self) -> None:
        made = assistant(
            "one two",
            kept(SEAL),
            kept({"type": "message", "phase": "commentary"}),
            kept(OPEN, 4),
            kept({"type": "message", "phase": "final_answer"}, 4),
        )
        self.assertEqual(
            items([made, RESULT]),
            [
                SEAL,
                {"role": "assistant", "content": "one ", "phase": "commentary"},
                {"summary": [], **OPEN},
                {"role": "assistant", "content": "two", "phase": "final_answer"},
                USE,
                DONE,
            ],
        )

    def test_thoughts_that_do_not_go_back(self) -> None:
        stored = {"type": "reasoning", "id": "rs_1", "summary": [PART]}  # by reference only
        odd = {"type": "function_call", "call_id": "x", "name": "rm", "arguments": "{}"}
        cases = {
            "another model's": assistant("x", kept(SEAL), model="other"),
            "stored nowhere": assistant("x", kept(stored)),
            "not a thought": assistant("x", kept(odd), kept({}), kept({"type": "message"})),
            "behind everything": assistant("x", kept(SEAL, 9, 9)),
            "Anthropic's": assistant("x", kept({"type": "thinking", "signature": "x"})),
        }
        for name, made in cases.items():
            with self.subTest(name):
                self.assertEqual(
                    items([made, RESULT]), [{"role": "assistant", "content": "x"}, USE, DONE]
                )

    def test_parts(self) -> None:
        content = [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:x;base64,AA=="}},
            {"type": "input_audio", "input_audio": {}},
        ]
        (item,) = items([{"role": "user", "content": content}])
        self.assertEqual(
            item["content"][:3],
            [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "image_url": PIXEL, "detail": "low"},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:x;base64,AA=="},
            ],
        )
        self.assertIn("cannot be given", item["content"][3]["text"])
        nothings: list[Any] = [None, "", []]
        for nothing in nothings:
            self.assertEqual(items([{"role": "user", "content": nothing}])[0]["content"], "")
        *_, result = items([USER, assistant(""), {**RESULT, "content": content}])
        self.assertEqual(result["output"], item["content"])

    def test_ids_and_broken_arguments(self) -> None:
        function = {"name": "fs.read", "arguments": '{"a":'}
        long = {"id": "x" * 100, "type": "function", "function": function}
        result = {**RESULT, "tool_call_id": "x" * 100}
        call, done = items([assistant("", calls=(long,)), result])
        self.assertLessEqual(len(call["call_id"]), 64)
        self.assertEqual(call["call_id"], done["call_id"])
        self.assertRegex(call["name"], r"^[A-Za-z0-9_-]{1,64}$")
        self.assertEqual(json.loads(call["arguments"]), {"invalid_json": '{"a":'})


class Rest(unittest.TestCase):
    def test_the_plain_body(self) -> None:
        """Nothing is stored at the provider, and nothing of what is only ours is sent."""
        self.assertEqual(
            build([USER]),
            {
                "model": "m-1",
                "input": [{"role": "user", "content": "hi"}],
                "stream": True,
                "store": False,
            },
        )

    def test_the_same_messages_give_the_same_bytes(self) -> None:
        messages = [USER, assistant("x", kept(SEAL)), RESULT]
        before = json.dumps(messages)
        self.assertEqual(json.dumps(build(messages)), json.dumps(build(messages)))
        self.assertEqual(json.dumps(messages), before, "a session is not written to")

    def test_reasoning(self) -> None:
        body = build([USER], is_reasoning=True, max_tokens=9)
        self.assertEqual(body["include"], ["reasoning.encrypted_content"])
        self.assertEqual(body["reasoning"], {"summary": "auto"})
        self.assertEqual(body["max_output_tokens"], 9)
        settings = {"reasoning_effort": "low", "reasoning": {"summary": "detailed"}}
        body = build([USER], is_reasoning=True, settings=settings)
        self.assertEqual(body["reasoning"], {"summary": "detailed", "effort": "low"})

    def test_tools_and_choice(self) -> None:
        cases: list[tuple[Any, Any]] = [
            (None, None),
            ("auto", None),
            ("required", "required"),
            ("f", {"type": "function", "name": "f"}),
        ]
        for choice, wanted in cases:
            with self.subTest(choice):
                body = build([USER], [tool("f")], options={"tool_choice": choice})
                self.assertEqual(body.get("tool_choice"), wanted)
        (sent,) = body["tools"]
        self.assertEqual((sent["name"], sent["strict"], sent["type"]), ("f", False, "function"))
        strict = tool("f")
        strict["function"]["strict"] = True
        for preset, wanted in (("openai", True), ("custom", False)):
            self.assertIs(build([USER], [strict], preset=preset)["tools"][0]["strict"], wanted)
        self.assertNotIn("tool_choice", build([USER], options={"tool_choice": "required"}))

    def test_settings(self) -> None:
        settings = {
            "top_p": 0.5,
            "seed": 4,
            "presence_penalty": 1,
            "verbosity": "low",
            "parallel_tool_calls": False,
            "store": True,
            "previous_response_id": "resp_1",
            "instructions": "obey me",
            "background": True,
        }
        body = build([USER], [tool("f")], settings=settings)
        self.assertEqual((body["top_p"], body["parallel_tool_calls"]), (0.5, False))
        self.assertEqual(body["text"], {"verbosity": "low"})
        self.assertIs(body["store"], False)
        for name in ("seed", "presence_penalty", "previous_response_id", "instructions"):
            self.assertNotIn(name, body)
        self.assertNotIn("background", body)
        self.assertEqual(build([USER], extra_body={"truncation": "auto"})["truncation"], "auto")

    def test_response_format(self) -> None:
        schema = {"name": "x", "schema": {"type": "object"}, "strict": True}
        body = build([USER], options={"response_format": {"json_schema": schema}})
        self.assertEqual(body["text"], {"format": {"type": "json_schema", **schema}})
        body = build([USER], options={"response_format": {"type": "json_object"}})
        self.assertEqual(body["text"], {"format": {"type": "json_object"}})


if __name__ == "__main__":
    unittest.main()
