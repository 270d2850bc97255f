"""Folders for the tests of workspaces: made, changed at random, read back, operations cut short."""

from __future__ import annotations

import errno
import os
import random
import shutil
import stat
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

from server.workspace.operations import Operations, Places
from server.workspace.restore import Step, no_step
from server.workspace.scan import Limits

Files = dict[bytes, tuple[Any, ...]]  # path -> kind, mode, content or target
NAMES = [
    *(b"a", b"b", b"c.o", b"build", b"sp ace", b"n\nl", b"-", b".git", b".gitignore", b"z" * 255),
    *(b"\xff\xfe", "é".encode(), "\uf7e4".encode(), "😀".encode()),
]
RULES = [b"*.o\n", b"build/\n", b"a\n!b\n", b"", b"/c.o\n"]
DATA = [b"", b"one\n", b"two\n", bytes(200_000)]
TARGETS = [b"a", b"../..", b"/etc/passwd", b"\xff", b"."]


class Closing:
    """Steps of which those named `name` fail while it is closed, as in a folder of others."""

    def __init__(self, name: str) -> None:
        self.name, self.closed = name, False

    def __call__(self, name: str) -> None:
        if self.closed and name == self.name:
            raise PermissionError(errno.EACCES, "Permission denied")


class Case(unittest.TestCase):
    """A workspace, its state, objects, and a real folder for overlays, all empty."""

    def setUp(self) -> None:
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("workspace", "state", "objects", "folder"):
            (self.home / name).mkdir()
        self.files, self.folder = self.home / "workspace", self.home / "folder"

    def operations(
        self,
        limits: Limits = Limits(),  # noqa: B008
        step: Step = no_step,
        overlay: bool = False,
        state: str = "state",
        wait_s: float = 30,
    ) -> Operations:
        """Return operations that are closed at the end of the test."""
        home = os.fspath(self.home)
        folder = f"{home}/folder" if overlay else None
        parts = f"{home}/workspace", f"{home}/{state}", f"{home}/objects", folder
        made = Operations(Places(*parts, limits=limits, wait_s=wait_s), step)
        self.addCleanup(made.close)
        return made

    def cut(self, number: int, work: Callable[[Step], object]) -> bool:
        """Do work in a process that ends at a step, as if killed; return whether it was cut."""
        child = os.fork()
        if not child:
            left = number

            def step(_name: str) -> None:
                nonlocal left
                if not left:
                    os._exit(9)
                left -= 1

            try:
                work(step)
                os._exit(0)
            finally:
                os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.assertIn(code, (0, 9))
        return code == 9


def write(top: Path, files: dict[str, str]) -> None:
    """Write files below a folder."""
    for path, text in files.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)


def read(top: Path) -> Files:
    """Return all that is below a folder, whatever its names."""
    found: Files = {}
    start = os.fsencode(top)
    for base, folders, files in os.walk(start):
        for name in folders + files:
            path = os.path.join(base, name)
            about = os.lstat(path)
            if stat.S_ISLNK(about.st_mode):
                row: tuple[Any, ...] = ("l", os.readlink(path))
            elif stat.S_ISREG(about.st_mode):
                with open(path, "rb") as file:
                    row = ("f", about.st_mode & 0o777, file.read())
            else:
                row = ("d" if stat.S_ISDIR(about.st_mode) else "s", about.st_mode & 0o777)
            found[os.path.relpath(path, start)] = row
    return found


def change(top: Path, chance: random.Random, plain: bool = False) -> None:
    """Change a folder at random: files, links, folders, modes, names; if not plain pipes, rules."""
    folders = [os.fsencode(top)]
    for base, names, _ in os.walk(folders[0]):
        folders += (os.path.join(base, name) for name in names)
    folders = [path for path in folders if not os.path.islink(path)]
    for _ in range(chance.randint(1, 10)):
        name = chance.choice(NAMES)
        path = os.path.join(chance.choice(folders), name)
        try:
            _change(path, name, folders, chance, plain)
        except OSError:  # what it needs went with another change
            continue


def _change(
    path: bytes, name: bytes, folders: list[bytes], chance: random.Random, plain: bool
) -> None:
    what = chance.choice("fffflddrrmps")
    if what == "r" or what in "fdlp" and os.path.lexists(path) and chance.random() < 0.5:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)
    if what == "f" and not stat.S_ISFIFO(_mode(path)) and not os.path.islink(path):
        if not plain or name != b".gitignore":
            with open(path, "wb") as file:
                file.write(chance.choice(RULES if name == b".gitignore" else DATA))
    elif what == "d":
        os.mkdir(path)
    elif what == "l":
        os.symlink(chance.choice(TARGETS), path)
    elif what == "m" and not os.path.islink(path):
        os.chmod(path, chance.choice([0o644, 0o755, 0o600, 0o444, 0o700]))
    elif what == "p" and not plain:
        os.mkfifo(path)
    elif what == "s":
        os.rename(path, os.path.join(chance.choice(folders), chance.choice(NAMES)))


def _mode(path: bytes) -> int:
    try:
        return os.lstat(path).st_mode
    except FileNotFoundError:
        return 0
