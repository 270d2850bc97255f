"""Calls written as tags, cut everywhere."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.extensions.text_tools.parser import Piece, TagScanner

from ...models.fakes import tool

STRING = {"type": "string"}
TOOLS = [
    tool("add", {"a": {"type": "integer"}, "b": {"type": "number"}}),
    tool("write_file", {"path": STRING, "content": STRING}),
    tool("time"),
    tool("ask_user", {"question": STRING}),
    tool("tag", {"names": {"type": "array", "items": STRING}, "on": {"type": "boolean"}}),
    tool("any", {"x": {}, "o": {"type": "object"}, "u": {"type": ["integer", "null"]}}),
]

Told = list[tuple[str, Any]]


def scan(pieces: list[str]) -> list[Piece]:
    scanner = TagScanner(TOOLS)
    return [p for piece in pieces for p in scanner.feed(piece)] + scanner.end()


def told(pieces: list[Piece]) -> Told:
    """Text joined, calls as (name, arguments); arguments that are not whole stay text."""
    out: Told = []
    for kind, value in pieces:
        if kind in ("text", "think") and out and out[-1][0] == kind:
            out[-1] = (kind, out[-1][1] + value)
        elif kind in ("text", "think"):
            out.append((kind, value))
        elif kind == "call":
            out.append((value, ""))
        elif kind == "args":
            out[-1] = (out[-1][0], value)
        elif kind == "end":
            out[-1] = (out[-1][0], json.loads(out[-1][1]))
    return out


CASES: list[tuple[str, Told]] = [
    ("hello", [("text", "hello")]),
    ("", []),
    ("<add><a>1</a><b>2.5</b></add>", [("add", {"a": 1, "b": 2.5})]),
    ("so: <add>\n<a>1</a>\n</add> done", [("text", "so: "), ("add", {"a": 1}), ("text", " done")]),
    ("<ADD><a>1</a></ADD>", [("add", {"a": 1})]),
    ("<time></time>", [("time", {})]),
    ("<time>\n</time>x", [("time", {}), ("text", "x")]),
    (
        "<add><a>1</a></add>and<time></time>",
        [("add", {"a": 1}), ("text", "and"), ("time", {})],
    ),
    # values
    (
        "<write_file><path>a</path><content>\nx <b>bold</b>\n</write_file> </content> y\n"
        "</content></write_file>",
        [("write_file", {"path": "a", "content": "x <b>bold</b>\n</write_file> </content> y"})],
    ),
    (
        "<write_file><content><![CDATA[a <x> &amp;]]></content></write_file>",
        [("write_file", {"content": "a <x> &amp;"})],
    ),
    ("<write_file><path>7</path></write_file>", [("write_file", {"path": "7"})]),
    ("<add><a>x</a></add>", [("add", {"a": "x"})]),
    ("<add><a> 1 </a><b>true</b></add>", [("add", {"a": 1, "b": "true"})]),
    (
        "<tag><names>a</names><names>b</names><on>true</on></tag>",
        [("tag", {"names": ["a", "b"], "on": True})],
    ),
    ('<tag><names>["a"]</names></tag>', [("tag", {"names": ["a"]})]),
    (
        '<any><x>{"k": 1}</x><o>{"k": 2}</o><u>null</u></any>',
        [("any", {"x": {"k": 1}, "o": {"k": 2}, "u": None})],
    ),
    ("<any><x>5</x></any>", [("any", {"x": "5"})]),
    ('<add>{"a": 1}</add>', [("add", {"a": 1})]),
    # what is not a call
    ("Use <add> to add, <b>or</b> 1 < 2", [("text", "Use <add> to add, <b>or</b> 1 < 2")]),
    ("<adder><a>1</a></adder>", [("text", "<adder><a>1</a></adder>")]),
    ("<ad", [("text", "<ad")]),
    ("<add>", [("text", "<add>")]),
    ("<<add><a>1</a></add>", [("text", "<"), ("add", {"a": 1})]),
    ("a<b<c<", [("text", "a<b<c<")]),
    # JSON in tags
    ('<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>', [("add", {"a": 1})]),
    (
        '<ACTION>{"name":"add","description":"adds","arguments":{"a":1}}</ACTION>ok',
        [("add", {"a": 1}), ("text", "ok")],
    ),
    ('<tool_call>{"name": "no"}</tool_call>', [("text", '<tool_call>{"name": "no"}</tool_call>')]),
    ('<tool_call>{"name": ', [("text", '<tool_call>{"name": ')]),
    (
        '<Tool_Call>{"name": "no"}</TOOL_CALL>!',
        [("text", '<Tool_Call>{"name": "no"}</TOOL_CALL>!')],
    ),
    ('<ACTION>{"name": ', [("text", '<ACTION>{"name": ')]),
    ('I add. <ACTION>\n{"name":"add","arguments":{}}\n', [("text", "I add. "), ("add", {})]),
    # what only looks like one
    ("```json\n{}\n```", [("text", "```json\n{}\n```")]),
    # the end came early
    ("<add><a>1</a>", [("add", {"a": 1})]),
    ("<add><a>1", [("add", '{"incomplete":"<a>1"')]),
    ("<time>{", [("time", '{"incomplete":"{"')]),
    # marks
    ("<THINK>So 1 < 2.</THINK>\n<ANSWER>42</ANSWER>", [("think", "So 1 < 2."), ("text", "\n42")]),
    ("First.\n  <Answer>a <b>b</b>\n</answer> End", [("text", "First.\n  a <b>b</b>\n End")]),
    ("<DONE>all done", [("text", "all done")]),
    ("<done></done>", []),
    ("<think>half a th", [("think", "half a th")]),
    ("<think>a</thin", [("think", "a</thin")]),
    ("<think>a</thi</think>b", [("think", "a</thi"), ("text", "b")]),
    (
        '<THINK>I add</THINK><ACTION>{"name":"add","arguments":{}}</ACTION>'
        "<OBSERVE>it is 3</OBSERVE><ANSWER>3</ANSWER>",
        [("think", "I add"), ("add", {}), ("think", "it is 3"), ("text", "3")],
    ),
    ("<ANSWER><time></time> now</ANSWER>", [("time", {}), ("text", " now")]),
    (
        "Well.\n<ASK> Which?\n</ASK> ",
        [("text", "Well.\n"), ("ask_user", {"question": "Which?"}), ("text", " ")],
    ),
    ("<ask>Sure", [("ask_user", {"question": "Sure"})]),
    ("<ask> </ask>", []),
    # what only looks like a mark
    ("Write <answer>x</answer>.", [("text", "Write <answer>x</answer>.")]),
    (
        "```xml\n<answer>x</answer>\n```\n<answer>y</answer>",
        [("text", "```xml\n<answer>x</answer>\n```\ny")],
    ),
    ("<answers>x", [("text", "<answers>x")]),
    ("</answer>", [("text", "</answer>")]),
    (
        "<write_file><content>a\n<answer>x</answer>\n</content></write_file>",
        [("write_file", {"content": "a\n<answer>x</answer>\n"})],
    ),
    ("<an", [("text", "<an")]),
]


class Tags(unittest.TestCase):
    def test_whole(self) -> None:
        for text, wanted in CASES:
            with self.subTest(text):
                self.assertEqual(told(scan([text])), wanted)

    def test_cut_everywhere(self) -> None:
        for text, wanted in CASES:
            with self.subTest(text):
                self.assertEqual(told(scan(list(text))), wanted)
                for place in range(len(text)):
                    self.assertEqual(told(scan([text[:place], text[place:]])), wanted)

    def test_only_an_undecided_prefix_waits(self) -> None:
        scanner = TagScanner(TOOLS)
        for text, out in (
            ("a", "a"),
            (" <", " "),
            ("ad", ""),
            ("x", "<adx"),
            ("<add>", ""),
            (" ", ""),
            ("t", "<add> t"),
        ):
            with self.subTest(text):
                self.assertEqual("".join(value for _, value in scanner.feed(text)), out)

    def test_a_call_is_told_as_soon_as_it_is_one(self) -> None:
        scanner = TagScanner(TOOLS)
        self.assertEqual(scanner.feed("<write_file><path>"), [("call", "write_file")])

    def test_a_long_value_does_not_cost_quadratic_time(self) -> None:
        scanner = TagScanner(TOOLS)
        scanner.feed("<write_file><content>")
        for _ in range(5_000):
            scanner.feed("</p> some <b>text</b> ")
        self.assertEqual(scanner.feed("</content></write_file>")[-1], ("end", ""))

    def test_no_tools(self) -> None:
        scanner = TagScanner([])
        self.assertEqual(scanner.feed("<a>") + scanner.end(), [("text", "<a>")])


if __name__ == "__main__":
    unittest.main()
