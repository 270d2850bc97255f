"""Workspaces as the server has them: real processes, at the tiers that this machine has."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.app import App
from server.config import load
from server.errors import Problem
from server.lib.sandbox.process import Job, Outcome
from server.lib.sandbox.process_call import ProcessCall
from server.settings.real_folders import Folders
from server.tools.base import Invocation
from server.tools.runner import ToolRunner
from server.workspace.errors import WorkspaceError
from server.workspace.host import Workspaces

from .. import proofs
from ..fakes import DEFAULTS
from ..sandbox import battery

SETTINGS: dict[str, Any] = DEFAULTS["server"]["workspace"]
SANDBOX: dict[str, Any] = DEFAULTS["server"]["sandbox"]
LIMITS: dict[str, float] = {**battery.LIMITS, "wall_s": 60, "cpu_s": 60}
TIERS = ("A", "B", "none")
CONTENTS = {"outside": "nothing to be told of"}


class Case(unittest.IsolatedAsyncioTestCase):
    """A home, three real folders and a folder beside them that nobody may touch."""

    runner: ToolRunner
    workspaces: Workspaces

    def setUp(self) -> None:
        self.lay_out()

    def lay_out(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.base = Path(os.path.realpath(holder.name))
        self.base.chmod(0o711)
        self.home = self.base / "home"
        for name in ("home", "notes", "project", "big", "outside"):
            (self.base / name).mkdir()
            (self.base / name).chmod(0o711 if name == "home" else 0o777)
            (self.base / name / "file").write_text(CONTENTS.get(name, name))
            (self.base / name / "file").chmod(0o666)

    def configured(self) -> dict[str, Any]:
        return {
            "notes": {"path": str(self.base / "notes"), "mode": "read"},
            "project": {"path": str(self.base / "project"), "mode": "write"},
            "big": {"path": str(self.base / "big"), "mode": "overlay"},
        }

    async def open(self, tier: str = "A", **settings: float) -> None:
        """Start a runner at a tier; skip the test where the machine has none of it."""
        if hasattr(self, "runner"):  # at another tier
            await self.end(self.runner, self.workspaces)
            self.lay_out()
        self.workspaces = Workspaces(
            self.home, Folders(self.configured()), {**SETTINGS, **settings}
        )
        self.runner = ToolRunner(self.home, files=self.workspaces)
        if tier != "none":
            self.home.chmod(0o711)
            for name in ("workspaces", "workspace_state", "objects"):
                (self.home / name).mkdir(exist_ok=True)
                (self.home / name).chmod(0o711)
            await self.runner.open(SANDBOX, tier, proofs.known(SANDBOX, tier))
            proofs.keep(SANDBOX, self.runner.sandbox, tier)
            if self.runner.tier != tier:
                self.runner.close()
                self.skipTest(str(self.runner.sandbox["tried"]))
        self.addAsyncCleanup(self.end, self.runner, self.workspaces)

    @staticmethod
    async def end(runner: ToolRunner, workspaces: Workspaces) -> None:
        workspaces.close()
        runner.close()

    async def shell(
        self, command: str, folder: str = "", session: str = "s1", owner: str = ""
    ) -> Outcome:
        job = Job(battery.SHELL, {"command": command}, session, LIMITS, owner=owner, folder=folder)
        return await self.runner.run(job)

    async def output(self, command: str, folder: str = "", session: str = "s1") -> str:
        found = await self.shell(command, folder, session)
        self.assertEqual(found.status, "ok", found.error)
        return str(found.result["output"]).strip()


class Modes(Case):
    async def test_what_tools_may_do(self) -> None:
        for tier in ("A", "B"):
            with self.subTest(tier):
                await self.open(tier)
                for folder, written, kept in (
                    ("notes", "", "notes"),
                    ("project", "written", "written"),
                    ("", "written", None),
                ):
                    said = await self.output(
                        "echo written > file 2>/dev/null; echo x > new 2>/dev/null;"
                        " cat new file 2>/dev/null; true",
                        folder,
                    )
                    self.assertEqual("x\nwritten" == said, bool(written), (folder, said))
                    if kept is not None:
                        self.assertEqual((self.base / folder / "file").read_text().strip(), kept)
                self.assertFalse((self.base / "notes" / "new").exists())
                self.assertEqual((self.base / "project" / "new").read_text(), "x\n")

    async def test_a_home_beside_a_real_folder(self) -> None:
        """What programs leave in their home is not put into the owner's folder."""
        for tier in ("A", "B"):
            with self.subTest(tier):
                await self.open(tier)
                for folder in ("project", "notes"):
                    await self.output("echo 1 > ~/.cache; t=$(mktemp); echo 1 > $t", folder)
                    self.assertEqual(await self.output("cat ~/.cache", folder), "1")
                    self.assertEqual(
                        [path.name for path in (self.base / folder).iterdir()], ["file"]
                    )

    async def test_what_is_made_is_as_readable_as_the_owners_own_files(self) -> None:
        mask = os.umask(0)
        os.umask(mask)
        for tier in TIERS:
            with self.subTest(tier):
                await self.open(tier)
                await self.output("mkdir made; echo x > made/file; echo y > file", "project")
                folder, project = self.base / "project" / "made", self.base / "project"
                self.assertEqual(folder.stat().st_mode & 0o777, 0o777 & ~mask)
                self.assertEqual((folder / "file").stat().st_mode & 0o777, 0o666 & ~mask)
                self.assertEqual((project / "file").stat().st_mode & 0o777, 0o666)

    @unittest.skipUnless(shutil.which("git"), "git is not here")
    async def test_git_in_a_folder(self) -> None:
        """Looking changes nothing, and a repository of another user is one."""
        for tier in TIERS:
            with self.subTest(tier):
                await self.open(tier)
                place = str(self.base / "project")
                for command in (["init", "-q"], ["add", "file"]):
                    subprocess.run(["git", "-C", place, *command], check=True)
                if not os.getuid():
                    os.chown(place, 1234, 1234)
                index = Path(place, ".git", "index")
                os.utime(self.base / "project" / "file", (1, 1))  # git would note the new time
                before = index.read_bytes()
                self.assertEqual(await self.output("git status --short", "project"), "A  file")
                self.assertEqual(index.read_bytes(), before)

    async def test_a_large_real_folder_is_not_held_against_a_call(self) -> None:
        await self.open()
        with (self.base / "project" / "large").open("wb") as file:
            for _ in range(300):
                file.write(b"x" * (1 << 20))
        said = await self.output("sleep 0.2; echo ok > more; cat more", "project")
        self.assertEqual(said, "ok")

    async def test_names_that_cannot_be_used(self) -> None:
        await self.open("none")
        (self.base / "project" / "file").unlink()
        (self.base / "project").rmdir()
        (self.base / "project").symlink_to(self.base / "outside")
        for name, code in (
            ("other", "folder_unknown"),
            ("../outside", "folder_unknown"),
            ("notes", "folder_mode"),
            ("project", "folder_missing"),
        ):
            with self.subTest(name):
                with self.assertRaises(Problem) as caught:
                    self.workspaces.get("", "s1", name)
                self.assertEqual(caught.exception.code, code)
                self.assertNotIn(str(self.base), caught.exception.detail)
                found = await self.shell("true", name)
                self.assertEqual((found.status, found.error["type"]), ("error", code))

    async def test_info_says_why(self) -> None:
        await self.open("none")
        (self.base / "project" / "file").unlink()
        (self.base / "project").rmdir()
        about = {each["name"]: each for each in self.workspaces.places.folders.info()}
        self.assertEqual(about["big"], {"name": "big", "mode": "overlay", "available": True})
        for name, word in (("notes", "tier A or B"), ("project", "No such file")):
            self.assertFalse(about[name]["available"])
            self.assertIn(word, str(about[name]["reason"]))
        self.assertEqual(len(self.workspaces.places.folders.problems(())), 2)

    async def test_a_folder_that_its_user_may_not_write(self) -> None:
        """Nothing could be written into it, or applied to it: that is said before any work."""
        cases = {"project": "may not be written", "big": "its copy could not be applied"}
        for name in cases:
            (self.base / name).chmod(0o555)
        before = {name: sorted((self.base / name).iterdir()) for name in cases}
        await self.open()
        about = {each["name"]: each for each in self.workspaces.places.folders.info()}
        for name, words in cases.items():
            with self.subTest(name):
                reason = str(about[name].get("reason"))
                self.assertIn(words, reason)
                if os.geteuid() == 0:
                    self.assertIn("server.sandbox.run_as", reason)
                with self.assertRaises(Problem) as caught:
                    self.workspaces.get("", "s1", name)
                self.assertEqual(caught.exception.code, "folder_missing")
                self.assertEqual(sorted((self.base / name).iterdir()), before[name])


class Requests(Case):
    async def test_operations_at_each_tier(self) -> None:
        for tier in TIERS:
            with self.subTest(tier):
                await self.open(tier)
                for folder in ("", "project"):
                    workspace = self.workspaces.get("ann", "s1", folder)
                    data = base64.b64encode("héllo".encode()).decode()
                    await workspace.request(
                        "write", path="dir/new", data=data, offset=0, total=6, upload="u1"
                    )
                    told = await workspace.request("read", path="dir/new", offset=0, length=100)
                    self.assertEqual(told["data"], data)
                    first = await workspace.request("record", session="s1")
                    await workspace.request("remove", path="dir/new")
                    await workspace.request("restore", session="s1", tree=first["after"])
                    told = await workspace.request("read", path="dir/new", offset=0, length=100)
                    self.assertEqual(told["data"], data)
                self.assertEqual((self.base / "project/dir/new").read_text(), "héllo")

    async def test_temporary_files_of_the_sandbox_are_none_of_the_session(self) -> None:
        for tier in TIERS:
            with self.subTest(tier):
                await self.open(tier)
                workspace = self.workspaces.get("", "s1")
                before = (await workspace.request("record", session="s1"))["after"]
                await self.output("t=$(mktemp); echo 1 > $t")
                told = await workspace.request("record", session="s1")
                self.assertEqual((told["after"], told["left_out"]), (before, {}))
                await self.output("mkdir -p a/.tmp .tmp; echo 1 > a/.tmp/f; echo 1 > .tmp/f")
                files = ["a", "a/.tmp", "a/.tmp/f"]
                free = tier in ("A", "none")  # temporary files are elsewhere
                if free:
                    files = [".tmp", ".tmp/f", *files]
                tree = (await workspace.request("record", session="s1"))["after"]
                for at in (tree, None):
                    told = await workspace.request("list", tree=at, depth=9)
                    self.assertEqual([row["path"] for row in told["entries"]], files)
                await workspace.request("restore", session="s1", tree=before)
                kept = await self.output("cat .tmp/f 2>/dev/null; ls -A a 2>/dev/null; true")
                self.assertEqual(kept, "" if free else "1")

    async def test_what_was_answered_is_free_at_once(self) -> None:
        await self.open()
        workspace = self.workspaces.get("", "s1")
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        for _ in range(3):
            await workspace.request("state")
        self.assertEqual([each for each in gc.get_objects() if isinstance(each, ProcessCall)], [])

    async def test_refusals(self) -> None:
        await self.open()
        workspace = self.workspaces.get("", "s1")
        for name, arguments, code in (
            ("read", {"path": "none", "offset": 0, "length": 1}, "not_found"),
            ("read", {"path": "../x", "offset": 0, "length": 1}, "outside"),
            ("no such operation", {}, "invalid"),
            ("restore", {"session": "s1", "tree": "0" * 64}, "missing_objects"),
        ):
            with self.subTest(name), self.assertRaises(WorkspaceError) as caught:
                await workspace.request(name, **arguments)
            self.assertEqual(caught.exception.code, code)

    async def test_a_process_is_kept_ended_and_replaced(self) -> None:
        await self.open(processes=2)
        held = self.workspaces.processes._held
        for session in ("s1", "s1", "s2", "s3"):
            await self.workspaces.get("", session).request("state")
        kept = [key[2].split()[1] for key in held]
        expected = [self.workspaces.get("", name).id for name in ("s2", "s3")]
        self.assertEqual(kept, expected)
        last = [*held.values()][-1]
        last.process.kill()
        self.assertEqual(await self.workspaces.get("", "s3").request("state"), {"tree": None})
        self.workspaces.close()
        self.assertEqual(held, {})

    async def test_an_idle_process_is_ended(self) -> None:
        await self.open(idle_s=0.01)
        await self.workspaces.get("", "s1").request("state")
        while self.workspaces.processes._held:
            await asyncio.sleep(0)

    async def test_requests_wait_for_each_other(self) -> None:
        await self.open()
        workspace = self.workspaces.get("", "s1")
        names = [f"folder{number}" for number in range(20)]
        await asyncio.gather(*(workspace.request("make_folder", path=name) for name in names))
        found = await workspace.request("list", path="", depth=1, offset=0, limit=100)
        self.assertEqual([each["path"] for each in found["entries"]], sorted(names))
        self.assertEqual(len(self.workspaces.processes._held), 1)

    async def test_a_request_that_is_cut_can_be_repeated(self) -> None:
        await self.open()
        workspace = self.workspaces.get("", "s1")
        for _ in range(3):
            task = asyncio.create_task(workspace.request("record", session="s1"))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        self.assertIn("after", await workspace.request("record", session="s1"))

    async def test_a_folder_that_was_replaced_is_opened_again(self) -> None:
        await self.open()
        workspace = self.workspaces.get("", "s1", "project")
        read = {"path": "file", "offset": 0, "length": 10}
        before = (await workspace.request("read", **read))["data"]
        (self.base / "project").rename(self.base / "before")
        (self.base / "project").mkdir()
        (self.base / "project").chmod(0o777)
        (self.base / "project" / "file").write_text("new")
        after = (await self.workspaces.get("", "s1", "project").request("read", **read))["data"]
        self.assertEqual(base64.b64decode(before), b"project")
        self.assertEqual(base64.b64decode(after), b"new")
        self.assertEqual(await self.output("cat file", "project"), "new")

    async def test_a_restore_waits_for_a_running_call(self) -> None:
        await self.open()
        workspace = self.workspaces.get("", "s1", "project")
        tree = (await workspace.request("record", session="s1"))["after"]
        command = "touch begun; until [ -e go ]; do sleep 0.01; done; echo x > late"
        call = asyncio.create_task(self.shell(command, "project"))
        while not (self.base / "project" / "begun").exists():
            await asyncio.sleep(0)
        restore = asyncio.create_task(workspace.request("restore", session="s1", tree=tree))
        done, _ = await asyncio.wait([restore], timeout=0.3)
        self.assertEqual(done, set())
        (self.base / "project" / "go").touch(0o666)
        await asyncio.gather(call, restore)
        self.assertEqual([path.name for path in (self.base / "project").iterdir()], ["file"])

    async def test_no_process_below_the_required_tier(self) -> None:
        await self.open("none")
        self.workspaces.withheld = "tier B is required"
        with self.assertRaises(WorkspaceError) as caught:
            await self.workspaces.get("", "s1").request("state")
        self.assertEqual(caught.exception.code, "unavailable")
        self.assertEqual(self.workspaces.info()["recorded"], False)


class Server(Case):
    """What the parts of a whole server say and use."""

    async def test_info_and_the_session_s_folder(self) -> None:
        folders = {**self.configured(), "gone": {"path": str(self.base / "gone"), "mode": "write"}}
        text = json.dumps({"server": {"folders": folders, "discover": False}})
        (self.home / "config.json").write_text(text)
        async with App(load(self.home, None, {}, {}), {}) as app:
            told = app.facts("")
            names = {each["name"]: each["available"] for each in told["folders"]}
            expected = {"notes": True, "project": True, "big": True, "gone": False}
            self.assertEqual(names, expected)
            self.assertIn("gone", app.problems()["folders"][0])
            self.assertTrue(told["workspace"]["recorded"])
            self.assertEqual(told["workspace"]["limits"]["files"], SETTINGS["files"])
            for workspace, folder in (
                ({"folder": "notes"}, "notes"),
                ({}, ""),
                (None, ""),
                ("notes", ""),
            ):
                session: Any = {"id": "s1", "workspace": workspace}
                call = Invocation(session, {}, {}, LIMITS, "", lambda name: name)
                self.assertEqual(call.folder, folder)
            where = app.toolbox.workspaces.get("", "s1", "project")
            self.assertEqual(await where.request("state"), {"tree": None})

    async def test_below_the_required_tier(self) -> None:
        async with App(
            load(self.home, None, {}, {"server.discover": False}), {"YAA_SANDBOX_FORCE": "none"}
        ) as app:
            told = app.facts("")["workspace"]
            self.assertFalse(told["recorded"])
            self.assertIn("tier B", told["reason"])
            with self.assertRaises(WorkspaceError) as caught:
                await app.toolbox.workspaces.get("", "s1").request("state")
            self.assertEqual(caught.exception.code, "unavailable")


class Owners(Case):
    async def test_two_keys_and_one_session_id(self) -> None:
        await self.open()
        for folder in ("", "project", "big"):
            with self.subTest(folder):
                ann, bob = (self.workspaces.get(owner, "s1", folder) for owner in ("ann", "bob"))
                self.assertNotEqual(ann.id, bob.id)
                self.assertNotEqual(ann.place.objects, bob.place.objects)
                self.assertNotEqual(ann.place.state, bob.place.state)
                tree = (await ann.request("record", session="s1"))["after"]
                self.assertEqual((await bob.request("state"))["tree"], None)
                await ann.request("restore", session="s1", tree=tree)
        ann, bob = (self.workspaces.get(owner, "s1") for owner in ("ann", "bob"))
        await ann.request("write", path="secret", data="c2VjcmV0", offset=0, total=6, upload="u")
        tree = (await ann.request("record", session="s1"))["after"]
        for name, arguments in (
            ("restore", {"session": "s1", "tree": tree}),
            ("list", {"path": "", "tree": tree, "depth": 1, "offset": 0, "limit": 9}),
            ("read", {"path": "secret", "tree": tree, "offset": 0, "length": 9}),
            ("read", {"path": "secret", "offset": 0, "length": 9}),
            ("diff", {"from": tree, "to": "now"}),
        ):
            with self.subTest(name), self.assertRaises(WorkspaceError):
                await bob.request(name, **arguments)


if __name__ == "__main__":
    unittest.main()
