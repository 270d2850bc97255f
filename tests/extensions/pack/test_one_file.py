"""The one file: what is found in it, and whose links it is not written through."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from server import extensions
from server.extensions.pack.one_file import pack

from ...settings.test_file_trust import OTHER

FROM_THE_FILE = """
import sys

sys.path.insert(0, sys.argv[1])
from yaa import extensions

print(*extensions.load_each("parts"))
"""


class OneFile(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_extensions_are_found_in_it(self) -> None:
        file = self.folder / "yaa.pyz"
        pack(file)
        code = [sys.executable, "-c", FROM_THE_FILE, str(file)]
        done = subprocess.run(code, cwd=self.folder, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.split(), [*extensions.load_each("parts")])

    @unittest.skipIf(os.geteuid(), "only root can give a link away")
    def test_a_link_of_another_user_is_not_written_through(self) -> None:
        victim, link = self.folder / "victim", self.folder / "yaa.pyz"
        victim.write_text("mine")
        link.symlink_to(victim)
        os.lchown(link, OTHER, OTHER)
        with self.assertRaisesRegex(OSError, "is a link of another user"):
            pack(link)
        self.assertEqual(victim.read_text(), "mine")


if __name__ == "__main__":
    unittest.main()
