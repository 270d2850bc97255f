"""Where a file that a person wrote is wrong: the place, and plain words for the usual mistakes."""

from __future__ import annotations

import unittest

from server.lib.strict_json import JSONError, explain_error, loads

COMMENT = "this looks like a comment; JSON has none"
COMMA = "a comma before the closing {}; JSON has none there"


class Wrong(unittest.TestCase):
    def test_places_and_words(self) -> None:
        for text, place, message in (
            ("// mine\n{}", ":1:1", COMMENT),
            ('{"a": 1,  // one\n "b": 2}', ":1:11", COMMENT),
            ('{"a": 1  /* one */}', ":1:10", COMMENT),
            ('{\n  # one\n  "a": 1}', ":2:3", COMMENT),
            ('{"a": 1}\n// end', ":2:1", COMMENT),
            ('{"a": {"b": 1}, "a": 2}', ":1:17", "the key 'a' appears twice in one object"),
            (
                '{"b": [{"a": 1},\n {"a": 1, "b": 2,\n  "b": 3}]}',
                ":3:3",
                "the key 'b' appears twice",
            ),
            ('{"x": "{\\"a\\": 1, \\"a\\": 1}",\n "a": {"a": 0},\n "a": 1}', ":3:2", "the key 'a'"),
            ('{"a": "NaN",\n "b": NaN}}}] "a": "a":', ":2:7", "NaN is not JSON"),
            ("[1e9,\n -1e999]", ":2:2", "the number -1e999 is too large"),
            ("[1,\n" + "1" * 5000 + "]", ":2:1", "a number has too many digits"),
            ('["\\\\ud800", "\\ud83d\\ude00",\n "\\ud800"]', ":2:2", "a string holds half"),
            ('{"\\udc00": 1}', ":1:2", "a string holds half"),
            ('{"a":\n' * 101 + "1" + "}" * 101, ":101:1", "nested deeper than 100 levels"),
            ('{"a": "\\ud800",\n "b": NaN}', ":2:7", "NaN is not JSON"),
            ('{"a": 1, "\\u0061": 2}', ":1:10", "the key 'a' appears twice"),
            ('{"a": 1 "b": 2}', ":1:9", "Expecting ',' delimiter"),
            ('{"a": }', ":1:7", "Expecting value"),
            ("", ":1:1", "Expecting value"),
        ):
            with self.subTest(text=text):
                found, said = self.wrong(text)
                self.assertEqual(found, place)
                self.assertTrue(said.startswith(message), said)

    def test_a_comma_too_many(self) -> None:
        """Pythons differ in where they stop: at the comma, or behind it."""
        for text, end in (('{"a": 1,\n }', "}"), ('{"a": [1 , ]}', "]"), ("[\n1,\n\n]", "]")):
            with self.subTest(text=text):
                self.assertEqual(self.wrong(text)[1], COMMA.format(end))
        for at in (8, 11):
            with self.subTest(at=at):
                found = explain_error(
                    b'{"a": 1,\n  }', JSONError("Illegal", *((1, 8) if at == 8 else (2, 3)))
                )
                self.assertEqual(found[1], COMMA.format("}"))

    def wrong(self, text: str) -> tuple[str, str]:
        with self.assertRaises(JSONError) as caught:
            loads(text)
        return explain_error(text.encode(), caught.exception)


if __name__ == "__main__":
    unittest.main()
