"""Formats beyond the official suite: huge, empty and hostile text for each of them."""

from __future__ import annotations

import time
import unittest

from server.lib.json_schema.keywords import EXAMPLES, FORMATS

from .clock import second

HUGE = 300_000
TEXTS = ["", "\0", "\ud800", "٣" * 8, "你", "a\n", *(c * HUGE for c in 'a1:./@"-%PT[\\')]
TEXTS += ["a:" + "%41" * HUGE, "P" + "1" * HUGE, '"' + "\\a" * HUGE + '"@a.b', "a." * HUGE]
TEXTS += ["a@" * HUGE, "(" * HUGE, "1:" * HUGE, "a://" + "a" * HUGE + "@", "xn--" + "a" * 59]

GOOD = {
    "uri": ["a:", "http://[v1.x]/", "file:///x", "urn:a:b", "x:/", "http://a?b#c"],
    "email": ["a@b", "a@[IPv6:::1]", '"a b"@c.d'],
    "hostname": ["a", "xn--bcher-kva.example"],
    "regex": ["", "a", r"\p{L}"],
}
BAD = {
    "uri": ["http://[::1", "http://[v1.]/", "a", "://a", "http://a b"],
    "email": ["a", "a@", "a@b@c", "a@[::1]"],
    "hostname": ["-a", "a-", "a..b", "a" * 64, "ab--c", "xn--", "xn--é"],
    "regex": ["(", "a" * 10_001],
    "date-time": ["2026-11-21", "2026-11-21 10:00:00Z", "2026-11-21T10:00:00"],
}


class Formats(unittest.TestCase):
    def test_examples_are_examples(self) -> None:
        for name, example in EXAMPLES.items():
            with self.subTest(name):
                self.assertTrue(FORMATS[name](example))

    def test_good_and_bad(self) -> None:
        for table, expected in ((GOOD, True), (BAD, False)):
            for name, texts in table.items():
                for text in texts:
                    with self.subTest(name, text=text[:40]):
                        self.assertEqual(FORMATS[name](text), expected)

    def test_any_text_within_a_second(self) -> None:
        for name, test in FORMATS.items():
            with self.subTest(name):
                start = time.process_time()
                for text in TEXTS:
                    self.assertIn(test(text), (True, False))
                self.assertLess(time.process_time() - start, second())


if __name__ == "__main__":
    unittest.main()
