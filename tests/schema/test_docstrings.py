"""Docstrings of four habits, and of none."""

from __future__ import annotations

import unittest

from server.lib.json_schema.generate import parse

# docstring -> (description, parameters)
TABLE: list[tuple[str | None, str | None, dict[str, str]]] = [
    (None, None, {}),
    ("", None, {}),
    ("Only this.", "Only this.", {}),
    ("One.\n\n    Two\n    lines.\n    ", "One.\n\nTwo\nlines.", {}),
    ("Do: this.\n\nUse: that", "Do: this.\n\nUse: that", {}),
    (
        """Google.

        Note:
            Kept.

        Args:
            a: first
            b (str, optional): second, e.g. "x: y"
                on two lines.

                And a paragraph.
            *rest: others

        Returns:
            int: not a parameter

        Note:
            Not kept.
        """,
        "Google.\n\nNote:\n    Kept.",
        {
            "a": "first",
            "b": 'second, e.g. "x: y" on two lines. And a paragraph.',
            "rest": "others",
        },
    ),
    ("Google.\nArgs:\n  a: tight\n", "Google.", {"a": "tight"}),
    (
        "PEP 257.\n\nKeyword arguments:\nreal -- the real part (of it)\nimag -- the\n  rest\n",
        "PEP 257.",
        {"real": "the real part (of it)", "imag": "the rest"},
    ),
    (
        "A list.\n\nArgs:\n  - a (int): first\n  * `b` - second\n    - c: inside\n  d: e -- f\n",
        "A list.",
        {"a": "first", "b": "second - c: inside", "d": "e -- f"},
    ),
    ("Args:\n  a: x\nProse: after\n  b: not one", None, {"a": "x"}),
    (
        """NumPy.

        Parameters
        ----------
        x, y : int
            Both.
        z : dict of {str: int}, default {}
            Third

            still.
        empty : int

        Returns
        -------
        w : int
            No.
        """,
        "NumPy.",
        {"x": "Both.", "y": "Both.", "z": "Third still."},
    ),
    (
        """Sphinx.

        :param host: name or
            address
        :param int port: TCP: port
        :type host: str
        :returns: a handle
            that is long
        :raises OSError: on failure
        @param epy: doc
        """,
        "Sphinx.",
        {"host": "name or address", "port": "TCP: port", "epy": "doc"},
    ),
    (
        "查询天气。\n\n参数：\n    city (str)：城市\n    days（整数）: 天数\n返回：\n    x：结果",
        "查询天气。",
        {"city": "城市", "days": "天数"},
    ),
    (
        "Flat.\n\nArgs:\na (int): the first\n    two lines: here\nb: second\n\nReturns:\nint: 1",
        "Flat.",
        {"a": "the first two lines: here", "b": "second"},
    ),
    (
        "Prose behind.\n\nArgs:\n    a: the first\nNote: this is no parameter",
        "Prose behind.",
        {"a": "the first"},
    ),
    (":not a field: x\nhttp://a.test: y", ":not a field: x\nhttp://a.test: y", {}),
]


class Docstrings(unittest.TestCase):
    def test_table(self) -> None:
        for text, description, parameters in TABLE:
            with self.subTest(text):
                doc = parse(text)
                self.assertEqual((doc.description, doc.parameters), (description, parameters))

    def test_never_an_error(self) -> None:
        for text in ("Args:", "Args:\n", ":param", ":param:", "-----", "\t\0", "Args:\n " * 5_000):
            with self.subTest(text[:20]):
                parse(text)


if __name__ == "__main__":
    unittest.main()
