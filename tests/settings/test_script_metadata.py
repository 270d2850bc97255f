"""Blocks of metadata in files: the examples of PEP 723, and what is wrong with others."""

from __future__ import annotations

import unittest

from server.settings.script_metadata import (
    MOST_FENCES,
    MetadataError,
    has_open_block,
    script_metadata,
)


def block(*lines: str, kind: str = "script") -> str:
    return "\n".join([f"# /// {kind}", *(f"# {line}".rstrip() for line in lines), "# ///", ""])


NEEDS = 'dependencies = ["numpy"]'


class Blocks(unittest.TestCase):
    def test_what_one_says(self) -> None:
        for text, expected in (
            ("", None),
            ("import os\n", None),
            (block(NEEDS), (("numpy",), "", 1)),
            ("#!/usr/bin/env python3\n\n" + block('requires-python = ">=3.11"', NEEDS) + "x = 1\n",
             (("numpy",), ">=3.11", 3)),
            (block(""), ((), "", 1)),
            (block(), None),  # the expression of the specification wants a line
            (block("dependencies = [", "  'b',", '  "a>1",', "]"), (("a>1", "b"), "", 1)),
            (block("[tool.x]", "y = 1"), ((), "", 1)),
            (block(NEEDS, kind="other"), None),
            (block(NEEDS, kind="other") + "\n" + block(""), ((), "", 5)),
            # the closing line of the specification: the last one that ends valid lines
            (block("[tool.x]", "s = '''", "///", "'''"), ((), "", 1)),
            # no block: not closed, indented, in another form
            ("# /// script\n# dependencies = ['a']\n", None),
            ("# /// script\nx = 1\n# ///\n", None),
            ("  # /// script\n  # dependencies = ['a']\n  # ///\n", None),
            ("#/// script\n# dependencies = ['a']\n# ///\n", None),
            ("# /// script\n#dependencies = ['a']\n# ///\n", None),
        ):  # fmt: skip
            with self.subTest(text):
                self.assertEqual(script_metadata(text), expected)

    def test_what_is_wrong_and_where(self) -> None:
        for text, said in (
            ("x = 1\n" + block("dependencies = ["), "line 3: "),
            (block("", "dependencies == 1"), "line 3: "),
            (block("a = '\0'"), "line 2: "),
            (block("dependancies = []"), "line 2: there is no key 'dependancies'; use dep"),
            (block("", "dependencies = 'numpy'"), "line 3: dependencies: 'numpy' is no list"),
            (block("dependencies = [", "'a',", "'-r b']"), "line 4: dependencies: '-r b' is an op"),
            (block("dependencies = [1]"), "line 2: dependencies: 1 is no text"),
            (block("requires-python = 3.11"), "line 2: requires-python: 3.11 is no text"),
            (block("requires-python = '3.11'"), "line 2: '3.11': '3.11' is no version"),
            (block(NEEDS) + "\n" + block(NEEDS), "line 5: a second script block; the first is in"),
            (block(*["# ///"] * MOST_FENCES), "line 1: "),
            (block("a = " + "[" * 9000), "line 2: "),
        ):
            with self.subTest(text[:60]), self.assertRaises(MetadataError) as caught:
                script_metadata(text)
            self.assertTrue(str(caught.exception).startswith(said), caught.exception)
            self.assertLess(len(str(caught.exception)), 400)

    def test_a_python_that_does_not_fit(self) -> None:
        found = script_metadata("\n" + block('requires-python = ">=3.12"'))
        assert found
        said = "line 2: it needs Python >=3.12, and this server runs 3.11.7"
        self.assertEqual(found.python_problem((3, 11, 7)), said)
        self.assertEqual(found.python_problem((3, 12, 0)), "")

    def test_a_block_without_an_end(self) -> None:
        self.assertTrue(has_open_block("# /// script\n# dependencies = ['a']\nx = 1\n"))
        self.assertFalse(has_open_block(block(NEEDS)))
        self.assertFalse(has_open_block("# nothing\n"))


if __name__ == "__main__":
    unittest.main()
