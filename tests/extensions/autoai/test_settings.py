"""AutoAi's settings: told under our names, never read, and the table of the docs is the code's."""

from __future__ import annotations

import re
import unittest
from pathlib import Path
from typing import Any

from server.extensions.autoai import settings

DOC = Path(__file__).parents[3] / "docs" / "reference" / "extension-autoai.md"


class Renamed(unittest.TestCase):
    def test_every_spelling(self) -> None:
        layers: tuple[dict[str, Any], ...] = (
            {"autoai": {"react": {"max-steps": 1}}},
            {"autoai": {"react": {"maxSteps": 1}}},
            {"autoai": {"react": {"max_steps": {}}}},
            {"autoai.react.max-steps": 1},
            {"autoai.react": {"max-steps": None}},
        )
        for layer in layers:
            with self.subTest(layer):
                own, names = settings.split({"server": {}, **layer})
                self.assertEqual(own, {"server": {}})
                (name,) = names
                wanted = "f: autoai.react.max-steps is session.config.limits.max_steps here"
                self.assertTrue(settings.key_problem(name, "f").startswith(wanted))

    def test_others(self) -> None:
        own, names = settings.split({"autoaix": 1, "autoai": {"web": {"enabled": True, "x": []}}})
        self.assertEqual((own, names), ({"autoaix": 1}, ["autoai.web.enabled", "autoai.web.x"]))
        for name in names:
            self.assertIn(f"{name} is no setting here", settings.key_problem(name, "f"))
        self.assertEqual(settings.split({"autoai": 5})[1], ["autoai"])
        long = settings.key_problem("autoai." + "x" * 5000, "f")
        self.assertLess(len(long), 250)

    def test_the_table_of_the_docs(self) -> None:
        rows = re.findall(r"^\| `autoai\.([^`]+)` \| (?:`([^`]+)`|–) \|", DOC.read_text(), re.M)
        self.assertEqual(dict(rows), settings.NAMES)


if __name__ == "__main__":
    unittest.main()
