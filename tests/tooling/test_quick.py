"""What quick leaves out is there, and what starts a program cannot hide in it."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from . import lanes, quick, tools
from .report import Console, Outcome

SAMPLES = "tests.tooling.samples"


def result(module: str, starts: str = "", cpu_s: float = 0.1) -> dict[str, Any]:
    return {"module": module, "starts": starts, "cpu_s": cpu_s}


class QuickTest(unittest.TestCase):
    def test_each_module_that_is_left_out_is_there(self) -> None:
        out = quick.left_out()
        self.assertEqual(sorted(set(out) - set(lanes.modules())), [])
        self.assertLess(len(out), len(lanes.modules()) / 2)
        self.assertEqual([why for why in out.values() if not why], [])

    def test_a_module_that_nobody_has_measured_is_run(self) -> None:
        self.assertEqual(quick.chosen(["a", "new", "b"], {"a": quick.STARTS}), ["new", "b"])

    def test_reasons(self) -> None:
        for found, why in (
            (result("a"), ""),
            (result("a", "git"), quick.STARTS),
            (result("a", "git", 9), quick.STARTS),
            (result("a", "", quick.MOST_S), ""),
            (result("a", "", 2.34), "takes 2.3 s"),
        ):
            with self.subTest(found):
                self.assertEqual(quick.reason(found), why)

    def test_the_table_is_written_and_read(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "table.json"
            quick.write([result("b", "git"), result("a", "", 2), result("c")], file)
            self.assertEqual(quick.left_out(file), {"a": "takes 2.0 s", "b": quick.STARTS})
            self.assertEqual(list(json.loads(file.read_text())), ["a", "b"])

    def test_one_that_starts_a_program_has_failed_unless_it_is_left_out(self) -> None:
        name = f"{SAMPLES}.starts"
        for out, failures in ((None, 0), ({name: quick.STARTS}, 0), ({}, 1)):
            with self.subTest(out), contextlib.redirect_stdout(io.StringIO()):
                outcome, results = Outcome("x"), list[dict[str, Any]]()
                names = [f"{SAMPLES}.passes", name]
                python = Path(sys.executable)
                lanes.run_suite(
                    Console(), outcome, 60, names, out=out, python=python, results=results
                )
                self.assertEqual([found["module"] for found in results], names)
                self.assertEqual((outcome.passed, len(outcome.failures)), (2, failures))
                self.assertEqual([bool(found["starts"]) for found in results], [False, True])

    def test_shares_are_all_of_it(self) -> None:
        for count in (1, 2, 7, 9):
            with self.subTest(count=count):
                shares = quick.shares(list("abcdefg"), count)
                self.assertEqual(sorted(name for share in shares for name in share), [*"abcdefg"])
                self.assertEqual(len(shares), count)

    def test_the_command_knows_it(self) -> None:
        command = [sys.executable, "-m", "tests", "--help"]
        done = subprocess.run(command, cwd=tools.ROOT, capture_output=True, text=True, check=True)
        self.assertIn("quick", done.stdout)


if __name__ == "__main__":
    unittest.main()
