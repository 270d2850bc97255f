"""Degradation: what is proven at each forced tier, and that nothing runs below what is required."""

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
from pathlib import Path
from typing import Any

from server.config import Config
from server.lib.sandbox.policy import TIERS
from server.lib.sandbox.probe import closed_to_others, user_exists, user_id_ranges, verdict
from server.tools.runner import ToolRunner
from server.tools.toolbox import Toolbox

from ..fakes import DEFAULTS, events_of

ROOT = Path(__file__).resolve().parents[2]
OURS = {"shell", "read_file", "write_file", "edit_file", "list_files", "python", "search_files"}

MINE = """
from pathlib import Path
from yaa import tool
if not Path("canary").exists():  # what a session left where the file is loaded
    @tool
    def mine() -> int: return 1
"""
OBSTACLES = ("folder", "file", "link", "closed")


def obstruct(folder: Path, obstacle: str) -> None:
    """What a session may leave in its own folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    place = folder / "canary"
    match obstacle:
        case "folder":
            (place / "canary").mkdir(parents=True)
        case "file":
            place.write_text("mine")
            place.chmod(0o000)
        case "link":
            place.symlink_to("/etc")
        case "closed":
            place.mkdir()
            folder.chmod(0o500)


class FailClosed(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.home = Path(holder.name)
        tools = self.home / "tools"
        tools.mkdir()
        (tools / "mine.py").write_text(MINE)
        self.session: Any = {
            "id": "s",
            "config": copy.deepcopy(DEFAULTS["session"]["config"]),
            "grants": [],
            "messages": [],
        }

    async def toolbox(self, most: str, require: str) -> Toolbox:
        server = copy.deepcopy(DEFAULTS["server"])
        server["sandbox"]["require"] = require
        toolbox = Toolbox(Config(server, DEFAULTS["session"], self.home))
        await toolbox.open(most)
        self.addCleanup(toolbox.close)
        await toolbox.load_owner_tools()
        return toolbox

    def call(self, name: str, args: dict[str, Any]) -> Any:
        about = {"name": name, "arguments": json.dumps(args)}
        return {"id": "c", "type": "function", "function": about}

    async def test_below_what_is_required(self) -> None:
        for most, require in (("none", "B"), ("C", "B"), ("C", "A"), ("B", "A"), ("none", "C")):
            with self.subTest(most=most, require=require):
                toolbox = await self.toolbox(most, require)
                about = toolbox.sandbox()
                self.assertEqual(set(about["withheld"]), OURS)
                self.assertLessEqual(TIERS.index(about["tier"]), TIERS.index(most))
                names = {tool["function"]["name"] for tool in toolbox.declarations(self.session)}
                self.assertEqual(names & (OURS | {"mine"}), set())
                self.assertIn("calculator", names)
                for tool in toolbox.info():
                    reason = tool.get("unavailable", "sandbox_unavailable: no reason is given")
                    self.assertEqual("unavailable" in tool, tool["name"] in OURS, tool["name"])
                    self.assertTrue(reason.startswith("sandbox_unavailable:"), reason)
                call = self.call("shell", {"command": "touch ran"})
                said = toolbox.verdict(self.session, call)
                self.assertEqual(said.action, "error")
                self.assertIn("sandbox_unavailable", said.reason)
                args = {"command": "touch ran"}
                events = await events_of(toolbox, self.session, call, args, {})
                result = events[-1]["metadata"]["yaa"]["result"]
                self.assertEqual(result["error"]["type"], "sandbox_unavailable")
                self.assertEqual(list(self.home.rglob("ran")), [])

    async def test_a_session_cannot_ask_for_less(self) -> None:
        toolbox = await self.toolbox("none", "B")
        self.session["config"]["sandbox"] = {"require": "none"}
        self.session["config"]["tool"] = {"shell": {"auto_approve": True}}
        self.session["grants"] = [{"tool": "shell", "decision": "allow"}]
        said = toolbox.verdict(self.session, self.call("shell", {"command": "id"}))
        self.assertEqual(said.action, "error")

    async def test_without_a_requirement(self) -> None:
        toolbox = await self.toolbox("none", "none")
        self.assertEqual(toolbox.sandbox()["withheld"], [])
        self.assertIn("mine", {tool["name"] for tool in toolbox.info()})
        call = self.call("shell", {"command": "true"})
        *_, last = await events_of(toolbox, self.session, call, {"command": "true"}, {})
        self.assertEqual(last["metadata"]["yaa"]["result"]["sandbox"], {"tier": "none"})

    async def test_what_keeps_a_tier_from_being_had_is_said_in_words(self) -> None:
        """A mistake of ours is no reason: all tests that need a sandbox would be left out."""
        for tier, why in (await self.toolbox("A", "none")).sandbox()["tried"].items():
            with self.subTest(tier):
                self.assertRegex(str(why), r"\w \w")

    async def test_nothing_of_the_proof_stays(self) -> None:
        workspaces = self.home / "workspaces"
        for name, age_s in (("own-killed", 3600), ("own-at-work", 0), ("f" * 32, 3600)):
            (workspaces / name / "folder").mkdir(parents=True)
            then = time.time() - age_s
            os.utime(workspaces / name, (then, then))
        toolbox = await self.toolbox("A", "none")
        self.assertEqual(list(self.home.glob(".canary*")), [])
        self.assertEqual({p.name for p in workspaces.iterdir()}, {"own-at-work", "f" * 32})
        self.assertEqual(toolbox.problems, [])

    async def test_no_session_is_in_the_way_of_the_proof(self) -> None:
        """Whatever its id: the folder of the proof is not that of a session."""
        wanted = (await self.toolbox("A", "none")).sandbox()
        for session_id in ("describe mine.py", "canary"):
            folder = ToolRunner(self.home).folder(session_id)
            for obstacle in OBSTACLES:
                with self.subTest(session_id=session_id, obstacle=obstacle):
                    obstruct(folder, obstacle)
                    toolbox = await self.toolbox("A", "none")
                    self.assertEqual(toolbox.sandbox(), wanted)
                    self.assertIn("mine", toolbox.names())
            shutil.rmtree(folder)

    def test_nobody_is_in_the_way_of_the_proof_in_the_temporary_folder(self) -> None:
        """Which is everybody's below tier A."""
        (self.home / "canary").mkdir()
        code = "from server.lib.sandbox import selftest as s; print(s.try_attempt(s.scratch, {}))"
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT, env={**os.environ, "TMPDIR": str(self.home)}, capture_output=True,
        )  # fmt: skip
        self.assertEqual(done.stdout, b"done\n", done.stderr)
        self.assertEqual({p.name for p in self.home.iterdir()}, {"canary", "tools"})


@unittest.skipUnless(sys.platform == "linux", "prctl(2)")
class Hardened(unittest.TestCase):
    def test_the_server_cannot_be_read(self) -> None:
        """PR_GET_DUMPABLE is 3; a process of its own, since this one should stay as it is."""
        for call in (
            "probe.harden()",
            "asyncio.run(probe.prove(Path('/'), {'run_as': 0}, 'none', None, (), ()))",
            "probe.pool_for({}, {'tier': 'none'}, (), ())",
        ):
            code = (
                "import asyncio, ctypes; from pathlib import Path; from server.lib.sandbox import"
                " probe; get = ctypes.CDLL(None).prctl; before = get(3, 0, 0, 0, 0);"
                f" {call}; print(before, get(3, 0, 0, 0, 0))"
            )
            done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True)
            self.assertEqual(done.stdout.split(), [b"1", b"0"], (call, done.stderr))

    def test_which_users_there_are(self) -> None:
        for listed, uid, found in (
            ("         0          0 4294967295\n", 61321, True),
            ("0 1000 1\n", 61321, False),  # unshare -r
            ("0 1000 1\n1 100000 65536\n", 61321, True),  # a container of a normal user
            ("0 1000 1\n1 100000 65536\n", 65537, False),
        ):
            with self.subTest(listed=listed, uid=uid):
                self.assertEqual(user_exists(uid, listed), found)
        self.assertTrue(user_exists(os.geteuid(), user_id_ranges()))

    def test_in_a_namespace_without_the_tools_user(self) -> None:
        """The advice is not to open folders, which would not help."""
        code = (
            "import asyncio, json, sys; from pathlib import Path\n"
            "from server.tools.runner import ToolRunner\n"
            "runner = ToolRunner(Path(sys.argv[1]))\n"
            "asyncio.run(runner.open(json.loads(sys.argv[2])))\n"
            "print(json.dumps(runner.sandbox))"
        )
        options = json.dumps(DEFAULTS["server"]["sandbox"])
        command = ["unshare", "-r", sys.executable, "-c", code]
        with tempfile.TemporaryDirectory() as home:
            try:
                done = subprocess.run([*command, home, options], cwd=ROOT, capture_output=True)
            except FileNotFoundError:
                self.skipTest("no unshare here")
        if b"unshare failed" in done.stderr or b"write failed" in done.stderr:
            self.skipTest(done.stderr.decode())
        found = json.loads(done.stdout)
        self.assertEqual((found["tier"], sorted(found["tried"])), ("none", ["A", "B", "C"]))
        for why in found["tried"].values():
            self.assertIn("user 61321 (server.sandbox.run_as) does not exist in this", why)

    def test_where_the_tools_user_may_not_pass(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            home = Path(name).resolve()
            home.chmod(0o700)
            self.assertEqual(closed_to_others((), home), str(home))
            home.chmod(0o711)
            self.assertEqual(closed_to_others((), home), "")


class Verdicts(unittest.TestCase):
    def test_what_speaks_against_a_tier(self) -> None:
        works, stopped = {"own_folder": "sings"}, {"tcp": "", "read_outside": ""}
        for tier, network, escapes, working, said in (
            ("A", "off", stopped, works, ""),
            ("A", "off", {**stopped, "read_outside": "32"}, works, "gets out of it: read_outside"),
            ("A", "off", {**stopped, "tcp": "done"}, works, "gets out of it: tcp"),
            ("A", "proxy", {**stopped, "tcp": "done"}, works, "gets out of it: tcp"),
            ("A", "full", {**stopped, "tcp": "done"}, works, ""),
            ("B", "off", stopped, {"own_folder": ""}, "does not work in it: own_folder"),
            ("C", "off", {"read_outside": "32"}, works, ""),
            ("C", "off", stopped, {"own_folder": ""}, "does not work in it: own_folder"),
        ):
            with self.subTest(tier=tier, said=said):
                found = verdict(tier, network, {"escapes": escapes, "works": working})
                self.assertEqual(found, said)


if __name__ == "__main__":
    unittest.main()
