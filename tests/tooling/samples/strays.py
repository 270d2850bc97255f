"""One that leaves the current folder, as a command does that is called in this process."""

import os
import unittest


class Strays(unittest.TestCase):
    def test_it(self) -> None:
        os.chdir("/")
