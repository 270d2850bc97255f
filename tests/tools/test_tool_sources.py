"""Sources of tools: which files are one, what they may give, and what stays when they fail."""

from __future__ import annotations

import asyncio
import tempfile
import unittest
from pathlib import Path

from server.telemetry import log
from server.tools.decorators import ToolError
from server.tools.program_tools import MOST, MOST_STUCK, is_source, load_source

from .test_catalog import catalog

HEAD = "from yaa import BaseTool\nGIVEN = ['a']\n"
TOOL = """
class T(BaseTool):
    read_only = True
    def __init__(self, name): self.name = name
    def execute(self, params): return self.name
"""


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        log.setup("critical")
        self.addCleanup(log.setup, "error")
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def file(self, source: str, name: str = "s.py") -> Path:
        path = self.folder / name
        path.write_text(HEAD + TOOL + source)
        path.chmod(0o600)
        return path


class Files(Case):
    def test_which_files_are_one(self) -> None:
        for source, expected in (
            ("def tools(): return []", True),
            ("async def tools(): return []", True),
            ("@tool\ndef tools(): return []", False),
            ("if 1:\n    def tools(): return []", False),
            ("tools = list", False),
            ("def tools(:", False),
            ("\0", False),
        ):
            with self.subTest(source):
                self.assertEqual(is_source(self.file(source)), expected)
        self.assertFalse(is_source(self.folder / "none.py"))

    async def test_files_that_are_refused(self) -> None:
        tools = catalog(self.folder)
        before = list(tools.entries)
        for source, said in (
            ("def tools(): return 1 / 0", "tools() failed: ZeroDivisionError"),
            ("def tools(): return 5", "gave int"),
            ("def tools(): return {'a': T('a')}", "gave dict"),
            ("def tools(x): return []", "TypeError"),
            ("def tools(): return [5]", "5 is no tool"),
            ("def tools(): return [T('shell')]", "there is a tool named shell already"),
            ("def tools(): return [T('no name!')]", "1 to 64 letters"),
            ("def tools(): raise SystemExit", "SystemExit"),
            ("def tools():\n    yield 5\n    1 / 0", "ZeroDivisionError"),
            ("def tools(): return []\n1 / 0", "ZeroDivisionError"),
            ("REFRESH_S = 'often'\ndef tools(): return []", "REFRESH_S"),
        ):
            with self.subTest(source):
                found = await tools.add_file(self.file(source))
                self.assertTrue(any(said in str(each) for each in found), found)
                self.assertEqual(list(tools.entries), before)

    async def test_a_file_of_others_is_neither_run_here_nor_there(self) -> None:
        ran = self.folder / "ran"
        path = self.file(f"open({str(ran)!r}, 'w')\ndef tools(): return []")
        path.chmod(0o602)
        found = await catalog(self.folder).add_file(path)
        self.assertEqual(found, ["it can be written by others: chmod go-w"])
        self.assertFalse(ran.exists())

    async def test_more_than_anybody_needs(self) -> None:
        path = self.file(
            "import itertools\ndef tools(): return map(T, map(str, itertools.count()))"
        )
        source = load_source(path)
        assert not isinstance(source, str)
        found = await source.ask()
        self.assertEqual(
            (len(found), found[-1]), (MOST + 1, f"only the first {MOST} tools are taken")
        )


class Stuck(Case):
    async def test_a_source_whose_calls_do_not_end_is_not_called(self) -> None:
        """Each call would take a thread, for ever."""
        source = load_source(self.file("def tools(): return [T('a')]"))
        assert not isinstance(source, str)
        never = asyncio.get_running_loop().create_future()
        for _ in range(MOST_STUCK):
            self.assertEqual(len(await source.ask()), 1)
            source.unfinished.add(source, never)
        with self.assertRaisesRegex(ToolError, "4 earlier calls have not come back"):
            await source.ask()
        never.cancel()


class Again(Case):
    async def test_in_the_place_of_those_before(self) -> None:
        tools = catalog(self.folder)
        path = self.file("def tools():\n    if not GIVEN: 1 / 0\n    return [T(n) for n in GIVEN]")
        await tools.add_file(path)
        (source,) = tools._source_files
        given = source.function.__globals__["GIVEN"]
        builtin = [name for name in tools.entries if name != "a"]
        version = tools.version
        await tools._ask_again(source)
        self.assertEqual(tools.version, version, "the same tools: what was offered stays")
        given[:] = ["b", "a"]
        seen, were = tools.entries, dict(tools.entries)
        await tools._ask_again(source)
        self.assertEqual(list(tools.entries), [*builtin, "b", "a"])
        self.assertGreater(tools.version, version)
        self.assertEqual(seen, were, "a decision that looks at them in a thread sees no half")
        given.clear()
        await tools._ask_again(source)
        self.assertEqual(list(tools.entries), [*builtin, "b", "a"])
        self.assertIn("tools/s.py: tools() failed: ZeroDivisionError", tools.problems[-1])

    async def test_it_is_asked_when_it_is_due_and_once(self) -> None:
        tools = catalog(self.folder)
        await tools.add_file(self.file("REFRESH_S = 0\ndef tools(): return [T(n) for n in GIVEN]"))
        (source,) = tools._source_files
        source.function.__globals__["GIVEN"].append("b")
        tools.refresh()
        task = source.running
        tools.refresh()
        self.assertIs(source.running, task)
        assert task is not None
        await task
        self.assertIn("b", tools.entries)
        source.refresh_s = 1e9
        tools.refresh()
        self.assertIsNone(source.running)
        await tools.close()


if __name__ == "__main__":
    unittest.main()
