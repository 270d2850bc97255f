"""Nobody is refused beside somebody who takes all there is. Times are judged by `bench.people`."""

from __future__ import annotations

import unittest

from . import people


class Refused(unittest.TestCase):
    def test_beside_each_who_takes_all(self) -> None:
        """Each of these once refused everybody else."""
        with people.server() as (mal, gil):
            turns = people.Turns(gil)
            for name in ("unread streams", "slow connections", "slow large bodies"):
                with self.subTest(name), people.beside(name, mal):
                    for order in people.TURN:
                        turns.measure(order, 0.5)
                self.assertEqual(turns.refused, 0, name)

    def test_every_attacker_has_work(self) -> None:
        self.assertEqual(len(people.attacks()), 11)


if __name__ == "__main__":
    unittest.main()
