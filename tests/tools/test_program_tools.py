"""Tools that run in this process: what they may be, what they return, how they fail and hang."""

from __future__ import annotations

import asyncio
import threading
import unittest
from typing import Any

from server.lib.json_schema.validate import SchemaError
from server.telemetry import log
from server.tools.decorators import Context, ToolError, tool
from server.tools.function_tools import ChildTool
from server.tools.program_tools import MOST_STUCK, BaseTool, Objects, as_object, record
from server.tools.runner import Outcome

from ..tooling import patience
from .test_catalog import catalog


class Gives(BaseTool):
    """Gives what a function gives."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def execute(self, params: dict[str, Any]) -> Any:
        return self.function()


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        log.setup("critical")
        self.addCleanup(log.setup, "error")
        self.objects = Objects()

    async def call(
        self, thing: Any, args: dict[str, Any] | None = None, wall_s: float = 60
    ) -> Outcome:
        self.seen: list[Any] = []
        return await self.objects.perform(
            as_object(thing), args or {}, {"k": 1}, wall_s, self.seen.append
        )


class Calling(Case):
    async def _set(self, event: threading.Event) -> None:
        event.set()

    async def test_results(self) -> None:
        self.assertEqual((await self.call(Gives(lambda: {"é": (1, 2)}))).result, {"é": [1, 2]})
        failed = await self.call(Gives(object))
        self.assertIn("the result is not JSON", failed.error["message"])

        def explained() -> None:
            raise ToolError("no such city")

        self.assertEqual((await self.call(Gives(explained))).error["message"], "no such city")
        self.assertEqual((await self.call(Gives(lambda: 1 / 0))).error["type"], "ZeroDivisionError")
        self.assertEqual((await self.call(Gives(lambda: exit(3)))).status, "error")

    async def test_functions(self) -> None:
        @tool(read_only=True)
        async def add(ctx: Context, a: int, b: int = 2) -> int:
            """Add."""
            ctx.log("adding", ctx.state["k"])
            return a + b

        done = await self.call(add, {"a": 1})
        self.assertEqual((done.result, done.logs), (3, ("adding 1",)))
        self.assertEqual(self.seen, ["adding 1\n"])

        def wait(ctx: Context) -> bool:
            """Return whether its line was seen while it ran."""
            ctx.log("waiting")
            seen = threading.Event()
            asyncio.run_coroutine_threadsafe(self._set(seen), loop)
            return seen.wait(patience.seconds(60)) and self.seen == ["waiting\n"]

        loop = asyncio.get_running_loop()
        self.assertIs((await self.call(wait)).result, True)

        def attach(ctx: Context) -> None:
            ctx.attach("/etc/passwd")

        self.assertIn("has no folder", (await self.call(attach)).error["message"])

    async def test_one_that_never_comes_back(self) -> None:
        held = threading.Event()
        self.addCleanup(held.set)
        thing = Gives(held.wait)
        for _ in range(MOST_STUCK):
            self.assertEqual((await self.call(thing, wall_s=0.001)).status, "timeout")
        self.assertIn("have not come back", (await self.call(thing)).error["message"])

        class Waits(BaseTool):
            ended = False

            async def execute(self, params: dict[str, Any]) -> None:
                try:
                    await asyncio.Event().wait()
                finally:
                    self.ended = True

        waits = Waits()
        self.assertEqual((await self.call(waits, wall_s=0.001)).status, "timeout")
        await asyncio.sleep(0)
        self.assertTrue(waits.ended)


class Describing(unittest.TestCase):
    def test_what_is_no_tool(self) -> None:
        def generator() -> Any:
            yield 1

        class Bad(Gives):
            input_schema = {"type": "string"}

        for thing in (5, "x", None, object, BaseTool, Bad(None), generator, lambda **more: 1):
            with self.subTest(thing), self.assertRaises(ToolError):
                as_object(thing)

    def test_settings_of_wrong_kinds(self) -> None:
        for name, value in (
            ("read_only", "no"),
            ("keep", "1"),
            ("required_resources", {"wall_s": -1}),
            ("description", 5),
            ("input_schema", {"type": "object", "x": object()}),
        ):
            thing = Gives(None)
            setattr(thing, name, value)
            with self.subTest(name), self.assertRaises(ToolError):
                record(thing, "x", Objects())

    def test_the_record(self) -> None:
        made = record(Gives(None), "program", Objects())
        self.assertEqual((made.name, made.description), ("Gives", "Gives what a function gives."))
        self.assertTrue(made.hints["destructive"])
        self.assertFalse(made.read_only)

    def test_names_that_are_taken_and_schemas_that_nobody_can_use(self) -> None:
        tools = catalog()
        thing = Gives(None)
        thing.name = "shell"
        with self.assertRaisesRegex(ToolError, "there is a tool named shell already"):
            tools.add_objects([thing], "program")
        self.assertIsInstance(tools.entries["shell"].tool, ChildTool)
        thing.name, thing.input_schema = "mine", {"type": "object", "properties": 5}
        with self.assertRaises(SchemaError):
            tools.add_objects([thing], "program")


if __name__ == "__main__":
    unittest.main()
