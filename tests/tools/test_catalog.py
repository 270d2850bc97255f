"""Which tools there are, and what is told of those that are not as they were written."""

from __future__ import annotations

import asyncio
import logging
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.lib.json_schema.validate import SchemaError
from server.lib.sandbox.process import Outcome
from server.tools.base import Tool
from server.tools.catalog import Catalog
from server.tools.runner import ToolRunner

from ..tooling.patience import seconds


class Remote(Tool):
    remote = True


def tool(kind: type[Tool], **properties: Any) -> Tool:
    schema = {"type": "object", "properties": properties}
    return kind("t", "", schema, origin="mcp s")


def catalog(folder: Path | None = None) -> Catalog:
    """The catalog of a server without a network."""
    folder = folder or Path()
    return Catalog(ToolRunner(folder))


class Meeting(ToolRunner):
    """A runner whose calls end when two are running."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.running = 0
        self.met = asyncio.Event()

    async def run(self, job: Any, emit: Any = bool) -> Outcome:
        self.running += 1
        if self.running == 2:
            self.met.set()
        await self.met.wait()
        return Outcome("ok", [])


class Files(unittest.IsolatedAsyncioTestCase):
    async def test_files_are_described_side_by_side(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            for each in ("a.py", "b.py", "c.py"):
                (Path(name) / each).write_text("")
            runner = Meeting(Path(name) / "workspaces")
            found = Catalog(runner)
            async with asyncio.timeout(seconds(10)):
                await found.add_files(Path(name))
            self.assertEqual((runner.running, found.problems), (3, []))


class Patterns(unittest.TestCase):
    """A pattern that cannot be read costs a check, which its server makes too, and not the tool."""

    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.catalog = catalog()

    def test_of_strangers(self) -> None:
        for pattern in ("(?i)^a$", r"^(\w+\s?)+$", r"\p{Print}"):
            with self.subTest(pattern):
                found = catalog()
                odd = {"type": "object", "properties": {"in/ner": {"pattern": pattern}}}
                found.add(tool(Remote, a={"pattern": "^x$"}, b=odd))
                check = found.entries["t"].validator
                self.assertEqual(check.errors({"a": "x", "b": {"in/ner": "?"}}), [])
                self.assertEqual(
                    [e.pointer for e in check.errors({"a": "y", "b": 1})], ["/a", "/b"]
                )
                (told,) = found.problems
                where = "/properties/b/properties/in~1ner/pattern"
                self.assertTrue(told.startswith(f"mcp s: t: not checked: {where}: "), told)
                offered = found.entries["t"].tool.parameters["properties"]["b"]
                self.assertEqual(offered, odd)

    def test_wherever_it_stands(self) -> None:
        """A name that a URI would spell otherwise; and behind an anchor, where no pointer leads."""
        self.catalog.add(tool(Remote, **{"a%20b": {"pattern": "(?i)a"}}))
        (told,) = self.catalog.problems
        self.assertIn("/properties/a%20b/pattern", told)
        self.catalog.entries = {}
        behind = {"$ref": "#d", "$defs": {"d": {"$anchor": "d", "pattern": "(?i)a"}}}
        with self.assertRaises(SchemaError):
            self.catalog.add(tool(Remote, a=behind))

    def test_of_the_owner_and_of_what_else_is_wrong(self) -> None:
        for made in (
            tool(Tool, a={"pattern": "(?i)a"}),
            tool(Remote, a={"pattern": "(?i)a"}, b={"type": "int"}),
            tool(Remote, a={"patternProperties": {"(?i)a": {}}}),
        ):
            with self.subTest(made.parameters), self.assertRaises(SchemaError):
                self.catalog.add(made)
        self.assertEqual(self.catalog.problems, [])


if __name__ == "__main__":
    unittest.main()
