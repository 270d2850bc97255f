"""A long run that can be followed at a glance."""

from __future__ import annotations

import unittest

from . import test_accidental_input


class LongRun(test_accidental_input.AccidentalInput):
    one_engine = True

    def check(self, browser: str) -> None:
        self.walk_served("long-run", browser)


if __name__ == "__main__":
    unittest.main()
