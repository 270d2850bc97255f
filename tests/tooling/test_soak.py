"""The parts of the soak: each is there, in turns, and none is left out in silence."""

from __future__ import annotations

import contextlib
import io
import math
import os
import re
import subprocess
import unittest
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from . import lanes, soak, tools, turns
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

    def test_what_is_not_proven_is_played_by_hand(self) -> None:
        self.assertLessEqual(set(soak.PROVEN), {part.name for part in soak.PARTS})
        parts = [Part("a", "-c pass"), Part("b", "-c pass")]
        for minutes, names in ((9.0, ["b"]), (math.inf, [])):
            for turn in range(2):
                said, outcome = played(parts, minutes, turn, aside={"b": "it is new"})
                whys = [(skip.name, skip.why.partition(":")[0]) for skip in outcome.skips]
                self.assertEqual(whys, [(name, "it is new") for name in names])
                self.assertEqual(outcome.passed, 2 - len(names))
                self.assertIn(f"not played: {'; '.join(names)}".strip() + "\n", said)

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

    def test_the_whole_is_followed_by_what_has_turns(self) -> None:
        for arguments, code, calls in (
            ([], 0, ["-m tests", "-m tests soak --minutes"]),
            (["--only", "unit"], 0, ["-m tests --only unit"]),
            ([], 1, ["-m tests"]),
        ):
            with self.subTest(arguments=arguments, code=code), TemporaryDirectory() as folder:
                python = Path(folder, "python3")
                python.write_text(f'#!/bin/sh\necho "$@" >> {folder}/calls\nexit {code}\n')
                python.chmod(0o755)
                env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
                ran = subprocess.run([tools.ROOT / ".ci" / "run", *arguments], env=env)
                self.assertEqual(ran.returncode, code)
                self.assertEqual(Path(folder, "calls").read_text().splitlines(), calls)

    def test_the_turn_is_the_number_of_commits_or_by_the_name_of_one(self) -> None:
        with TemporaryDirectory() as folder:
            whole, part = Path(folder, "whole"), Path(folder, "part")
            whole.mkdir()

            def git(*words: str) -> str:
                who = ["-c", "user.name=x", "-c", "user.email=x@y"]
                return subprocess.check_output(["git", *who, *words], cwd=whole, text=True)

            self.assertEqual(turns.of_commit(whole), 0)
            git("init", "--quiet")
            self.assertEqual(turns.of_commit(whole), 0)
            for count in range(1, 4):
                git("commit", "--quiet", "--allow-empty", "--message=x")
                self.assertEqual(turns.of_commit(whole), count)
            git("clone", "--quiet", "--depth=1", whole.as_uri(), str(part))
            self.assertEqual(turns.of_commit(part), int(git("rev-parse", "HEAD")[:6], 16))

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
