"""What git tracks, read from indexes that git wrote, and from bytes that are none."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from server.workspace.git_index import tracked_paths

from .made import write

FILES = {
    "a": "",
    "d/b": "",
    "d/sub/c": "",
    "d/sub/d": "",
    "e" * 200: "",
    "é": "",
    "x/" * 60 + "y": "",
}


@unittest.skipUnless(shutil.which("git"), "needs git")
class Written(unittest.TestCase):
    def setUp(self) -> None:
        self.top = Path(self.enterContext(tempfile.TemporaryDirectory()))
        write(self.top, FILES)

    def git(self, *command: str) -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.top), "LC_ALL": "C.UTF-8"}
        subprocess.run(
            ["git", "-c", "core.quotePath=false", *command],
            cwd=self.top,
            env=environment,
            check=True,
            capture_output=True,
        )

    def paths(self) -> list[str]:
        return sorted(tracked_paths((self.top / ".git" / "index").read_bytes()))

    def wanted(self, *names: str) -> list[str]:
        folders = {str(above) for name in names for above in Path(name).parents} - {"."}
        return sorted({*names, *folders})

    def test_each_version_and_hash(self) -> None:
        for object_format in ("sha1", "sha256"):
            for version in ("2", "3", "4"):
                shutil.rmtree(self.top / ".git", ignore_errors=True)
                self.git("init", "-q", f"--object-format={object_format}")
                self.git("add", "-f", "--", *FILES)
                if version == "3":  # of entries with more flags
                    write(self.top, {"later": ""})
                    self.git("add", "-N", "later")
                else:
                    self.git("update-index", "--index-version", version)
                named = [*FILES, "later"] if version == "3" else [*FILES]
                self.assertEqual(self.paths(), self.wanted(*named), (object_format, version))

    def test_what_is_taken_out_is_not_tracked(self) -> None:
        self.git("init", "-q")
        self.git("add", "a", "d")
        self.git("rm", "-q", "--cached", "d/sub/c", "d/sub/d")
        self.assertEqual(self.paths(), self.wanted("a", "d/b"))

    def test_a_repository_within_is_no_file(self) -> None:
        self.git("init", "-q", "d")
        self.git("-C", "d", "add", ".")
        self.git("-C", "d", "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "x")
        self.git("init", "-q")
        self.git("add", "a", "d")
        self.assertEqual(self.paths(), ["a"])

    def test_cut_or_changed_it_names_nothing_or_some(self) -> None:
        self.git("init", "-q")
        self.git("add", "a", "d")
        index = (self.top / ".git" / "index").read_bytes()
        for end in range(len(index)):
            tracked_paths(index[:end])
        for at in range(len(index)):
            tracked_paths(index[:at] + b"\xff" + index[at + 1 :])
        self.assertEqual(tracked_paths(b"DIRC" + b"\xff" * 100), frozenset())


if __name__ == "__main__":
    unittest.main()
