"""Attempts to reach what is outside of a workspace: by tools, by what they leave in it, by paths.

The folder beside the workspace allows everything to everybody, so nothing but the sandbox, and how
operations open files, keeps it as it is.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import os
import shlex
import socket
import stat
import sys
import threading
import unittest
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from server.errors import Problem
from server.workspace.errors import WorkspaceError
from server.workspace.host import Workspace

from ..tooling import turns
from .test_host import CONTENTS, Case

ATTEMPTS = Path(__file__).with_name("attempts.py").read_text()
SECRET = CONTENTS["outside"]
ODD = [
    *("new\nline", "tab\tname", "return\rname", "-rf", "--help", " lead", "trail ", "a" * 255),
    *("back\\slash", "..\\..\\outside", "...", ".. ", "..\n", "%2e%2e", "~", "$HOME", "*", "'\""),
    *("\x1b[31m", "\x7f", "\u202egnp.exe", "e\u0301", "\u00e9", "\ufeff", "\U0001f600", "con"),
]
ODD_BYTES = [b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", b"caf\xe9", b"\x80"]
PATHS = [
    *("../outside/file", "..", "../..", "a/../../outside/file", "./../outside/file", "file/../.."),
    *("/etc/passwd", "//etc/passwd", "/", "dir/../../outside", ".//..//outside", "dir/.."),
    *("out/file", "out", "out/../outside/file", "up/outside/file", "root/etc/passwd", "self/fd/0"),
    *("own/file", "file\0", "\0", "out\0/x", "a" * 5000, "a/" * 3000, "\ud800", "\udcff/../.."),
    *("chain", "loop", "hop/file", "proc/self/environ"),
]


def state_of(folder: Path) -> dict[str, Any]:
    """All of a folder that an escape could have changed."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        about = path.lstat()
        data = path.read_bytes() if stat.S_ISREG(about.st_mode) else b""
        found[str(path)] = (about.st_mode, about.st_uid, about.st_nlink, about.st_mtime_ns, data)
    return found


class Escapes(Case):
    def lay_out(self) -> None:
        super().lay_out()
        self.outside = self.base / "outside"
        self.before = state_of(self.outside)

    def assert_untouched(self) -> None:
        self.assertEqual(state_of(self.outside), self.before)


class ByTools(Escapes):
    async def test_attempts(self) -> None:
        for tier in ("A", "B"):
            for folder, mode in (("project", "write"), ("notes", "read"), ("big", "overlay")):
                with self.subTest(tier=tier, mode=mode):
                    await self.open(tier)
                    told = shlex.join([str(self.base), mode, tier])
                    said = await self.output(f"python3 - {told} <<'X'\n{ATTEMPTS}\nX", folder)
                    found: dict[str, str] = json.loads(said)
                    self.assertGreaterEqual(len(found), 50)
                    self.assertEqual({name: f for name, f in found.items() if f}, {})
                    self.assert_untouched()
                    if mode == "read":
                        self.assertEqual(
                            [path.name for path in (self.base / folder).iterdir()], ["file"]
                        )
                        self.assertEqual((self.base / folder / "file").read_text(), folder)

    async def test_without_a_sandbox_they_succeed(self) -> None:
        """Else what stops them would be a mistake in the attempt."""
        await self.open("none")
        told = shlex.join([str(self.base), "write", "none"])
        said = await self.output(f"python3 - {told} <<'X'\n{ATTEMPTS}\nX", "project")
        found: dict[str, str] = json.loads(said)
        self.assertGreaterEqual(len([name for name, came in found.items() if came]), 25, found)


class ByOperations(Escapes):
    """What a hostile tool left in the workspace, then every operation of the server on it."""

    def plant(self, folder: Path) -> None:
        (folder / "dir").mkdir(mode=0o777)
        (folder / "dir").chmod(0o777)
        for name in (".agents", ".agents/skills", ".agents/skills/pdf"):
            (folder / name).mkdir(mode=0o777)
            (folder / name).chmod(0o777)
        for name, target in (
            ("AGENTS.md", self.outside / "file"),
            ("CLAUDE.md", "/proc/self/environ"),
            (".claude", self.outside),
            (".agents/skills/pdf/SKILL.md", self.outside / "file"),
            (".agents/skills/out", self.outside),
            (".agents/skills/proc", "/proc/self/fd"),
            ("out", self.outside),
            ("link", self.outside / "file"),
            ("relative", "../outside/file"),
            ("dangling", self.outside / "new"),
            ("chain", "link"),
            ("hop", "out"),
            ("loop", "loop"),
            ("up", ".."),
            ("root", "/"),
            ("proc", "/proc"),
            ("self", "/proc/self"),
            ("own", "/proc/self/cwd"),
            ("fd", "/proc/self/fd"),
            ("state", "/state"),
            ("objects", "/objects"),
            ("folder", "/folder"),
            ("dir/out", self.outside),
            ("dir/.gitignore", self.outside / "file"),
            (".gitignore", self.outside / "file"),
            (".tmp", self.outside),
        ):
            (folder / name).symlink_to(target)
        os.mkfifo(folder / "fifo")
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(folder / "socket"))
        for name in ODD:
            (folder / name).write_text(name)
        for raw in ODD_BYTES:
            (folder / os.fsdecode(raw)).write_text("raw")
        with (folder / "sparse").open("wb") as file:
            file.truncate(1 << 30)
        os.utime(folder / "dir", (1 << 33, -(1 << 31)))
        if os.geteuid() == 0:
            with suppress(OSError):
                os.mknod(folder / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))

    async def tried(self, workspace: Workspace, name: str, **arguments: Any) -> dict[str, Any]:
        """Do an operation; what it says must not hold what is outside."""
        try:
            found = await workspace.request(name, **arguments)
        except WorkspaceError as error:
            self.assertNotIn(error.code, ("unavailable", "timeout"), f"{name} {error.detail}")
            found = {"refused": error.code, "detail": error.detail}
        said = json.dumps(found)
        self.assertNotIn(base64.b64encode(SECRET.encode()).decode(), said)
        self.assertNotIn("root:x:0:0", said)
        self.assertNotIn(base64.b64encode(b"root:x:0:").decode()[:10], said)
        return found

    async def test_what_was_planted(self) -> None:
        rows = itertools.product(("A", "B"), ("project", "big", ""))
        for tier, folder in turns.share(rows, 3):
            with self.subTest(tier=tier, folder=folder):
                await self.open(tier)
                await self.every_operation(folder)
                self.assert_untouched()

    async def every_operation(self, folder: str) -> None:
        workspace = self.workspaces.get("", "s1", folder)
        await workspace.request("state")
        files = workspace.place.files
        self.plant(files)
        paths = [*PATHS, *ODD, *(os.fsdecode(raw) for raw in ODD_BYTES)]
        paths += sorted(path.name for path in files.iterdir())
        first = await self.tried(workspace, "record", session="s1")
        self.assertIn("after", first)
        with self.watched(files):
            for path in dict.fromkeys(paths):
                await self.tried(workspace, "list", path=path, depth=2, offset=0, limit=100)
                await self.tried(workspace, "read", path=path, offset=0, length=100)
            told = await self.tried(workspace, "guidance")
            self.assertNotIn("path", told["instructions"])
            for name in ("pdf", "out", "proc", "..", "."):
                for file in (None, "SKILL.md", "../../../dir", "passwd", "file"):
                    path = f".agents/skills/{name}"
                    found = await self.tried(workspace, "skill", path=path, file=file)
                    self.assertIn("refused", found)
            data = base64.b64encode(b"planted").decode()
            for number, path in enumerate(dict.fromkeys(PATHS)):
                piece = {"data": data, "offset": 0, "total": 7, "upload": f"u{number}"}
                for target in (path, f"{path}/new"):
                    await self.tried(workspace, "write", path=target, **piece)
                await self.tried(workspace, "make_folder", path=f"{path}/made")
                await self.tried(workspace, "move", path="dir", to=f"{path}/moved")
                await self.tried(workspace, "move", path=path, to=f"taken{number}")
                await self.tried(workspace, "diff", **{"from": first["after"], "to": "now"})
            second = await self.tried(workspace, "record", session="s1")
            self.assertIn("after", second)
            for path in ("link", "out/file", "relative", "dir/out"):
                told = {"from": first["after"], "to": "now", "path": path}
                await self.tried(workspace, "diff", **told)
            found = await self.tried(workspace, "restore", session="s1", tree=first["after"])
            self.assertEqual(found.get("tree"), first["after"])
            for path in dict.fromkeys(paths):
                await self.tried(workspace, "remove", path=path)
            await self.tried(workspace, "restore", session="s1", tree=first["after"])
            await self.tried(workspace, "archive")
            for name in ("status", "apply", "discard"):
                await self.tried(workspace, name)
        self.assertEqual(str((files / "out").readlink()), str(self.outside))

    @contextmanager
    def watched(self, files: Path) -> Iterator[None]:
        """Fail if the server's process opens or changes anything in a workspace meanwhile."""
        seen = watch(f"{files}/")
        yield
        self.assertEqual(unwatch(), seen[:0])

    async def test_links_that_come_and_go(self) -> None:
        """A folder that becomes a link, and a link a folder, while operations walk."""
        for tier in turns.share(("A", "B"), 2):
            with self.subTest(tier):
                await self.open(tier)
                workspace = self.workspaces.get("", "s1", "project")
                project = self.base / "project"
                (project / "swap").mkdir()
                (project / "swap").chmod(0o777)
                (project / "swap" / "file").write_text("inside")
                (project / "link").symlink_to(self.outside)
                with swapping(project / "swap", project / "link"):
                    for number in range(60):
                        piece = {"data": "eA==", "offset": 0, "total": 1, "upload": f"u{number}"}
                        await self.tried(workspace, "read", path="swap/file", offset=0, length=9)
                        await self.tried(workspace, "write", path="swap/new", **piece)
                        await self.tried(workspace, "list", path="", depth=3, offset=0, limit=9)
                        found = await self.tried(workspace, "record", session="s1")
                        if "after" in found:
                            read = {"path": "swap/file", "offset": 0, "length": 9}
                            await self.tried(workspace, "read", tree=found["after"], **read)
                        await self.tried(workspace, "remove", path="swap/new")
                self.assert_untouched()

    async def test_a_hard_link_to_what_is_outside(self) -> None:
        """Its content may be seen, as by every program; changing it makes a file of its own."""
        await self.open()
        os.link(self.outside / "file", self.base / "project" / "hard")
        before = (self.outside / "file").read_bytes()
        workspace = self.workspaces.get("", "s1", "project")
        tree = (await workspace.request("record", session="s1"))["after"]
        piece = {"data": "eA==", "offset": 0, "total": 1, "upload": "u"}
        await workspace.request("write", path="hard", **piece)
        self.assertEqual((self.outside / "file").read_bytes(), before)
        await workspace.request("restore", session="s1", tree=tree)
        self.assertEqual((self.outside / "file").read_bytes(), before)
        self.assertEqual((self.base / "project" / "hard").read_bytes(), before)

    async def test_more_files_than_are_recorded(self) -> None:
        """They are counted up to the limit, and what is beyond is said; nothing grows with them."""
        most, there = 12_000, 24_000
        await self.open(files=most)
        workspace = self.workspaces.get("", "s1")
        before = (await workspace.request("record", session="s1"))["after"]
        made = "import os; os.mkdir('many'); [open(f'many/{n}', 'x').close() for n in range(%d)]"
        await self.output(f'python3 -c "{made % there}"')
        told = await workspace.request("record", session="s1")
        self.assertEqual(told["changed_count"], most - 1)  # and their folder
        self.assertEqual(told["left_out"], {"beyond": there + 1 - most})
        self.assertLess(len(told["changed"]), 101)
        page = await workspace.request("list", path="many", limit=10**6)
        self.assertEqual((len(page["entries"]), page["complete"]), (10_000, False))
        told = await workspace.request("restore", session="s1", tree=before)
        # What was beyond the limit stays, and is recorded now.
        self.assertEqual(await self.output("ls many | wc -l"), str(there + 1 - most))
        now = (await workspace.request("record", session="s1"))["after"]
        self.assertEqual(told["tree"], now)

    async def test_trees_that_name_what_is_outside(self) -> None:
        """Objects come from clients: a tree may claim any name."""
        await self.open()
        workspace = self.workspaces.get("", "s1", "project")
        first = (await workspace.request("record", session="s1"))["after"]
        store = workspace.place.objects
        for name, entry in (
            ("../outside/file", ["l", "/etc/passwd"]),
            ("/etc/passwd", ["l", "x"]),
            ("..", ["d", 0o777, first]),
            (".", ["d", 0o777, first]),
            ("", ["l", "x"]),
            ("a/b", ["l", "x"]),
            ("nul\0", ["l", "x"]),
            ("mode", ["d", 0o4777, first]),
            ("\ud800", ["l", "x"]),
            ("size", ["f", 0o666, -1, first]),
            ("kind", ["c", 1, 5]),
        ):
            with self.subTest(name):
                tree = put(store, json.dumps({"entries": {name: entry}}, separators=(",", ":")))
                found = await self.tried(workspace, "restore", session="s1", tree=tree)
                self.assertIn("refused", found)
                self.assert_untouched()
        self.assertEqual((self.base / "project" / "file").read_text(), "project")
        entries = {"z": ["l", str(self.outside)]}
        tree = put(store, json.dumps({"entries": entries}, separators=(",", ":")))
        await workspace.request("restore", session="s1", tree=tree)
        piece = {"data": "eA==", "offset": 0, "total": 1, "upload": "u"}
        self.assertIn("refused", await self.tried(workspace, "write", path="z/file", **piece))
        await workspace.request("restore", session="s1", tree=first)
        self.assert_untouched()


class ByReplacing(Escapes):
    """The folder itself becomes something else."""

    async def test_a_folder_that_becomes_a_link(self) -> None:
        for tier in ("A", "B"):
            for moment in ("before", "between", "after"):
                with self.subTest(tier=tier, moment=moment):
                    await self.open(tier)
                    await self.replaced(moment)
                    self.assert_untouched()

    async def replaced(self, moment: str) -> None:
        """`between`: after the folder was checked, and before the process is asked."""
        read = {"path": "file", "offset": 0, "length": 10}
        if moment == "after":
            await self.workspaces.get("", "s1", "project").request("read", **read)
        workspace = self.workspaces.get("", "s1", "project")
        (self.base / "project").rename(self.base / "moved")
        (self.base / "project").symlink_to(self.outside)
        if moment == "before":
            with self.assertRaises(Problem):
                self.workspaces.get("", "s1", "project")
        with self.assertRaises(WorkspaceError) as caught:
            await workspace.request("read", **read)
        self.assertEqual(caught.exception.code, "unavailable")
        found = await self.shell("cat file; echo x > file", "project")
        self.assertEqual((found.status, found.error["type"]), ("error", "folder_missing"))
        self.assertEqual((self.base / "moved" / "file").read_text(), "project")

    async def test_what_is_made_anew_is_used(self) -> None:
        """Also a session's own folder, which the owner may remove at any time."""
        await self.open()
        workspace = self.workspaces.get("", "s1")
        await workspace.request("make_folder", path="made")
        workspace.place.files.rename(self.base / "aside")
        told = await workspace.request("list", path="", depth=1, offset=0, limit=9)
        self.assertEqual(told["entries"], [])


# -- what the server's own process opens ----------------------------------------------------------

EVENTS = {"open", "os.listdir", "os.scandir", "os.rename", "os.link", "os.symlink", "os.remove"}
EVENTS |= {"os.mkdir", "os.rmdir", "os.truncate", "os.chmod", "os.chown", "os.utime", "os.chdir"}
_watched: list[str] = []
_seen: list[str] = []


def note(event: str, args: tuple[Any, ...]) -> None:
    """An audit hook, which lasts as long as the process."""
    if _watched and event in EVENTS:
        for value in args[:2]:
            if isinstance(value, (str, bytes)) and os.fsdecode(value).startswith(_watched[0]):
                _seen.append(f"{event} {os.fsdecode(value)}")


sys.addaudithook(note)


def watch(prefix: str) -> list[str]:
    _seen.clear()
    _watched[:] = [prefix]
    return _seen


def unwatch() -> list[str]:
    _watched.clear()
    return [*_seen]


@contextmanager
def swapping(one: Path, other: Path) -> Iterator[None]:
    """Exchange two names all the time, in a thread."""
    over = threading.Event()
    aside = one.with_name("aside")

    def swap() -> None:
        while not over.is_set():
            for source, target in ((one, aside), (other, one), (aside, other)):
                with suppress(OSError):
                    source.rename(target)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def put(store: Path, text: str) -> str:
    """Put an object into a store as a client's upload would; return its id."""
    name = hashlib.sha256(text.encode()).hexdigest()
    folder = store / name[:2]
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    (folder / name[2:]).write_text(text)
    (folder / name[2:]).chmod(0o444)
    return name


if __name__ == "__main__":
    unittest.main()
