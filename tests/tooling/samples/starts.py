"""One that starts a program."""

import subprocess
import sys
import unittest


class Starts(unittest.TestCase):
    def test_it(self) -> None:
        subprocess.run([sys.executable, "-c", ""], check=True)
