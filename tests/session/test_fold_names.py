"""Both folds know the same events, and each is in a vector and in the reference."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

from server.session import events, fold

from ..tooling.tools import ROOT

SCRIPT = (ROOT / "client/js/core/fold.js").read_text("utf-8")
VECTORS = (ROOT / "tests/vectors/fold.json").read_text("utf-8")
REFERENCE = (ROOT / "docs/reference/events.md").read_text("utf-8")


def script_table(name: str) -> set[str]:
    """Return the keys of a table in fold.js."""
    body = re.search(rf"const {name} = new Map\((.*?)\n  }}\)", SCRIPT, re.S)
    assert body, name
    return set(re.findall(r"^    ([A-Z_]+):", body[1], re.M))


def custom_names() -> set[str]:
    """Return the names of CUSTOM events that fold.py compares with."""
    source = Path(fold.__file__).read_text("utf-8")
    return {getattr(events, name) for name in re.findall(r"\bname [!=]= ([A-Z_]+)\b", source)}


class Names(unittest.TestCase):
    def test_both_have_the_same_tables(self) -> None:
        for name in ("FOLDS", "REQUIRED", "DELTAS"):
            self.assertEqual(script_table(name), set(getattr(fold, name)), name)

    def test_both_fold_the_same_custom_events(self) -> None:
        self.assertTrue(custom_names())
        self.assertEqual(set(re.findall(r"\bname [!=]== '([^']+)'", SCRIPT)), custom_names())

    def test_neither_names_a_capability(self) -> None:
        for source in (SCRIPT, Path(fold.__file__).read_text("utf-8")):
            self.assertEqual(re.findall(r"(?i)workspace|skill|mcp|hook", source), [])

    def test_each_has_a_vector_and_a_row_of_the_reference(self) -> None:
        for name in custom_names() | set(fold.FOLDS) | set(fold.DELTAS):
            with self.subTest(name):
                self.assertIn(name, REFERENCE)
                self.assertIn(f'"{name}"', VECTORS)


if __name__ == "__main__":
    unittest.main()
