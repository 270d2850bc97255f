"""What a person reads of calls, results and changes to be approved."""

from __future__ import annotations

import io
import json
import unittest
from typing import Any

from server.cli.call_lines import call_line, result_lines, shorten
from server.cli.edit_preview import edit_lines
from server.cli.terminal import Terminal, ask_answer
from tests.tooling.tools import ROOT


def text_of(content: Any, **options: bool) -> str:
    said = content if isinstance(content, str) else json.dumps(content)
    return "\n".join(line for line, _ in result_lines(said, **options))


class Calls(unittest.TestCase):
    def test_calls(self) -> None:
        for name, args, wanted in (
            ("shell", {"command": "ls -la"}, "shell ls -la"),
            ("shell", {"command": "a\nb", "timeout": 5}, "shell a\nb timeout=5"),
            ("read_file", {"path": "a b.txt", "offset": 3}, "read_file a b.txt offset=3"),
            ("write_file", {"path": "a", "content": "x\ny\n"}, "write_file a content=(3 lines)"),
            ("datetime", {}, "datetime"),
            ("t", {"x": {"a": 1}}, 't x={"a": 1}'),
            ("t", {"x": "y" * 100}, f"t x={'y' * 60}… (100 characters)"),
        ):
            with self.subTest(name):
                self.assertEqual(call_line(name, json.dumps(args)), wanted)
        for broken in ("{", "", "[1]", '{"a": 1} x', "[" * 100_000):
            self.assertEqual(call_line("t", broken), f"t {shorten(broken)}")


class Results(unittest.TestCase):
    def test_known_tools(self) -> None:
        """The shapes of server/tools/builtin, with what is attached behind them."""
        diff = "--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y"
        for content, wanted in (
            ({"exit_code": 0, "output": "one\ntwo\n"}, "exit_code 0\none\ntwo"),
            ({"content": "     1\tx", "lines": 1}, "lines 1\n     1\tx"),
            ({"path": "a", "replaced": 1, "diff": diff}, f"path a, replaced 1\n{diff}"),
            ({"path": "a", "bytes": 2, "replaced": True}, "path a, bytes 2, replaced true"),
            (
                {"files": [{"path": "a/", "type": "folder"}, {"path": "b"}], "complete": True},
                "complete true\na/\nb",
            ),
            ({"matches": [{"path": "a", "line": 3, "text": "x"}]}, "a: 3: x"),
            ({"exit_code": 0, "output": ""}, "exit_code 0"),
            ({}, "done"),
            ('{"exit_code":0,"output":"x"}\n  [attached: a]', "exit_code 0\nx\n[attached: a]"),
            ("plain words\nof a tool", "plain words\nof a tool"),
            ("42", "42"),
            ('{"output": [1, {"a": 2}]}', 'output [1, {"a": 2}]'),
        ):
            with self.subTest(content):
                self.assertEqual(text_of(content), wanted)

    def test_what_was_shown_as_it_came_is_not_shown_again(self) -> None:
        said = {"exit_code": 1, "output": "one\n", "error": "no"}
        self.assertEqual(text_of(said, is_live=True), "exit_code 1, error no")

    def test_a_difference_has_its_colours(self) -> None:
        lines = result_lines(json.dumps({"path": "a", "diff": "@@ -1 +1 @@\n-x\n+y\n z"}))
        self.assertEqual([style for _, style in lines], ["dim", "cyan", "red", "green", "dim"])


FILE = "one\ntwo\nthree\n"


class Previews(unittest.TestCase):
    def lines(self, tool: str, args: Any, text: str | None = FILE) -> list[str] | None:
        found = edit_lines(tool, args, lambda _: text)
        return None if found is None else [line for line, _ in found]

    def test_each_change_has_its_line(self) -> None:
        for args in (
            {"path": "f", "old": "two", "new": "2"},
            {"path": "f", "edits": [{"old": "two", "new": "x"}, {"old": "x", "new": "2"}]},
            {"path": "f", "patch": "@@\n one\n-two\n+2\n"},
        ):
            with self.subTest(args):
                wanted = ["f", "       ⋮", "     1   one", "     2 - two", "     2 + 2"]
                found = self.lines("edit_file", args)
                self.assertEqual(found and found[:5], wanted)
        found = self.lines("write_file", {"path": "n", "content": "a"}, None)
        self.assertEqual(found, ["n a new file", "       ⋮", "     1 + a"])

    def test_what_cannot_be_told_is_shown_as_it_is(self) -> None:
        for tool, args, text in (
            ("shell", {"command": "ls"}, FILE),
            ("edit_file", {"path": "f", "old": "nothing", "new": "x"}, FILE),
            ("edit_file", {"path": "f", "old": "two", "new": "x"}, None),
            ("edit_file", {"path": "f", "old": 1, "new": None}, FILE),
            ("edit_file", {"path": "f", "edits": "x"}, FILE),
            ("edit_file", {"path": "f", "edits": [1]}, FILE),
            ("edit_file", {"path": "f", "patch": "x"}, FILE),
            ("edit_file", {"path": "f", "patch": 1}, FILE),
            ("edit_file", {"path": 1}, FILE),
            ("write_file", {"path": "f"}, FILE),
            ("write_file", {"path": "f", "content": "x\n" * 3_000}, FILE),
        ):
            with self.subTest(tool, args=str(args)[:80]):
                self.assertIsNone(self.lines(tool, args, text))

    def shown(self, tool: str, args: Any, text: str | None = FILE) -> str:
        out = io.StringIO()
        asked: Any = {"reason": "tool_call", "message": "Allow?", "tool": tool, "args": args}
        ask_answer(Terminal(io.StringIO("y\n"), out, {}), asked, lambda _: text)
        return out.getvalue()

    def test_an_approval_shows_all_of_a_call(self) -> None:
        args = {"path": "f", "old": "two", "new": "2", "note": "a\n    command: ls"}
        shown = self.shown("edit_file", args)
        self.assertIn("\n       2 - two\n       2 + 2\n", shown)
        self.assertIn("    note:\n  │ a\n  │     command: ls\n", shown)
        self.assertNotIn("old:", shown)
        args = {"path": "f", "old": "none", "new": "x" * 5_000}
        self.assertIn("x" * 5_000, self.shown("edit_file", args), "nothing of it is cut")

    def test_nothing_hides_in_a_difference(self) -> None:
        vectors = json.loads((ROOT / "tests" / "vectors" / "invisible.json").read_text())
        signs = [chr(int(each.split("-")[0], 16)) for each in vectors["ranges"]]
        for sign in signs:
            if not "\ud800" <= sign <= "\udfff":
                for text in (f"{sign}one", f"one\n{sign}", f"a{sign}b\nc"):
                    shown = self.shown("write_file", {"path": f"f{sign}", "content": text}, sign)
                    with self.subTest(ascii(sign), text=text):
                        self.assertNotIn(sign, shown)


if __name__ == "__main__":
    unittest.main()
