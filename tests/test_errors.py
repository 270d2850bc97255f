"""Problems: one table of codes, one body that two kinds of client can read."""

from __future__ import annotations

import unittest

from server import extensions
from server.errors import CODES, Problem, translate_problems


class Problems(unittest.TestCase):
    def test_every_code_has_a_status_that_says_whose_fault_it_is(self) -> None:
        ours = {
            "disk_failed",
            "disk_full",
            "internal",
            "not_implemented",
            "overloaded",
            "http_version",
            "sandbox_unavailable",
        }
        for code, (status, title) in CODES.items():
            with self.subTest(code):
                if code not in extensions.all_of("errors"):
                    self.assertEqual(status >= 500, code in ours)
                self.assertTrue(title)

    def test_body_has_both_faces(self) -> None:
        where = [{"pointer": "/messages/3", "detail": "expected an object, got 5"}]
        body = Problem("session_invalid", "no", errors=where).body()
        self.assertEqual(
            (body["status"], body["code"], body["errors"]), (422, "session_invalid", where)
        )
        self.assertEqual(body["error"]["message"], "no")
        self.assertEqual(body["error"]["param"], "/messages/3")
        self.assertEqual(body["error"]["type"], "invalid_request_error")
        self.assertEqual(Problem("internal", "x").body()["error"]["type"], "server_error")

    def test_translation(self) -> None:
        def change(problem: Problem) -> Problem:
            return Problem("busy", f"{problem.detail}, later")

        with self.assertRaises(Problem) as caught, translate_problems(change):
            raise Problem("not_found", "no")
        found = caught.exception
        self.assertEqual((found.code, found.detail, found.__cause__), ("busy", "no, later", None))


if __name__ == "__main__":
    unittest.main()
