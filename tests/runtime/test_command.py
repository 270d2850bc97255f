"""The command that a program was started with, as texts for people repeat it."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

from server.lib.runtime.command import COMMAND, command_of

# package, sys.argv[0], one file or not, the command
CASES = (
    ("server", "/home/me/yaa/server/__main__.py", False, "python3 -m server"),
    ("server", "", False, "python3 -m server"),
    ("yaa", "/home/me/.local/bin/yaa", False, "yaa"),
    ("yaa", "/opt/venv/lib/python3.13/site-packages/yaa/__main__.py", False, "python3 -m yaa"),
    ("yaa", "/home/me/program.py", False, "yaa"),  # a program that imports yaa
    ("yaa", "", False, "yaa"),
    ("yaa", "yaa.pyz", True, "python3 yaa.pyz"),
    ("yaa", "./yaa.pyz", True, "python3 yaa.pyz"),
    ("yaa", "/home/secret name/yaa-0.1.0.pyz", True, "python3 yaa-0.1.0.pyz"),
    ("yaa", "/tmp/a; rm -rf .pyz", True, "python3 yaa.pyz"),
    ("yaa", "/tmp/\x1b[31m\n.pyz", True, "python3 yaa.pyz"),
)


class Command(unittest.TestCase):
    def test_each_way_to_start(self) -> None:
        for package, started, packed, command in CASES:
            with self.subTest(started=started):
                self.assertEqual(command_of(package, started, packed=packed), command)

    def test_a_start_that_looks_for_nothing_in_the_current_folder(self) -> None:
        for package, started, command in (
            ("server", "/home/me/yaa/server/__main__.py", "python3 -P -m server"),
            ("yaa", "/opt/yaa/__main__.py", "python3 -P -m yaa"),
            ("yaa", "/home/me/.local/bin/yaa", "yaa"),
        ):
            with self.subTest(started=started):
                self.assertEqual(command_of(package, started, packed=False, safe=True), command)

    def test_this_is_a_checkout(self) -> None:
        self.assertEqual(COMMAND, "python3 -m server")

    def test_a_file_among_the_programs_is_called_by_its_name(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "yaa-in-one"
            file.write_text("")
            before = os.environ["PATH"]
            self.addCleanup(os.environ.__setitem__, "PATH", before)
            os.environ["PATH"] = folder
            self.assertEqual(command_of("yaa", str(file), packed=True), "python3 yaa-in-one")
            file.chmod(0o755)
            self.assertEqual(command_of("yaa", str(file), packed=True), "yaa-in-one")


if __name__ == "__main__":
    unittest.main()
