"""Calls that came as text: the forms that model servers let through, and texts that are none."""

from __future__ import annotations

import json
import time
import unittest
from typing import Any

from server.extensions.text_tools.marked_calls import CALL_MARK, finder, rescue
from server.extensions.text_tools.parser import properties, read_whole_call

from ...models.fakes import tool

ADD = tool("add", {"a": {"type": "integer"}, "s": {"type": "string"}})
TOOLS = {"add": properties(ADD), "time": {}}
JSON = '{"name": "add", "arguments": {"a": 1}}'
QWEN = "<function=add>\n<parameter=a>\n1\n</parameter>\n</function>"
ONE = [("add", '{"a":1}')]
TWO_OF_ADD = [*ONE, ("add", '{"a":2}')]
# By model: what is before all calls, two calls and what is between them, what is behind
FORMS: dict[str, tuple[str, str, str, str, str]] = {}
ALONE = ("JSON", "fenced JSON", "Llama 4", "Gemma")  # these have no mark


def form(name: str, one: str, head: str = "", between: str = "", tail: str = "") -> None:
    FORMS[name] = (head, one, between, one.replace("1", "2"), tail)


_ARGS = '{"name": "add", "arguments": {"a": 1}}'
_INVOKE = '<invoke name="add">\n<parameter name="a">1</parameter>\n</invoke>'
form("JSON", _ARGS, between="\n")
form("fenced JSON", f"```json\n{_ARGS}\n```", between="\n")
form("xLAM", _ARGS, "[TOOL_CALLS][", ", ", "]")
form("Llama 3.1", _ARGS.replace("arguments", "parameters"), "<|python_tag|>", "; ")
form("Llama 3", '<function=add>{"a": 1}</function>')
form(
    "DeepSeek V3",
    '<｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n{"a": 1}\n```<｜tool▁call▁end｜>',
    "<｜tool▁calls▁begin｜>",
    "\n",
    "<｜tool▁calls▁end｜>",
)
form(
    "DeepSeek V3.1",
    '<｜tool▁call▁begin｜>add<｜tool▁sep｜>{"a": 1}<｜tool▁call▁end｜>',
    "<｜tool▁calls▁begin｜>",
    "",
    "<｜tool▁calls▁end｜>",
)
form(
    "DeepSeek V3.2",
    _INVOKE.replace("invoke", "｜DSML｜invoke")
    .replace("parameter", "｜DSML｜parameter")
    .replace('"a"', '"a" string="false"'),
    "<｜DSML｜function_calls>\n",
    "\n",
    "\n</｜DSML｜function_calls>",
)
form(
    "Kimi K2",
    '<|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>',
    "<|tool_calls_section_begin|>",
    "",
    "<|tool_calls_section_end|>",
)
form("GLM 4.5", "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>")
form(
    "gpt-oss", '<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"a": 1}<|call|>'
)
form("MiniMax M2", _INVOKE, "<minimax:tool_call>\n", "\n", "\n</minimax:tool_call>")
form("Claude", _INVOKE, "<function_calls>\n", "\n", "\n</function_calls>")
form("Llama 4", "add(a=1)", "[", ", ", "]")
form("Gemma", "add(a=1)", "```tool_code\n", "\n", "\n```")
form("Granite", _ARGS, "<|tool_call|>[", ", ", "]")
form("Phi 4", _ARGS, "functools[", ", ", "]")
form(
    "Command R",
    '{"tool_name": "add", "parameters": {"a": 1}}',
    "Action: ```json\n[",
    ",\n",
    "]\n```",
)
form("ReAct", 'Action: add\nAction Input: {"a": 1}', between="\n")
form("InternLM", f"<|action_start|><|plugin|>\n{_ARGS}<|action_end|>")
TWO = [*ONE, ("time", "{}")]


class Rescue(unittest.TestCase):
    def test_json_alone(self) -> None:
        for text in (
            JSON,
            ' {"tool": "add", "arguments": {"a": 1}}\n',
            '{"name": "add", "parameters": {"a": 1}}',
            '{"type": "function", "function": {"name": "add", "arguments": "{\\"a\\":1}"}}',
            f"[{JSON}]",
            f"```json\n{JSON}\n```",
            '{"name": "add", "description": "adds", "arguments": {"a": 1}}',
        ):
            with self.subTest(text):
                self.assertEqual(rescue(text, TOOLS), ONE)
                self.assertEqual(read_whole_call(text, TOOLS), ONE[0])
        self.assertEqual(rescue('{"tool": "time"}', TOOLS), [("time", "{}")])

    def test_behind_the_mark_of_a_model(self) -> None:
        time_json = '{"name": "time", "arguments": {}}'
        for text, calls in (
            (f"<tool_call>{JSON}</tool_call>", ONE),
            (f"<tool_call>\n{JSON}", ONE),
            (f"<tool_call>{JSON}</tool_call>\n<tool_call>{time_json}\n</tool_call>\n", TWO),
            (f"<tool_call>\n{QWEN}\n</tool_call>", ONE),
            (f"{QWEN}\n</tool_call>\n", ONE),  # the opening tag was left out
            (QWEN, ONE),
            (f"{QWEN}\n<function=time>\n</function>", TWO),
            (f"<tool_call>{QWEN}</tool_call><tool_call><function=time></function>", TWO),
            (f"[TOOL_CALLS][{JSON}, {time_json}]", TWO),
            (f"[TOOL_CALLS] {JSON}", ONE),
            ('[TOOL_CALLS]add{"a": 1}\n[TOOL_CALLS]time{}', TWO),
            ('[TOOL_CALLS]add[ARGS]{"a": 1}', ONE),
            ('[TOOL_CALLS]add[CALL_ID]Xy3[ARGS]{"a": 1}[TOOL_CALLS]time[ARGS]{}', TWO),
        ):
            for before in (
                "",
                "I'll add.\n\n",
                "A call begins with `<tool_call>`:\n",
                "```\na\n```\n",
            ):
                with self.subTest(before + text):
                    self.assertEqual(rescue(before + text, TOOLS), calls)

    def test_each_form_of_each_model(self) -> None:
        """One call, two, and behind words; half of one is none."""
        for name, (head, one, between, two, tail) in FORMS.items():
            for text, calls in (
                (head + one + tail, ONE),
                (head + one + between + two + tail, TWO_OF_ADD),
                (f"I'll add.\n\n{head}{one}{tail}", [] if name in ALONE else ONE),
                (f"{head}{one}{tail}\nThat was it.", []),
                (f"Look: {head}{one}{tail}", None if head.endswith(">\n") else []),  # own line
                (f"```\n{head}{one}", None),
                ((head + one)[: -len(one) // 2], []),
                ((head + one + tail).replace("add", "ada"), []),
                ("", []),
            ):
                with self.subTest(name, text=text):
                    if calls is not None:
                        self.assertEqual(rescue(text, TOOLS), calls)

    def test_a_call_that_is_not_read_is_said(self) -> None:
        for text, unread in (
            ("<|tool_call_begin|>add{}", True),
            ("So.\n<｜tool▁calls▁begin｜>add", True),
            ("<|python_tag|>add.call(a=1)", True),
            ("<tool_call>\nadd(1)", True),
            ("It begins with `<|python_tag|>`.", False),
            ("```\n<|python_tag|>add.call(a=1)\n```", False),
            ("plain", False),
        ):
            with self.subTest(text):
                for tools in ([ADD], []):
                    found = finder(tools, str)(text)
                    self.assertEqual([name for name, _ in found], [""] * (unread and bool(tools)))
                    self.assertTrue(all(CALL_MARK.match(mark) for _, mark in found))

    def test_values_in_tags(self) -> None:
        """They have the type of the schema, and any text may be in them."""
        for told, value in (
            ("\nx\n", "x"),
            ("\n\n x\ny \n\n", "\n x\ny \n"),
            ("1", "1"),
            ("", ""),
            ("a </parameter> b", "a </parameter> b"),
            ("\n<function=time></function>\n", "<function=time></function>"),
            ("日本 [TOOL_CALLS]", "日本 [TOOL_CALLS]"),
        ):
            text = f"<function=add><parameter=s>{told}</parameter></function>"
            with self.subTest(text):
                ((name, arguments),) = rescue(text, TOOLS)
                self.assertEqual((name, json.loads(arguments)), ("add", {"s": value}))

    def test_answers(self) -> None:
        for text in (
            *("", " ", "add", '"add"', "}", "``", "[" * 5000, "{" * 5000 + "}"),
            '{"name": "ada", "arguments": {}}',
            '{"name": "add", "age": 3}',
            '{"name": "add", "type": "x"}',
            '{"name": "add", "arguments": [1]}',
            f"{JSON} and more",
            f"This is how: {JSON}",
            '{"name": "add", "arguments": {}, "parameters": {}}',
            '{"name": ["add"], "arguments": {}}',
            f"{QWEN}\nThat was it.",
            f"```\n{QWEN}\n```",
            f"As the page says:\n```\n{QWEN}",  # a fence that was never closed
            f"~~~\n<tool_call>{JSON}</tool_call>",
            f"The format: <tool_call>{JSON}</tool_call>",
            f"> {QWEN}",
            '`[TOOL_CALLS]add{"a": 1}',
            f"`{QWEN}`",
            f"<tool_call>{JSON}</tool_call> {{}}",
            f"[TOOL_CALLS][{JSON}, 1]",
            f"{QWEN}<function=ada></function>",
            "<function=ada></function>",
            "<function=add><parameter=a>1</function>",
            "<function=add><parameter=a>1</parameter>",
            *("[TOOL_CALLS]add", "[TOOL_CALLS]add[1]", "[TOOL_CALLS]ada{}", "[TOOL_CALLS]{}"),
            '[TOOL_CALLS]add{"a": 1, "a": 2}',
            '[TOOL_CALLS]add{"a": NaN}',
        ):
            with self.subTest(text[:50]):
                self.assertEqual(rescue(text, TOOLS), [])

    def test_a_text_full_of_marks_costs_little(self) -> None:
        for mark in ("<tool_call>", "<function=add>", "[TOOL_CALLS]add", "[TOOL_CALLS][["):
            began = time.process_time()
            self.assertEqual(rescue(mark * 10_000 + "}", TOOLS), [])
            self.assertLess(time.process_time() - began, 1, mark)
        for text in (
            "```\n" + "\n" * 4000 + "}",
            "\n[TOOL_CALLS]time{}" * 4000 + "}",
            "\n<function=time></function>" * 4000 + "}",
            "\n<function=add><parameter=a>x</parameter> " * 4000 + "}",
        ):
            began = time.process_time()
            self.assertEqual(rescue(text, TOOLS), [])
            self.assertLess(time.process_time() - began, 1, text[:30])

    def test_properties(self) -> None:
        odd: list[Any] = [None, True, {}, {"properties": None}, {"properties": []}]
        for parameters in odd:
            self.assertEqual(properties({"function": {"parameters": parameters}}), {})
        self.assertEqual(properties({"function": {}}), {})


if __name__ == "__main__":
    unittest.main()
