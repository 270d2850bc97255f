"""What a lane took is held against its budget, in seconds that mean the same everywhere."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from . import budget, lanes
from .report import Outcome


def took(cpu_s: float, *dearness: float) -> Outcome:
    return Outcome("unit", 1, cpu_s=cpu_s, dearness=list(dearness))


class Budget(unittest.TestCase):
    def test_a_lane_over_its_budget_is_named(self) -> None:
        for outcome, word in (
            (took(99.0), ""),
            (took(101.0), "OVER IT"),
            (took(201.0, 1.0, 2.5, 9.0), ""),  # each second was worth less than half of one
            (took(60.0, 0.5), "OVER IT"),
        ):
            with self.subTest(cpu_s=outcome.cpu_s, dearness=outcome.dearness):
                other = Outcome("other", 1, cpu_s=999.0)
                line, whole = budget.judge([outcome, other], {"unit": 100.0})
                self.assertEqual("OVER IT" if line.endswith("OVER IT") else "", word)
                self.assertEqual(outcome.failures, [])
                self.assertIn(f"all: {budget.cost(outcome):.0f} s", whole)

    def test_it_only_falls(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "budget.json"
            for cpu_s, failures, left in (
                (200.0, 0, 100.0),
                (50.0, 1, 100.0),
                (50.0, 0, 56.0),
                (90.0, 0, 56.0),
            ):
                if not file.exists():
                    file.write_text('{"unit": 100.0}')
                outcome = Outcome("unit", 1, ["it failed"] * failures, cpu_s=cpu_s)
                budget.lower([outcome, Outcome("new", 1, cpu_s=1.0)], file)
                self.assertEqual(budget.read(file), {"unit": left}, cpu_s)

    def test_it_names_lanes(self) -> None:
        self.assertLessEqual(set(budget.read()), {lane.name for lane in lanes.LANES})

    def test_work_costs_something(self) -> None:
        self.assertGreater(budget.dearness(), 0.0)


if __name__ == "__main__":
    unittest.main()
