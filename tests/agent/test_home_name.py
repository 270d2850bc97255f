"""The name of a home folder, and what a session that was cut in another one is told."""

from __future__ import annotations

import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from server.agent.home_name import FILE, OTHER_HOME, home_id, remarks_on

from ..fakes import user


class Name(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def test_servers_that_start_together_agree(self) -> None:
        with ThreadPoolExecutor(8) as pool:
            names = set(pool.map(home_id, [self.folder] * 64))
        self.assertEqual(names, {(self.folder / FILE).read_text()})
        self.assertRegex(names.pop(), r"^[0-9a-f]{16}$")
        self.assertEqual([each.name for each in self.folder.iterdir()], [FILE])
        self.assertEqual((self.folder / FILE).stat().st_mode & 0o777, 0o600)

    def test_each_folder_has_its_own(self) -> None:
        (self.folder / "b").mkdir()
        self.assertNotEqual(home_id(self.folder), home_id(self.folder / "b"))

    def test_none_where_nothing_can_be_written(self) -> None:
        self.assertEqual(home_id(self.folder / "missing"), "")


class Remarks(unittest.TestCase):
    ROWS: tuple[tuple[str, str, dict[str, Any], bool], ...] = (
        ("a", "b", {"status": "in_progress"}, True),
        ("a", "b", {"calls": {"c": {"name": "f", "state": "started"}}}, True),
        ("a", "b", {"status": "interrupted", "calls": {"c": {"state": "asking"}}}, False),
        ("a", "b", {"status": "completed"}, False),
        ("a", "a", {"status": "in_progress"}, False),
        ("", "b", {"status": "in_progress"}, False),
        ("a", "", {"status": "in_progress"}, False),
    )

    def test_only_where_something_may_be_lost(self) -> None:
        for before, home, about, is_told in self.ROWS:
            with self.subTest(before=before, home=home, about=about):
                session: Any = {"messages": [user("go")], "run": {"home": before}, **about}
                codes = [each["code"] for each in remarks_on(session, home)]
                self.assertEqual(codes, [OTHER_HOME] if is_told else [])
        new: tuple[Any, ...] = ({"messages": []}, {"status": "in_progress", "run": {}})
        for document in new:
            self.assertEqual(remarks_on(document, "b"), [])


if __name__ == "__main__":
    unittest.main()
