"""Runs and nodes: budgets, trials, places."""

from __future__ import annotations

import unittest

from server.schema.report import MAX_FINDINGS, Node, Place, Run, Seen, path, pointer


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
                self.assertEqual(pointer(at), expected)


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


if __name__ == "__main__":
    unittest.main()
