"""Existing code as tools, as AutoAi (seed 000) has it: its own definitions, in Python."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

from server.extensions.packages import package_tools
from server.extensions.packages.parts import PackageSource
from server.extensions.packages.python_packages import registration
from server.lib.sandbox.process import GIT
from server.tools.child_calls import PRELOAD

from ...mission.test_tools import DONE, Case, Json, calls
from ...tooling import turns
from . import existing

TESTED = {  # see mission/test_rows.py
    72: "methods of an application as tools",
    74: "by class, by package, mixed",
}
SECRET = "postgres://shop:hunter22@db"
# Classes that a package has, and that nobody named: they are no tools, which is said.
UNMARKED = [
    f"server.tool_modules.app: {name}: it has methods with @tool; mark it with @toolkit"
    for name in ("CalculatorTools", "SpecialTool")
]

# The document's CalculatorTools and OrderController, its packages and its special class.
CALCULATOR = """
    from yaa import tool, toolkit

    class CalculatorTools:
        @tool(read_only=True, description="Calculate the sum of two integers")
        def add(self, a: int, b: int) -> int:
            return a + b

    class SpecialTool:
        @tool(read_only=True)
        def special(self) -> str:
            "Something special."
            return "special"
"""
SERVICES = '''
    import os
    from dataclasses import dataclass

    @dataclass
    class Order:
        id: int
        total: float

    class OrderService:
        """Nothing here knows of any agent."""

        def __init__(self) -> None:
            self.database = os.environ["SHOP_DB"]

        def get_all_orders(self, city: str = "Paris") -> list[Order]:
            """Get all orders list"""
            region = os.getenv("REGION")
            print("connected to", self.database[:9], "and", self.database, "in", region)
            return [Order(1, 9.5)]

        def reveal(self) -> dict[str, str]:
            """What it is given."""
            return {"database": self.database, "half": self.database[:12], **dict(os.environ)}

    def may_write() -> str:
        """Try to change the package."""
        with open(__file__, "a") as file:
            file.write("# changed")
        return "written"

    def read(path: str) -> str:
        """Read a file."""
        return open(path).read()
'''


@turns.tests(3)
class ExistingCode(Case):
    """`self.code` is a folder with the packages of an application."""

    def setUp(self) -> None:
        super().setUp()
        self.code = self.folder()
        self.write(self.code / "myapp" / "__init__.py", "")
        self.write(self.code / "myapp" / "tools" / "__init__.py", "")
        self.write(self.code / "myapp" / "tools" / "calculator.py", CALCULATOR)
        self.write(self.code / "myapp" / "services.py", SERVICES)

    def application(self, **more: Any) -> Json:
        """Settings of one entry for the application."""
        entry = {"paths": [str(self.code)], "secrets": {"SHOP_DB": SECRET}, **more}
        return {"tool_modules": {"app": entry}}

    async def test_000_a_method_with_one_annotation(self) -> None:
        await self.start(
            calls(("CalculatorTools_add", {"a": 2, "b": 40})),
            DONE,
            **self.application(modules=["myapp.tools.calculator:CalculatorTools"]),
        )
        session = await self.run_session()
        self.assertEqual(self.app.toolbox.problems, [])
        self.assertEqual(self.results(session)[0]["content"], "42")
        told = self.offered()["CalculatorTools_add"]
        self.assertEqual(told["description"], "Calculate the sum of two integers")
        self.assertEqual(session["messages"][-1]["content"], "Done.")

    async def test_72_methods_of_an_application_without_a_line_changed(self) -> None:
        os.environ["REGION"] = "eu"
        self.addCleanup(os.environ.pop, "REGION")
        await self.start(
            calls(("OrderService_get_all_orders", {})),
            DONE,
            **self.application(
                functions=["myapp.services:OrderService.get_all_orders"], env=["REGION"]
            ),
        )
        allowed = {"OrderService_get_all_orders": {"auto_approve": True}}
        session = await self.run_session(**allowed)
        (result,) = self.results(session)
        self.assertEqual(json.loads(result["content"]), [{"id": 1, "total": 9.5}])
        self.assertEqual(self.offered()["OrderService_get_all_orders"]["description"],
                         "Get all orders list")  # fmt: skip
        self.assertNotIn("myapp", sys.modules, "the server imports none of it")
        self.assertNotIn("myapp.services", sys.modules)

    async def test_72_an_unmarked_function_asks_first(self) -> None:
        await self.start(
            calls(("OrderService_get_all_orders", {})),
            **self.application(functions=["myapp.services:OrderService.get_all_orders"]),
        )
        session = await self.run_session()
        self.assertEqual(session["interrupts"][0]["reason"], "tool_call")

    async def test_72_secrets_are_in_no_result_and_no_session(self) -> None:
        reads = {"function": "myapp.services:OrderService.reveal", "read_only": True}
        orders = {"function": "myapp.services:OrderService.get_all_orders", "read_only": True}
        await self.start(
            calls(("OrderService_reveal", {}), ("OrderService_get_all_orders", {})),
            DONE,
            **self.application(functions=[reads, orders]),
        )
        stream = await asyncio.to_thread(self._streamed)
        self.assertIn("OrderService_reveal", stream)
        self.assertNotIn(SECRET, stream)
        self.assertIn("connected to postgres: and *** in None", stream)
        self.assertNotIn(SECRET, json.dumps(await self.get("/info")))
        self.assertNotIn(SECRET, self.model.requests[-1].body.decode())
        given = self._result(stream, "OrderService_reveal")
        self.assertEqual((given["database"], given["SHOP_DB"], given["half"]), ("***",) * 3)
        wanted = {"database", "half", "SHOP_DB", *GIT, "HOME", "LANG", "PATH", "TERM", "TMPDIR"}
        self.assertLessEqual(given.keys() - {"LC_ALL", "TZ", "LC_CTYPE"}, wanted)

    def _streamed(self) -> str:
        with self.api.stream({"messages": [{"role": "user", "content": "Go"}]}) as stream:
            for _ in stream.events():
                pass
            return stream.text

    def _result(self, stream: str, name: str) -> Json:
        found = []
        for line in stream.splitlines():
            event = json.loads(line[6:]) if line.startswith("data: {") else {}
            told = event.get("metadata", {}).get("yaa", {})
            if event.get("type") == "TOOL_CALL_RESULT" and told.get("name") == name:
                found.append(told["result"]["result"])
        return dict(found[0])

    async def test_72_what_it_may_not_reach(self) -> None:
        before = (self.code / "myapp" / "services.py").read_text()
        key = self.home / "key-of-the-owner"
        key.write_text("the owner's")
        write = {"function": "myapp.services:may_write", "read_only": True}
        read = {"function": "myapp.services:read", "read_only": True}
        await self.start(
            calls(
                ("may_write", {}),
                ("read", {"path": str(key)}),
                ("read", {"path": str(self.code / "myapp" / "services.py")}),
            ),
            DONE,
            **self.application(functions=[write, read]),
        )
        if self.app.toolbox.sandbox()["tier"] not in ("A", "B"):
            self.skipTest("no sandbox here")
        session = await self.run_session()
        written, owners, own = (each["result"] for each in self.results(session))
        self.assertEqual((written["status"], owners["status"]), ("error", "error"))
        self.assertEqual((self.code / "myapp" / "services.py").read_text(), before)
        self.assertIn("OrderService", own["result"])

    async def test_72_an_environment_of_the_owners(self) -> None:
        """A virtual environment with a package in it, which is on no path of the server's."""
        venv = self.folder() / "venv"
        command = [sys.executable, "-m", "venv", "--without-pip", str(venv)]
        subprocess.run(command, check=True)
        (site,) = venv.glob("lib/python*/site-packages")
        source = 'def forecast(city: str) -> str:\n    return city + ": sun"'
        self.write(site / "weather.py", source)
        reads = {"function": "weather:forecast", "name": "sky", "read_only": True}
        entry = {"interpreter": str(venv / "bin" / "python"), "functions": [reads]}
        await self.start(calls(("sky", {"city": "Köln"})), DONE, tool_modules={"installed": entry})
        session = await self.run_session()
        self.assertEqual(self.app.toolbox.problems, [])
        self.assertEqual(self.results(session)[0]["content"], "Köln: sun")

    async def test_72_files_that_change_are_read_again(self) -> None:
        self.write(self.code / "late.py", "def one(a: int) -> int:\n    return a")
        await self.start(**self.application(functions=[{"function": "late:one"}, "late:two"]))
        tools = await self.tools()
        self.assertIn("one", tools)
        self.assertIn("late has no two", "".join(self.app.toolbox.problems))
        self.write(
            self.code / "late.py",
            "def one(a: int, b: str) -> int:\n    return a\ndef two() -> None: ...",
        )
        await self.run_session()
        for source in self.app.toolbox.sources:
            if isinstance(source, PackageSource) and source._looking:
                await source._looking
        tools = await self.tools()
        self.assertIn("b", tools["one"]["parameters"]["properties"])
        self.assertIn("two", tools)
        self.assertEqual(self.app.toolbox.problems, [])

    async def test_74_by_class_by_package_and_mixed(self) -> None:
        for wanted, names in (
            (["myapp.tools.calculator:SpecialTool"], {"SpecialTool_special"}),
            (["myapp.tools.*"], set()),
            (["myapp.tools.marked", "myapp.tools.calculator:SpecialTool"],
             {"now", "SpecialTool_special"}),
        ):  # fmt: skip
            marked = "from yaa import tool\n@tool\ndef now() -> str: return ''"
            self.write(self.code / "myapp" / "tools" / "marked.py", marked)
            with self.subTest(wanted):
                await self.start(**self.application(modules=wanted))
                found = {n for n, tool in (await self.tools()).items() if tool["origin"] == "app"}
                self.assertEqual(found, names or {"now"})
                self.assertEqual(self.app.toolbox.problems, [] if names else UNMARKED)

    async def test_74_a_broken_module_costs_only_itself(self) -> None:
        marked = "from yaa import tool\n@tool\ndef now() -> str: return ''"
        self.write(self.code / "myapp" / "tools" / "marked.py", marked)
        self.write(self.code / "myapp" / "tools" / "broken.py", "import nothing_here")
        self.write(self.code / "myapp" / "tools" / "leaves.py", "raise SystemExit(3)")
        await self.start(**self.application(modules=["myapp.tools.*", "gone"]))
        self.assertIn("now", await self.tools())
        place = "server.tool_modules.app: "
        self.assertEqual(
            self.app.toolbox.problems,
            [
                f"{place}myapp.tools.broken: ModuleNotFoundError: No module named 'nothing_here'",
                f"{place}myapp.tools.leaves: SystemExit: the tool exited with 3",
                f"{place}gone: ModuleNotFoundError: No module named 'gone'",
                *UNMARKED,
            ],
        )

    async def test_116_classes_and_functions_that_a_program_registers(self) -> None:
        entry = registration(existing.Inventory, existing.stock)
        await self.start(
            calls(("Inventory_count", {"item": "tea"}), ("stock", {})),
            DONE,
            tool_modules={"program": entry},
        )
        self.assertEqual(self.app.toolbox.problems, [])
        allowed: Any = {"stock": {"auto_approve": True}}
        session = await self.run_session(**allowed)
        self.assertEqual([each["content"] for each in self.results(session)], ["3", '["tea"]'])
        [source] = [each for each in self.app.toolbox.sources if isinstance(each, PackageSource)]
        await source.add("program", registration(existing.Inventory))  # in the place of the first
        await source.add("more", registration(existing.stock))
        tools = await self.tools()
        origins = [tools[name]["origin"] for name in ("Inventory_count", "stock")]
        self.assertEqual((origins, source.problems), (["program", "more"], []))
        if (pool := source._packages["program"].pool) is not None:
            self.assertEqual(pool.policy.preload, (*PRELOAD, package_tools.__name__))
        with self.assertRaisesRegex(ValueError, "in no module of a file"):
            registration(lambda: 1)
