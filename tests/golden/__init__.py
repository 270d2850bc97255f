"""Texts that people read, each whole in a file of this folder.

A test gives `hold` what was said. `python3 -m tests.golden` runs the tests that do, and writes the
files anew; what that changes is read in review.
"""

from __future__ import annotations

import os
import unittest
from pathlib import Path

FOLDER = Path(__file__).parent
WRITE = "TESTS_GOLDEN"  # set: what is said is written
BY_COMMAND = "`python3 -m tests.golden` writes what is said now"


def hold(case: unittest.TestCase, name: str, said: str) -> None:
    """Fail if this is not what the file of this name has."""
    file = FOLDER / f"{name}.txt"
    if WRITE in os.environ:
        file.write_text(said)
    case.maxDiff = None
    case.assertEqual(said, file.read_text() if file.exists() else "", f"{file.name}: {BY_COMMAND}")
