"""Runs and nodes: budgets, trials, places; and values in words: short and printable."""

from __future__ import annotations

import unittest
from typing import Any

from server.lib.json_schema.report import (
    MAX_FINDINGS,
    Node,
    Place,
    Run,
    Seen,
    describe,
    either,
    nearest,
    one_of,
    path,
    pointer_at,
    show,
)


def failing(value: object, at: Place, run: Run, seen: Seen) -> None:
    if seen is not None:
        seen.add("met")
    run.fail(at, "test", "expected better", value)


def seeing(value: object, at: Place, run: Run, seen: Seen) -> None:
    if seen is not None:
        seen.add("met")


def node(*checks: object, tracks: bool = False) -> Node:
    made = Node()
    made.checks = list(checks)  # type: ignore[arg-type]
    made.tracks = tracks
    return made


class Places(unittest.TestCase):
    def test_pointers(self) -> None:
        cases: list[tuple[list[str | int], str]] = [
            ([], ""),
            (["a", 0, "b"], "/a/0/b"),
            (["", "~/"], "//~0~1"),
            (["\ud800", "你"], "/\\ud800/你"),
        ]
        for keys, expected in cases:
            with self.subTest(keys):
                at: Place = None
                for key in keys:
                    at = (at, key)
                self.assertEqual(path(at), keys)
                self.assertEqual(pointer_at(at), expected)


class Trials(unittest.TestCase):
    def test_an_attempt_reports_nothing(self) -> None:
        run = Run()
        self.assertEqual(len(node(failing).attempt(1, None, run)), 1)
        self.assertEqual(run.findings, [])

    def test_what_a_failed_attempt_has_seen_does_not_count(self) -> None:
        for check, expected in ((failing, set()), (seeing, {"met"})):
            seen: Seen = set()
            node(check).attempt(1, None, Run(), seen)
            self.assertEqual(seen, expected)

    def test_who_tracks_starts_afresh_and_passes_on(self) -> None:
        seen: Seen = {"before"}
        inner: list[Seen] = []
        watching = node(seeing, lambda v, at, run, seen: inner.append(set(seen or ())), tracks=True)
        watching.check(1, None, Run(), seen)
        self.assertEqual((inner, seen), ([{"met"}], {"before", "met"}))


class Budgets(unittest.TestCase):
    def test_steps(self) -> None:
        loop = Node()
        loop.checks = [lambda value, at, run, seen: loop.check(value, at, run)]
        (finding,) = loop.findings(1, Run(100))
        self.assertEqual(finding.keyword, "limit")

    def test_recursion(self) -> None:
        loop = Node()
        loop.checks = [lambda value, at, run, seen: loop.check(value, at, run)]
        (finding,) = loop.findings(1, Run(10**9))
        self.assertIn("nested too deeply", finding.message)

    def test_findings_are_capped(self) -> None:
        many = node(*[failing] * (MAX_FINDINGS + 5))
        self.assertEqual(len(many.findings(1, Run())), MAX_FINDINGS)


DESCRIBED: list[tuple[Any, str]] = [
    (None, "null"),
    (True, "boolean (true)"),
    (5, "integer (5)"),
    (10**5000, "integer (of 16610 bits)"),
    (2.50, "number (2.5)"),
    ('a"\n', 'string ("a\\"\\n")'),
    ("x" * 61, 'string ("' + "x" * 60 + '…")'),
    ("\ud800", 'string ("\\ud800")'),
    ([], "array of 0 items"),
    ([1], "array of 1 item"),
    ({}, "empty object"),
    ({"a": 1, "b": 2}, 'object with "a", "b"'),
    (dict.fromkeys("abcde"), 'object with "a", "b", "c", …'),
    ((1,), "a Python tuple"),
]


class Words(unittest.TestCase):
    def test_describe(self) -> None:
        for value, expected in DESCRIBED:
            with self.subTest(expected):
                self.assertEqual(describe(value), expected)
                describe(value).encode()

    def test_lists(self) -> None:
        self.assertEqual(either(["a"]), "a")
        self.assertEqual(either(["a", "b", "a", "c"]), "a, b or c")
        self.assertEqual(one_of([1, "a", None]), '1, "a" or null')
        self.assertTrue(one_of(range(30)).endswith("19 or one of 10 more"))

    def test_show_names_containers(self) -> None:
        self.assertEqual(show([1, 2]), "array of 2 items")

    def test_nearest(self) -> None:
        names = ["city", "country", 5, "x" * 500]
        for name, expected in (
            ("citty", ' (did you mean "city"?)'),
            ("zzz", ""),
            ("c" * 10_000, ""),
            (5, ""),
        ):
            with self.subTest(name):
                self.assertEqual(nearest(name, names), expected)


if __name__ == "__main__":
    unittest.main()
