"""Types that are no classes: schema and builder beside each other."""

from __future__ import annotations

import enum
import typing
import unittest
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NewType, Optional, TypeVar, Union

from server.lib.json_schema.generate import describe
from server.lib.json_schema.python_types import Shapes, type_name


class Size(enum.IntEnum):
    S = 1
    L = 3


Id = NewType("Id", int)
T = TypeVar("T")
B = TypeVar("B", bound=int)
C = TypeVar("C", int, str)
INT = {"type": "integer"}
TEXT = {"type": "string"}
NULL = {"type": "null"}

TABLE: list[tuple[Any, Any]] = [
    (Any, {}),
    (object, {}),
    (None, NULL),
    (Id, INT),
    (T, {}),
    (B, INT),
    (C, {"anyOf": [INT, TEXT]}),
    (Optional[int], {"anyOf": [INT, NULL]}),  # noqa: UP045
    (Union[int, str], {"anyOf": [INT, TEXT]}),  # noqa: UP007
    (int | str, {"anyOf": [INT, TEXT]}),
    (list, {"type": "array"}),
    (list[int], {"type": "array", "items": INT}),
    (typing.List[int], {"type": "array", "items": INT}),  # noqa: UP006
    (Sequence[int], {"type": "array", "items": INT}),
    (Iterable[str], {"type": "array", "items": TEXT}),
    (set[int], {"type": "array", "items": INT, "uniqueItems": True}),
    (tuple, {"type": "array"}),
    (typing.Tuple, {"type": "array"}),  # noqa: UP006
    (tuple[int, ...], {"type": "array", "items": INT}),
    (tuple[int, str], {"type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [INT, TEXT]}),
    (dict, {"type": "object"}),
    (dict[str, Any], {"type": "object"}),
    (typing.Dict[str, Any], {"type": "object"}),  # noqa: UP006
    (Mapping[str, int], {"type": "object", "additionalProperties": INT}),
    (
        dict[uuid.UUID, int],
        {
            "type": "object",
            "propertyNames": {"type": "string", "format": "uuid"},
            "additionalProperties": INT,
        },
    ),
    (
        dict[Literal["a", "b"], Any],
        {"type": "object", "propertyNames": {"enum": ["a", "b"]}},
    ),
    (Literal["a"], {"type": "string", "const": "a"}),
    (Literal[1, "a", None, True], {"enum": [1, "a", None, True]}),
    (Literal[Size.L], {"type": "integer", "const": 3}),
    (
        Annotated[int, "how many", {"minimum": 1}, 5],
        {"type": "integer", "description": "how many", "minimum": 1},
    ),
]

# type, JSON, Python
BUILT: list[tuple[Any, Any, Any]] = [
    (dict[Size, list[Size]], {"1": [3]}, {Size.S: [Size.L]}),
    (dict[Literal[1, 2], int], {"2": 5}, {2: 5}),
    (Literal[Size.L], 3.0, Size.L),
    (Literal[1, True], True, True),
    (list[int | None], [1, None], [1, None]),
    (tuple[int, ...], [], ()),
    (set[str] | None, ["a"], {"a"}),
    (uuid.UUID | str, "a", "a"),
]

NAMES: list[tuple[Any, str]] = [
    (None, "None"),
    (int, "int"),
    (list[int | None], "list[int | None]"),
    (dict[str, list[int]], "dict[str, list[int]]"),
    (tuple[int, ...], "tuple[int, ...]"),
    (Literal["a", 1], "Literal['a', 1]"),
    (uuid.UUID, "uuid.UUID"),
    (Size, f"{__name__}.Size"),
    (Annotated[int, "x"], "int"),
    ("Later", "'Later'"),
]


class Types(unittest.TestCase):
    def test_schemas(self) -> None:
        for hint, expected in TABLE:
            with self.subTest(hint=hint):
                self.assertEqual(Shapes({}, describe).of(hint, "x").schema, expected)

    def test_builders(self) -> None:
        for hint, value, expected in BUILT:
            with self.subTest(hint=hint):
                built = Shapes({}, describe).of(hint, "x").build(value, None)
                self.assertEqual((built, type(built)), (expected, type(expected)))

    def test_names(self) -> None:
        for hint, expected in NAMES:
            with self.subTest(hint=hint):
                self.assertEqual(type_name(hint), expected)


if __name__ == "__main__":
    unittest.main()
