"""What a host keeps of sessions, and that what is in use stays."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

from server.tools.retention import StorageFigures, Workspaces, storage_figures

NOW = 1_700_000_000.0
DAY = 86400


class Swept(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def workspaces(self, days: float) -> Workspaces:
        return Workspaces(self.folder, days, 300, clock=lambda: NOW)

    def made(self, name: str, age_s: float) -> Path:
        path = self.folder / name
        path.mkdir()
        (path / "deep").mkdir()
        (path / "deep" / "file").write_text("x")
        os.utime(path, (NOW - age_s, NOW - age_s))
        return path

    def test_only_folders_of_sessions_that_nobody_uses(self) -> None:
        gone = self.made("0" * 32, 2 * DAY)
        stay = [
            self.made("1" * 32, DAY),  # a call that began a day ago may still run
            self.made("2" * 32, 0),
            self.made("own-1", 9 * DAY),
            self.made("notes", 9 * DAY),
        ]
        outside = self.made("3" * 31, 9 * DAY)
        link = self.folder / ("4" * 32)
        link.symlink_to(outside)
        os.utime(link, (0, 0), follow_symlinks=False)
        self.assertEqual(self.workspaces(1).kept(), StorageFigures("workspaces", 3, 2 * DAY, 1))
        self.assertEqual(self.workspaces(1).sweep(), 1)
        self.assertEqual([path for path in (*stay, outside, link) if not path.exists()], [])
        self.assertFalse(gone.exists())
        self.assertEqual(len(list(self.folder.iterdir())), 6)

    def test_the_state_of_a_workspace_goes_with_it(self) -> None:
        home = self.folder / "home"
        for name, then in (("0" * 32, 0.0), ("1" * 32, NOW)):
            for kind in ("workspaces", "workspace_state"):
                (home / kind / name).mkdir(parents=True)
                os.utime(home / kind / name, (then, then))
        self.assertEqual(Workspaces(home / "workspaces", 1, 0, clock=lambda: NOW).sweep(), 1)
        self.assertEqual([path.name for path in (home / "workspace_state").iterdir()], ["1" * 32])

    def test_what_a_workspace_links_to_stays(self) -> None:
        outside = self.made("notes", 0)
        (self.made("0" * 32, 0) / "link").symlink_to(outside)
        os.utime(self.folder / ("0" * 32), (0, 0))
        self.assertEqual(self.workspaces(1).sweep(), 1)
        self.assertTrue((outside / "deep" / "file").exists())

    def test_a_call_that_begins_now_gets_its_folder_back(self) -> None:
        folder = self.made("0" * 32, 0)
        self.assertFalse(self.workspaces(1)._remove(folder))
        self.assertTrue((folder / "deep" / "file").exists())

    def test_never_by_default_and_nothing_where_there_is_nothing(self) -> None:
        self.made("0" * 32, 9999 * DAY)
        self.assertEqual(self.workspaces(0).sweep(), 0)
        self.assertEqual(self.workspaces(0).kept().expired, 0)
        self.assertEqual(Workspaces(self.folder / "none", 1, 0).sweep(), 0)
        found = storage_figures(self.folder / "none", 1, 1, 1)
        self.assertEqual([each.number for each in found], [0, 0, 0, 0])


if __name__ == "__main__":
    unittest.main()
