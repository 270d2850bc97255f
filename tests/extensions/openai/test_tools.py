"""The caller's tools: their names on either side, what no model could be offered, many of them."""

from __future__ import annotations

import time
import unittest
from collections.abc import Container, Iterable

from server.errors import Problem
from server.extensions.openai.common import Place, Tools, tools
from server.json_types import Json


def offer(listed: Iterable[tuple[Place, Json]], taken: Container[str] = ()) -> Tools:
    return tools(listed, lambda place, tool: (place, tool), taken)


class Offered(unittest.TestCase):
    def test_a_name_the_server_has_is_spelled_otherwise(self) -> None:
        place = ("tools", 0, "function")
        offered = offer([(place, {"name": "shell"}), (place, {"name": "mine"})], {"shell"})
        self.assertEqual([each["name"] for each in offered.declarations], ["caller_shell", "mine"])
        self.assertEqual(offered.outer["caller_shell"], "shell")
        self.assertEqual(offered.restrict("shell").choice, "caller_shell")
        self.assertEqual(len(offered.restrict("auto", ["mine"]).declarations), 1)
        self.assertEqual(offered.restrict("none").declarations, ())

    def test_what_no_model_could_be_offered(self) -> None:
        place = ("tools", 0, "function")
        for name, function, where in (
            ("no name", {}, "/tools/0/function/name"),
            ("a bad name", {"name": "ä b"}, "/tools/0/function/name"),
            ("a long name", {"name": "x" * 65}, "/tools/0/function/name"),
            ("parameters", {"name": "f", "parameters": []}, "/tools/0/function/parameters"),
            (
                "no object",
                {"name": "f", "parameters": {"type": "string"}},
                "/tools/0/function/parameters/type",
            ),
            (
                "no schema",
                {"name": "f", "parameters": {"type": "object", "properties": 5}},
                "/tools/0/function/parameters",
            ),
        ):
            with self.subTest(name), self.assertRaises(Problem) as caught:
                offer([(place, function)])
            self.assertEqual(caught.exception.errors[0]["pointer"], where)
        with self.subTest("twice"), self.assertRaises(Problem):
            offer([(place, {"name": "f"}), (place, {"name": "f"})])
        with self.subTest("too many"), self.assertRaises(Problem):
            offer(((place, {"name": f"f{n}"}) for n in range(300)), ())

    def test_a_body_full_of_tools_is_refused_soon(self) -> None:
        began = time.process_time()
        with self.assertRaises(Problem):
            offer((("tools", n), {"name": f"f{n}"}) for n in range(50_000))
        self.assertLess(time.process_time() - began, 3)


if __name__ == "__main__":
    unittest.main()
