"""Records of runs on disk: appended, cut, too long, of one session each."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.agent import run_records
from server.agent.run_records import RunRecords

from ..fakes import user


def session(*said: str) -> Any:
    calls = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    messages = [{"id": text, "role": "assistant", "content": text} for text in said]
    if messages:
        messages[0]["tool_calls"] = calls  # type: ignore[assignment]
    return {
        "id": "s",
        "messages": [user("go"), *messages, {"id": "o", "role": "assistant", "open": True}],
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
        (path,) = self.folder.iterdir()
        return path

    def test_written_piece_by_piece_and_read_whole(self) -> None:
        writer = self.records.writer(("", "s"))
        self.assertIsNone(self.records.find(("", "s")))
        writer.append(session("a"))
        size = self.file().stat().st_size
        writer.append(session("a"))
        self.assertLess(self.file().stat().st_size - size, size / 2, "only what is new")
        writer.append(session("a", "b ☃"))
        found = self.records.find(("", "s"))
        assert found is not None
        self.assertEqual([m["id"] for m in found.messages], ["a", "b ☃"])
        self.assertEqual(found.calls, {"c1": {"name": "f", "state": "started"}})
        self.assertEqual(found.state["usage"], {"total_tokens": 2})
        for other in (("ann", "s"), ("", "t"), ("", '["","s"]')):
            self.assertIsNone(self.records.find(other))
        again = self.records.writer(("", "s"), found)
        again.append(session("a", "b ☃", "c"))
        found = self.records.find(("", "s"))
        assert found is not None
        self.assertEqual([m["id"] for m in found.messages], ["a", "b ☃", "c"])
        self.records.writer(("", "s")).append(session("x"))
        found = self.records.find(("", "s"))
        assert found is not None
        self.assertEqual([m["id"] for m in found.messages], ["x"], "another run replaces it")
        again.forget()
        self.assertIsNone(self.records.find(("", "s")))

    def test_cut_at_every_byte(self) -> None:
        """A process was killed while it wrote: what was whole counts, and more can be added."""
        writer = self.records.writer(("", "s"))
        writer.append(session("a"))
        whole = self.file().read_bytes()
        writer.append(session("a", "b"))
        data = self.file().read_bytes()
        for cut in range(len(data) + 1):
            self.file().write_bytes(data[:cut])
            found = self.records.find(("", "s"))
            if cut < len(whole):
                self.assertIsNone(found, cut)
                continue
            assert found is not None
            ids = [m["id"] for m in found.messages]
            self.assertEqual(ids, ["a", "b"] if cut == len(data) else ["a"])
            self.records.writer(("", "s"), found).append(session("a", "b", "c"))
            found = self.records.find(("", "s"))
            assert found is not None
            self.assertEqual([m["id"] for m in found.messages], ["a", "b", "c"], cut)

    def test_what_is_too_long_is_recorded_as_far_as_it_goes(self) -> None:
        writer = self.records.writer(("", "s"))
        writer.append(session("a"))
        with self.assertLogs("yaa.runs", "WARNING"):
            writer.append(session("a", "b" * run_records.MAX_BYTES))
        writer.append(session("a", "c"))
        self.assertLess(self.file().stat().st_size, 2000)

    def test_where_nothing_can_be_written(self) -> None:
        self.folder.write_text("a file")
        with self.assertRaises(OSError):
            self.records.writer(("", "s")).append(session("a"))

    def test_swept(self) -> None:
        self.records.writer(("", "s")).append(session("a"))
        self.records.sweep()
        self.assertIsNotNone(self.records.find(("", "s")))
        os.utime(self.file(), (1, 1))
        self.records.sweep()
        self.assertIsNone(self.records.find(("", "s")))

    def test_nothing_is_kept_without_a_folder(self) -> None:
        nowhere = RunRecords()
        nowhere.writer(("", "s")).append(session("a"))
        self.assertIsNone(nowhere.find(("", "s")))
        nowhere.sweep()


if __name__ == "__main__":
    unittest.main()
