"""Replies under a schema, cut everywhere."""

from __future__ import annotations

import json
import unittest

from server.extensions.text_tools.parser import JsonReply, Piece

Told = list[tuple[str, str]]


def scan(pieces: list[str]) -> list[Piece]:
    reply = JsonReply(["f", 'say "x"'])
    return [p for piece in pieces for p in reply.feed(piece)] + reply.end()


def told(pieces: list[Piece]) -> Told:
    out: Told = []
    for kind, value in pieces:
        if out and out[-1][0] == kind and kind in ("text", "args"):
            out[-1] = (kind, out[-1][1] + value)
        elif value or kind == "end":
            out.append((kind, value))
    return out


def call(arguments: str, name: str = "f") -> Told:
    return [("call", name), ("args", arguments), ("end", "")]


DEEP = '{"a":{"b":["}",{}]},"c":"\\"}"}'

CASES: list[tuple[str, Told]] = [
    ('{"answer": "hi"}', [("text", "hi")]),
    ('{"answer":"hi"}\n', [("text", "hi")]),
    (' {\n "answer" :\n "a\\nb\\"c\\\\d\\u00e9\\/" }', [("text", 'a\nb"c\\dé/')]),
    ('{"answer": ""}', []),
    ('{"answer": "\\ud83d\\ude00"}', [("text", "\ud83d\ude00")]),
    ('{"answer": "a\\uZZZZb"}', [("text", "a\ufffdb")]),
    ('{"answer": "cut', [("text", "cut")]),
    ('{"answer": "cut\\', [("text", "cut\\")]),
    ('{"answer": {"a": [1, "}"]}}', [("text", '{"a": [1, "}"]}')]),
    ('{"answer": 42}', [("text", "42")]),
    ('{"tool": "f", "arguments": {"a": 1}}', call('{"a": 1}')),
    (f'{{"tool":"f","arguments":{DEEP}}}', call(DEEP)),
    ('{"tool": "f", "arguments": {}}', call("{}")),
    ('{"tool": "say \\"x\\"", "arguments": {}}', call("{}", 'say "x"')),
    ('{"tool": "other", "arguments": {}}', call("{}", "other")),
    ('{"tool": "f", "arguments": {"a', [("call", "f"), ("args", '{"a')]),
    ('{"arguments": {"a": 1}, "tool": "f"}', call('{"a":1}')),
    ('{"name": "f", "parameters": {"a": 1}}', call('{"a":1}')),
    # more than one, and words behind
    (
        '{"tool":"f","arguments":{}}\n{"tool":"f","arguments":{"a":1}}\n',
        [*call("{}"), *call('{"a":1}')],
    ),
    ('{"answer":"hi"} there', [("text", "hi there")]),
    ('{"answer":"hi"}{"tool":"f","arguments":{}}', [("text", "hi"), *call("{}")]),
    ('{"answer":"hi","why":{"a":"}"}} x', [("text", "hi x")]),
    ('{"answer":42,"why":1}', [("text", "42")]),
    ('{"tool":"f","arguments":{},"why":"} x"}', call("{}")),
    ('{"tool":"f","arguments":"{}"}', call('"{}"')),
    ('{"answer":"x" ] } tail', [("text", "x tail")]),
    ('{"answer":["]",{}]} [', [("text", '["]",{}] [')]),
    # what ignores the schema
    ("```\n{}\n```", [("text", "```\n{}\n```")]),
    ("plain words", [("text", "plain words")]),
    ("  plain", [("text", "  plain")]),
    ('{"other": 1}', [("text", '{"other": 1}')]),
    ('{"tool": "f"}', call("{}")),
    ('{"tool": 5, "arguments": {}}', [("text", '{"tool": 5, "arguments": {}}')]),
    ("{", [("text", "{")]),
    ('{"ans', [("text", '{"ans')]),
    ('{"tool": "f', [("text", '{"tool": "f')]),
    ('{"answers": "x"}', [("text", '{"answers": "x"}')]),
    ("{oops", [("text", "{oops")]),
    ("[1]", [("text", "[1]")]),
    ("", []),
]


class Replies(unittest.TestCase):
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

    def test_the_answer_streams(self) -> None:
        reply = JsonReply(["f"])
        self.assertEqual(reply.feed('{"answer": "'), [])
        for character in "ab c":
            self.assertEqual(reply.feed(character), [("text", character)])

    def test_arguments_stream(self) -> None:
        reply = JsonReply(["f"])
        self.assertEqual(reply.feed('{"tool": "f", "arguments": {'), [("call", "f"), ("args", "{")])
        self.assertEqual(reply.feed('"a"'), [("args", '"a"')])

    def test_everything_json_can_write_comes_back(self) -> None:
        text = "".join(map(chr, [*range(0x20), 0x7F, 0x2028, 0xE9, 0x65E5, 0x1F600])) + '"\\/'
        for ascii_only in (True, False):
            spelled = json.dumps({"answer": text}, ensure_ascii=ascii_only)
            said = "".join(value for _, value in scan(list(spelled)))
            with self.subTest(ascii_only):
                self.assertEqual(said.encode("utf-16", "surrogatepass").decode("utf-16"), text)


if __name__ == "__main__":
    unittest.main()
