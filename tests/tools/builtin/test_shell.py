"""Output of a program that is run, to its last word."""

from __future__ import annotations

import os
import unittest
from typing import Any

from server.tools.builtin.shell import until_it_ends


class Ending:
    """A program whose last word comes in the moment in which it is asked whether it has ended."""

    def __init__(self, output: int, quiet: int) -> None:
        self.output, self.quiet = output, quiet  # how often it has not ended yet

    def poll(self) -> int | None:
        self.quiet -= 1
        if self.quiet == 0:
            os.write(self.output, b"done\n")
        return None if self.quiet > 0 else 0


class Output(unittest.TestCase):
    def test_the_last_word_is_heard_whenever_it_comes(self) -> None:
        for quiet in (1, 2, 3):
            with self.subTest(quiet=quiet):
                read, write = os.pipe()
                self.addCleanup(os.close, read)
                self.addCleanup(os.close, write)  # as what it left in the background holds it
                program: Any = Ending(write, quiet)
                self.assertEqual([*until_it_ends(program, read)], [b"done\n"])


if __name__ == "__main__":
    unittest.main()
