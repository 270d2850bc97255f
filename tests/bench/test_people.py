"""Nobody is refused beside somebody who takes all there is. Times are judged by `bench.people`."""

from __future__ import annotations

import json
import unittest

from ..tooling import turns
from ..tooling.api import Api
from . import people

ARCHIVES = "archives"
PLAYED = turns.share(("unread streams", "slow connections", ARCHIVES, "slow large bodies"), 2)


class Refused(unittest.TestCase):
    mal: people.Target
    gil: people.Target

    @classmethod
    def setUpClass(cls) -> None:
        cls.mal, cls.gil = cls.enterClassContext(people.server(tree=ARCHIVES in PLAYED))

    def test_beside_each_who_takes_all(self) -> None:
        """Each of these once refused everybody else."""
        turns = people.Turns(self.gil)
        for name in (each for each in PLAYED if each != ARCHIVES):
            with self.subTest(name), people.beside(name, self.mal):
                for order in people.TURN:
                    turns.measure(order, 0.5)
            self.assertEqual(turns.refused, 0, name)

    @unittest.skipUnless(ARCHIVES in PLAYED, turns.ELSEWHEN)
    def test_beside_archives_files_are_taken_and_recorded(self) -> None:
        """They held all processes of workspaces: changes were not recorded, uploads refused."""
        gil = Api(f"http://{self.gil.host}:{self.gil.port}", self.gil.key)
        order = f'{people.SHORT} tool=shell{{"command":"date > now"}}'
        with people.beside(ARCHIVES, self.mal):
            for number in range(4):
                status, said = gil.request("PUT", "/workspaces/gil/file?path=a", b"%d" % number)
                self.assertEqual(status, 200, said)
                document = json.loads(people.document(order, id="gil", config=people.FREE))
                session = gil.run(document)
                (result,) = [each["result"] for each in session["messages"] if "result" in each]
                self.assertEqual(session["run"].get("warnings", []), [])
                self.assertIn("after", result["tree"], result)

    def test_what_is_missed_of_the_goal(self) -> None:
        for figures, words in (
            ((3.0, 4.0, 0), ""),
            ((3.04, 1.0, 0), "plain 3.0 > 3"),
            ((1.0, 4.5, 2), "tool 4.5 > 4, 2 refused"),
            ((float("inf"), float("nan"), 0), "plain inf > 3, tool nan > 4"),
        ):
            self.assertEqual(people.missed(*figures), words)

    def test_every_attacker_has_work(self) -> None:
        self.assertEqual(len(people.attacks()), 15)


if __name__ == "__main__":
    unittest.main()
