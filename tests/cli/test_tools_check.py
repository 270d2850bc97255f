"""`tools check`: the model's view of a file, and every refusal with its reason."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
import unittest
from pathlib import Path

from server.__main__ import main

from ..tooling.tools import ROOT

MIXED = '''
from typing import Annotated
from yaa import tool

@tool(read_only=True, keep=2, required_resources={"wall_s": 9999, "wal_s": 1})
def add(a: Annotated[int, "First"], b: int = 2) -> int:
    """Add two numbers."""
    return a + b

@tool
def unclear(x: object.__class__) -> None: ...

@tool
def shell() -> None: "Mine."

@tool
def größe() -> None: "Named in German."
'''


class Checking(unittest.TestCase):
    def setUp(self) -> None:
        self.enterContext(contextlib.chdir("."))  # the command leaves the current folder

    def check(self, source: str, name: str = "mine.py") -> tuple[int, str]:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / name
            file.write_text(source, encoding="utf-8")
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                code = main(["tools", "--home", f"{folder}/home", "check", str(file)])
        return code, out.getvalue()

    def test_what_is_seen_and_what_is_refused(self) -> None:
        code, text = self.check(MIXED)
        self.assertEqual(code, 1)
        for wanted in (
            "add\n  Add two numbers.\n  policy   runs without asking\n",
            "  hints    read_only, idempotent\n  keep     2\n",
            "  limit    wall_s 9999, the server allows 3600\n",
            "  better   a description of b",
            "there is no limit wal_s",
            '"description": "First"',
            '  result\n    {\n      "title": "int",\n      "type": "integer"\n    }\n',
            "refused  unclear: ",
            "refused  shell: there is a tool named shell already",
            "refused  größe: a tool's name has",
            "1 to use, 3 refused",
        ):
            with self.subTest(wanted):
                self.assertIn(wanted, text)

    def test_what_would_fail_in_each_call(self) -> None:
        source = """
from yaa import tool
@tool
def gives(ctx, n: int): yield n
@tool
async def waits(): yield 1
@tool
def one() -> None: "x"
same = one
@tool(name="one")
def other() -> None: "x"
@tool
def asks(ctx, n: int) -> None: "x"
"""
        _, text = self.check(source)
        for wanted in (
            "refused  gives: it is a generator",
            "refused  waits: it is a generator",
            "refused  one: there is a tool named one already",
            "better   ctx: Context (from yaa import Context)",
            "2 to use, 3 refused",
        ):
            with self.subTest(wanted):
                self.assertIn(wanted, text)

    def test_whole_files(self) -> None:
        cases = [
            ("x = 1", "no tool in this file"),
            ("from yaa import tool\n@tool(name=5)\ndef f(): ...", "TypeError: line 2: name is 5"),
            ("import nothing_here", "ModuleNotFoundError"),
            ("def (", "SyntaxError"),
            ("raise SystemExit(3)", "exited with 3"),
        ]
        for source, wanted in cases:
            with self.subTest(source):
                code, text = self.check(source)
                self.assertEqual(code, 1)
                self.assertIn(wanted, text)

    def test_no_file(self) -> None:
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
            for name in ("none.py", ".", "x" * 300, "none/../closed.py"):
                code = main(["tools", "--home", f"{folder}/home", "check", f"{folder}/{name}"])
                self.assertEqual((code, out.getvalue().split()[:3]), (1, ["there", "is", "no"]))

    def test_the_template_of_the_howto(self) -> None:
        page = (ROOT / "docs/howto/add-a-tool.md").read_text()
        template = next(
            block for block in re.findall(r"```python\n(.*?)```", page, re.S) if "unittest" in block
        )
        self.assertLess(len(template.splitlines()), 20)
        code, text = self.check(template, "greet.py")
        self.assertEqual((code, "1 to use, 0 refused" in text), (0, True), text)
        module: dict[str, object] = {"__name__": "template"}
        exec(compile(template.replace("from yaa", "from server"), "t", "exec"), module)
        case = module["Greets"]
        assert isinstance(case, type) and issubclass(case, unittest.TestCase)
        suite = unittest.defaultTestLoader.loadTestsFromTestCase(case)
        result = unittest.TestResult()
        suite.run(result)
        self.assertEqual((result.testsRun, result.wasSuccessful()), (1, True), result)


if __name__ == "__main__":
    unittest.main()
