"""Servers killed while files change, few times: see files.py."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

from ..tooling import turns
from .files import MODES, told, tree_of


class Storm(unittest.TestCase):
    def test_files_are_those_of_the_document(self) -> None:
        for mode in turns.share(MODES, 3):
            with self.subTest(mode):
                kills, wrong = told("kept", mode)
                self.assertEqual(wrong, "")
                self.assertGreaterEqual(sum(kills.values()), 3, kills)


class Trees(unittest.TestCase):
    """What the storm compares tells any two folders apart."""

    def test_every_difference_is_one_of_trees(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            top = Path(name)
            (top / "d").mkdir()
            (top / "d" / "f").write_text("x")
            seen = [tree_of(top)]
            for change in (
                lambda: (top / "d" / "f").write_text("y"),
                lambda: (top / "d" / "f").chmod(0o600),
                lambda: (top / "link").symlink_to("d"),
                lambda: (top / "other").symlink_to("e"),
                lambda: (top / "other").rename(top / "link"),
                lambda: (top / "empty").mkdir(),
                lambda: (top / "empty").chmod(0o700),
                lambda: (top / "d" / "f").rename(top / "f"),
                lambda: Path(os.fsdecode(b"%s/\xff" % os.fsencode(top))).touch(),
            ):
                change()
                seen.append(tree_of(top))
        self.assertEqual(len(set(seen)), len(seen))


if __name__ == "__main__":
    unittest.main()
