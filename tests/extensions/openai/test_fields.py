"""Fields of a body that are refused: the error names the field and shows its value."""

from __future__ import annotations

import unittest

from server.errors import Problem
from server.extensions.openai import chat, common, responses

from ...test_docs import REFERENCE, tables


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


class Page(unittest.TestCase):
    def test_the_page_says_what_becomes_of_each(self) -> None:
        page = (REFERENCE / "extension-openai.md").read_text()
        for head, front, more in (
            ("Chat field", chat, {chat.STOP}),
            ("Responses field", responses, set()),
        ):
            fates = {"read": front.READ, "handed on": {*front.SETTINGS, *more}}
            fates |= {"only": set(front.ONLY), "ignored": front.IGNORED}
            (table,) = [rows for rows in tables(page) if rows[0][0] == head]
            for fate, names in fates.items():
                with self.subTest(head, fate=fate):
                    told = [row[0].strip("`") for row in table[1:] if row[1] == fate]
                    self.assertEqual(sorted(told), sorted(names))
            self.assertEqual({row[1] for row in table[1:]}, set(fates))


if __name__ == "__main__":
    unittest.main()
