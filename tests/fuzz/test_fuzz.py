"""A few trials of each target, always the same ones. What a longer run found is a case with a name
in the tests of the file that was wrong; see the package."""

from __future__ import annotations

import unittest

from .__main__ import ADDED, TARGETS, chance

SEED = 20261121
TRIALS = {"parser": 1500, "answers": 150, "intake": 120}
TRIALS |= {name: number for name, (_, number) in ADDED.items()}


class Fuzz(unittest.TestCase):
    def test_every_target(self) -> None:
        self.assertEqual(TRIALS.keys(), TARGETS.keys())
        for name, trials in TRIALS.items():
            outcomes = set()
            for number in range(trials):
                with self.subTest(name, trial=number):
                    outcomes.add(TARGETS[name](chance(SEED, number)))
            self.assertGreater(len(outcomes), 3, f"{name} does not get far: {outcomes}")


if __name__ == "__main__":
    unittest.main()
