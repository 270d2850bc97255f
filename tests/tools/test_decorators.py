"""The decorators and the hints."""

from __future__ import annotations

import subprocess
import sys
import types
import unittest
from typing import Any

from server.tools.base import Tool, hints_of
from server.tools.decorators import MARK, Context, tool, toolkit
from server.tools.user_tools import declarations, describe_declaration

from ..tooling.tools import ROOT


class Decorators(unittest.TestCase):
    def test_a_marked_function_stays_itself(self) -> None:
        @tool
        def bare(x: int) -> int:
            return x + 1

        @tool(name="other", read_only=True)
        def named(x: int) -> int:
            return x + 1

        self.assertEqual((bare(1), named(1)), (2, 2))
        self.assertEqual(getattr(bare, MARK), {})
        self.assertEqual(getattr(named, MARK), {"name": "other", "read_only": True})

    def test_settings_that_mean_nothing(self) -> None:
        """None may be taken for another: a tool whose `read_only` is "no" would run unasked."""
        wrong: tuple[tuple[dict[str, Any], str], ...] = (
            ({"readonly": True}, "does not know readonly; it knows name, .*, read_only"),
            ({"read_only": "no"}, "read_only is 'no', wanted bool"),
            ({"name": 5}, "name is 5, wanted str"),
            ({"keep": True}, "keep is True, wanted int"),
            ({"required_resources": ["wall_s"]}, "wanted Mapping"),
        )
        for options, message in wrong:
            with self.subTest(options), self.assertRaisesRegex(TypeError, message):
                tool(**options)
        with self.assertRaisesRegex(TypeError, "wanted int"):
            toolkit(keep="x")  # type: ignore[call-overload]

    def test_what_is_no_function(self) -> None:
        wrong: tuple[tuple[Any, str], ...] = (
            ("greet", "not for 'greet'"),
            (staticmethod(len), "@staticmethod belongs above"),
            (classmethod(hash), "@classmethod belongs above"),
        )
        for thing, message in wrong:
            with self.subTest(message), self.assertRaisesRegex(TypeError, message):
                tool(thing)

    def test_a_toolkit_stays_a_class(self) -> None:
        @toolkit
        class Kit:
            pass

        self.assertIsInstance(Kit(), Kit)

    def test_a_toolkits_keep_is_for_tools_without_their_own(self) -> None:
        module = types.ModuleType("owned")
        source = (
            "@toolkit(keep=2)\nclass Kit:\n"
            "    @tool\n    def a(self): ...\n    @tool(keep=0)\n    def b(self): ...\n"
            "    def c(self): ...\n"
            "@toolkit\nclass Other:\n    @tool\n    def a(self): ...\n"
        )
        exec(source, module.__dict__ | {"tool": tool, "toolkit": toolkit}, module.__dict__)
        for thing in vars(module).values():
            if isinstance(thing, type):
                thing.__module__ = "owned"
        kept = {each.name: each.options["keep"] for each in declarations(module)}
        self.assertEqual(kept, {"Kit_a": 2, "Kit_b": 0, "Other_a": None})

    def test_a_class_without_its_mark_is_refused_by_name(self) -> None:
        module = types.ModuleType("owned")
        source = (
            "class Shared:\n    @tool\n    def a(self): ...\n"
            "@toolkit\nclass Kit(Shared): ...\n"
            "class Forgotten:\n    @tool\n    def a(self): ...\n"
            "class Plain:\n    def a(self): ...\n"
        )
        exec(source, module.__dict__ | {"tool": tool, "toolkit": toolkit}, module.__dict__)
        for thing in vars(module).values():
            if isinstance(thing, type):
                thing.__module__ = "owned"
        found = [describe_declaration(each) for each in declarations(module)]
        self.assertEqual(
            [(each["name"], "@toolkit" in each.get("problem", "")) for each in found],
            [("Kit_a", False), ("Forgotten", True)],
        )


class Hints(unittest.TestCase):
    def test_what_follows(self) -> None:
        reads = hints_of({"read_only": True})
        self.assertEqual((reads["destructive"], reads["idempotent"]), (False, True))
        writes = hints_of({})
        self.assertEqual((writes["destructive"], writes["idempotent"]), (True, False))
        self.assertTrue(Tool("x", "", {}, hints=hints_of({"idempotent": True})).repeatable)
        self.assertFalse(Tool("x", "", {}, hints=writes).repeatable)


class Imports(unittest.TestCase):
    def test_a_child_loads_none_of_what_only_the_server_needs(self) -> None:
        code = (
            f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
            "import server.tools.builtin.html, server.tools.user_tools, server.tools.workspace\n"
            "print(*sys.modules)"
        )
        command = [sys.executable, "-I", "-c", code]
        loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        mine = {name for name in loaded if name.startswith("server.tools.")}
        self.assertEqual(
            {name for name in mine if not name.startswith("server.tools.builtin")},
            {f"server.tools.{name}" for name in ("decorators", "user_tools", "workspace")},
        )

    def test_what_a_file_cannot_import_is_named_with_the_way_that_there_is(self) -> None:
        code = (
            f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
            "from server.tools.user_tools import offer_names\n"
            "offer_names()\n"
            "from yaa import tool, Context\n"
            "try:\n    from yaa import BaseTool\nexcept ImportError as error:\n    print(error)\n"
        )
        command = [sys.executable, "-I", "-S", "-c", code]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        self.assertIn("a file of tools/ cannot use yaa.BaseTool", told)
        self.assertIn("tools()", told)


class Contexts(unittest.TestCase):
    def test_messages(self) -> None:
        said: list[object] = []
        ctx = Context({"a": 1}, said.append)
        ctx.log("x", 2)
        ctx.attach("dir/file.txt")
        ctx.attach("f", "name")
        self.assertEqual(said[0], {"log": "x 2"})
        self.assertEqual(said[1], {"attach": {"path": "dir/file.txt", "name": "file.txt"}})
        self.assertEqual(said[2], {"attach": {"path": "f", "name": "name"}})
        self.assertEqual(ctx.state, {"a": 1})


if __name__ == "__main__":
    unittest.main()
