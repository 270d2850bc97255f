"""Which tree of files a document stands at: shared vectors, and documents of no shape."""

from __future__ import annotations

import unittest
from pathlib import Path
from typing import Any

from server.lib.strict_json import loads
from server.session.workspace_stand import (
    first_tree,
    is_tree,
    stand_at,
    stand_of,
    tree_for_message,
    tree_of,
)

VECTORS = loads((Path(__file__).parent.parent / "vectors" / "workspace_stand.json").read_bytes())
A, B = "a" * 64, "b" * 64


class Stand(unittest.TestCase):
    def test_shared_vectors(self) -> None:
        for case in VECTORS:
            with self.subTest(case["name"]):
                self.assertEqual(stand_of(case["session"]), case["stand"])

    def test_what_is_a_tree(self) -> None:
        for value in (A, "0123456789abcdef" * 4):
            self.assertTrue(is_tree(value))
        junk: list[Any] = [A[1:], A + "a", A.upper(), A + "\n", "../" + A[3:], "", None, 5, [A]]
        for value in junk:
            self.assertFalse(is_tree(value), value)

    def test_the_tree_before_the_first_call(self) -> None:
        def result(before: Any, after: Any) -> Any:
            return {"role": "tool", "result": {"tree": {"before": before, "after": after}}}

        self.assertIsNone(first_tree({}))
        self.assertIsNone(first_tree({"messages": [{"role": "user"}, result(5, B)]}))
        self.assertEqual(first_tree({"messages": [result(A, B), result(B, A)]}), A)
        self.assertEqual(tree_of(result(A, B)), B)

    def test_a_tree_that_a_client_left(self) -> None:
        result = {"role": "tool", "id": "t1", "result": {"tree": {"before": A, "after": A}}}
        cases: list[tuple[str, Any]] = [
            ("after a call", {"messages": [result], "workspace": {"start": A, "folder": "x"}}),
            ("before the first message", {"messages": [], "workspace": {"start": A}}),
            ("a session that nothing was recorded of", {}),
        ]
        for name, session in cases:
            with self.subTest(name):
                self.assertIsNone(tree_for_message(session))
                before = stand_of(session)
                stand_at(session, B)
                self.assertEqual(stand_of(session), B)
                self.assertEqual(session["workspace"]["start"], before or B)
                if before:  # else it is the tree that the session begins with
                    self.assertEqual(tree_for_message(session), B)
                known = {**session["workspace"]}
                stand_at(session, B)
                self.assertEqual(session["workspace"], known)
