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
        sessions = {("", "s"), ("ann", "s"), ("", '["ann","s"]'), ("", "../\ud800")}
        for each in (self.mine, self.theirs):
            for session in sessions:
                each.begin(session)
            self.assertEqual(each.new_requests(sessions), set())
        for session in sessions:
            for _ in range(3):
                self.theirs.send(session)
                self.assertEqual(self.theirs.new_requests(sessions), set())
                self.assertEqual(self.mine.new_requests(sessions), {session})
                self.assertEqual(self.mine.new_requests(sessions), set())
        self.assertEqual(len([*self.folder.iterdir()]), len(sessions), "one file for each session")

    def test_only_what_came_after_the_beginning(self) -> None:
        session = ("", "s")
        self.theirs.send(session)
        self.mine.begin(session)
        self.assertEqual(self.mine.new_requests({session}), set())
        self.theirs.send(session)
        self.mine.begin(session)  # it ended, and begins again
        self.assertEqual(self.mine.new_requests({session}), set())
        self.theirs.send(("", "another"))
        self.assertEqual(self.mine.new_requests({session}), set())

    def test_a_request_in_the_moment_of_a_look_is_seen_by_the_next(self) -> None:
        """The folder looks as it did then: its time has the steps of a tick."""
        session = ("", "s")
        self.theirs.send(("", "other"))
        self.mine.begin(session)
        at = self.folder.stat().st_mtime_ns
        self.assertEqual(self.mine.new_requests({session}), set())
        self.theirs.send(session)
        os.utime(self.folder, ns=(at, at))
        self.assertEqual(self.mine.new_requests({session}), {session})

    def test_what_does_not_run_is_forgotten(self) -> None:
        for number in range(100):
            self.mine.begin(("", f"s{number}"))
            self.mine.new_requests({("", f"s{number}")})
        self.assertEqual(len(self.mine._seen), 1)

    def test_old_requests_are_removed(self) -> None:
        self.theirs.send(("", "s"))
        for path in self.folder.iterdir():
            os.utime(path, (1, path.stat().st_mtime - KEPT_S - 60))
        self.mine.sweep()
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_one_process_alone(self) -> None:
        alone = StopSignals()
        alone.begin(("", "s"))
        alone.send(("", "s"))
        self.assertEqual(alone.new_requests({("", "s")}), set())

    def test_no_folder_can_be_made(self) -> None:
        self.folder.write_text("a file")
        with self.assertRaises(OSError):
            self.mine.send(("", "s"))
        self.assertEqual(self.mine.new_requests({("", "s")}), set())


if __name__ == "__main__":
    unittest.main()
