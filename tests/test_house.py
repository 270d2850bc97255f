"""The budget of tests/house.json holds the figures that are counted, and no others."""

from __future__ import annotations

import json
import unittest

from . import house
from .tooling.source import forget


def tearDownModule() -> None:
    forget()


class Budget(unittest.TestCase):
    def test_each_figure_has_its_limit(self) -> None:
        """A package that has gone leaves a limit that holds nothing."""
        limits = json.loads(house.BUDGET.read_text())
        self.assertEqual(sorted(limits), sorted(house.budget()))


if __name__ == "__main__":
    unittest.main()
