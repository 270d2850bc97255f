"""Tools in one line, and in detail."""

from __future__ import annotations

import unittest

from server.tools.disclosure import MAX_LINE, brief, detail, one_line
from server.tools.tool import BaseTool

FIELDS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class Disclosure(unittest.TestCase):
    def test_one_line(self) -> None:
        cases = [
            ("", ""),
            ("Add.", "Add."),
            ("Add numbers. Then more.", "Add numbers."),
            ("Add 1.5 to it\n  and stop.\n\nLong story.", "Add 1.5 to it and stop."),
            ("word " * 50, "word " * 19 + "…"),
        ]
        for text, line in cases:
            with self.subTest(text[:20]):
                self.assertEqual(one_line(text), line)
                self.assertLessEqual(len(one_line(text)), MAX_LINE)

    def test_brief_and_detail(self) -> None:
        tool = BaseTool("weather", "Tell the weather. In any city.", FIELDS)
        about = brief(tool)["function"]
        self.assertEqual(about["description"], "Tell the weather.")
        self.assertEqual(about["parameters"], {"type": "object", "properties": {}})
        self.assertEqual(detail(tool)["parameters"], FIELDS)
        self.assertEqual(detail(tool)["example"], {"city": "Paris"})
        bare = BaseTool("now", "Tell the time.", {"type": "object"})
        self.assertEqual(brief(bare), bare.declaration())
        odd = {"type": "object", "properties": {"a": {"not": {}}}, "required": ["a"]}
        self.assertNotIn("example", detail(BaseTool("odd", "", odd)))


if __name__ == "__main__":
    unittest.main()
