"""Classes: recursion, inheritance, generics, names that clash, annotations that are strings."""

from __future__ import annotations

import unittest
from typing import Any

from server.lib.json_schema.convert import convert
from server.lib.json_schema.generate import schema_of
from server.lib.json_schema.validate import validate

from .vectors import function

HEAD = (
    "from __future__ import annotations\nimport enum\nfrom dataclasses import *\n"
    "from typing import *\n"
)
MUTUAL = "@dataclass\nclass A:\n    b: B | None = None\n@dataclass\nclass B:\n    a: list[A]\n"
TOTAL = (
    "class Base(TypedDict):\n    a: int\n    b: NotRequired[int]\n"
    "class Sub(Base, total=False):\n    c: int\n    d: Required[int]\n"
)
BOX = "T = TypeVar('T')\n@dataclass\nclass Box(Generic[T]):\n    item: T\n    more: list[T]\n"
PAIR = "class Pair(NamedTuple):\n    x: int\n    y: float = 0.5\n"
KEYWORDS = (
    "@dataclass(kw_only=True, frozen=True)\nclass K:\n    n: int\n"
    "    shared: ClassVar[int] = 1\n    made: int = field(init=False, default=2)\n"
)

# classes, parameter type, values that fit, values that don't
TABLE: list[tuple[str, str, list[Any], list[Any]]] = [
    (MUTUAL, "A", [{}, {"b": {"a": [{}]}}], [{"b": {}}, {"b": {"a": [{"b": 1}]}}, {"c": 1}]),
    (TOTAL, "Sub", [{"a": 1, "d": 1}, {"a": 1, "b": 1, "c": 1, "d": 1}], [{"a": 1}, {"d": 1}]),
    (
        BOX,
        "dict[str, Box[int]]",
        [{"k": {"item": 1, "more": []}}],
        [{"k": {"item": "", "more": []}}],
    ),
    (PAIR, "Pair", [[1], [1, 2.5]], [[], ["a"], [1, 2, 3], {"x": 1}]),
    (KEYWORDS, "K", [{"n": 1}], [{}, {"n": 1, "made": 3}, {"n": 1, "shared": 3}]),
    ("class E(str, enum.Enum):\n    A = 'a'\n    B = 'b'\n", "E", ["a"], ["A", "c", None]),
    ("class F(enum.IntFlag):\n    A = 1\n    B = 2\n", "F", [1, 2], [3]),
]


class Classes(unittest.TestCase):
    def test_verdicts_with_string_annotations(self) -> None:
        for classes, hint, good, bad in TABLE:
            signature = schema_of(function(f"{HEAD}{classes}def f(x: {hint}): ..."))
            for values, fits in ((good, True), (bad, False)):
                for value in values:
                    with self.subTest(hint, value=value):
                        arguments = {"x": value}
                        errors = validate(arguments, signature.parameters)
                        self.assertEqual(not errors, fits, errors)
                        self.assertEqual(not convert(signature, arguments).errors, fits)

    def test_built_values(self) -> None:
        for classes, hint, value, expected in (
            (MUTUAL, "A", {"b": {"a": [{}]}}, "A(b=B(a=[A(b=None)]))"),
            (BOX, "Box[int]", {"item": 1, "more": [2.0]}, "Box(item=1, more=[2])"),
            (PAIR, "Pair", [1], "Pair(x=1, y=0.5)"),
            (KEYWORDS, "K", {"n": 1}, "K(n=1, made=2)"),
        ):
            with self.subTest(hint):
                signature = schema_of(function(f"{HEAD}{classes}def f(x: {hint}): ..."))
                self.assertEqual(repr(convert(signature, {"x": value}).values["x"]), expected)

    def test_descriptions(self) -> None:
        source = (
            f"{HEAD}@dataclass\nclass D:\n    '''A thing.\n\n    Attributes:\n"
            "        n: how many\n    '''\n    n: int\n    m: Annotated[int, 'less'] = 1\n"
            "@dataclass\nclass Silent:\n    n: int\ndef f(x: D, y: Silent): ..."
        )
        defs = schema_of(function(source)).parameters["$defs"]
        self.assertEqual(defs["D"]["description"], "A thing.")
        members = defs["D"]["properties"]
        self.assertEqual([members[n]["description"] for n in "nm"], ["how many", "less"])
        self.assertNotIn("description", defs["Silent"])

    def test_two_classes_of_one_name(self) -> None:
        source = (
            f"{HEAD}@dataclass\nclass P:\n    x: int\nclass Space:\n    @dataclass\n"
            "    class P:\n        y: str\ndef f(a: P, b: Space.P, c: list[P]): ..."
        )
        parameters = schema_of(function(source)).parameters
        self.assertEqual(sorted(parameters["$defs"]), ["P", "P_2"])
        self.assertEqual(parameters["properties"]["b"], {"$ref": "#/$defs/P_2"})
        self.assertEqual(parameters["$defs"]["P_2"]["title"], "case.Space.P")

    def test_two_types_of_the_very_same_name(self) -> None:
        source = (
            f"{HEAD}@dataclass\nclass P:\n    x: int\nA = P\n@dataclass\nclass P:\n    x: str\n"
            "def f(a: A, b: P, c: list[P]): ..."
        )
        parameters = schema_of(function(source)).parameters
        one, two = parameters["$defs"]["P"], parameters["$defs"]["P_2"]
        self.assertEqual((one["title"], two["title"]), ("case.P",
                                                        "case.P (2)"))  # fmt: skip
        self.assertEqual([one["properties"]["x"]["type"], two["properties"]["x"]["type"]],
                         ["integer", "string"])  # fmt: skip
        self.assertEqual(parameters["properties"]["c"]["items"], {"$ref": "#/$defs/P_2"})

    def test_generics_that_differ_in_what_bounds_them(self) -> None:
        source = (
            f"{HEAD}from typing import Annotated, Generic, TypeVar\nT = TypeVar('T')\n"
            "@dataclass\nclass Box(Generic[T]):\n    x: T\n"
            "def f(a: Box[int], b: Box[Annotated[int, {'minimum': 1}]]): ..."
        )
        parameters = schema_of(function(source)).parameters
        refs = [schema["$ref"] for schema in parameters["properties"].values()]
        self.assertEqual(len(set(refs)), 2)

    def test_defaults(self) -> None:
        source = (
            f"{HEAD}@dataclass\nclass P:\n    x: int = 1\n    y: object = object()\n"
            "def f(a: P = P(2), b: set[int] = {2, 1}, c: float = float('inf')): ..."
        )
        parameters = schema_of(function(source)).parameters
        self.assertNotIn("required", parameters)
        self.assertEqual(parameters["properties"]["b"]["default"], [1, 2])
        for name in ("a", "c"):
            self.assertNotIn("default", parameters["properties"][name])


if __name__ == "__main__":
    unittest.main()
