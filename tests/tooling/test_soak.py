"""The parts of the soak: each is there, in turns, and none is left out in silence."""

from __future__ import annotations

import contextlib
import io
import math
import re
import unittest
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from . import lanes, soak, tools
from .report import Console, Outcome
from .soak import Part

ENVIRON = "__import__('os').environ"


def played(
    parts: Sequence[Part],
    minutes: float = 9.0,
    turn: int = 0,
    aside: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, Outcome]:
    """What it said, and what came of it."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        (outcome,) = lanes.run([soak.lane(minutes, turn, parts, aside)], Console())
    return said.getvalue(), outcome


class SoakTest(unittest.TestCase):
    def test_a_failure_ends_nothing_and_what_was_played_is_said(self) -> None:
        parts = [
            Part("good", "-c pass"),
            Part("bad", "-c raise(SystemExit({turn}+3))"),
            Part("env", f"-c assert({ENVIRON}['SEED']=='{{turn}}')", {"SEED": "{turn}"}),
            Part("suite", "suite tests.tooling.samples.passes"),
        ]
        for turn in (0, 1, 5):
            with self.subTest(turn=turn):
                said, outcome = played(parts, turn=turn)
                order = [part.name for part in soak.in_turn(parts, turn)]
                self.assertEqual(re.findall(r"soak +begins: (\w+)$", said, re.M), order)
                self.assertEqual(outcome.failures, [f"bad: exit code {turn + 3}; no output"])
                self.assertEqual(outcome.passed, 3)
                rows = [f"{name} (FAILED)" if name == "bad" else name for name in order]
                self.assertIn(f" played: {'; '.join(rows)}\n", said)

    def test_turns_of_successive_commits_begin_with_all_parts(self) -> None:
        for count in range(1, 120):
            parts = [Part(str(number), "") for number in range(count)]
            orders = [soak.in_turn(parts, turn) for turn in range(count)]
            names = {part.name for part in parts}
            self.assertEqual({order[0].name for order in orders}, names)
            self.assertEqual({part.name for part in orders[-1]}, names)

    def test_what_has_no_time_is_said(self) -> None:
        said, outcome = played([Part("a", "-c pass"), Part("b", "-c pass")], minutes=0.0)
        self.assertEqual({skip.name for skip in outcome.skips}, {"a", "b"})
        self.assertIn("python3 -m tests soak --part NAME", outcome.skips[0].why)
        self.assertNotIn("begins: a", said)
        self.assertRegex(said, "not played: (a; b|b; a)\n")

    def test_what_is_not_known_to_be_green_is_played_by_hand(self) -> None:
        self.assertLessEqual(set(soak.ASIDE), {part.name for part in soak.PARTS})
        parts = [Part("a", "-c pass"), Part("b", "-c pass")]
        for minutes, names in ((9.0, ["b"]), (math.inf, [])):
            _, outcome = played(parts, minutes, aside={"b": "it is new"})
            self.assertEqual([skip.name for skip in outcome.skips], names)
            self.assertEqual(outcome.passed, 2 - len(names))

    def test_shares_of_walks_are_all_of_them(self) -> None:
        shares: dict[str, list[str]] = {}
        for part in soak.PARTS:
            kind, browser, share = [*part.command.split(), "", ""][:3]
            if kind == "walks":
                name = part.name.removesuffix(share) + browser
                shares.setdefault(name, []).extend(soak.walks(share))
        self.assertEqual(len(shares), 3)
        for names in shares.values():
            self.assertEqual(sorted(names), lanes.modules("browser"))

    def test_each_part_is_a_program_that_knows_its_options(self) -> None:
        self.assertEqual(len({part.name for part in soak.PARTS}), len(soak.PARTS))
        for part in soak.PARTS:
            with self.subTest(part.name):
                words = part.command.split()
                if words[0] == "walks":
                    continue
                if words[0] == "node":
                    self.assertTrue((tools.ROOT / words[-1]).is_file())
                    continue
                place = tools.ROOT / words[1].replace(".", "/")
                file = place / "__main__.py" if place.is_dir() else place.with_suffix(".py")
                text = file.read_text()
                for option in re.findall(r"--[a-z-]+", part.command):
                    self.assertIn(f'"{option}"', text)


if __name__ == "__main__":
    unittest.main()
