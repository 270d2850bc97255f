"""What a folder weighs, and how it is said that there is too much in it."""

from __future__ import annotations

import mmap
import os
import tempfile
import unittest
from pathlib import Path

from server.lib.sandbox import supervisor
from server.lib.sandbox.supervisor import Supervisor

LIMITS: dict[str, float] = {
    "wall_s": 20,
    "cpu_s": 20,
    "memory_mb": 400,
    "disk_mb": 1,
    "processes": 24,
}
MB = 1 << 20


class Weighed(supervisor.Disk):
    """A folder that weighs what it is told to, on a file system with the room it is told of."""

    held = 0  # of that, in deleted files

    def __init__(self, weight: int = 0) -> None:
        self.weight, self.free = weight, 1 << 40
        super().__init__("/", LIMITS["disk_mb"])

    def left(self) -> int:
        return self.free

    def sum(self) -> int:
        return self.weight

    def held_size(self) -> int:
        return self.held

    def grown(self, by: int) -> Weighed:
        self.weight, self.free = self.weight + by, self.free - by
        return self


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_a_file_with_several_names_counts_once(self) -> None:
        """As of a local clone or a package manager."""
        (self.folder / "sub").mkdir()
        one = self.folder / "one"
        one.write_bytes(os.urandom(1 << 20))
        weight = supervisor.size_of(str(self.folder))
        self.assertGreaterEqual(weight, 1 << 20)
        for name in ("two", "sub/three"):
            (self.folder / name).hardlink_to(one)
        self.assertEqual(supervisor.size_of(str(self.folder)), weight)
        (self.folder / "another").write_bytes(os.urandom(1 << 20))
        self.assertGreaterEqual(supervisor.size_of(str(self.folder)), weight + (1 << 20))

    def test_a_deleted_file_that_is_mapped_counts(self) -> None:
        """Also where two mappings hold parts of it."""
        one, folder = self.folder / "one", str(self.folder.resolve())
        with one.open("w+b") as file:
            file.truncate(3 * mmap.PAGESIZE)
            with (
                mmap.mmap(file.fileno(), mmap.PAGESIZE),
                mmap.mmap(file.fileno(), mmap.PAGESIZE, offset=2 * mmap.PAGESIZE),
            ):
                self.assertEqual(supervisor.deleted_maps(os.getpid(), folder), {})
                one.unlink()
                found = supervisor.deleted_maps(os.getpid(), folder)
        self.assertEqual([*found.values()], [2 * mmap.PAGESIZE])

    def test_what_is_soon_judged_comes_first(self) -> None:
        """Of many that fork, the memory that each has by itself takes long to tell."""
        disk = Weighed(3 << 20).grown(1 << 20)
        found = Supervisor(0, -1, LIMITS, [disk]).breach_of(supervisor.Use(25, 0, 1 << 30))
        self.assertEqual(found, {"limit": "processes", "allowed": 24, "observed": 25})

    def test_what_is_told_of_too_much(self) -> None:
        for size, observed in (
            (3 << 20, 3),
            (supervisor.TOO_MANY, "more than 200000 files"),
            (supervisor.TOO_MANY + 4096, "more than 200000 files"),
        ):
            with self.subTest(size=size):
                disk = Weighed(size - MB).grown(MB)
                found = Supervisor(0, -1, LIMITS, [disk]).breach_of(supervisor.Use(1, 0, 0))
                self.assertEqual(found, {"limit": "disk_mb", "allowed": 1, "observed": observed})

    def test_a_real_folder_is_judged_by_what_was_added(self) -> None:
        """It may be larger than the limit; that it grew is learned when its file system shrinks."""

        class Real(Weighed):
            """A folder that the call did not fill."""

            def __init__(self, weight: int) -> None:
                self.weight, self.free = weight, 1 << 40
                supervisor.Disk.__init__(self, "/", LIMITS["disk_mb"], adds=True)

        size = 5000 * MB
        for steps, found in (
            ((0, 0, 0), None),
            ((1000, 1000), None),
            ((MB // 2, MB // 4), None),
            ((MB // 2, MB), size + MB // 2 + MB),
            ((MB // 4,) * 6, size + MB // 4 * 5),
            ((-MB, -MB), None),
        ):
            with self.subTest(steps):
                disk = Real(size)
                over = [disk.grown(step).over() for step in steps]
                self.assertEqual(next(filter(None, over), None), found)
        disk = Real(size)
        self.assertIsNone(disk.grown(2 * MB).over(ended=True), "it ended by itself")

    def test_what_was_too_much_before_ends_no_call_that_adds_nothing(self) -> None:
        """Else nothing could be deleted that takes longer than a moment."""
        for size in (3 * MB, supervisor.TOO_MANY):
            disk = Weighed(size)
            looked = [disk.over() for _ in range(3 * supervisor.COUNTED)]
            self.assertEqual({*looked, disk.over(ended=True)}, {None})
        disk.weight = 3 * MB  # something else freed as much as this added
        looked = [disk.over() for _ in range(supervisor.COUNTED)]
        disk.weight += 1
        looked += [disk.over() for _ in range(supervisor.COUNTED)]
        self.assertEqual([each for each in looked if each], [3 * MB + 1])

    def test_deleted_files_count_though_something_else_frees_as_much(self) -> None:
        """No file of an earlier call is held, so that nothing has to be seen to grow."""
        for held, found in ((MB // 2, None), (3 * MB, 3 * MB)):
            with self.subTest(held=held):
                disk = Weighed(3 * MB)
                disk.held = held
                looked = [disk.over() for _ in range(supervisor.COUNTED)]
                self.assertEqual(looked[-1], found)

    def test_many_calls_that_add_little_each(self) -> None:
        disk = Weighed(MB)
        added = disk.grown(MB // 16)
        self.assertEqual((added.over(), added.over(ended=True)), (None, None))
        self.assertEqual(disk.grown(MB).over(ended=True), disk.weight)


if __name__ == "__main__":
    unittest.main()
