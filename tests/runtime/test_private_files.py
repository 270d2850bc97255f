"""Files that are written as a whole: all of one or nothing, for their owner only."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from server.lib.runtime.private_files import remove_old, write

from ..tooling.tools import ROOT

LIMITED = """
import resource, signal, sys
from pathlib import Path
from server.lib.runtime.private_files import write
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
try:
    write(Path(sys.argv[1]), b"x" * 100, replace=sys.argv[2] == "replace", durable=True)
except OSError as error:
    print(error.errno)
"""


class Write(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "new" / "folder"
        self.path = self.folder / "name"

    def left(self) -> list[str]:
        return [path.name for path in self.folder.iterdir()]

    def test_what_is_written(self) -> None:
        for data in (b"one", b"", b"\0\xff" * 100_000):
            for durable in (False, True):
                with self.subTest(len(data), durable=durable):
                    self.assertTrue(write(self.path, data, durable=durable))
                    self.assertEqual(self.path.read_bytes(), data)
                    self.assertEqual(self.left(), ["name"])

    def test_only_the_owner_reads_it(self) -> None:
        before = os.umask(0)
        self.addCleanup(os.umask, before)
        write(self.path, b"secret")
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.folder.stat().st_mode & 0o777, 0o700)

    def test_a_file_that_is_there_stays(self) -> None:
        self.assertTrue(write(self.path, b"first", replace=False))
        self.assertFalse(write(self.path, b"second", replace=False))
        self.assertEqual(self.path.read_bytes(), b"first")
        self.assertEqual(self.left(), ["name"])

    def test_a_link_is_replaced_not_followed(self) -> None:
        self.folder.mkdir(parents=True)
        other = self.folder / "other"
        other.write_bytes(b"untouched")
        self.path.symlink_to(other)
        self.assertFalse(write(self.path, b"new", replace=False))
        write(self.path, b"new")
        self.assertEqual(
            (self.path.is_symlink(), self.path.read_bytes(), other.read_bytes()),
            (False, b"new", b"untouched"),
        )

    def test_a_long_name(self) -> None:
        path = self.folder / ("n" * 255)
        self.assertTrue(write(path, b"data"))
        self.assertEqual(path.read_bytes(), b"data")

    def test_no_room(self) -> None:
        """The old content stays, and no draft is left."""
        for how in ("replace", "keep"):
            with self.subTest(how):
                write(self.path, b"old")
                done = subprocess.run(
                    [sys.executable, "-c", LIMITED, str(self.path), how],
                    cwd=ROOT,
                    capture_output=True,
                    text=True,
                    check=True,
                )
                self.assertTrue(done.stdout.strip().isdigit(), done)
                self.assertEqual(self.path.read_bytes(), b"old")
                self.assertEqual(self.left(), ["name"])

    def test_of_many_at_once_one_is_first(self) -> None:
        results: list[bool] = []
        ready = threading.Barrier(8)

        def run(number: int) -> None:
            ready.wait()
            results.append(write(self.path, b"%d" % number, replace=False))

        threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results.count(True), 1)
        self.assertEqual(self.left(), ["name"])

    def test_old_files_go_and_those_of_a_wrong_clock(self) -> None:
        now = 1_000_000.0
        for name, age_s in (("new", 9), ("old", 11), ("ahead", -9), ("to come", -11)):
            write(self.folder / name, b"")
            os.utime(self.folder / name, (now - age_s, now - age_s))
        (self.folder / "folder").mkdir()  # it cannot be unlinked, and holds up nothing
        self.assertEqual(remove_old(self.folder, 10, now, "ld"), 0)  # of one that is meant
        write(self.folder / "old", b"")
        os.utime(self.folder / "old", (now - 11, now - 11))
        self.assertEqual(remove_old(self.folder, 10, now), 2)
        self.assertEqual(sorted(self.left()), ["ahead", "folder", "new"])
        self.assertEqual(remove_old(self.path, 10, now), 0)  # it is not there


if __name__ == "__main__":
    unittest.main()
