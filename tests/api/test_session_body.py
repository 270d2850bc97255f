"""Bodies that do not fit are refused by field; problems of a session become those of its body."""

from __future__ import annotations

import unittest

from server.api.session_body import check, in_body
from server.errors import Problem

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
    "required": ["a"],
}


class Elsewhere:
    def in_body(self, problem: Problem) -> Problem:
        problem.errors[0]["pointer"] = "/session" + problem.errors[0]["pointer"]
        return problem


class Bodies(unittest.TestCase):
    def test_every_field_that_does_not_fit(self) -> None:
        check({"a": 1}, SCHEMA)
        for body, places in (({"a": "x", "b": 2}, ["/a", "/b"]), ({}, ["/a"])):
            with self.subTest(body), self.assertRaises(Problem) as caught:
                check(body, SCHEMA)
            problem = caught.exception
            self.assertEqual(problem.status, 400)
            self.assertEqual([error["pointer"] for error in problem.errors], places)
            self.assertTrue(problem.detail.startswith(places[0]))

    def test_places(self) -> None:
        errors = [{"pointer": "/messages", "detail": "no"}]
        with self.assertRaises(Problem) as caught, in_body(Elsewhere()):
            raise Problem("session_invalid", "no", errors=errors)
        self.assertEqual(caught.exception.errors[0]["pointer"], "/session/messages")


if __name__ == "__main__":
    unittest.main()
