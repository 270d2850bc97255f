"""Files of lines: renamed when they are large, by one of several writers, and by others' hands."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from server.telemetry.log import RotatingFile, Rotation

from ..tooling.tools import ROOT

WRITER = """
import sys
from pathlib import Path
from server.telemetry.log import RotatingFile, Rotation
file = RotatingFile(Path(sys.argv[1]), Rotation(5_000, 1000))
for number in range(2_000):
    file.write(f"{sys.argv[2]} {number} {'x' * 40}\\n".encode())
"""
FORKED = """
import os, sys
from pathlib import Path
from server.telemetry.log import RotatingFile, Rotation
file = RotatingFile(Path(sys.argv[1]), Rotation(5_000, 1000))
file.write(b"parent 0 \\n")
for name in "ab":
    if not os.fork():
        for number in range(2_000):
            file.write(f"{name} {number} {'x' * 40}\\n".encode())
        os._exit(0)
for _ in "ab":
    os.wait()
"""


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.path = self.folder / "a.log"

    def file(self, most: int, keep: int) -> RotatingFile:
        made = RotatingFile(self.path, Rotation(most, keep))
        self.addCleanup(made.close)
        return made

    def contents(self) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in sorted(self.folder.iterdir())}


class Alone(Case):
    def test_sizes_and_numbers(self) -> None:
        for keep, expected in (
            (0, {"a.log": b"6\n7\n"}),
            (1, {"a.log": b"6\n7\n", "a.log.1": b"4\n5\n"}),
            (2, {"a.log": b"6\n7\n", "a.log.1": b"4\n5\n", "a.log.2": b"2\n3\n"}),
        ):
            with self.subTest(keep=keep):
                for old in self.folder.iterdir():
                    old.unlink()
                file = self.file(4, keep)
                for number in range(8):
                    file.write(b"%d\n" % number)
                self.assertEqual(self.contents(), expected)

    def test_a_line_that_is_larger_than_a_file(self) -> None:
        file = self.file(4, 5)
        for line in (b"0123456789\n", b"a\n", b"b\n", b"c\n"):
            file.write(line)
        found = self.contents()
        self.assertEqual(found["a.log.2"], b"0123456789\n")
        self.assertEqual(found["a.log.1"] + found["a.log"], b"a\nb\nc\n")

    def test_what_is_there_already_is_gone_on_with(self) -> None:
        self.path.write_bytes(b"old\n")
        self.file(100, 1).write(b"new\n")
        self.assertEqual(self.contents(), {"a.log": b"old\nnew\n"})

    def test_renamed_or_removed_by_somebody_else(self) -> None:
        """As logrotate does it: no signal is needed."""
        file = self.file(100, 1)
        file.write(b"1\n")
        self.path.rename(self.folder / "moved")
        file.write(b"2\n")
        self.path.unlink()
        file.write(b"3\n")
        self.assertEqual(self.contents(), {"a.log": b"3\n", "moved": b"1\n"})

    def test_only_the_owner_may_read_it_and_no_link_is_followed(self) -> None:
        self.file(100, 1).write(b"1\n")
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o600)
        self.path.unlink()
        self.path.symlink_to(self.folder / "elsewhere")
        with self.assertRaises(OSError):
            self.file(100, 1).write(b"2\n")
        self.assertFalse((self.folder / "elsewhere").exists())

    @unittest.skipUnless(
        os.geteuid() == 0 and sys.platform == "linux", "needs root to mount a disk"
    )
    def test_a_disk_that_fills_up_and_is_emptied(self) -> None:
        """Lines are lost, at most one of them in its middle; what follows is whole."""
        command = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(self.folder)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            self.skipTest("may not mount a disk")
        self.addCleanup(subprocess.run, ["umount", str(self.folder)], check=True)
        file, line = self.file(1 << 20, 1), b"0123456789" * 99 + b"\n"
        with self.assertRaises(OSError):
            while True:
                file.write(line)
        os.truncate(self.path, 3 * len(line) + 10)
        for _ in range(3):
            file.write(line)
        found = self.path.read_bytes().splitlines(keepends=True)
        self.assertEqual(found, [line] * 3 + [line[:10] + b"\n"] + [line] * 3)
        file.close()


class Several(Case):
    def test_no_line_is_lost_torn_or_written_twice(self) -> None:
        for name, programs in (
            ("two processes", [(WRITER, "a"), (WRITER, "b")]),
            ("two that were forked from one that had it open", [(FORKED, "parent")]),
        ):
            with self.subTest(name):
                for old in self.folder.iterdir():
                    old.unlink()
                running = [
                    subprocess.Popen([sys.executable, "-c", text, str(self.path), who], cwd=ROOT)
                    for text, who in programs
                ]
                self.assertEqual([each.wait() for each in running], [0] * len(running))
                files = self.contents()
                lines = b"".join(files.values()).decode().splitlines()
                found = sorted((x.split()[0], int(x.split()[1])) for x in lines if "par" not in x)
                self.assertEqual(found, [(who, n) for who in "ab" for n in range(2_000)])
                largest = max(map(len, files.values()))
                self.assertLess(largest, 5_000 + 60)
                self.assertGreater(len(files), 20)


if __name__ == "__main__":
    unittest.main()
