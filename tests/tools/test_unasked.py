"""What a model can do unasked: all tools of a full configuration against the security page."""

from __future__ import annotations

import logging
import re
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from server.app import App
from server.config import load
from server.lib.sandbox.probe import make_proof
from server.tools.base import Tool
from server.tools.client_tools import ClientTool
from server.tools.fetch import FetchTool
from server.tools.function_tools import ChildTool, InlineTool, StatefulTool
from server.tools.policy import Grants, decide
from server.tools.program_tools import ObjectTool
from server.tools.session_tools import ControlTool
from server.tools.tool_files import MissingTool

from ..extensions import rows_for

DOCS = Path(__file__).parents[2] / "docs"
PAGE, REFERENCE = DOCS / "design" / "security.md", DOCS / "reference"
OWN = """from yaa import tool
@tool(read_only=True)
def own_look(n: int) -> int:
    "Look."
    return n
@tool
def own_change(n: int) -> int:
    "Change."
    return n
"""
# A subclass of Tool -> whether its arguments leave this machine, by whatever way.
LEAVES: dict[type[Tool], bool] = {
    ChildTool: False,
    ClientTool: True,
    ControlTool: False,
    FetchTool: True,
    InlineTool: False,
    MissingTool: False,
    ObjectTool: False,
    StatefulTool: False,
}
for each in rows_for("LEAVES"):
    LEAVES |= each
# Those that leave it unasked: any other one is a door that nobody has decided about.
DECIDED = set[str]().union(*rows_for("UNASKED"))


def table_of_page() -> dict[str, str]:
    """Return first cell -> second cell of the tables of tools: the page's, and each extension's."""
    rows: list[list[str]] = []
    for page in (PAGE, *sorted(REFERENCE.glob("extension-*.md"))):
        for table in page.read_text().split("| Tool | Asked |")[1:]:
            lines = table.split("\n\n", 1)[0].splitlines()[2:]
            rows += (line.strip("|").split("|") for line in lines)
    return {row[0].strip(): row[1].strip() for row in rows}


def subclasses(kind: type[Tool]) -> Iterator[type[Tool]]:
    for each in kind.__subclasses__():
        if each.__module__.startswith("server."):
            yield each
        yield from subclasses(each)


def row_of(tool: Tool, named: dict[str, str]) -> str:
    """Return the row that a tool belongs to, as the page calls it."""
    if added := next(filter(None, (row_of_it(tool) for row_of_it in rows_for("unasked_row"))), ""):
        return str(added)
    if tool.name.startswith("own_"):
        return "your functions with `read_only=True`" if tool.read_only else "your other functions"
    return named.get(tool.name, f"no row for {tool.name}")


class Unasked(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.home / "tools").mkdir()
        (self.home / "tools" / "own.py").write_text(OWN)
        flags = {"server.discover": False, "server.sandbox.require": "none"}
        for added in rows_for("unasked_config"):
            flags |= added(self.home)
        config = load(self.home, None, {}, flags)
        self.app = await self.enterAsyncContext(App(config, {}))

    async def test_every_tool_does_what_its_row_says(self) -> None:
        toolbox, table = self.app.toolbox, table_of_page()
        named = {n: row for row in table for n in re.findall(r"`(\w+)`", row) if " of " not in row}
        tools = [each.tool for each in (*toolbox._tools.values(), *toolbox._only_named().values())]
        seen, unasked = set(), set()
        for tool in tools:
            row = row_of(tool, named)
            with self.subTest(tool.name):
                self.assertIn(row, table)
                asked = toolbox.policy(tool, None) == "ask"
                self.assertEqual("yes" if asked else "no", table[row])
                seen.add(row)
                if LEAVES[self.decided(type(tool))] and not asked:
                    unasked.add(row)
        self.assertEqual(seen, {*table}, "each row has a tool")
        self.assertEqual(unasked, DECIDED)

    async def test_a_permission_mode_sends_nothing(self) -> None:
        """Of all tools only those that work in the sandbox, which has no network, begin to run."""
        toolbox = self.app.toolbox
        toolbox.runner.sandbox = make_proof("A", "off", {})
        tools = [each.tool for each in (*toolbox._tools.values(), *toolbox._only_named().values())]
        session: Any = {"config": {"yaa": {}}, "grants": []}
        expected = {"edits_run": {"write_file", "edit_file"}}
        expected["copy_runs"] = {*expected["edits_run"], "shell", "bash", "python"}
        for mode, names in expected.items():
            session["config"]["yaa"]["ask"] = mode
            grants = Grants([], toolbox.permissions.of(session))
            changed = {
                tool.name
                for tool in tools
                if toolbox.policy(tool, None) != "run"
                and decide(tool, {"path": "a"}, "auto", session, grants)[0] == "run"
            }
            self.assertEqual(changed, names)

    def decided(self, kind: type[Tool]) -> type[Tool]:
        return next(each for each in kind.__mro__ if each in LEAVES)

    def test_every_kind_of_tool_is_decided(self) -> None:
        for kind in subclasses(Tool):
            with self.subTest(kind.__name__):
                self.assertTrue(any(each in LEAVES for each in kind.__mro__))


if __name__ == "__main__":
    unittest.main()
