"""Files that name packages: their tools in each tier, and what changes while the server runs."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

from server.config import Config
from server.lib.sandbox.environments import Environment, package_folders
from server.telemetry import log
from server.tools.toolbox import Toolbox

from .. import proofs
from ..fakes import DEFAULTS
from ..sandbox.test_battery import reachable_python
from ..tooling import turns
from ..tooling.tools import ROOT
from ..wheels import make_environment
from .environment_calls import UNITS, WORDS

SECONDS = 240
INSTALL = "run python3 -m server tools install"
UNITS_CODE = {"units.py": "def double(n):\n    return 2 * n\n"}
WORDS_CODE = {"words.py": "def shout(t):\n    return t.upper()\n"}


@turns.tests(2)
class Tiers(unittest.TestCase):
    """The same calls at each tier, in a process of its own (environment_calls.py)."""

    def calls(self, tier: str, python: str | None = sys.executable) -> Any:
        if python is None:
            self.skipTest("no interpreter that other users can start")
        done = subprocess.run(
            [python, "-B", "-m", "tests.tools.environment_calls", tier],
            cwd=ROOT,
            env={"PATH": "/usr/bin:/bin", "HOME": "/tmp"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
        )
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        found = json.loads(done.stdout)
        if found["tier"] != tier:
            self.skipTest(f"tier {tier} cannot be had here: {found['tried']}")
        return found

    def assert_calls(self, found: Any) -> None:
        """The calls that do the same everywhere."""
        calls = found["calls"]
        self.assertEqual(found["problems"], [])
        self.assertEqual(calls["double 0"], [8, True])
        self.assertEqual(calls["shout 1"], "A!")
        self.assertEqual(calls["others 2"][0], "ModuleNotFoundError")
        self.assertEqual(calls["plain 3"]["type"], "ModuleNotFoundError")
        self.assertEqual(calls["Counter_next 4"], 2)
        self.assertTrue(calls["python 5"]["output"].startswith("42\n"), calls["python 5"])
        self.assertRegex(calls["shell 6"]["output"], r"^6\n/\S+/bin/greet\n$")
        self.assertTrue(found["python"].endswith("Packages for Python that are installed: units"))
        self.assertFalse(found["path_is_told"])

    def assert_read_only(self, found: Any) -> None:
        calls = found["calls"]
        self.assertNotIn("done", calls["change 7"])
        self.assertIn("Permission denied", calls["python 5"]["output"])
        self.assertTrue(found["same"], "an environment has changed")

    def test_tier_a(self) -> None:
        found = self.calls("A")
        self.assert_calls(found)
        self.assert_read_only(found)
        self.assertEqual(found["calls"]["others 2"], ["ModuleNotFoundError"], "others are seen")

    def test_tier_b(self) -> None:
        found = self.calls("B", reachable_python() if os.geteuid() == 0 else sys.executable)
        self.assert_calls(found)
        self.assert_read_only(found)
        self.assertEqual(found["calls"]["others 2"][1:], ["PermissionError"])

    def test_tier_c(self) -> None:
        found = self.calls("C", reachable_python() if os.geteuid() == 0 else sys.executable)
        self.assert_calls(found)
        if os.geteuid() == 0:  # else tools are the owner of the environment
            self.assert_read_only(found)

    def test_without_a_sandbox(self) -> None:
        self.assert_calls(self.calls("none"))


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        log.setup("critical")
        self.addCleanup(log.setup, "error")
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.home / "tools").mkdir()
        self.session: Any = {
            "id": "s",
            "config": copy.deepcopy(DEFAULTS["session"]["config"]),
            "grants": [],
            "messages": [],
        }

    def write(self, name: str, text: str) -> Path:
        path = self.home / "tools" / name
        path.write_text(text)
        path.chmod(0o600)
        return path

    async def toolbox(self, tier: str = "none", **tools: Any) -> Toolbox:
        server = copy.deepcopy(DEFAULTS["server"])
        server["sandbox"]["require"] = "none"
        server["tools"] = tools
        toolbox = Toolbox(Config(server, DEFAULTS["session"], self.home))
        await toolbox.open(tier, proofs.known(server["sandbox"], tier))
        proofs.keep(server["sandbox"], toolbox.proof, tier)
        self.addAsyncCleanup(toolbox.close)
        await toolbox.load_owner_tools()
        return toolbox

    async def refresh(self, toolbox: Toolbox) -> None:
        toolbox.look_again()
        if (task := toolbox._catalog._looking) is not None:
            await task

    def offered(self, toolbox: Toolbox) -> set[str]:
        return {each["function"]["name"] for each in toolbox.declarations(self.session)}

    def unavailable(self, toolbox: Toolbox) -> dict[str, str]:
        return {t["name"]: t["unavailable"] for t in toolbox.info() if "unavailable" in t}


class Missing(Case):
    async def test_nothing_is_offered_until_it_is_installed_and_then_without_a_restart(
        self,
    ) -> None:
        self.write("units.py", UNITS)
        self.write("words.py", WORDS)
        toolbox = await self.toolbox()
        reasons = {name: f"needs {name}: {INSTALL}" for name in ("units", "words")}
        told = {
            name: f"sandbox_unavailable: {reasons[file]}"
            for file, names in (
                ("units", ("double", "change", "others", "Counter_next")),
                ("words", ("shout",)),
            )
            for name in names
        }
        self.assertEqual(self.unavailable(toolbox), told)
        problems = [f"tools/{name}.py: {why}" for name, why in reasons.items()]
        self.assertEqual(toolbox.problems, problems)
        self.assertEqual(self.offered(toolbox) & set(told), set())
        call: Any = {"id": "c", "function": {"name": "double", "arguments": '{"n": 1}'}}
        verdict = toolbox.verdict(self.session, call)
        self.assertEqual((verdict.action, verdict.status), ("error", "sandbox_unavailable"))
        self.assertIn(INSTALL, verdict.reason)

        folder = make_environment(self.home, ("units",), UNITS_CODE)
        await self.refresh(toolbox)
        self.assertEqual(set(self.unavailable(toolbox)), {"shout"})
        self.assertLessEqual({"double", "Counter_next"}, self.offered(toolbox))
        self.assertEqual(toolbox.problems, problems[1:])

        shutil.rmtree(folder)  # as `tools install --clean` does, in part
        await self.refresh(toolbox)
        self.assertEqual(self.unavailable(toolbox), told)
        self.assertEqual(self.offered(toolbox) & set(told), set())

    async def test_built_in_tools_with_packages(self) -> None:
        wanted = {"requirements": ["Units", "Words"]}
        toolbox = await self.toolbox(python=wanted, shell={"requirements": ["units"]})
        why = "sandbox_unavailable: {} needs {}: " + INSTALL
        told = {
            "python": why.format("python", "units, words"),
            "shell": why.format("shell", "units"),
        }
        self.assertEqual(self.unavailable(toolbox), told)
        bash = next(t for t in toolbox.info_named() if t["name"] == "bash")
        self.assertEqual(bash["unavailable"], told["shell"])
        self.assertEqual(len(toolbox.problems), 2)
        self.assertEqual(self.offered(toolbox) & {"python", "shell"}, set())
        make_environment(self.home, ("units", "words"), {**UNITS_CODE, **WORDS_CODE})
        await self.refresh(toolbox)
        self.assertEqual(set(self.unavailable(toolbox)), {"shell"})
        self.assertEqual(
            toolbox.problems[0], f"server.tools.shell.requirements: shell needs units: {INSTALL}"
        )
        self.assertIn("python", self.offered(toolbox))

    async def test_names_that_are_seen_without_running_a_file(self) -> None:
        ran = self.home / "ran"
        head = '# /// script\n# dependencies = ["units"]\n# ///\n'
        for body, expected in (
            ("@tool\ndef a(): 'About a.'", {"a": "About a."}),
            ("@yaa.tool(name='b', read_only=True)\nasync def a(): ...", {"b": ""}),
            (
                "@toolkit\nclass K:\n    @tool\n    def m(self): ...\n    def n(self): ...",
                {"K_m": ""},
            ),
            ("@tool(name=NAME)\ndef a(): ...", {"a": ""}),
            ("@other\ndef a(): ...", {}),
            ("tool(print)", {}),
            ("def a(:", {}),
        ):
            with self.subTest(body):
                self.write("a.py", f"{head}open({str(ran)!r}, 'w')\n{body}")
                toolbox = await self.toolbox()
                seen = {t["name"]: t["description"] for t in toolbox.info() if "unavailable" in t}
                self.assertEqual(seen, expected)
                self.assertEqual(toolbox.problems, [f"tools/a.py: needs units: {INSTALL}"])
                self.assertFalse(ran.exists())
                await toolbox.close()

    async def test_a_note_that_is_none(self) -> None:
        """Whatever is there in place of a note, the tools are unavailable, and nothing breaks."""
        self.write("units.py", UNITS)
        folder = make_environment(self.home, ("units",), UNITS_CODE)
        note = Environment(self.home, ("units",)).note
        names = (5, "../tools", str(self.home / "tools"), "0" * 33, f"{'0' * 16}-{'0' * 16}")
        wrong = [json.dumps({"folder": name}) for name in names]
        for text in ("", "[]", "{}", "[" * 99_999, *wrong):
            with self.subTest(text[:30]):
                note.write_text(text)
                self.assertEqual(Environment(self.home, ("units",)).folder(), "")
        note.write_text(json.dumps({"folder": folder.name}))
        self.assertEqual(Environment(self.home, ("units",)).folder(), str(folder.resolve()))

    @unittest.skipIf(os.geteuid(), "only root gives tools another user")
    async def test_a_folder_that_the_user_of_tools_may_not_read(self) -> None:
        """The owner is told which; no client is."""
        self.write("units.py", UNITS)
        folder = make_environment(self.home, ("units",), UNITS_CODE)
        Path(package_folders(str(folder))[0]).chmod(0o700)
        toolbox = await self.toolbox("A", python={"requirements": ["units"]})
        if toolbox.sandbox()["tier"] != "A":
            self.skipTest("no sandbox here")
        self.assertEqual(len(toolbox.problems), 2)
        for problem in toolbox.problems:
            self.assertIn(f"may not read {folder.resolve()}", problem)
        reason = "sandbox_unavailable: the sandbox for the packages of python could not be made"
        self.assertEqual(self.unavailable(toolbox), {"python": reason})
        self.assertNotIn(str(self.home), json.dumps(toolbox.info()))

    def test_another_python_has_them(self) -> None:
        environment = Environment(self.home, ("units",))
        self.assertEqual(environment.missing(), f"needs units: {INSTALL}")
        other = {"folder": f"{'1' * 16}-{'0' * 16}", "requirements": ["units"], "python": "3.99.1"}
        environment.note.parent.mkdir()
        environment.note.with_name(f"{'1' * 16}.json").write_text(json.dumps(other))
        self.assertRegex(
            environment.missing(), rf"{INSTALL} with .* \(.* installed for 3\.99\.1\)$"
        )


class Refused(Case):
    async def test_blocks_that_cannot_be_used(self) -> None:
        for text, said in (
            ("# /// script\n# dependencies = [\n# ///\n", "line 2: "),
            ("# /// script\n# dependencies = ['-r x']\n# ///\n", "line 2: dependencies: '-r x'"),
            ("# /// script\n# requires-python = '>=4'\n# ///\n", "line 1: it needs Python >=4"),
            ("# /// script\n# dependencies = ['u']\nimport u\n", "`# /// script` has no end"),
            ("# /// script\n# dependencies = ['a']\n# ///\ndef tools(): return []\n",
             "line 1: it has tools(), so it runs in the server"),
            ("# /// script\n# requires-python = '>=4'\n# ///\ndef tools(): 1 / 0\n", "needs Py"),
        ):  # fmt: skip
            with self.subTest(text):
                self.write("a.py", text)
                (problem,) = (await self.toolbox()).problems
                self.assertTrue(problem.startswith("tools/a.py: "), problem)
                self.assertIn(said, problem)


class Changes(Case):
    async def test_files_that_are_new_changed_and_gone(self) -> None:
        head = "from yaa import tool\n"
        one = self.write("one.py", head + "@tool\ndef first(): ...\n@tool\ndef second(): ...")
        self.write("two.py", head + "@tool\ndef third(): ...")
        toolbox = await self.toolbox()
        before = [each["name"] for each in toolbox.info()]
        self.assertEqual(before[-3:], ["first", "second", "third"])
        seen = toolbox.info()
        await self.refresh(toolbox)
        self.assertEqual(toolbox.info(), seen)
        # in its place, since providers cache a prompt up to its first difference
        one.write_text(head + "@tool\ndef first(): ...\n@tool\ndef other(n: int): ...\n")
        await self.refresh(toolbox)
        self.assertEqual([t["name"] for t in toolbox.info()][-3:], ["first", "other", "third"])
        one.write_text(head + "@tool\ndef broken(:")
        await self.refresh(toolbox)
        self.assertEqual([t["name"] for t in toolbox.info()], [*before[:-3], "third"])
        self.assertRegex(toolbox.problems[0], "^tools/one.py: SyntaxError")
        one.unlink()
        self.write("zero.py", head + "@tool\ndef late(): ...")
        await self.refresh(toolbox)
        self.assertEqual([t["name"] for t in toolbox.info()], [*before[:-3], "third", "late"])
        self.assertEqual(toolbox.problems, [])

    async def test_the_first_file_of_an_empty_folder(self) -> None:
        toolbox = await self.toolbox()
        (self.home / "tools" / "notes.txt").write_text("no tool")
        self.write("one.py", "from yaa import tool\n@tool\ndef first(): ...")
        await self.refresh(toolbox)
        self.assertEqual([t["name"] for t in toolbox.info()][-1], "first")
        shutil.rmtree(self.home / "tools")
        await self.refresh(toolbox)
        self.assertNotIn("first", [t["name"] for t in toolbox.info()])

    async def test_files_are_looked_at_again_once_anything_has_changed(self) -> None:
        head = "from yaa import tool\n@tool\ndef double(n: int) -> int:\n    "
        path = self.write("units.py", UNITS)
        toolbox = await self.toolbox()
        files, hour_ago = toolbox._catalog._files, time.time() - 3_600

        async def settle() -> None:
            for each in (self.home, *self.home.rglob("*")):
                os.utime(each, (hour_ago, hour_ago), follow_symlinks=False)
            await self.refresh(toolbox)  # sees what has changed
            await self.refresh(toolbox)  # sees that nothing has
            self.assertFalse(files.may_have_changed())

        changes: list[tuple[str, Callable[[], object], str]] = [
            ("nothing", lambda: None, "needs"),
            ("the environment", lambda: make_environment(self.home, ("units",), UNITS_CODE), ""),
            ("the note goes", lambda: Environment(self.home, ("units",)).note.unlink(), "needs"),
            ("the text", lambda: path.write_text(head + "return n"), ""),
            ("another file", lambda: self.write("words.py", WORDS), ""),
            ("it goes", path.unlink, "gone"),
        ]
        for name, change, state in changes:
            with self.subTest(name):
                change()
                self.assertEqual(files.may_have_changed(), name != "nothing" or not files.stamps)
                await settle()
                offered = "double" in self.offered(toolbox)
                known = "double" in toolbox.names()
                self.assertEqual((offered, known), (state == "", state != "gone"))

    async def test_a_file_that_begins_to_need_packages(self) -> None:
        head = "from yaa import tool\n@tool\ndef double(n: int) -> int:\n    "
        path = self.write("units.py", head + "return n")
        toolbox = await self.toolbox()
        self.assertIn("double", self.offered(toolbox))
        path.write_text(UNITS)
        await self.refresh(toolbox)
        self.assertIn(INSTALL, self.unavailable(toolbox)["double"])
        make_environment(self.home, ("units",), UNITS_CODE)
        await self.refresh(toolbox)
        self.assertIn("double", self.offered(toolbox))
        self.assertEqual(toolbox.problems, [])

    async def test_sources_are_read_at_the_start_only(self) -> None:
        source = "def tools(): return []\n"
        self.write("source.py", source)
        plain = self.write("plain.py", "from yaa import tool\n@tool\ndef a(): ...")
        toolbox = await self.toolbox()
        ran = self.home / "ran"
        for name in ("source.py", "new.py"):
            self.write(name, f"open({str(ran)!r}, 'w')\n{source}")
        await self.refresh(toolbox)
        self.assertEqual(toolbox.problems, [])
        plain.write_text(f"open({str(ran)!r}, 'w')\n{source}")
        await self.refresh(toolbox)
        said = "tools/plain.py: it has tools() now; start the server again"
        self.assertEqual(toolbox.problems, [said])
        self.assertNotIn("a", toolbox.names())
        self.assertFalse(ran.exists())


if __name__ == "__main__":
    unittest.main()
