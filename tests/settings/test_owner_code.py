"""server/settings/owner_code.py."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from types import ModuleType

from server.settings.owner_code import load


class Trusted(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="yaa-trusted-")))
        self.path = self.folder / "mine.py"

    def value(self) -> object:
        module = load(self.path, "hooks")
        assert isinstance(module, ModuleType), module
        return module.VALUE

    def test_a_file_that_changes_in_the_same_second_and_keeps_its_size(self) -> None:
        for value in (1, 2, 3):
            self.path.write_text(f"VALUE = {value}\n")
            os.utime(self.path, (1_700_000_000, 1_700_000_000))
            self.assertEqual(self.value(), value)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["mine.py"])

    def test_what_a_file_raises_is_said(self) -> None:
        for source, said in (
            ("1 / 0", "ZeroDivisionError: division by zero"),
            ("def (:", "SyntaxError in line 1"),
            ("raise SystemExit(3)", "SystemExit: 3"),
            ("\0", "source code string cannot contain null bytes"),
        ):
            with self.subTest(source):
                self.path.write_text(source)
                self.assertIn(said, str(load(self.path, "hooks")))

    def test_files_that_others_may_write(self) -> None:
        self.path.write_text("VALUE = 1\n")
        self.path.chmod(0o602)
        self.assertEqual(load(self.path, "hooks"), "it can be written by others: chmod go-w")


if __name__ == "__main__":
    unittest.main()
