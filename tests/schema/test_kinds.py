"""Kinds of values: what they refuse, where they say so, and the JSON Schema made of them."""

from __future__ import annotations

import math
import unittest
from typing import Any

from server.schema import kinds
from server.schema.kinds import ANY, FLAG, OBJECT, TEXT, Kind, misfits
from server.schema.validate import Validator

COUNT = kinds.number("a whole number", whole=True, most=9)
POINT = kinds.object_of({"x": COUNT, "y": COUNT}, ("x",), closed=True)
TREE = kinds.object_of(each=kinds.list_of(POINT))
VALUES: tuple[Any, ...] = (
    *(None, True, 0, 9, 10, -1, 0.5, "", "a", "abc", [], [1], ["a"], {}, {"x": 1}, {"x": "1"}),
    *({"x": 1, "y": 2}, {"y": 1}, {"x": 1, "z": 1}, {"a": [{"x": 1}]}, {"a": [{}]}, {"a": 1}),
    *([1, 2, 3], {"a": 1, "b": 2, "c": 3}),
)
KINDS: dict[str, Kind] = {
    "any": ANY,
    "text": kinds.text("", 1, 2),
    "text or none": kinds.text(none=True),
    "count": COUNT,
    "number": kinds.number("", most=math.inf, none=True),
    "flag": FLAG,
    "choice": kinds.one_of("a", aliases=("abc",), none=True),
    "pattern": kinds.text_like("a|[0-9]+", ""),
    "object": OBJECT,
    "point": POINT,
    "tree": TREE,
    "list": kinds.list_of(TEXT, none=True),
    "either": kinds.either(TEXT, POINT),
    "as one": kinds.as_one(kinds.list_of(COUNT), ""),
    "limited": kinds.with_limit(ANY, 2),
}


def pointers(value: Any, kind: Kind, most: float = math.inf) -> list[str]:
    return [misfit.error()["pointer"] for misfit in misfits(value, kind, most)]


class Kinds(unittest.TestCase):
    def test_the_check_and_the_schema_agree(self) -> None:
        for name, kind in KINDS.items():
            validator = Validator(kinds.json_schema(kind))
            for value in VALUES:
                with self.subTest(name, value=value):
                    wrong = bool(misfits(value, kind))
                    self.assertEqual(wrong, not kind.holds(value))
                    self.assertEqual(wrong, bool(validator.errors(value)))

    def test_places(self) -> None:
        wrong = {"a/b": [{"x": 1}, {"x": 1, "z": 1}, {"y": "2"}]}
        found = ["/a~1b/1/z", "/a~1b/2/y", "/a~1b/2/x"]
        self.assertEqual(pointers(wrong, TREE), found)
        self.assertEqual(pointers(wrong, TREE, 1), found[:1])
        self.assertEqual(pointers(wrong, kinds.as_one(TREE, "a tree")), [""])
        self.assertEqual(pointers({"x": 1, "z": 1}, KINDS["either"]), ["/z"])

    def test_messages(self) -> None:
        for value, kind, detail in (
            (10, COUNT, "expected a whole number, got 10"),
            ({}, POINT, "expected a whole number, got null or nothing"),
            (["a"], TEXT, "expected a string, got an array"),
            (1, KINDS["either"], "expected a string or an object, got 1"),
            ([1, 2, 3], KINDS["limited"], "expected at most 2 entries, got 3"),
        ):
            with self.subTest(detail):
                self.assertEqual(misfits(value, kind)[0].error()["detail"], detail)

    def test_texts_for_people(self) -> None:
        kind = kinds.object_of({"x": kinds.with_title(TEXT, "X", "Any.", format="uri")})
        said = {"title": "X", "description": "Any.", "type": "string"}
        self.assertEqual(kinds.json_schema(kind)["properties"]["x"], said)
        form = kinds.json_schema(kind, form=True)["properties"]["x"]
        self.assertEqual(form, {**said, "format": "uri"})


if __name__ == "__main__":
    unittest.main()
