"""Messages in pieces, whatever a client has put into them."""

from __future__ import annotations

import unittest
from typing import Any

from server.models.chat_request import of_answer, of_content, of_data_url

from .fakes import provider

CALLS = [{"id": f"c{n}", "function": {"name": "f", "arguments": "{}"}} for n in range(2)]


def pieces(content: Any, *places: Any, calls: Any = CALLS) -> list[Any]:
    """Kinds, with the text of texts and the place of items."""
    details = [{"at": place, "item": {"place": place}} for place in places]
    made: Any = {"role": "assistant", "content": content, "tool_calls": calls}
    made |= {"meta": {"model": "m-1"}, "reasoning": {"details": details}}
    return [
        (kind, value if kind == "text" else value.get("place") or value.get("id"))
        for kind, value in of_answer(made, provider())
    ]


class Answers(unittest.TestCase):
    def test_order(self) -> None:
        first, second = ("call", "c0"), ("call", "c1")
        cases: list[tuple[list[Any], list[Any]]] = [
            ([], [("text", "a🙂c"), first, second]),
            ([[0, 0]], [("item", [0, 0]), ("text", "a🙂c"), first, second]),
            ([[2, 0]], [("text", "a🙂"), ("item", [2, 0]), ("text", "c"), first, second]),
            ([[3, 1]], [("text", "a🙂c"), first, ("item", [3, 1]), second]),
            ([[3, 2]], [("text", "a🙂c"), first, second]),
            ([[9, 9]], [("text", "a🙂c"), first, second]),
        ]
        for places, wanted in cases:
            with self.subTest(places):
                self.assertEqual(pieces("a🙂c", *places), wanted)

    def test_whatever_the_places_nothing_is_lost_or_doubled(self) -> None:
        odd: list[Any] = [[3, 1], [0, 0], [1, 5], [10**9, 0], [2, 2]]
        for place in odd:
            for other in odd:
                found = pieces("a🙂c", place, other)
                self.assertEqual("".join(v for kind, v in found if kind == "text"), "a🙂c")
                calls = [v for kind, v in found if kind == "call"]
                self.assertEqual(calls, ["c0", "c1"])

    def test_contents_of_parts_and_of_nothing(self) -> None:
        self.assertEqual(pieces([{"type": "text", "text": "x"}], calls=None), [("text", "x")])
        self.assertEqual(pieces(None, [0, 0], calls=None), [])


class Contents(unittest.TestCase):
    def test_hostile_parts(self) -> None:
        cases: list[tuple[Any, list[Any]]] = [
            (None, []),
            ("", []),
            (5, []),
            ([None, 5, "x"], []),
            ([{"type": "text", "text": 5}], [("text", "[text: this model cannot be given it]")]),
            ([{"type": "text", "text": ""}], []),
            ([{"image_url": {"url": 5}}], [("text", "[None: this model cannot be given it]")]),
            ([{"type": "file", "file": {"file_data": "d"}}], [("file", ("d", "file"))]),
            ([{"image_url": "u"}], [("image", ("u", "auto"))]),
            ([{"image_url": {"url": "u", "detail": "low"}}], [("image", ("u", "low"))]),
            ([{"image_url": {"url": "u", "detail": [5]}}], [("image", ("u", "auto"))]),
        ]
        for content, wanted in cases:
            with self.subTest(content):
                self.assertEqual(list(of_content(content)), wanted)

    def test_data_urls(self) -> None:
        cases = {
            "data:image/png;base64,AA==": ("image/png", "AA=="),
            "data:IMAGE/PNG;name=x;base64,AA==": ("image/png", "AA=="),
            "data:;base64,": ("", ""),
            "data:image/png,AA": None,
            "https://h/x;base64,AA": None,
        }
        for url, wanted in cases.items():
            with self.subTest(url):
                self.assertEqual(of_data_url(url), wanted)


if __name__ == "__main__":
    unittest.main()
