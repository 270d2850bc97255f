"""The parts of the soak: each is there, in turns, and none is left out in silence."""

from __future__ import annotations

import contextlib
import io
import re
import unittest
from collections.abc import Sequence

from . import lanes, soak, tools
from .report import Console, Outcome
from .soak import Part

ENVIRON = "__import__('os').environ"


def played(parts: Sequence[Part], minutes: float = 9.0, turn: int = 0) -> tuple[str, Outcome]:
    """What it said, and what came of it."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        (outcome,) = lanes.run([soak.lane(minutes, turn, parts)], Console())
    return said.getvalue(), outcome


class SoakTest(unittest.TestCase):
    def test_the_turn_chooses_the_first_and_a_failure_ends_nothing(self) -> None:
        parts = [
            Part("good", "-c pass"),
            Part("bad", "-c raise(SystemExit({turn}+3))"),
            Part("env", f"-c assert({ENVIRON}['SEED']=='{{turn}}')", {"SEED": "{turn}"}),
        ]
        for turn, order in ((0, "good bad env"), (1, "bad env good"), (5, "env good bad")):
            with self.subTest(turn=turn):
                said, outcome = played(parts, turn=turn)
                self.assertEqual(re.findall(r"soak +begins: (\w+)$", said, re.M), order.split())
                self.assertEqual(outcome.failures, [f"bad: exit code {turn + 3}; no output"])
                self.assertEqual(outcome.passed, 2)

    def test_what_has_no_time_is_said(self) -> None:
        said, outcome = played([Part("a", "-c pass"), Part("b", "-c pass")], minutes=0.0)
        self.assertEqual([skip.name for skip in outcome.skips], ["a", "b"])
        self.assertIn("python3 -m tests soak --part NAME", outcome.skips[0].why)
        self.assertNotIn("begins: a", said)

    def test_each_part_is_a_program_that_knows_its_options(self) -> None:
        for part in soak.PARTS:
            with self.subTest(part.name):
                words = part.command.split()
                if part.name == soak.WALKS:
                    continue
                if words[0] == "node":
                    self.assertTrue((tools.ROOT / words[-1]).is_file())
                    continue
                if words[1] == "unittest":
                    words[1] = words[2]
                place = tools.ROOT / words[1].replace(".", "/")
                file = place / "__main__.py" if place.is_dir() else place.with_suffix(".py")
                text = file.read_text()
                for option in re.findall(r"--[a-z-]+", part.command):
                    self.assertIn(f'"{option}"', text)


if __name__ == "__main__":
    unittest.main()
