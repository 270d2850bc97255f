"""Files kept in memory: read once, read again when they change, never more than allowed."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

from server.api.file_contents import LARGEST, Content, Contents


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def file(self, name: str, body: bytes) -> Path:
        path = self.root / name
        path.write_bytes(body)
        return path

    def read(self, contents: Contents, path: Path) -> Content:
        found = contents.read(path)
        assert found is not None
        return found


class Reading(Case):
    def test_a_file_is_read_once(self) -> None:
        contents, path = Contents(), self.file("a.js", b"one")
        first = self.read(contents, path)
        self.assertIs(self.read(contents, path), first)
        self.assertEqual((first.body, len(first.digest)), (b"one", 24))

    def test_a_change_is_seen(self) -> None:
        contents, path = Contents(), self.file("a.js", b"one")
        before = self.read(contents, path)
        path.write_bytes(b"longer")
        self.assertEqual(self.read(contents, path).body, b"longer")
        self.assertEqual(before.body, b"one")
        # Another file of the same size and time is put in its place.
        other = self.file("b.js", b"LONGER")
        status = path.stat()
        os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
        other.replace(path)
        self.assertEqual(self.read(contents, path).body, b"LONGER")

    def test_a_file_that_is_too_large_or_gone(self) -> None:
        contents = Contents()
        self.assertIsNone(contents.read(self.file("large.js", b"x" * (LARGEST + 1))))
        whole = self.read(contents, self.file("largest.js", b"x" * LARGEST))
        self.assertEqual(len(whole.body), LARGEST)
        path = self.file("a.js", b"one")
        contents.read(path)
        path.unlink()
        with self.assertRaises(OSError):
            contents.read(path)

    def test_the_limit_holds(self) -> None:
        contents = Contents(limit=25)
        paths = [self.file(f"{name}.js", name.encode() * 10) for name in "abc"]
        found = [self.read(contents, path) for path in paths]
        self.assertIs(self.read(contents, paths[2]), found[2])
        self.assertIsNot(self.read(contents, paths[0]), found[0])
        for _ in range(5):  # the size of a file that is replaced counts once
            paths[1].write_bytes(os.urandom(10))
            last = self.read(contents, paths[1])
        self.assertIs(self.read(contents, paths[1]), last)
        alone = self.file("whole.js", b"x" * 26)  # is sent, and not kept
        self.assertIsNot(self.read(contents, alone), self.read(contents, alone))


class Packing(Case):
    def test_equal_bytes_give_equal_bytes(self) -> None:
        text = b"the same words " * 100
        first, second = Content("a.js", text).compress(), Content("b.css", text).compress()
        self.assertEqual(first, second)
        assert first is not None
        self.assertLess(len(first), 200)
        self.assertIsNone(Content("a.png", text).compress())
        self.assertIsNone(Content("a.js", b"short").compress())


if __name__ == "__main__":
    unittest.main()
