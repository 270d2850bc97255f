"""Kinds of values: what they refuse, where they say so, and the JSON Schema made of them."""

from __future__ import annotations

import math
import random
import unittest
from typing import Any

from server.lib.json_schema import field_types
from server.lib.json_schema.field_types import ANY, FLAG, OBJECT, PIECE, TEXT, Kind, misfits
from server.lib.json_schema.validate import Validator

COUNT = field_types.number("a whole number", whole=True, most=9)
POINT = field_types.object_of({"x": COUNT, "y": COUNT}, ("x",), closed=True)
TREE = field_types.object_of(each=field_types.list_of(POINT))
VALUES: tuple[Any, ...] = (
    *(None, True, 0, 9, 10, -1, 0.5, "", "a", "abc", [], [1], ["a"], {}, {"x": 1}, {"x": "1"}),
    *({"x": 1, "y": 2}, {"y": 1}, {"x": 1, "z": 1}, {"a": [{"x": 1}]}, {"a": [{}]}, {"a": 1}),
    *([1, 2, 3], {"a": 1, "b": 2, "c": 3}),
)
KINDS: dict[str, Kind] = {
    "any": ANY,
    "text": field_types.text("", 1, 2),
    "text or none": field_types.text(none=True),
    "count": COUNT,
    "number": field_types.number("", most=math.inf, none=True),
    "flag": FLAG,
    "choice": field_types.one_of("a", aliases=("abc",), none=True),
    "pattern": field_types.text_like("a|[0-9]+", ""),
    "object": OBJECT,
    "point": POINT,
    "tree": TREE,
    "list": field_types.list_of(TEXT, none=True),
    "either": field_types.either(TEXT, POINT),
    "as one": field_types.as_one(field_types.list_of(COUNT), ""),
    "limited": field_types.with_limit(ANY, 2),
    "limited text": field_types.with_limit(TEXT, 2),
    "open": field_types.object_of({"x": COUNT, "y": FLAG, "z": TEXT}, ("x",)),
    "inner": field_types.object_of({"a": field_types.list_of(TEXT), "x": COUNT}),
}


class FineText(str):
    """A string of a class of its own."""


class FineObject(dict[str, Any]):
    """An object of a class of its own."""


def pointers(value: Any, kind: Kind, most: float = math.inf) -> list[str]:
    return [misfit.error()["pointer"] for misfit in misfits(value, kind, most)]


class Kinds(unittest.TestCase):
    def test_the_check_and_the_schema_agree(self) -> None:
        for name, kind in KINDS.items():
            validator = Validator(field_types.json_schema(kind))
            for value in VALUES:
                with self.subTest(name, value=value):
                    wrong = bool(misfits(value, kind))
                    self.assertEqual(wrong, not kind.holds(value))
                    self.assertEqual(wrong, bool(validator.errors(value)))

    def test_a_list_holds_what_each_of_its_values_does(self) -> None:
        """They are tested together: as members of one kind, piece by piece."""
        chance = random.Random(1)
        wide = {f"k{number}": number for number in range(2 * field_types.MANY)}
        own = (*VALUES, FineText("a"), FineObject(x=1), {"x": 2, **wide}, {"x": "2", **wide})
        fitting = {name: [value for value in own if KINDS[name].holds(value)] for name in KINDS}
        refused = 0
        for name, kind in KINDS.items():
            lists = field_types.list_of(kind)
            for count in (0, 1, 3, field_types.FEW, PIECE + 1, 3 * PIECE):
                for _ in range(20):
                    few = chance.sample(fitting[name], min(3, len(fitting[name])))
                    values = [chance.choice(few) for _ in range(count)]
                    if values and chance.random() < 0.6:
                        values[chance.randrange(count)] = chance.choice(own)
                    expected = all(map(kind.holds, values))
                    self.assertEqual(lists.holds(values), expected, (name, values))
                    refused += not expected
        self.assertGreater(refused, 250)

    def test_places(self) -> None:
        wrong = {"a/b": [{"x": 1}, {"x": 1, "z": 1}, {"y": "2"}]}
        found = ["/a~1b/1/z", "/a~1b/2/y", "/a~1b/2/x"]
        self.assertEqual(pointers(wrong, TREE), found)
        self.assertEqual(pointers(wrong, TREE, 1), found[:1])
        self.assertEqual(pointers(wrong, field_types.as_one(TREE, "a tree")), [""])
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
        kind = field_types.object_of({"x": field_types.with_title(TEXT, "X", "Any.", format="uri")})
        said = {"title": "X", "description": "Any.", "type": "string"}
        self.assertEqual(field_types.json_schema(kind)["properties"]["x"], said)
        form = field_types.json_schema(kind, form=True)["properties"]["x"]
        self.assertEqual(form, {**said, "format": "uri"})


if __name__ == "__main__":
    unittest.main()
