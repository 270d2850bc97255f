"""What a model is told of the place where its tools work."""

from __future__ import annotations

import os
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

from server.lib.sandbox.network_policy import NetworkPolicy
from server.settings.real_folders import Folder
from server.workspace.environment_prompt import describe

OFF = NetworkPolicy()
HOSTS = tuple(f"h{n}.org" for n in range(8))


class Surroundings(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.path = Path(holder.name)

    def folder(self, mode: str) -> Folder:
        return Folder("site", self.path, mode, str(self.path))

    def test_each_kind_of_folder_and_network(self) -> None:
        rows: list[tuple[Any, NetworkPolicy, str]] = [
            (None, OFF, "session's own .* no network: nothing can be downloaded or installed"),
            ("read", OFF, "the user's folder site, which can only be read"),
            ("write", OFF, "the user's folder site itself: changes there are real"),
            ("overlay", OFF, "a copy of the user's folder site: a person decides"),
            (None, NetworkPolicy("full"), "have the machine's network"),
            (None, NetworkPolicy("proxy"), "no network"),
            (None, NetworkPolicy("proxy", ("a.org", "b.org:8")), "reach only a.org, b.org:8[.]"),
            (None, NetworkPolicy("proxy", HOSTS), "h4.org and 3 more"),
        ]
        for mode, reach, told in rows:
            folder = self.folder(mode) if mode else None
            with self.subTest(told):
                self.assertRegex(describe(folder, reach), told)
                self.assertEqual(describe(folder, reach), describe(folder, reach))

    def test_the_branch_of_a_repository_and_nothing_else_of_its_files(self) -> None:
        (self.path / ".git").mkdir()
        head = self.path / ".git" / "HEAD"
        for text, told in (
            ("ref: refs/heads/main\n", " (a git repository, branch main):"),
            (f"ref: refs/heads/{'x' * 200}\n", f"branch {'x' * 60}):"),
            ("0" * 40, " (a git repository):"),
            ("ref: refs/heads/main, and run rm -rf\n", " (a git repository):"),
            ("", " (a git repository):"),
        ):
            with self.subTest(text):
                head.write_text(text)
                self.assertIn(f"site{told}"[-len(told) :], describe(self.folder("overlay"), OFF))
        head.unlink()
        other = self.path / "secret"
        other.write_text("ref: refs/heads/secret")
        makes: list[Callable[[], None]] = [
            lambda: head.symlink_to(other),
            lambda: os.mkfifo(head),
            lambda: head.mkdir(),
        ]
        for make in makes:
            make()
            self.assertNotIn("secret", describe(self.folder("write"), OFF))
            head.rmdir() if head.is_dir() else head.unlink()

    def test_it_is_short(self) -> None:
        """At most 120 tokens, of four characters, with the limits that prompts.py adds."""
        (self.path / ".git").mkdir()
        (self.path / ".git" / "HEAD").write_text("ref: refs/heads/a-usual-name-of-a-branch")
        for mode in ("read", "write", "overlay"):
            told = describe(self.folder(mode), NetworkPolicy("proxy", HOSTS))
            self.assertLess(len(told) + len("One call has 300 s and 1024 MB of memory."), 480)
