"""Recent answers in files: who gets them, how many there are, and when they go."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from server.extensions.openai import routes

from ...test_wrong_clock import ahead

Json = dict[str, Any]


def got(kept: routes.ResponseStore, owner: str, name: str) -> Json | None:
    found = kept.fetch(owner, name, 1 << 30)
    return found[0] if found else None


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "responses"
        self.now = time.time() - 10_000  # files that are not stamped are of the time to come

    def made(self, ttl_s: float = 60, max_bytes: int = 100_000) -> routes.ResponseStore:
        return routes.ResponseStore(self.folder, ttl_s, max_bytes, clock=lambda: self.now)

    def stored(self, kept: routes.ResponseStore, owner: str, name: str, value: Json) -> None:
        """Stored now, by the clock of the test; each a moment after the one before."""
        kept.store(owner, name, value)
        with contextlib.suppress(FileNotFoundError):
            os.utime(kept._place(owner) / routes._hash_name(name), (self.now, self.now))
        self.now += 0.001

    def files(self) -> list[Path]:
        return [path for path in self.folder.glob("*/*") if path.is_file()]

    def size(self) -> int:
        return sum(path.stat().st_size for path in self.files())


class Kept(Case):
    def test_it_is_given_back_to_its_owner_alone(self) -> None:
        kept, value = self.made(), {"output": ["é"]}
        self.stored(kept, "a", "resp_1", value)
        self.assertEqual(got(kept, "a", "resp_1"), value)
        self.assertEqual(got(self.made(), "a", "resp_1"), value, "another process")
        for owner, name in (("b", "resp_1"), ("", "resp_1"), ("a", "resp_2"), ("a", "../a")):
            self.assertIsNone(got(kept, owner, name))

    def test_it_expires(self) -> None:
        kept = self.made(ttl_s=60)
        self.stored(kept, "a", "n", {})
        self.now += 59
        self.assertIsNotNone(got(kept, "a", "n"))
        self.now += 2
        self.assertIsNone(got(kept, "a", "n"))

    def test_nothing_is_kept_where_that_is_off(self) -> None:
        kept = self.made(ttl_s=0)
        self.stored(kept, "a", "n", {})
        self.assertFalse(kept.keeps)
        self.assertIsNone(got(kept, "a", "n"))
        self.assertFalse(self.folder.exists())

    def test_others_cannot_read_it(self) -> None:
        self.stored(self.made(), "a", "n", {})
        (file,) = self.files()
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(file.parent.stat().st_mode), 0o700)

    def test_a_file_that_is_broken_is_not_there(self) -> None:
        kept = self.made()
        self.stored(kept, "a", "n", {})
        for broken in (b"", b"{", b"[]", b"\xff", b"[" * 100_000):
            self.files()[0].write_bytes(broken)
            os.utime(self.files()[0], (self.now, self.now))
            self.assertIsNone(got(kept, "a", "n"))

    def test_a_folder_that_cannot_be_made(self) -> None:
        self.folder.write_text("no folder")
        kept = self.made()
        with self.assertRaises(OSError):
            kept.store("a", "n", {})
        self.assertIsNone(got(kept, "a", "n"))


class Bounds(Case):
    def test_an_owner_has_so_many_bytes(self) -> None:
        kept = self.made(max_bytes=100_000)
        value = {"text": "x" * 5_000}
        for number in range(100):
            self.stored(kept, "a", f"n{number}", value)
            if number % 10 == 9:
                self.assertLess(self.size(), 100_000 * (1 + 2 / routes.SWEEP_SHARE))
        self.stored(kept, "b", "other", {})
        self.assertIsNone(got(kept, "a", "n0"))
        self.assertEqual(got(kept, "a", "n99"), value)
        self.assertGreater(self.size(), 50_000)

    def test_an_owner_has_so_many_files(self) -> None:
        kept = self.made(max_bytes=1 << 30)
        for number in range(routes.MAX_FILES + 3 * routes.SWEEP_FILES):
            self.stored(kept, "a", f"n{number}", {})
        self.assertLessEqual(len(self.files()), routes.MAX_FILES + routes.SWEEP_FILES)
        self.assertIsNone(got(kept, "a", "n0"))

    def test_one_that_is_too_large_is_not_kept(self) -> None:
        kept = self.made(max_bytes=1000)
        with self.assertRaises(OSError):
            kept.store("a", "n", {"text": "x" * 250})
        self.assertEqual(self.files(), [])

    def test_no_more_is_read_than_the_caller_takes(self) -> None:
        kept = self.made()
        self.stored(kept, "a", "n", {"text": "x" * 89})
        self.assertEqual(kept.fetch("a", "n", 100), ({"text": "x" * 89}, 100))
        self.assertEqual(kept.fetch("a", "n", 99), ({}, 100))

    def test_owners_do_not_push_each_other_out(self) -> None:
        kept = self.made(max_bytes=10_000)
        self.stored(kept, "quiet", "n", {"a": 1})
        for number in range(200):
            self.stored(kept, "loud", f"n{number}", {"text": "x" * 1000})
        self.assertEqual(got(kept, "quiet", "n"), {"a": 1})

    def test_what_expired_goes_also_where_nobody_comes_back(self) -> None:
        self.stored(self.made(ttl_s=60), "gone", "n", {})
        self.now += 120
        kept = self.made(ttl_s=60)
        self.stored(kept, "a", "first", {})
        self.assertEqual(len(self.files()), 1, "a process that starts looks at all")
        self.now += routes.SWEEP_ALL_S + 60
        self.stored(kept, "b", "n", {})
        self.assertEqual(len(self.files()), 1, "and from time to time")
        self.assertEqual(len(list(self.folder.iterdir())), 1)


class WrongClock(Case):
    def test_the_newest_answer_is_kept_whatever_the_clock_said(self) -> None:
        store = routes.ResponseStore(self.folder, 3600, 1000, clock=time.time)
        for number in range(4):
            store.store("", f"ahead {number}", {"output": "x" * 200})
        ahead(*self.folder.glob("*/*"))
        store.store("", "now", {"output": "x" * 200})
        self.assertIsNotNone(store.fetch("", "now", 1000))


if __name__ == "__main__":
    unittest.main()
