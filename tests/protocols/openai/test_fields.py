"""Fields of a body that are refused: the error names the field and shows its value."""

from __future__ import annotations

import unittest

from server.errors import Problem
from server.protocols.openai import common


class Words(unittest.TestCase):
    def test_values_are_named_as_json_has_them(self) -> None:
        for allowed, value, said in (
            ((False,), True, "true is not supported here; only false is"),
            (([], ["text"]), ["audio"], 'an array is not supported here; only [] or ["text"] is'),
            ((), "x", '"x" is not supported here'),
        ):
            with self.subTest(value=value), self.assertRaises(Problem) as caught:
                common.only({"field": value}, {"field": allowed})
            self.assertEqual(caught.exception.detail, f"field: {said}")


if __name__ == "__main__":
    unittest.main()
