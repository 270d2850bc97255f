"""Records of runs on disk: appended, cut, too long, of one session each."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from server.agent import run_records
from server.agent.run_records import RecordWriter, RunRecords
from server.session.run_record import Record, base_of

from ..fakes import user

BASE = base_of([user("go")], 1)


def session(*said: str, order: str = "go") -> Any:
    calls = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    messages = [{"id": text, "role": "assistant", "content": text} for text in said]
    if messages:
        messages[0]["tool_calls"] = calls  # type: ignore[assignment]
    return {
        "id": "s",
        "messages": [user(order), *messages, {"id": "o", "role": "assistant", "open": True}],
        "calls": {"c1": {"name": "f", "state": "started"}},
        "run": {"id": "run_1", "step": len(said)},
        "usage": {"total_tokens": len(said)},
    }


class Records(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name) / "runs"
        self.records = RunRecords(self.folder, 100)

    def file(self) -> Path:
        (folder,) = self.folder.iterdir()
        (path,) = folder.iterdir()
        return path

    def writer(self, run: str = "run_1", record: Record | None = None) -> RecordWriter:
        return self.records.writer(("", "s"), run, record)

    def found(self) -> Record | None:
        return next(iter(self.records.find(("", "s"), BASE)), None)

    def ids(self) -> list[str]:
        record = self.found()
        assert record is not None
        return [message["id"] for message in record.messages]

    def test_of_a_session_that_was_asked_about_nothing_stays(self) -> None:
        """What stays holds the memory around it: Python gives that back only as a whole."""
        for number in range(100):
            self.records.has(("ann", f"before {number}"))
        before = sys.getallocatedblocks()
        for number in range(2_000):
            self.records.has(("ann", f"s{number}"))
        self.assertLess(sys.getallocatedblocks() - before, 500)

    def test_written_piece_by_piece_and_read_at_once(self) -> None:
        writer = self.writer()
        self.assertIsNone(self.found())
        writer.append(session("a"))
        size = self.file().stat().st_size
        writer.append(session("a"))
        self.assertLess(self.file().stat().st_size - size, size / 2, "only what is new")
        writer.append(session("a", "b ☃"))
        found = self.found()
        assert found is not None
        self.assertEqual(self.ids(), ["a", "b ☃"])
        self.assertEqual(found.calls, {"c1": {"name": "f", "state": "started"}})
        self.assertEqual(found.state["usage"], {"total_tokens": 2})
        for owner, other, base in (("ann", "s", BASE), ("", "t", BASE), ("", "s", "other")):
            self.assertEqual(self.records.find((owner, other), base), [])
        self.writer("run_2", found).append(session("a", "b ☃", "c"))
        self.assertEqual(self.ids(), ["a", "b ☃", "c"])
        self.writer("run_3").append(session("x"))
        records = self.records.find(("", "s"), BASE)
        self.assertEqual([each.root for each in records], ["run_3", "run_1"], "the newest first")

    def test_the_call_log_is_that_of_the_end(self) -> None:
        """A call's entry changes after its message was recorded."""
        writer, document = self.writer(), session("a")
        writer.append(document)
        document["calls"]["c1"] = {"name": "f", "state": "done"}
        writer.append(document)
        found = self.found()
        assert found is not None
        self.assertEqual(found.calls["c1"]["state"], "done")

    def test_cut_at_every_byte(self) -> None:
        """A process was killed while it wrote: what was complete counts, and more can be added."""
        writer = self.writer()
        writer.append(session("a"))
        first = self.file().read_bytes()
        writer.append(session("a", "b"))
        data = self.file().read_bytes()
        for cut in range(len(data) + 1):
            self.file().write_bytes(data[:cut])
            if cut < len(first):
                self.assertIsNone(self.found(), cut)
                continue
            self.assertEqual(self.ids(), ["a", "b"] if cut == len(data) else ["a"])
            self.writer("run_2", self.found()).append(session("a", "b", "c"))
            self.assertEqual(self.ids(), ["a", "b", "c"], cut)

    def test_what_is_too_long_is_recorded_as_far_as_it_goes(self) -> None:
        writer = self.writer()
        writer.append(session("a"))
        with self.assertLogs("yaa.runs", "WARNING"):
            writer.append(session("a", "b" * run_records.MAX_BYTES))
        writer.ran["c9"] = "sha256:f"
        writer.append(session("a", "c"))
        self.assertLess(self.file().stat().st_size, 2000)
        self.assertEqual(self.ids(), ["a"], "none between which one is missing")
        found = self.found()
        assert found is not None
        self.assertEqual(found.ran, {"c9": "sha256:f"}, "what runs is recorded all the same")

    def test_where_nothing_can_be_written(self) -> None:
        self.folder.write_text("a file")
        with self.assertRaises(OSError):
            self.writer().append(session("a"))

    def test_what_an_expired_record_leaves(self) -> None:
        """Which calls may have run, in a few hundred bytes, for KEPT_TIMES as long."""
        writer = self.writer()
        writer.ran["c1"] = "sha256:f"
        writer.append(session("a" * 5000))
        writer.ran["c2"] = ""  # it did not begin
        writer.append(session("a" * 5000))
        self.records.sweep()
        self.assertEqual(len(self.ids()), 1, "not before it expires")
        os.utime(self.file(), (1, 1))
        self.records.sweep()
        found = self.found()
        assert found is not None
        self.assertEqual((found.ran, found.messages), ({"c1": "sha256:f"}, []))
        self.assertLess(self.file().stat().st_size, 200)
        self.records.sweep()
        self.assertIsNotNone(self.found())
        os.utime(self.file(), (1, 1))
        self.assertTrue(self.records.has(("", "s")))
        self.records.sweep()
        self.assertIsNone(self.found())
        self.assertFalse(self.records.has(("", "s")), "its folder is gone, too")

    def test_what_all_take_is_bounded(self) -> None:
        """Beyond a number of bytes the oldest shrink before they expire."""
        self.addCleanup(setattr, run_records, "MAX_TOTAL", run_records.MAX_TOTAL)
        orders = ("one", "two", "three")
        bases = [base_of([user(order)], 1) for order in orders]
        for order in orders:
            writer = self.writer()
            writer.ran["c1"] = "sha256:f"
            writer.append(session("a" * 1000, order=order))
        (folder,) = self.folder.iterdir()
        for number, base in enumerate(bases):
            at = time.time() - 3 + number
            os.utime(folder / base, (at, at))
        run_records.MAX_TOTAL = 2 * max(path.stat().st_size for path in folder.iterdir())
        self.records.sweep()
        shrunk = [not self.records.find(("", "s"), base)[0].messages for base in bases]
        self.assertEqual(shrunk, [True, False, False])

    def test_nothing_is_kept_without_a_folder(self) -> None:
        nowhere = RunRecords()
        nowhere.writer(("", "s"), "run_1").append(session("a"))
        self.assertEqual(nowhere.find(("", "s"), BASE), [])
        nowhere.sweep()


if __name__ == "__main__":
    unittest.main()
