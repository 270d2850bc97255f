"""Requests to stop a session, between processes that share a folder."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

from server.agent.run_records import KEPT_S, StopSignals


class Signals(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name) / "stops"
        self.mine, self.theirs = StopSignals(self.folder), StopSignals(self.folder)

    def test_each_request_is_received_once_and_not_by_its_sender(self) -> None:
        self.assertEqual(self.mine.new_requests(), set())
        for session in (("", "s"), ("ann", "s"), ("", '["ann","s"]'), ("", "../\ud800")):
            for _ in range(2):
                self.theirs.send(session)
                self.assertEqual(self.theirs.new_requests(), set())
                self.assertEqual(self.mine.new_requests(), {self.mine.file_prefix(session)})
                self.assertEqual(self.mine.new_requests(), set())
        self.assertEqual(
            len({self.mine.file_prefix(each) for each in (("", "s"), ("ann", "s"))}), 2
        )

    def test_old_requests_are_removed(self) -> None:
        self.theirs.send(("", "s"))
        self.mine.new_requests()
        for path in self.folder.iterdir():
            os.utime(path, (1, path.stat().st_mtime - KEPT_S - 60))
        self.mine.new_requests()
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_one_process_alone(self) -> None:
        alone = StopSignals()
        alone.send(("", "s"))
        self.assertEqual(alone.new_requests(), set())

    def test_no_folder_can_be_made(self) -> None:
        self.folder.write_text("a file")
        with self.assertRaises(OSError):
            self.mine.send(("", "s"))
        self.assertEqual(self.mine.new_requests(), set())


if __name__ == "__main__":
    unittest.main()
