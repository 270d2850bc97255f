"""Arguments to values: the shared cases, and what models send that no type describes."""

from __future__ import annotations

import datetime
import decimal
import json
import unittest
import uuid
from typing import Any

from server.lib.json_schema.convert import MAX_ERROR_BYTES, Conversion, convert, error_text, parse
from server.lib.json_schema.generate import schema_of
from server.lib.json_schema.report import Mismatch

from .vectors import cases, function

NAMES = {"dt": datetime, "uuid": uuid, "decimal": decimal}


class SharedCases(unittest.TestCase):
    def test_as_text_and_as_an_object(self) -> None:
        for case in cases("conversions"):
            signature = schema_of(case["namespace"][case["function"]])
            raw = case["raw"] if case["raw"] is not None else json.dumps(case["args"])
            forms = [raw] if case["raw"] is not None else [raw, case["args"]]
            for form in forms:
                with self.subTest(case["id"], form=form):
                    self.check(convert(signature, form), case)

    def check(self, converted: Conversion, case: dict[str, Any]) -> None:
        if case["kind"] == "error":
            self.assertIn(case["error"]["path"], [error.pointer for error in converted.errors])
            for hint in case["error"]["hint"]:
                self.assertIn(hint.lower(), converted.error.lower())
            return
        expected = eval(case["expected"], {**case["namespace"], **NAMES})
        self.assertEqual(converted.error, "")
        self.assertEqual(converted.values, expected)
        self.assertEqual(
            [type(value) for value in converted.values.values()],
            [type(value) for value in expected.values()],
        )
        self.assertEqual(bool(converted.repairs), case["kind"] == "coerce", converted.repairs)


# parameters, arguments -> repr of the values, or the error
ONE_BY_ONE: list[tuple[str, Any, str]] = [
    ("x: float", {"x": 3}, "{'x': 3.0}"),
    ("x: float", {"x": 10**400}, "/x: can't be used: int too large to convert to float"),
    ("x: bool", {"x": 1.0}, "{'x': True}"),
    ("x: str", {"x": 12345}, "{'x': '12345'}"),
    ("x: str", {"x": 1.10}, "/x: expected string, got number (1.1)"),
    ("x: int | float", {"x": 5.0}, "{'x': 5.0}"),
    ("x: float | int", {"x": 5}, "{'x': 5}"),
    ("x: dt.date | str", {"x": "2026-01-02"}, "{'x': datetime.date(2026, 1, 2)}"),
    ("x: dt.date | str", {"x": "soon"}, "{'x': 'soon'}"),
    ("x: dt.datetime | dict[int, int]", {"x": {"1": 2}}, "{'x': {1: 2}}"),
    ("x: set[list] | list[list]", {"x": [[1]]}, "{'x': [[1]]}"),
    ("x: bytes | bytes", {"x": "!"}, "/x: can't be used"),
    ("x: bytes | None", {"x": "!"}, "/x: can't be used"),
    ("x: dict", {"x": {"a": [1]}}, "{'x': {'a': [1]}}"),
    ("x: dt.datetime", {"x": "2026-11-21 10:00:00"}, "datetime(2026, 11, 21, 10, 0)}"),
    ("x: dt.datetime", {"x": "2026-11-21"}, "/x: expected date-time such as"),
    ("x: dt.datetime", {"x": "0000-01-01T00:00:00Z"}, "/x: expected date-time such as"),
    ("x: dt.datetime", {"x": True}, "/x: expected string, got boolean (true)"),
    ("x: dt.time", {"x": "10:30"}, "datetime.time(10, 30)"),
    ("x: dt.timedelta", {"x": "-P1DT1.5S"}, "datetime.timedelta(days=-2, seconds=86398,"),
    ("x: dt.timedelta", {"x": "P1Y"}, "/x: expected duration such as PT1H30M"),
    ("x: dt.timedelta", {"x": "P99999999999W"}, "/x: expected duration such as"),
    ("x: bytes", {"x": "aGk"}, "{'x': b'hi'}"),
    ("x: bytes", {"x": "!"}, '/x: can\'t be used: Only base64 data is allowed, got string ("!")'),
    ("x: set[list]", {"x": [[1]]}, "unhashable type: 'list'"),
    ("x: frozenset[int] = frozenset()", {}, "{'x': frozenset()}"),
    ("x: tuple[int, ...]", {"x": [1, 2]}, "{'x': (1, 2)}"),
    ("x: tuple[()]", {"x": [1]}, "/x: expected at most 0 items, got 1"),
    ("x: dict[float, int]", {"x": {"1.5": 1}}, "{'x': {1.5: 1}}"),
    ("x: dict[int, int]", {"x": {"01": 1}}, "/x/01: the name does not fit"),
    ("x: dict[str, int]", {"x": {"a": None}}, "/x/a: expected integer, got null"),
    ("x: list[int]", {"x": [None]}, "/x/0: expected integer, got null"),
    ("x: int = 3, y: int = 4", {"x": None}, "{'x': 3, 'y': 4}"),
    ("x: int, /, y: int = 4", {"x": 1}, "{'x': 1, 'y': 4}"),
    ("x: list[int] | None", {"x": "[1, 2]"}, "{'x': [1, 2]}"),
    ("x", {"x": {"any": [None]}}, "{'x': {'any': [None]}}"),
]

# text -> the arguments, or how the error begins
TEXTS: list[tuple[str, Any]] = [
    ("", {}),
    (" \n", {}),
    ("null", {}),
    ("{}", {}),
    ('"{\\"x\\": 1}"', {"x": 1}),
    ('"\\"{}\\""', "expected a JSON object of arguments, got string"),
    ("5", "expected a JSON object of arguments, got integer (5)"),
    ('{"x": 1', "the arguments are not valid JSON"),
    ('{"x": 1, "x": 2}', "the arguments are not valid JSON: the key 'x' appears twice"),
    ('{"x": "\\ud800"}', "the arguments are not valid JSON: a string holds half"),
    ('{"x": 1e999}', "the arguments are not valid JSON: the number 1e999 is too large"),
    ('{"x":' * 200 + "1" + "}" * 200, "the arguments are not valid JSON: nested deeper"),
    ("[" * 100_000, "the arguments are not valid JSON: nested deeper"),
]


class Conversions(unittest.TestCase):
    def test_one_by_one(self) -> None:
        for parameters, arguments, expected in ONE_BY_ONE:
            with self.subTest(parameters, arguments=arguments):
                source = f"import datetime as dt\ndef f({parameters}): ..."
                converted = convert(schema_of(function(source)), arguments)
                self.assertIn(expected, converted.error or repr(converted.values))

    def test_text(self) -> None:
        for text, expected in TEXTS:
            with self.subTest(text[:40]):
                parsed = parse(text)
                if isinstance(expected, dict):
                    self.assertEqual((parsed.arguments, parsed.errors), (expected, []))
                else:
                    self.assertTrue(parsed.error.startswith(f"(root): {expected}"), parsed.error)

    def test_a_constructor_may_refuse(self) -> None:
        source = (
            "from dataclasses import dataclass\n@dataclass\nclass D:\n    n: int\n"
            "    def __post_init__(self):\n        if self.n < 0: raise ValueError('too small')\n"
            "def f(x: list[D]): ..."
        )
        converted = convert(schema_of(function(source)), {"x": [{"n": 1}, {"n": -1}]})
        self.assertEqual(converted.error, "/x/1: D does not accept it: too small")

    def test_arguments_are_not_changed(self) -> None:
        arguments = {"x": ["1", {"a": None}]}
        before = json.dumps(arguments)
        convert(schema_of(function("def f(x: list[int]): ...")), arguments)
        self.assertEqual(json.dumps(arguments), before)

    def test_a_repair_that_did_not_help_is_not_blamed(self) -> None:
        source = "import datetime as dt\ndef f(x: dt.date): ..."
        converted = convert(schema_of(function(source)), {"x": 20260101})
        self.assertEqual(converted.error, "/x: expected string, got integer (20260101)")


class ErrorText(unittest.TestCase):
    def test_bounded_and_counted(self) -> None:
        errors = [Mismatch(f"/x/{n}", "type", "expected integer, got 你" * 3) for n in range(100)]
        text = error_text(errors)
        self.assertLessEqual(len(text.encode()), MAX_ERROR_BYTES)
        shown = text.splitlines()
        self.assertEqual(shown[-1], f"and {100 - len(shown) + 1} more problems")

    def test_one_long_problem_is_cut(self) -> None:
        text = error_text([Mismatch("/" + "长" * 5_000, "type", "wrong")])
        self.assertLessEqual(len(text.encode()), MAX_ERROR_BYTES)
        self.assertTrue(text.endswith("…"))


if __name__ == "__main__":
    unittest.main()
