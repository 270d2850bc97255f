"""Which folders a turn lists, with a real server on real folders.

The kernel tells who lists: inotify reports it for a folder, whichever process does it, so the
server, the workspace process and the tools are all heard.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..bench.peers import config, start
from ..fakes import DEFAULTS, user
from ..tooling import patience
from ..tooling.api import Api
from ..tooling.child import Child

Json = dict[str, Any]

KEY = "the-key-of-the-owner-1234"
SHORT = "bench tokens=3 delay_us=0"
READ = f" tool=read_file{json.dumps({'path': 'b/c/two'})}"
MAKE = "mkdir -p a b/c && echo one > a/one && echo two > b/c/two"
LONG_AGO_NS = 1_500_000_000_100_000_000
IN_ACCESS, IN_ISDIR, IN_ONLYDIR = 0x1, 0x40000000, 0x01000000
EVENT = struct.Struct("iIII")


class Listed:
    """The folders below a place, and which of them were listed since they were last asked for."""

    def __init__(self, top: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._places: dict[int, str] = {}
        for path in (top, *(path for path in top.rglob("*") if path.is_dir())):
            mask = IN_ACCESS | IN_ONLYDIR
            number = self._libc.inotify_add_watch(self._descriptor, bytes(path), mask)
            self._places[number] = str(path.relative_to(top))
        self.take()

    def close(self) -> None:
        os.close(self._descriptor)

    def take(self) -> list[str]:
        found = set[str]()
        while True:
            try:
                data, at = os.read(self._descriptor, 1 << 16), 0
            except BlockingIOError:
                return sorted(found)
            while at < len(data):
                number, mask, _, length = EVENT.unpack_from(data, at)
                at += EVENT.size + length
                if mask & IN_ISDIR and not length:  # the folder itself, not one in it
                    found.add(self._places[number])


def shell(command: str) -> str:
    return f" tool=shell{json.dumps({'command': command})}"


class Turns(unittest.TestCase):
    """Each test is a session of its own in one of the modes."""

    base: Path
    api: Api
    workspaces: Path
    told: Path

    @classmethod
    def setUpClass(cls) -> None:
        stack = cls.enterClassContext(ExitStack())
        cls.base = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cls.base.chmod(0o711)
        settings: Json = config(start(stack, "tests.bench.provider"))
        folders = {name: cls.folder(name) for name in ("read", "write", "overlay")}
        settings["server"] |= {
            "api_keys": [{"name": "owner", "key": KEY, "owner": True}],
            "folders": folders,
            "sandbox": {"require": "none"},
        }
        approved = {name: {"auto_approve": True} for name in ("shell", "read_file")}
        settings["session"] = {"config": {"tool": approved}}
        home = cls.base / "home"
        for name in ("skills", "tools"):  # one that has just changed is looked at again
            (home / name).mkdir(parents=True)
            os.utime(home / name, ns=(LONG_AGO_NS, LONG_AGO_NS))
        (home / "config.json").write_text(json.dumps(settings))
        cls.told = cls.base / "told"
        command = [sys.executable, "-m", "tests.chaos.listing_server", str(cls.told)]
        child = Child([*command, "--home", str(home), "--port", "0"], env={"HOME": str(home)})
        stack.callback(child.stop)
        url = child.wait_for(r"^(http://127\.0\.0\.1:\d+)/$", patience.seconds(60))[1]
        child.wait_for(r"^  ready ", patience.seconds(60))
        cls.api, cls.workspaces = Api(url, KEY), home / "workspaces"
        assert cls.heard(), "a server that starts lists some folders"

    @classmethod
    def heard(cls) -> list[str]:
        """All folders that the server's own process has listed."""
        return cls.told.read_text().splitlines()

    @classmethod
    def folder(cls, mode: str) -> Json:
        """A folder with files of its owner, which tools may write."""
        path = cls.base / mode
        path.mkdir()
        subprocess.run(["sh", "-c", MAKE], cwd=path, check=True)
        if os.geteuid() == 0:
            run_as = DEFAULTS["server"]["sandbox"]["run_as"]
            subprocess.run(["chown", "-R", f"{run_as}:{run_as}", str(path)], check=True)
        return {"path": str(path), "mode": mode}

    def setUp(self) -> None:
        self.session: Json = {"id": self.id().rpartition(".")[2], "messages": []}

    def say(self, call: str = "") -> list[str]:
        """Do a turn; return which folders the server's own process has listed in it."""
        before = len(self.heard())
        messages = self.session["messages"]
        said = user(SHORT + call, f"u{len(messages)}")
        self.session = self.api.run({**self.session, "messages": [*messages, said]})
        self.assertEqual(self.session["status"], "completed", self.session)
        if call:
            results = [each for each in self.session["messages"] if each["role"] == "tool"]
            self.assertNotIn("error", results[-1])
        return self.heard()[before:]

    def watch(self, place: Path) -> Listed:
        """Watch a place from now on. A folder in it that is listed must be heard."""
        one = next(place.rglob("a"))
        listed = Listed(place)
        self.addCleanup(listed.close)
        list(one.iterdir())
        if listed.take() != [str(one.relative_to(place))]:
            self.skipTest("the kernel does not tell who lists a folder here")
        return listed

    def play(self, call: str, *places: Path, top: bool = False) -> None:
        """After a turn that records: a plain one, one that reads a file, a plain one.

        In the first one the server may look at its own folders of skills and tools.

        `top`: the process of a call in a guarded folder looks for what is protected at its top.
        """
        inside = tuple(map(str, places))
        self.assertEqual([path for path in self.say(call) if path.startswith(inside)], [])
        watched = [self.watch(place) for place in places]
        for turn in ("", READ, ""):
            with self.subTest(turn=turn):
                self.assertEqual(self.say(turn), [])
                found = {place for each in watched for place in each.take()}
                self.assertLessEqual(found, {"."} if turn and top else set())

    def test_own(self) -> None:
        self.play(shell(MAKE), self.workspaces)

    def test_read(self) -> None:
        self.session["workspace"] = {"folder": "read"}
        self.play(shell("ls"), self.base / "read")

    def test_write(self) -> None:
        self.session["workspace"] = {"folder": "write"}
        self.play(shell("echo 3 > a/three"), self.base / "write", top=True)

    def test_overlay(self) -> None:
        self.session["workspace"] = {"folder": "overlay"}
        self.play(shell("echo 3 > a/three"), self.base / "overlay", self.workspaces)


if __name__ == "__main__":
    unittest.main()
