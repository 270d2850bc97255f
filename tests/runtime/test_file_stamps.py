"""Changes that stamps show, and those that they cannot."""

from __future__ import annotations

import os
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path

from server.lib.runtime import file_stamps
from server.lib.runtime.file_stamps import FileStamps, stamp_of


class Stamps(unittest.TestCase):
    def setUp(self) -> None:
        self.top = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file, self.folder = self.top / "file", self.top / "folder"
        self.file.write_text("one")
        self.folder.mkdir()

    def age(self, *paths: Path, hours: float = 1) -> None:
        then = time.time() - hours * 3_600
        for path in paths or (self.file, self.folder):
            os.utime(path, (then, then))

    def stamps(self) -> FileStamps:
        return FileStamps(map(str, (self.file, self.folder, self.top / "nothing")))

    def test_what_they_show(self) -> None:
        old = self.top / "old"
        changes: list[tuple[str, Callable[[], object]]] = [
            ("a text of the same length", lambda: self.file.write_text("two")),
            ("the time alone", lambda: self.age(self.file, hours=2)),
            ("rights", lambda: self.file.chmod(0o600)),
            ("another file of this name", lambda: (old.write_text("x"), old.replace(self.file))),
            ("something in the folder", lambda: (self.folder / "more").touch()),
            ("what was in it goes", lambda: (self.folder / "more").unlink()),
            ("the folder goes", self.folder.rmdir),
            ("it is a file now", self.folder.touch),
            ("something where nothing was", (self.top / "nothing").touch),
        ]
        for name, change in changes:
            with self.subTest(name):
                self.age(*(each for each in (self.file, self.folder) if each.exists()))
                stamps = self.stamps()
                self.assertTrue(stamps.are_current())
                change()
                self.assertFalse(stamps.are_current())

    def test_just_after_a_change_another_could_have_the_same_time(self) -> None:
        now = time.time_ns() | 1
        whole = now // 10**9 * 10**9  # as file systems write it that count in seconds
        cases = [
            ("now", now, False),
            ("an hour ago", now - 3_600 * 10**9, True),
            ("by a clock that is fast", now + 60 * 10**9, True),
            ("a whole second ago", whole, False),
            ("an hour ago, in seconds", whole - 3_600 * 10**9, True),
        ]
        for name, then, current in cases:
            with self.subTest(name):
                os.utime(self.file, ns=(then, then))
                self.assertEqual(FileStamps([str(self.file)], now).are_current(), current)

    def test_too_many_are_not_looked_at(self) -> None:
        for more, current in ((0, True), (1, False)):
            paths = [f"{self.top}/none/{number}" for number in range(file_stamps.MOST + more)]
            self.assertEqual(FileStamps(paths).are_current(), current)
        self.assertTrue(FileStamps([]).are_current())

    def test_nothing_there(self) -> None:
        link = self.top / "link"
        link.symlink_to("missing")
        for path in (link, self.file / "below", self.top / ("x" * 5_000), self.top / "nothing"):
            self.assertEqual(stamp_of(path), ())
        (self.top / "missing").touch()
        self.assertNotEqual(stamp_of(link), ())


if __name__ == "__main__":
    unittest.main()
