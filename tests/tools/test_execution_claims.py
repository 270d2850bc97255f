"""Claims: exactly one winner, results for a while, ids that never become paths."""

from __future__ import annotations

import multiprocessing
import os
import stat
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.tools.execution_claims import Claims, _owner_of


def race(folder: str, start: Any, wins: Any) -> None:
    claims = Claims(Path(folder), 60, 60)
    start.wait()
    for number in range(200):
        if claims.take("session", f"call-{number}", 1):
            with wins.get_lock():
                wins.value += 1


class Case(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name) / "claims"
        self.now = 1_000_000_000.0
        self.claims = Claims(self.folder, 100, 10, clock=lambda: self.now)

    def age(self, seconds: float) -> None:
        """Make everything there is so old."""
        for path in self.folder.iterdir():
            os.utime(path, (self.now - seconds, self.now - seconds))


class Taking(Case):
    def test_once(self) -> None:
        self.assertTrue(self.claims.take("s", "c", 1))
        self.assertFalse(self.claims.take("s", "c", 1))
        for other in (("s", "c", 2), ("s", "d", 1), ("t", "c", 1), ("s\0c", "", 1)):
            self.assertTrue(self.claims.take(*other))

    def test_once_more_when_it_was_not_begun(self) -> None:
        self.assertTrue(self.claims.take("s", "c", 1))
        self.claims.release("s", "c", 1)
        self.claims.release("s", "never taken", 1)
        self.assertTrue(self.claims.take("s", "c", 1))
        self.assertFalse(self.claims.take("s", "c", 1))

    def test_two_processes_race_and_each_call_has_one_winner(self) -> None:
        context = multiprocessing.get_context("spawn")
        start, wins = context.Event(), context.Value("i", 0)
        racers = [
            context.Process(target=race, args=(str(self.folder), start, wins)) for _ in range(3)
        ]
        for racer in racers:
            racer.start()
        start.set()
        for racer in racers:
            racer.join()
        self.assertEqual(wins.value, 200)

    def test_hostile_ids_stay_in_the_folder(self) -> None:
        hostile = ["../../x", "/etc/passwd", "a" * 10_000, "\0", "\ud800", "é\n", "", "."]
        for session_id in hostile:
            self.assertTrue(self.claims.take(session_id, session_id, 1))
            self.claims.store(session_id, session_id, 1, {"x": 1})
            self.assertEqual(self.claims.fetch(session_id, session_id, 1), {"x": 1})
        names = {path.name.removesuffix(".result") for path in self.folder.iterdir()}
        self.assertEqual(len(names), len(hostile))
        self.assertTrue(all(len(name) == 64 for name in names))
        self.assertEqual([p.name for p in self.folder.parent.iterdir()], ["claims"])

    def test_readable_by_the_owner_alone(self) -> None:
        self.claims.take("s", "c", 1)
        self.claims.store("s", "c", 1, {})
        for path in (self.folder, *self.folder.iterdir()):
            self.assertEqual(stat.S_IMODE(path.stat().st_mode) & 0o077, 0)

    def test_no_claim_without_a_disk(self) -> None:
        self.folder.write_text("a file where the folder should be")
        with self.assertRaises(OSError):
            self.claims.take("s", "c", 1)
        with self.assertRaises(OSError):
            self.claims.store("s", "c", 1, {})
        self.assertIsNone(self.claims.fetch("s", "c", 1))


class Results(Case):
    def test_expiry(self) -> None:
        self.claims.take("s", "c", 1)
        self.claims.store("s", "c", 1, {"content": "héllo"})
        self.age(5)
        self.assertEqual(self.claims.fetch("s", "c", 1), {"content": "héllo"})
        self.age(11)
        self.assertIsNone(self.claims.fetch("s", "c", 1))
        self.claims.sweep()
        self.assertFalse(self.claims.take("s", "c", 1), "the claim outlives its result")
        self.age(101)
        self.claims.sweep()
        self.assertTrue(self.claims.take("s", "c", 1))

    def test_what_expired_is_told(self) -> None:
        self.claims.take("s", "c", 1)
        self.claims.take("s", "d", 1)
        self.claims.store("s", "c", 1, {"a": 1})
        self.age(11)
        with self.assertLogs("yaa.claims", "INFO") as told:
            self.claims.sweep()
        (line,) = told.output
        self.assertRegex(line, "1 claims and results expired, the oldest after 11 s; 2 are left")
        with self.assertNoLogs("yaa.claims"):
            self.claims.sweep()

    def test_results_alone_are_swept_too(self) -> None:
        """As those of callers are, whose calls this host never claims."""
        self.claims.store("s", "first", 0, {"a": 1})
        self.assertEqual(self.claims.fetch("s", "first", 0), {"a": 1})
        self.age(11)
        self.claims.sweep()
        self.assertEqual(list(self.folder.iterdir()), [])
        self.assertEqual(self.claims.horizon("s"), 0, "no claim has gone")

    def test_the_horizon_is_raised_before_a_claim_goes(self) -> None:
        for call_id, since_ms in (("a", 5000), ("b", 7000), ("c", 9000)):
            self.claims.take("s", call_id, 1, "sha256:f", since_ms)
        self.age(50)
        self.claims.take("s", "young", 1, "sha256:f", 99_000)
        os.utime(self.claims._path("s", "young", 1), (self.now, self.now))
        self.claims.sweep()
        self.assertEqual(self.claims.horizon("s"), 0)
        self.now += 60
        self.claims.sweep()
        self.assertEqual(self.claims.horizon("s"), 9000)
        self.assertFalse(self.claims.take("s", "young", 1))
        self.claims.take("s", "d", 1, "", 3000)
        os.utime(self.claims._path("s", "d", 1), (1, 1))
        self.claims.sweep()
        self.assertEqual(self.claims.horizon("s"), 9000, "it never goes back")
        self.assertTrue(self.claims.take("s", "d", 1))

    def test_a_horizon_that_cannot_be_written_keeps_the_claims(self) -> None:
        self.claims.take("s", "a", 1, "", 5000)
        self.claims.store("s", "a", 1, {})
        self.age(1000)
        self.claims._horizon_path(_owner_of("s")).mkdir()  # nothing can be moved there
        self.claims.sweep()
        self.assertFalse(self.claims.take("s", "a", 1))

    def test_what_a_claim_is_of(self) -> None:
        self.claims.take(("ann", "s"), "a", 1, "sha256:f", 1)
        self.assertEqual(self.claims.claimed_as(("ann", "s"), "a", 1), "sha256:f")
        self.assertIsNone(self.claims.claimed_as(("bob", "s"), "a", 1))
        self.assertIsNone(self.claims.claimed_as("s", "a", 1))
        for half in (b"", b"[", b'["x"]', b"{}"):
            self.claims._path(("ann", "s"), "a", 1).write_bytes(half)
            self.assertEqual(self.claims.claimed_as(("ann", "s"), "a", 1), "")
            self.assertFalse(self.claims.take(("ann", "s"), "a", 1))

    def test_the_horizon_is_of_one_owner(self) -> None:
        self.claims.take(("ann", "s"), "a", 1, "sha256:f", 5000)
        self.claims.take(("bob", "s"), "a", 1, "sha256:f", 7000)
        self.age(1000)
        self.claims.sweep()
        self.assertEqual([self.claims.horizon(each) for each in ("ann", "bob")], [5000, 7000])
        self.assertEqual(self.claims.horizon("eve"), 0)

    def test_a_time_in_the_future_decides_nothing(self) -> None:
        """It is of a document, or of a clock that was wrong."""
        self.claims.take(("ann", "s"), "a", 1, "sha256:f", 4_102_444_800_000)
        self.age(1000)
        self.claims.sweep()
        self.assertEqual(self.claims.horizon("ann"), (self.now - 100) * 1000)
        self.now += 5
        self.assertEqual(self.claims.horizon("ann"), (self.now - 100) * 1000)
        self.now += 1000
        self.assertEqual(self.claims.horizon("ann"), (self.now - 1005) * 1000, "when it was taken")

    def test_nothing_and_garbage(self) -> None:
        self.assertIsNone(self.claims.fetch("s", "c", 1))
        self.folder.mkdir()
        self.claims.store("s", "c", 1, {"a": 1})
        path = next(self.folder.glob("*.result"))
        for garbage in (b"", b"{", b"[]", b"\xff"):
            path.write_bytes(garbage)
            os.utime(path, (self.now, self.now))
            self.assertIsNone(self.claims.fetch("s", "c", 1))
        self.assertEqual([p for p in self.folder.iterdir() if "draft" in p.name], [])


if __name__ == "__main__":
    unittest.main()
