"""The session's folder: what is offered to a person, in which parts, and what counts as made."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import unittest
from pathlib import Path

from server.tools.builtin.shell import file_clock_ns
from server.tools.decorators import Context, ToolError
from server.tools.workspace import (
    MOST_MADE,
    MOST_SEEN,
    attachment,
    files_below,
    made_since,
    media_type,
)

from .builtin.test_files import Case

CTX = Context({}, lambda _: None)


class Attachments(Case):
    def test_what_is_said_of_a_file(self) -> None:
        (self.root / "sub").mkdir()
        (self.root / "sub" / "größe.PNG").write_bytes(b"x" * 7)
        (self.root / "to").symlink_to("sub/größe.PNG")
        said = {"path": "sub/größe.PNG", "media_type": "image/png", "bytes": 7}
        for path in ("sub/größe.PNG", "./sub/../sub/größe.PNG", str(self.root / "sub/größe.PNG")):
            self.assertEqual(attachment(path, "n.png"), {**said, "name": "n.png"})
        self.assertEqual(attachment("to", "n.png")["path"], "sub/größe.PNG")
        (self.root / "sub" / "größe.PNG").chmod(0)  # its owner can still give it to people
        self.assertEqual(attachment("to", "n.png")["bytes"], 7)
        self.assertEqual(media_type("noext"), "application/octet-stream")

    def test_refused(self) -> None:
        os.mkfifo(self.root / "pipe")
        (self.root / "out").symlink_to(self.outside / "secret")
        cases = [("none", "No such file"), (".", "is not a file"), ("pipe", "is not a file")]
        for path, why in [*cases, ("out", "outside"), ("../outside/secret", "outside")]:
            with self.subTest(path), self.assertRaisesRegex(ToolError, why):
                attachment(path, "n")


class Below(Case):
    def test_in_order(self) -> None:
        paths = [
            "a",
            "b/a",
            "b/c/d",
            "b/d",
            "c",
            ".h/a",
            "node_modules/a",
            "b/.h",
            "b/__pycache__/x",
        ]
        for path in paths:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text("x")
        (self.root / "link").symlink_to("b")
        (self.root / "file-link").symlink_to("a")
        os.mkfifo(self.root / "pipe")
        self.assertEqual(list(files_below(self.root)), ["a", "c", "b/a", "b/d", "b/c/d"])
        self.assertEqual(list(files_below(self.root / "b")), ["a", "d", "c/d"])

    def test_however_deep(self) -> None:
        self.addCleanup(subprocess.call, ["rm", "-rf", str(self.root / "d")])
        with contextlib.chdir(self.root):
            for _ in range(1200):
                Path("d").mkdir()
                os.chdir("d")
            Path("f").write_text("x")
        self.assertEqual([len(path) for path in files_below(self.root)], [2 * 1200 + 1])


class Made(Case):
    def test_since(self) -> None:
        for name, at in (("old", 100), ("new", 200), (".hidden", 300)):
            (self.root / name).write_text("x")
            os.utime(self.root / name, ns=(at, at))
        (self.root / "__pycache__").mkdir()
        (self.root / "__pycache__" / "x.pyc").write_text("x")
        (self.root / "link").symlink_to("new")
        self.assertEqual(made_since(200), ["new"])
        self.assertEqual(made_since(100), ["new", "old"])

    @unittest.skipUnless(sys.platform == "linux", "elsewhere the clock of files is the system's")
    def test_at_once(self) -> None:
        """The kernel stamps files by a clock that is some milliseconds behind the system's."""
        for number in range(500):
            moment = file_clock_ns()
            (self.root / str(number)).touch()
            self.assertGreaterEqual((self.root / str(number)).stat().st_mtime_ns, moment, number)

    def test_a_checkout_is_no_delivery(self) -> None:
        for number in range(MOST_MADE):
            (self.root / f"f{number}").write_text("x")
        self.assertEqual(len(made_since(0)), MOST_MADE)
        (self.root / "one more").write_text("x")
        self.assertEqual(made_since(0), [])

    def test_beside_many_files(self) -> None:
        (self.root / "chart.png").write_text("x")
        (self.root / "checkout").mkdir()
        for number in range(MOST_SEEN + 1):
            (self.root / "checkout" / str(number)).touch()
            os.utime(self.root / "checkout" / str(number), ns=(1, 1))
        self.assertEqual(made_since(2), ["chart.png"])


if __name__ == "__main__":
    unittest.main()
