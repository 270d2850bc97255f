"""The watch alone: what it says of changes, and when it gives up."""

from __future__ import annotations

import os
from pathlib import Path

from server.workspace.scan import FOLDER
from server.workspace.watch import Watch

from .made import Case, write


class Watches(Case):
    def setUp(self) -> None:
        super().setUp()
        self.top = os.open(self.files, FOLDER)
        self.addCleanup(os.close, self.top)
        self.watch = Watch(self.top)
        self.addCleanup(self.watch.close)
        if not self.watch.works:
            self.skipTest("needs inotify and a file system of this machine")

    def test_names_that_changed(self) -> None:
        write(self.files, {"a": "", "d/b": ""})
        self.watch.add(self.top, ())
        below = os.open(self.files / "d", FOLDER)
        self.watch.add(below, ("d",))
        self.watch.add(below, ("d",))  # again, as each whole scan does
        os.close(below)
        write(self.files, {"a": "x", "d/c": ""})
        (self.files / "e").mkdir()
        found = self.watch.changes()
        assert found
        self.assertEqual(found.names, {(): {"a", "e"}, ("d",): {"c"}})
        self.assertEqual(found.new, {("e",)})
        again = self.watch.changes()
        assert again
        self.assertEqual(again.names, {})

    def test_a_folder_that_moved(self) -> None:
        write(self.files, {"d/b": ""})
        self.watch.add(self.top, ())
        below = os.open(self.files / "d", FOLDER)
        self.addCleanup(os.close, below)
        self.watch.add(below, ("d",))
        (self.files / "d").rename(self.files / "e")
        self.watch.add(below, ("e",))
        self.watch.drop(("d",))
        self.watch.changes()
        write(self.files, {"e/b": "x"})
        found = self.watch.changes()
        assert found
        self.assertEqual(found.names, {("e",): {"b"}})

    def test_a_folder_that_is_dropped_says_nothing(self) -> None:
        write(self.files, {"d/b": ""})
        self.watch.add(self.top, ())
        below = os.open(self.files / "d", FOLDER)
        self.addCleanup(os.close, below)
        self.watch.add(below, ("d",))
        self.watch.drop(("d",))
        write(self.files, {"d/c": ""})
        found = self.watch.changes()
        assert found
        self.assertEqual(found.names, {})

    def test_lost_events_mean_a_whole_scan(self) -> None:
        self.watch.add(self.top, ())
        most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
        for number in range(most // 2 + 10):
            os.close(os.open(self.files / f"{number % 50}", os.O_CREAT | os.O_WRONLY))
            (self.files / f"{number % 50}").unlink()
        self.assertIsNone(self.watch.changes())
        self.assertIsNotNone(self.watch.changes())

    def test_without_it_there_are_no_answers(self) -> None:
        self.watch.close()
        self.watch.add(self.top, ())
        self.assertIsNone(self.watch.changes())
