"""Disks that are full: each part of the home folder on one of its own, too small for what comes.

What is told is clear, what was asked for is not lost, and with room again it goes on.
"""

from __future__ import annotations

import copy
import os
import resource
import subprocess
import sys
import tempfile
import unittest
from functools import partial
from pathlib import Path
from typing import Any

from server.session.fold import Folder
from server.tools.runner import ToolRunner

from ..tooling import ports, turns
from ..tooling.api import Api
from ..tooling.child import Yaa
from ..tooling.tools import ROOT
from . import processes

ROOT_ONLY = os.geteuid() == 0 and sys.platform == "linux"
COMMAND = "echo ran >> count; cat count"
FAILED = ("failed", "claim_failed")


def asked(number: int) -> Any:
    return {
        "id": f"s{number}",
        "messages": [{"id": "u1", "role": "user", "content": f"shell {COMMAND}"}],
        "config": {"tool": {"shell": {"auto_approve": True}}},
    }


@unittest.skipUnless(ROOT_ONLY, "needs root to mount small disks")
class SmallDisks(unittest.TestCase):
    def setUp(self) -> None:
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="yaa-full-")))

    def disk(self, name: str, options: str) -> Path:
        folder = self.home / name
        folder.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            self.skipTest("may not mount a disk")
        self.addCleanup(subprocess.run, ["umount", "-l", str(folder)], check=True)
        return folder

    def shrink(self, folder: Path) -> None:
        """As full as it was: with nothing in it, and room for nothing."""
        for path in folder.iterdir():
            path.unlink()
        subprocess.run(["mount", "-o", "remount,nr_inodes=1", str(folder)], check=True)

    def grow(self, folder: Path) -> None:
        options = "remount,size=1m,nr_inodes=1000"
        subprocess.run(["mount", "-o", options, str(folder)], check=True)

    def serve(self, **server: Any) -> Api:
        yaa = self.enterContext(Yaa({"server": {"discover": False} | server}, home=self.home))
        self.yaa = yaa
        return Api(yaa.url, yaa.key)


@turns.tests(2)
class Full(SmallDisks):
    def test_claims(self) -> None:
        claims = self.disk("claims", "nr_inodes=1")
        api, session = self.serve(), asked(1)
        folder, events = Folder(session), []
        with api.stream(session) as stream:
            for event in stream.events():
                folder.apply(event)
                events.append(event)
        folder.flush()
        self.assertEqual((events[-1]["type"], events[-1]["code"]), ("RUN_ERROR", "claim_failed"))
        self.assertIn("No space left on device", events[-1]["message"])
        self.assertNotIn(str(self.home), str(events))
        workspace = ToolRunner(self.home).folder("s1")
        self.assertFalse((workspace / "count").exists(), "it ran without a claim")
        self.grow(claims)
        found = api.run(session)
        self.assertEqual(found["status"], "completed")
        self.assertEqual((workspace / "count").read_text(), "ran\n")

    def test_claims_of_what_was_approved(self) -> None:
        """The approval outlives the failure: the same session is sent again, as the client has it,
        or as the server gave it back."""
        claims = self.disk("claims", "nr_inodes=1")
        api = self.serve()
        for number, streams in enumerate((False, True), 11):
            with self.subTest(streams=streams):
                session = asked(number)
                session["config"]["tool"]["shell"]["auto_approve"] = False
                session = api.run(session)
                answer = {"status": "resolved", "payload": {"approved": True}}
                session["interrupts"][0]["answer"] = answer
                failed = self.streamed(api, session) if streams else api.run(session)
                self.assertEqual((failed["status"], failed["messages"][-1]["code"]), FAILED)
                self.assertEqual(failed["interrupts"][0]["answer"], answer)
                self.assertEqual(api.run(failed)["status"], "failed", "nothing has changed")
                self.grow(claims)
                found = api.run(failed)
                self.assertEqual((found["status"], found["interrupts"]), ("completed", []))
                workspace = ToolRunner(self.home).folder(session["id"])
                self.assertEqual((workspace / "count").read_text(), "ran\n")
                self.shrink(claims)

    def streamed(self, api: Api, session: Any) -> Any:
        """The client's copy after the run; in it a call that was approved has begun."""
        kept = copy.deepcopy(session)
        kept["calls"][kept["interrupts"][0]["call_id"]]["state"] = "started"
        folder = Folder(kept)
        with api.stream(session) as stream:
            for event in stream.events():
                folder.apply(event)
        folder.flush()
        return kept

    def test_workspaces(self) -> None:
        """No folder for the session: the model is told, and so is the person."""
        workspaces = self.disk("workspaces", "nr_inodes=200")
        api = self.serve()
        # The proof of the sandbox had a folder here; its inode is held until its process has gone.
        smaller = ["mount", "-o", "remount,nr_inodes=1", str(workspaces)]

        def full() -> bool:
            return subprocess.run(smaller, capture_output=True, check=False).returncode == 0

        self.assertTrue(processes.until(full, 60), list(workspaces.iterdir()))
        found = api.run(asked(2))
        self.assertEqual(found["status"], "completed")
        (result,) = [m for m in found["messages"] if m["role"] == "tool"]
        self.assertTrue(result["is_error"])
        self.assertIn("No space left on device", result["content"])

    def test_folders_that_become_read_only(self) -> None:
        """Whatever needs one says so, and all goes on when it may be written again."""
        names = ("workspaces", "workspace_state", "objects", "claims", "runs")
        disks = [self.disk(name, "size=8m") for name in names]
        api, number = self.serve(), 100
        self.assertEqual(api.run(asked(number))["status"], "completed")
        for name, folder in zip(names, disks, strict=True):
            number += 1
            session = asked(number)
            with self.subTest(name):
                self.assertTrue(processes.until(partial(self.remount, folder, "ro"), 60))
                status, said = api.request("PUT", f"/workspaces/s{number}/file?path=a", {"a": 1})
                wanted = 200 if name in ("claims", "runs") else 507
                self.assertEqual(status, wanted, said)
                if wanted == 507:
                    self.assertIn(
                        "Read-only file system; once the server can write", said["detail"]
                    )
                failed = api.run(session)
                self.assertNotIn(str(self.home), str(said) + str(failed["messages"]))
                results = [each for each in failed["messages"] if each["role"] == "tool"]
                if name == "workspaces":  # no folder for the call
                    self.assertTrue(results[0]["is_error"], results)
                elif name in ("claims", "runs"):  # it cannot be kept from running twice
                    self.assertEqual(failed["messages"][-1]["code"], "claim_failed")
                else:
                    self.assertIn("unrecorded", results[0]["result"])
                said = str(failed["messages"]) + str(failed["run"].get("warnings"))
                self.assertIn("Read-only file system", said)
                self.assertTrue(self.remount(folder, "rw"))
                self.assertEqual(api.run(asked(number + 50))["status"], "completed")

    def remount(self, folder: Path, how: str) -> bool:
        command = ["mount", "-o", f"remount,{how}", str(folder)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def test_logs(self) -> None:
        """Lines are lost; runs are not."""
        self.disk("logs", "size=4k")
        api = self.serve(log={"file": "yaa.log"})
        for number in range(30):
            self.assertEqual(api.run(asked(number))["status"], "completed")
        assert self.yaa.child is not None
        self.yaa.child.stop()
        said = self.yaa.child.output
        self.assertEqual(said.count("yaa.log cannot be written (No space left on device)"), 1)

    def test_results_that_cannot_be_kept(self) -> None:
        """Room for the claim, none for the result: the run has it all the same."""
        page = resource.getpagesize()
        claims = self.disk("claims", f"size={2 * page}")
        (claims / "fill").write_bytes(bytes(page))
        api = self.serve()
        found = api.run(asked(3))
        self.assertEqual(found["status"], "completed")
        self.assertIn("ran", found["messages"][-1]["content"] + found["messages"][-2]["content"])
        kept = {path.suffix for path in claims.iterdir() if path.name != "fill"}
        self.assertEqual(kept, {""}, "the claim, and no result")

    def test_a_home_that_is_full_from_the_start(self) -> None:
        home = self.disk("home", "nr_inodes=3,mode=0700")
        command = [sys.executable, "-m", "server", "--home", str(home), "--port", "0"]
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(found.returncode, 2, found.stderr)
        self.assertIn("No space left on device", found.stderr)
        self.assertEqual(len(found.stderr.splitlines()), 1, found.stderr)

    def test_a_home_that_is_read_only_from_the_start(self) -> None:
        home = self.disk("home", "size=1m,mode=0700")
        self.assertTrue(self.remount(home, "ro"))
        command = [sys.executable, "-m", "server", "--home", str(home), "--port", "0"]
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(found.returncode, 2, found.stderr)
        self.assertIn("Read-only file system; choose another with --home", found.stderr)
        self.assertEqual(len(found.stderr.splitlines()), 1, found.stderr)


@unittest.skipUnless(Path("/dev/full").exists(), "needs /dev/full")
class FullOutput(unittest.TestCase):
    def test_it_serves_though_nothing_it_prints_is_kept(self) -> None:
        (port,) = self.enterContext(ports.held(1))
        with tempfile.TemporaryDirectory() as home, Path("/dev/full").open("w") as full:
            command = [sys.executable, "-m", "server", "--home", home, "--port", str(port)]
            with subprocess.Popen(command, cwd=ROOT, stdout=full, stderr=full) as server:
                api = Api(f"http://127.0.0.1:{port}")
                try:
                    self.assertTrue(processes.until(lambda: answers(api), 120))
                    self.assertIsNone(server.poll())
                finally:
                    server.terminate()


def answers(api: Api) -> bool:
    try:
        return api.request("GET", "/health")[0] == 200
    except OSError:
        return False


if __name__ == "__main__":
    unittest.main()
