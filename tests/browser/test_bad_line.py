"""Rows of the table of a bad line in a browser (bad_line.py): what no test without one has."""

from __future__ import annotations

import unittest

from . import walks
from .bad_line import go

ROWS = [
    ("send while every call asks", "502 once"),
    ("send a file", "hang"),
    ("stop", "hang"),
    ("look at a change", "502 once"),
    ("open the page, its script", "502 once"),
    ("open the page, its language", "hang"),
    ("open the page, send, its script", "hang"),
]


class BadLine(walks.Both):
    def check(self, browser: str) -> None:
        steps, error = go(browser, ROWS)
        self.assertEqual(error, "")
        self.assertEqual({name: broken for name, broken in steps.items() if broken}, {})
        self.assertEqual(len(steps), len(ROWS))


if __name__ == "__main__":
    unittest.main()
