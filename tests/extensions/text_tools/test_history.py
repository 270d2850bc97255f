"""Calls for models without function calling: prompts, schemas, history."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.extensions.text_tools import history
from server.session import prompt_texts, prompts

from ...models.fakes import tool

ADD = tool("add", {"a": {"type": "integer", "description": "first"}, "s": {"type": "string"}})
ADD["function"]["parameters"]["required"] = ["a"]
TOOLS = [ADD, tool("time")]
HISTORY: list[Any] = [
    {"role": "system", "content": "Be good."},
    {"role": "user", "content": "add"},
    {
        "role": "assistant",
        "content": "ok",
        "tool_calls": [
            {"id": "c1", "function": {"name": "add", "arguments": '{"a": 1, "s": "x<y"}'}},
            {"id": "c2", "function": {"name": "time", "arguments": "{}"}},
        ],
        "reasoning": {"text": "hm"},
    },
    {"role": "tool", "tool_call_id": "c1", "name": "add", "content": "2"},
    {"role": "tool", "tool_call_id": "c2", "content": "noon"},
    {"role": "user", "content": "thanks"},
    {"role": "assistant", "content": "bye"},
]


class Transcript(unittest.TestCase):
    def test_text(self) -> None:
        turns = history.transcript(HISTORY, TOOLS, "text")
        self.assertEqual(
            [(turn["role"], turn["content"]) for turn in turns[1:]],
            [
                ("user", "add"),
                (
                    "assistant",
                    "ok\n<add>\n<a>1</a>\n<s>x<y</s>\n</add>\n<time>\n</time>",
                ),
                ("user", "Result of add:\n2\n\nResult of time:\nnoon\n\nthanks"),
                ("assistant", "bye"),
            ],
        )

    def test_json_schema(self) -> None:
        turns = history.transcript(HISTORY, TOOLS, "json_schema")
        self.assertEqual(
            [turn["content"] for turn in turns[2::2]],
            [
                '{"tool":"add","arguments":{"a":1,"s":"x<y"}}\n{"tool":"time","arguments":{}}',
                '{"answer":"bye"}',
            ],
        )

    def test_no_trace_of_native_calls(self) -> None:
        for mode in ("text", "json_schema"):
            for turn in history.transcript(HISTORY, TOOLS, mode):
                self.assertFalse({"tool_calls", "tool_call_id", "reasoning"} & set(turn))
                self.assertIn(turn["role"], ("system", "user", "assistant"))

    def test_the_rules_stand_in_the_system_message(self) -> None:
        for mode in ("text", "json_schema"):
            first = history.transcript(HISTORY, TOOLS, mode)[0]["content"]
            self.assertTrue(first.startswith("Be good.\n\n"))
            for word in ("add", "does add", "required", "first", "time"):
                self.assertIn(word, first)
            alone = history.transcript(HISTORY[1:], TOOLS, mode)[0]
            self.assertEqual(alone["role"], "system")

    def test_schemas_that_are_true_or_false(self) -> None:
        """Both are schemas, and a page may declare them."""
        rules = history.prompt([tool("f", {"any": True, "never": False})], "text")
        self.assertIn("    any (optional, {})", rules)
        self.assertNotIn("never", rules)

    def test_without_tools_there_are_no_rules(self) -> None:
        turns = history.transcript(HISTORY, [], "text")
        self.assertEqual(turns[0]["content"], "Be good.")

    def test_content_of_parts(self) -> None:
        image = {"type": "image_url", "image_url": {"url": "d"}}
        parts = [{"type": "text", "text": "x"}, image]
        turns = history.transcript([{"role": "user", "content": parts}], [], "text")
        self.assertEqual(turns[0]["content"], parts)
        result: Any = {"role": "tool", "tool_call_id": "c", "name": "f", "content": parts}
        (turn,) = history.transcript([result], [], "text")
        text = {"type": "text", "text": "Result of f:\nx"}
        self.assertEqual(turn["content"], [text, image])

    def test_broken_arguments(self) -> None:
        self.assertEqual(history.call_text("f", '{"a', "text"), '<f>\n{"a\n</f>')
        found = json.loads(history.call_text("f", '{"a', "json_schema"))
        self.assertEqual(found, {"tool": "f", "arguments": {}})


class Schema(unittest.TestCase):
    def variants(self, **more: Any) -> list[Any]:
        found = history.response_format(TOOLS, **more)["json_schema"]["schema"]["anyOf"]
        return list(found)

    def test_one_variant_for_each_tool_and_an_answer(self) -> None:
        add, time, answer = self.variants()
        self.assertEqual(add["properties"]["tool"], {"type": "string", "enum": ["add"]})
        self.assertEqual(add["required"], ["tool", "arguments"])
        self.assertIs(add["additionalProperties"], False)
        self.assertEqual(time["properties"]["arguments"]["properties"], {})
        self.assertEqual(answer["properties"], {"answer": {"type": "string"}})

    def test_choices(self) -> None:
        self.assertEqual(len(self.variants(choice="required")), 2)
        (only,) = self.variants(choice="add")
        self.assertEqual(only["properties"]["tool"]["enum"], ["add"])

    def test_an_answer_with_a_format_of_its_own(self) -> None:
        inner = {"type": "object", "properties": {"n": {"type": "integer"}}}
        wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": inner}}
        self.assertEqual(self.variants(wanted=wanted)[-1]["properties"]["answer"], inner)

    def test_strings_have_an_end(self) -> None:
        free = {"type": "string"}
        properties = {
            "free": free,
            "short": {"type": "string", "maxLength": 9},
            "long": {"type": "string", "maxLength": 10**6},
            "one": {"type": "string", "enum": ["a"]},
            "when": {"type": "string", "format": "date"},
            "deep": {"type": "object", "properties": {"type": free, "list": {"items": free}}},
            "either": {"anyOf": [free, {"type": "null"}]},
            "default": {"type": "object", "default": {"type": "string"}},
        }
        before = json.dumps(properties)
        schema = history.response_format([tool("f", properties)])["json_schema"]["schema"]
        found = schema["anyOf"][0]["properties"]["arguments"]["properties"]
        limit = history.MAX_STRING
        self.assertLess(limit, 2000)
        self.assertEqual(found["free"]["maxLength"], limit)
        self.assertEqual(found["short"]["maxLength"], 9)
        self.assertEqual(found["long"]["maxLength"], limit)
        self.assertEqual(found["deep"]["properties"]["type"]["maxLength"], limit)
        self.assertEqual(found["deep"]["properties"]["list"]["items"]["maxLength"], limit)
        self.assertEqual(found["either"]["anyOf"][0]["maxLength"], limit)
        for name in ("one", "when", "default"):
            self.assertEqual(found[name], properties[name])
        self.assertEqual(json.dumps(properties), before)


CHINESE = {
    "tools": "可以使用工具，写法：\n{call}\n工具：\n{tools}",
    "call": '<tool_call>{"name": "{name}", "arguments": {arguments}}</tool_call>',
    "result": "工具 {name} 的结果：\n{result}",
    "error": "工具 {name} 出错：\n{result}",
}


class OwnWords(unittest.TestCase):
    """Sections of the prompt that replace what a model is told of tools."""

    def test_all_four(self) -> None:
        call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
        failed = {
            "role": "tool",
            "tool_call_id": "c2",
            "name": "f",
            "content": "x",
            "is_error": True,
        }
        messages: list[Any] = [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "{name} {result}"},
            failed,
        ]
        rules, _, called, results = history.transcript(messages, TOOLS, "text", CHINESE)
        example = (
            '<tool_call>{"name": "tool_name", "arguments": {"parameter": "value"}}</tool_call>'
        )
        self.assertTrue(rules["content"].startswith(f"可以使用工具，写法：\n{example}\n工具：\n- "))
        written = '<tool_call>{"name": "add", "arguments": {"a":1}}</tool_call>'
        self.assertEqual(called["content"], written)
        told = "工具 add 的结果：\n{name} {result}\n\n工具 f 出错：\nx"
        self.assertEqual(results["content"], told)

    def test_under_a_schema_calls_stay_json(self) -> None:
        self.assertEqual(
            history.prompt(TOOLS, "json_schema", CHINESE),
            history.prompt(TOOLS, "json_schema"),
        )
        found = history.call_text("add", '{"a": 1}', "json_schema", CHINESE)
        self.assertEqual(json.loads(found), {"tool": "add", "arguments": {"a": 1}})

    def test_a_call_without_parameters(self) -> None:
        self.assertEqual(history.call_text("f", "", "text"), "<f>\n</f>")
        written = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
        self.assertEqual(history.call_text("f", "", "text", CHINESE), written)

    def test_a_call_that_would_not_be_understood_is_told_of(self) -> None:
        good = ("<{name}>{parameters}</{name}>", "<{name}>{arguments}</{name}>", "好：\n{name}")
        for template in (*good[:2], CHINESE["call"], prompt_texts.PROTOCOL["call"]):
            self.assertEqual(history.remarks({"call": template}), [], template)
        for template in ("[[{name} {arguments}]]", "", "<{name}>", good[2], "<shell>{parameters}"):
            (remark,) = history.remarks({"call": template})
            self.assertEqual((remark["code"], remark["section"]), (prompts.UNREADABLE_CALL, "call"))
        self.assertEqual(history.remarks({}), [])


if __name__ == "__main__":
    unittest.main()
