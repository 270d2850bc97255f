"""Lanes run in the way they ask for, and none of them can hide that it failed."""

from __future__ import annotations

import contextlib
import io
import re
import socket
import sys
import threading
import unittest

from . import command, lanes, tools
from .lanes import Job, Lane
from .report import Console, Outcome, Skip

PATIENCE_S = 600
SHORT_S = 2.0  # of silence; a child that starts says something within


def quietly(chosen: list[Lane]) -> list[Outcome]:
    with contextlib.redirect_stdout(io.StringIO()):
        return lanes.run(chosen, Console())


def just(name: str, *jobs: Job) -> Lane:
    return Lane(name, f"the lane {name}", lambda: jobs, 60)


def zero(source: str) -> Outcome:
    """What a lane of checks makes of a Python program."""
    outcome = Outcome("x")
    with contextlib.redirect_stdout(io.StringIO()):
        lanes.expect_zero(Console(), outcome, 60, "it", [sys.executable, "-c", source])
    return outcome


class LanesTest(unittest.TestCase):
    def test_three_at_a_time_in_their_order(self) -> None:
        together = threading.Barrier(lanes.AT_ONCE)
        order: list[str] = []

        def meets(_console: Console, outcome: Outcome, _limit_s: float) -> None:
            order.append(outcome.lane)
            together.wait(PATIENCE_S)
            outcome.passed = 1

        def fails(_console: Console, outcome: Outcome, _limit_s: float) -> None:
            order.append(outcome.lane)
            outcome.failures = ["no"]
            outcome.skips = [Skip("x", "no tool", 2)]

        found = quietly([just("a", meets, meets), just("b", meets), just("c", fails, fails)])
        self.assertEqual(
            [(o.lane, o.passed, o.failures, o.skipped) for o in found],
            [("a", 2, [], 0), ("b", 1, [], 0), ("c", 0, ["no", "no"], 4)],
        )
        self.assertEqual(sorted(order[:3]), ["a", "a", "b"])

    def test_what_cannot_be_run_has_failed(self) -> None:
        def breaks(_console: Console, _outcome: Outcome, _limit_s: float) -> None:
            raise OSError("no such program")

        found = quietly([just("a", breaks)])[0]
        self.assertEqual(found.failures, ["could not be run: OSError('no such program')"])

    def test_a_lane_is_told_of_once_as_it_begins_and_ends(self) -> None:
        def passes(_console: Console, outcome: Outcome, _limit_s: float) -> None:
            outcome.passed = 1

        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            lanes.run([just("a", *[passes] * 9)], Console())
        lines = [line.split("s  a        ")[1] for line in said.getvalue().splitlines()]
        first, last = (re.sub(r"[0-9]+[.][0-9] s", "N s", line) for line in lines)
        self.assertEqual(first, "begins: the lane a")
        self.assertEqual(last, "ok: 9 passed, 0 failed, 0 skipped in N s, CPU N s")

    def test_commands(self) -> None:
        for name, source, failed in (
            ("good", "print('fine')", ""),
            ("bad", "print('so and so'); raise SystemExit(3)", "it: exit code 3; so and so"),
            ("killed", "import os; os.kill(os.getpid(), 9)", "it: died of SIGKILL; no output"),
        ):
            with self.subTest(name):
                outcome = zero(source)
                self.assertEqual(outcome.failures, [failed] if failed else [])
                self.assertEqual(outcome.passed, not failed)
                self.assertGreater(outcome.cpu_s, 0)

    def test_ctrl_c_ends_what_runs_and_nothing_begins_any_more(self) -> None:
        """Each child says that it runs: Python that is interrupted as it starts exits with 1."""
        found: list[list[str]] = []
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(PATIENCE_S)
            address = listener.getsockname()

            def long(console: Console, outcome: Outcome, limit_s: float) -> None:
                source = (
                    "import socket, time\n"
                    f"with socket.create_connection({address!r}):\n"
                    f"    time.sleep({PATIENCE_S})"
                )
                lanes.expect_zero(console, outcome, limit_s, "it", [sys.executable, "-c", source])
                found.append(outcome.failures)

            chosen = [just(name, long) for name in "abcd"]
            running = threading.Thread(target=quietly, args=[chosen])
            running.start()
            with contextlib.ExitStack() as children:
                for _ in range(lanes.AT_ONCE):
                    children.enter_context(listener.accept()[0])
                command.interrupt()
                running.join(PATIENCE_S)
        self.assertFalse(running.is_alive())
        self.assertEqual(
            [said[0].split(";")[0] for said in found], ["it: died of SIGINT"] * lanes.AT_ONCE
        )

    def test_a_module_that_dies_has_failed_and_the_next_is_run(self) -> None:
        samples = "tests.tooling.samples"
        for module, says in (
            ("dies", f"no result: died of SIGKILL in {samples}.dies.Dies.test_it; "),
            ("hangs", f"in {samples}.hangs.Hangs.test_it; "),
        ):
            with self.subTest(module), contextlib.redirect_stdout(io.StringIO()):
                outcome = Outcome("x")
                names = [f"{samples}.{name}" for name in ("passes", module, "passes", module)]
                lanes.run_suite(Console(), outcome, SHORT_S, names)
                self.assertEqual(outcome.passed, 2)
                self.assertEqual(len(outcome.failures), 2)
                for failure in outcome.failures:
                    self.assertTrue(failure.startswith(f"{samples}.{module}: "), failure)
                    self.assertIn(says, failure)

    def test_every_test_file_is_in_one_lane(self) -> None:
        everywhere = [lanes.modules(name) for name in ("unit", *lanes.OWN_FOLDERS)]
        files = [
            path
            for path in (tools.ROOT / "tests").rglob("test_*.py")
            if "node_modules" not in path.parts
        ]
        self.assertEqual(len(files), sum(map(len, everywhere)))
        self.assertIn("tests.tooling.test_lanes", everywhere[0])
        self.assertTrue(all({"sandbox", "chaos"} & {*n.split(".")} for n in everywhere[1]))


if __name__ == "__main__":
    unittest.main()
