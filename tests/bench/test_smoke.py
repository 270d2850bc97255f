"""The benchmark runs and measures what it says. It is tiny here, and no time is judged."""

from __future__ import annotations

import asyncio
import math
import re
import unittest

from ..tooling import tools, turns
from . import measures, opcodes, others, sandbox, stalls
from .__main__ import add, goal, render, run, times
from .peers import Reply


@turns.tests(4)
class Smoke(unittest.TestCase):
    @unittest.skipUnless(measures.LINUX, "CPU time and memory are read from /proc, as Linux has it")
    def test_every_measure_runs(self) -> None:
        names = [*measures.MEASURES, "hang_up", "cold_starts"]
        table = run(measures.TINY, 1, names)
        for figure, values in table.items():
            with self.subTest(figure=figure):
                self.assertIn("yaa", values)
                self.assertTrue(all(map(math.isfinite, sum(values.values(), []))))
        for figure in ("whole turn p50, ms", "delay per delta p50, ms"):
            self.assertEqual(set(table[figure]), {"direct", "relay", "floor", "yaa"})
        goals = {re.sub(r"\d+", "N", figure) for figure in (*measures.GOALS, *measures.OF_FLOOR)}
        measured = {re.sub(r"\d+", "N", figure) for figure in table}
        self.assertEqual(goals - measured, set(), "every goal is measured")

    @unittest.skipUnless(measures.LINUX, "the sandbox is Linux's")
    def test_the_sandbox_is_measured(self) -> None:
        found = asyncio.run(sandbox.measure(2))
        self.assertIn("subprocess bash -c true", found)
        self.assertTrue(all(len(values) == 2 and min(values) > 0 for values in found.values()))
        self.assertEqual(len(sandbox.render(found).splitlines()), len(found) + 1)

    def test_instructions_are_counted(self) -> None:
        found = asyncio.run(opcodes.measure([tools.ROOT, tools.ROOT], ["turn"]))
        old, new = (each.total() for each in found["turn"])
        self.assertAlmostEqual(new / old, 1, delta=0.1, msg=opcodes.render(found, 12))
        self.assertEqual(len(opcodes.render(found, 3).splitlines()), 4)

    def test_stalls_are_measured(self) -> None:
        name, path, body = next(stalls.rows(10_000))
        for cpu in (False, True):
            with self.subTest(cpu=cpu), stalls.started(cpu=cpu) as (yaa, beside):
                stall_s, size, *about, _ = stalls.measure(yaa, beside, name, path, body)
                self.assertEqual((size, about), (len(body), [name, 200]))
                self.assertGreater(stall_s, 0)


class Arithmetic(unittest.TestCase):
    def test_stamps_know_the_piece_they_arrived_in(self) -> None:
        reply = Reply(0, pieces=[(10, b"x @1"), (20, b"@ @2@ "), (30, b"@3@")])
        self.assertEqual(reply.stamps(), [(20, 1), (20, 2), (30, 3)])

    def test_the_table_shows_goals_first_and_medians(self) -> None:
        table: dict[str, dict[str, list[float]]] = {}
        for value in (1.0, 9.0, 2.0):
            add(table, "direct", {"turn, ms": value, measures.FIRST: value})
            add(table, "relay", {"turn, ms": value * 2})
            add(table, "yaa", {"turn, ms": value * 3, "deltas/s, 16 streams": 1234.5})
        self.assertEqual(
            render(table).splitlines(),
            [
                "|  | goal | direct | relay | floor | yaa | × floor |",
                "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
                f"| {measures.FIRST} | ≤ direct + 0.6 | 2.00 | – | – | – |  |",
                "| deltas/s, 16 streams | ≥ 90,000 | – | – | – | 1,234 |  |",
                "| turn, ms |  | 2.00 | 4.00 | – | 6.00 |  |",
            ],
        )

    def test_multiples_of_the_floor_and_of_the_best(self) -> None:
        cases: list[tuple[str, dict[str, float], str]] = [
            # what is added to direct; the smallest is best
            (measures.FIRST, {"direct": 1, "yaa": 2, "a": 5, "b": 9}, "0.25"),
            ("deltas/s, 16 streams", {"yaa": 60, "a": 10, "b": 20}, "3"),  # the largest is best
            ("idle RSS, MiB", {"yaa": 30, "b": 60}, "0.5"),  # one of them failed
            ("idle RSS, MiB", {"yaa": 30}, ""),
            ("idle RSS, MiB", {"a": 30}, ""),
            (measures.FIRST, {"direct": 5, "yaa": 6, "a": 5}, "–"),
        ]
        for figure, medians, said in cases:
            with self.subTest(figure=figure, medians=medians):
                self.assertEqual(times(figure, medians, ["a", "b"]), said)
        floor = {"turn, ms": {"floor": [2.0], "yaa": [7.0], "a": [14.0]}}
        self.assertTrue(render(floor, ["a"]).endswith("| 7.00 | 14.00 | 3.5 | 0.5 |"))

    def test_goals(self) -> None:
        for figure, said in (
            ("CPU per turn with a tool, ms", "≤ 6 × floor"),
            ("turns/s with a tool, 16 at once", "≥ 1/15 of the floor"),
            (measures.FIRST, "≤ direct + 0.6"),
            ("deltas/s, 16 streams", "≥ 90,000"),
            ("turn, ms", ""),
        ):
            with self.subTest(figure):
                self.assertEqual(goal(figure), said)

    def test_each_program_has_its_file(self) -> None:
        for name, file in others.PROGRAMS.items():
            self.assertTrue((others.HERE / file).is_file())
            self.assertIn(file, others.command(name)[-1])


if __name__ == "__main__":
    unittest.main()
