"""In which order tests are tried, what a probe is, and what a list of results keeps."""

from __future__ import annotations

import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from .sites import Site
from .trial import RED, Trial, about_of, add, batches, like, order, probed, rows, seen_in

EDIT = Site("server/a/b.py", "f", "remove", 2, "g()", (11, 14, "pass"), ((9, "  PROBE\n"),))


def row(name: str, cpu_s: float, *reaches: str, **more: str) -> dict[str, object]:
    return {"tests": name, "cpu_s": cpu_s, "seconds": cpu_s, "reaches": reaches, **more}


class Order(unittest.TestCase):
    REACHED = [
        row("tests.a.test_dear", 9.0, "one"),
        row("tests.a.test_cheap", 0.1, "one", "two"),
        row("tests.a.test_b", 5.0, "one"),
        row("tests.a.test_else", 0.1, "two"),
        row("tests.a.test_red", 0.1, "one", alone="it is red without a mistake"),
        row("tests/client/b.test.js", 6.0, "one"),
    ]

    def test_what_is_called_as_the_file_then_the_cheapest(self) -> None:
        found = order(Trial("one", "", {"server/a/b.py": ""}, ("one",)), self.REACHED)
        names = [
            "tests.a.test_b",
            "tests/client/b.test.js",
            "tests.a.test_cheap",
            "tests.a.test_dear",
        ]
        self.assertEqual([one["tests"] for one in found], names)

    def test_named_tests_come_first_also_without_a_map(self) -> None:
        named = ("tests.d", "tests.c", "tests.a.test_dear", "tests.gone")
        found = order(Trial("two", "", {}, ("two",), named), self.REACHED, ["tests.c", "tests.d"])
        own = ["tests.c", "tests.d", "tests.a.test_dear"]
        names = [*own, "tests.a.test_cheap", "tests.a.test_else"]
        self.assertEqual([one["tests"] for one in found], names)

    def test_mutants_of_another_tree_are_found_where_their_file_was_moved(self) -> None:
        moved, other = replace(EDIT, path="server/z/b.py"), replace(EDIT, path="server/z/c.py")
        results = [
            {"id": one.id, "about": about_of(one), "by": "", "tried": [name]}
            for one, name in ((other, "tests.c"), (EDIT, "tests.b"))
        ]
        for here, wanted in (
            ([EDIT, other], {other: ("tests.c",), EDIT: ("tests.b",)}),
            ([moved], {moved: ("tests.b",)}),
            ([moved, EDIT], {EDIT: ("tests.b",)}),
        ):
            self.assertEqual([*like(results, here).items()], [*wanted.items()])

    def test_what_is_dear_or_of_another_language_is_tried_alone(self) -> None:
        tests = [row("tests.a", 1), row("tests.b", 1), row("tests/c.js", 1), row("tests/d.js", 4)]
        found = [[one["tests"] for one in batch] for batch in batches([*tests, row("tests.e", 1)])]
        whole = [["tests.a", "tests.b"], ["tests/c.js"], ["tests/d.js"], ["tests.e"]]
        self.assertEqual(found, whole)


class Words(unittest.TestCase):
    def test_a_red_line(self) -> None:
        cases = {
            "FAIL tests.a.test_b.C.test_d": "tests.a.test_b.C.test_d",
            "ERROR setUpClass (tests.a.test_b.C)": "setUpClass (tests.a.test_b.C)",
            "not ok 3 - a name": "a name",
            "ok   tests.a.test_b  3 tests  0.1 s": None,
            "    not ok 1 - inside, said again outside": None,
        }
        for line, test in cases.items():
            with self.subTest(line=line):
                self.assertEqual((match := RED.match(line)) and match["test"], test)

    def test_whose_test_it_was(self) -> None:
        tried = ["tests.a.test_b", "tests.a.test_bc", "tests/client/d.test.js"]
        cases = {
            "tests.a.test_bc.C.test_e": ("tests.a.test_bc",),
            "setUpClass (tests.a.test_b.C)": ("tests.a.test_b",),
            "a name (tests/client/d.test.js)": ("tests/client/d.test.js",),
            "": (),
        }
        for by, names in cases.items():
            with self.subTest(by=by):
                self.assertEqual(seen_in({"by": by, "tried": tried}), names)

    def test_a_probe_is_its_own_line(self) -> None:
        text = probed(EDIT.path, b"def f():\n  g()\n", [EDIT], Path("/where"))
        self.assertIn(f"'{EDIT.id}'", text.decode())
        compile(text, "", "exec")

    def test_the_last_word_counts(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "rows"
            self.assertEqual(rows(file), [])
            for one in ({"id": "a", "how": "survived"}, {"id": "b"}, {"id": "a", "how": "red"}):
                add(file, one)
            self.assertEqual(rows(file), [{"id": "a", "how": "red"}, {"id": "b"}])


if __name__ == "__main__":
    unittest.main()
