"""Signatures: the shared cases by verdict, what is refused and in which words, the envelope."""

from __future__ import annotations

import functools
import importlib.util
import json
import unittest
from typing import Any

from server.lib.json_schema.compile import inline
from server.lib.json_schema.convert import convert
from server.lib.json_schema.generate import STATUSES, SignatureError, response_schema, schema_of
from server.lib.json_schema.to_json import plain
from server.lib.json_schema.validate import check_schema, validate

from .vectors import cases, function

REFUSED = [
    ("def f(*args): ...", "f(*args): a model has to know each parameter by name;"),
    ("def f(**kw: str): ...", "use one parameter that is a dict"),
    (
        "from typing import Callable\ndef f(x: Callable[[int], str]): ...",
        "f(x): collections.abc.Callable[[int], str] is a function",
    ),
    ("def f(x: 'Nope'): ...", "f(x): the type can't be resolved: name 'Nope' is not defined"),
    ("def f(x: list['Nope']): ...", "f(x): the type can't be resolved: name 'Nope'"),
    ("def f(x: complex): ...", "f(x): complex can't be sent as JSON; use plain types"),
    ("class C: ...\ndef f(x: list[C | None]): ...", "f(x): case.C can't be sent"),
    ("def f(x: dict[tuple[int, int], str]): ...", "f(x): tuple[int, int] can't be a key"),
    (
        "from typing import Annotated\ndef f(x: Annotated[int, {'minimum': 'a'}]): ...",
        "f: the schema can't be used: /properties/x/minimum: expected a number",
    ),
    (
        "import enum\nclass E(enum.Enum):\n    A = object()\ndef f(x: E): ...",
        "is not JSON: object has no JSON form",
    ),
    ("import enum\nclass E(enum.Enum): ...\ndef f(x: E): ...", "case.E has no members"),
    (
        "from dataclasses import dataclass\n@dataclass\nclass D:\n    y: complex\n"
        "def f(x: list[D]): ...",
        "f(x): D.y: complex can't be sent",
    ),
    ("f = print", "print(*args)"),
    ("f = dict.fromkeys.__call__", "__call__(*args)"),
    ("f = type", "type: "),
    (
        "from dataclasses import dataclass\n@dataclass\nclass D:\n    y: 'Gone'\ndef f(x: D): ...",
        "f(x): D: a type can't be resolved: name 'Gone' is not defined",
    ),
]


class SharedCases(unittest.TestCase):
    def test_verdicts(self) -> None:
        for case in cases("signatures"):
            with self.subTest(case["id"]):
                target = case["namespace"][case["function"]]
                if case["expect"] == "reject":
                    with self.assertRaises(SignatureError):
                        schema_of(target, inject=case["inject"])
                else:
                    self.check(schema_of(target, inject=case["inject"]), case)

    def check(self, signature: Any, case: dict[str, Any]) -> None:
        self.assertEqual(check_schema(signature.parameters), [])
        self.assertNotIn("$ref", json.dumps(inline(signature.parameters)))
        for value in case["valid"]:
            self.assertEqual(validate(value, signature.parameters, formats=False), [])
            self.assertEqual(validate(value, inline(signature.parameters), formats=False), [])
        for value in case["invalid"]:
            self.assertNotEqual(validate(value, signature.parameters), [])
        self.assertEqual(signature.description, case["description"])
        described = {
            name: schema["description"]
            for name, schema in signature.parameters["properties"].items()
            if "description" in schema
        }
        self.assertEqual(described, case["param_descriptions"])
        if "return_schema" in case:
            self.assertEqual(signature.returns is None, case["return_schema"] is None)

    def test_return_schemas(self) -> None:
        for case in cases("signatures"):
            if case.get("return_schema"):
                with self.subTest(case["id"]):
                    ours = schema_of(case["namespace"][case["function"]]).returns
                    for value in (1, "a", {"a": 1}, {"ok": True, "items": ["x"]}, {"ok": 1}, None):
                        theirs = validate(value, case["return_schema"])
                        self.assertEqual(bool(validate(value, ours)), bool(theirs), value)


class Refusals(unittest.TestCase):
    def test_in_words_that_help(self) -> None:
        for source, words in REFUSED:
            with self.subTest(source), self.assertRaises(SignatureError) as caught:
                schema_of(function(source))
            self.assertIn(words, str(caught.exception))


class Parts(unittest.TestCase):
    def test_inject_by_name_and_by_type(self) -> None:
        source = (
            "from __future__ import annotations\nfrom typing import TYPE_CHECKING\n"
            "if TYPE_CHECKING:\n    from nowhere import Context\n"
            "class Log: ...\nclass Quiet(Log): ...\n"
            "def f(ctx: Context, /, x: int, log: Quiet | None = None): ..."
        )
        target = function(source)
        signature = schema_of(target, inject=("ctx", target.__globals__["Log"]))
        self.assertEqual(signature.injected, ("ctx", "log"))
        self.assertEqual(list(signature.parameters["properties"]), ["x"])
        self.assertEqual(signature.bind({"ctx": 1, "x": 2, "log": 3}), ([1], {"x": 2, "log": 3}))

    def test_methods_and_wrapped_functions(self) -> None:
        class Kit:
            def add(self, x: int) -> int:
                "Adds."
                return x

        @functools.wraps(Kit.add)
        def wrapper(*args: Any) -> Any:
            return args

        self.assertEqual(list(schema_of(Kit().add).parameters["properties"]), ["x"])
        self.assertEqual(list(schema_of(wrapper).parameters["properties"]), ["self", "x"])
        self.assertEqual(schema_of(Kit().add).description, "Adds.")

    def test_annotated_text_wins_over_the_docstring(self) -> None:
        source = (
            "from typing import Annotated\ndef f(x: Annotated[int, 'types'], y: int):\n"
            '    """Do.\n\n    Args:\n        x: doc\n        y: doc\n    """'
        )
        properties = schema_of(function(source)).parameters["properties"]
        self.assertEqual([p["description"] for p in properties.values()], ["types", "doc"])

    @unittest.skipUnless(importlib.util.find_spec("pydantic"), "pydantic is not here")
    def test_fields_of_pydantic_as_a_default_and_in_annotated(self) -> None:
        head = "from typing import Annotated\nfrom pydantic import Field\n"
        words: dict[str, Any] = {"description": "how many", "minimum": 1, "maximum": 9}
        for written, wanted, required in (
            ("x: int = Field(description='how many', ge=1, le=9)", words, True),
            ("x: int = Field(..., description='how many', ge=1, le=9)", words, True),
            ("x: Annotated[int, Field(description='how many', ge=1, le=9)]", words, True),
            ("x: int = Field(3, gt=0, multiple_of=3)",
             {"default": 3, "exclusiveMinimum": 0, "multipleOf": 3}, False),
            ("x: str = Field('a', min_length=1, max_length=5, pattern='^a')",
             {"default": "a", "minLength": 1, "maxLength": 5, "pattern": "^a"}, False),
            ("x: list[int] = Field(default_factory=list, max_length=5)",
             {"default": [], "maxItems": 5}, False),
            ("x: int | None = Field(default=None)", {"default": None}, False),
        ):  # fmt: skip
            with self.subTest(written):
                found = schema_of(function(f"{head}def f({written}): ..."))
                schema = found.parameters["properties"]["x"]
                self.assertEqual({k: schema.get(k) for k in wanted}, wanted)
                self.assertEqual(found.parameters.get("required", []), ["x"] if required else [])
                self.assertEqual(found.arguments[0].is_required, required)
                if not required:
                    self.assertEqual(found.arguments[0].default, wanted["default"])

    @unittest.skipUnless(importlib.util.find_spec("pydantic"), "pydantic is not here")
    def test_models_of_pydantic(self) -> None:
        """As parameters, built and checked by the model itself, and as results."""
        source = """
from typing import Literal
from pydantic import BaseModel, Field, HttpUrl, model_validator
class Item(BaseModel):
    "One item."
    name: str = Field(description="its name", min_length=2)
    n: int = Field(1, ge=1, alias="count")
    page: HttpUrl | None = None
class Order(BaseModel):
    items: list[Item]
    kind: Literal["a", "b"] = "a"
    parent: "Order | None" = None
    @model_validator(mode="after")
    def check(self):
        if len(self.items) > 1:
            raise ValueError("one at a time")
        return self
def f(order: Order, other: Item | None = None) -> Item: ...
"""
        found = schema_of(function(source, "f"))
        defs = found.parameters["$defs"]
        self.assertEqual(found.parameters["required"], ["order"])
        self.assertEqual(defs["Order"]["required"], ["items"])
        self.assertEqual(defs["Item"]["description"], "One item.")
        self.assertEqual(
            defs["Item"]["properties"]["name"],
            {"type": "string", "description": "its name", "minLength": 2},
        )
        self.assertEqual(
            defs["Item"]["properties"]["count"], {"type": "integer", "minimum": 1, "default": 1}
        )
        item = {"name": "ab", "count": 2, "page": "https://a.test/"}
        made = convert(found, {"order": {"items": [item]}})
        order = made.values["order"]
        self.assertEqual((order.items[0].n, order.kind, made.error), (2, "a", ""))
        self.assertEqual(plain(order.items[0]), item)
        for wrong, words in (
            ([item, item], "/order: Order does not accept it: Value error, one at a time"),
            ([{"name": "a"}], "/order/items/0/name: expected at least 2 characters, got 1"),
            ([{**item, "page": "no"}], "/order/items/0/page: expected uri such as"),
        ):
            with self.subTest(words):
                self.assertIn(words, convert(found, {"order": {"items": wrong}}).error)
        source = "from pydantic import BaseModel\nfrom collections.abc import Callable\n"
        source += "class A(BaseModel):\n    x: Callable[[], int]\ndef f(a: A): ..."
        with self.assertRaisesRegex(SignatureError, "A.x: .* is a function"):
            schema_of(function(source, "f"))

    def test_classes_are_titled_with_their_qualified_names(self) -> None:
        source = (
            "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: list[int]\n"
            "def f(p: P, n: int | None = None): ..."
        )
        self.assertEqual(schema_of(function(source)).parameters["$defs"]["P"]["title"], "case.P")

    def test_titles_everywhere(self) -> None:
        source = (
            "from dataclasses import dataclass\nfrom typing import NewType, Annotated, Any\n"
            "Id = NewType('Id', int)\n@dataclass\nclass P:\n    x: list[int]\n"
            "def f(p: list[P], i: Id, m: dict[str, P | None], w: Annotated[int, {'title': 'W'}],"
            " a: Any, t: tuple[int, str]) -> set[str]: ..."
        )
        signature = schema_of(function(source), titled=True)
        found = signature.parameters["properties"]
        named = {name: schema.get("title") for name, schema in found.items()}
        self.assertEqual(
            named,
            {
                "p": "list[case.P]",
                "i": "case.Id",
                "m": "dict[str, case.P | None]",
                "w": "W",
                "a": None,
                "t": "tuple[int, str]",
            },
        )
        self.assertNotIn("propertyNames", found["m"])
        self.assertEqual(found["m"]["additionalProperties"]["title"], "case.P | None")
        self.assertEqual([each["title"] for each in found["t"]["prefixItems"]], ["int", "str"])
        self.assertEqual(
            signature.parameters["$defs"]["P"]["properties"]["x"]["title"], "list[int]"
        )
        assert signature.returns is not None
        self.assertEqual(signature.returns["items"], {"title": "str", "type": "string"})

    def test_returns(self) -> None:
        for annotation, expected in (
            ("", {}),
            (" -> None", None),
            (" -> list[int]", {"type": "array", "items": {"type": "integer"}}),
            (" -> complex", {}),
        ):
            with self.subTest(annotation):
                self.assertEqual(schema_of(function(f"def f(){annotation}: ...")).returns, expected)


class Envelope(unittest.TestCase):
    def test_result_is_absent_for_none(self) -> None:
        self.assertNotIn("result", response_schema(None)["properties"])
        self.assertEqual(response_schema({})["properties"]["result"], {})
        self.assertEqual(response_schema({})["properties"]["status"]["enum"], list(STATUSES))

    def test_references_lead_somewhere(self) -> None:
        source = (
            "from dataclasses import dataclass\n@dataclass\nclass N:\n    v: int\n"
            "    kids: list['N']\ndef f() -> N: ..."
        )
        envelope = response_schema(schema_of(function(source)).returns)
        self.assertEqual(check_schema(envelope), [])
        good = {"status": "ok", "result": {"v": 1, "kids": [{"v": 2, "kids": []}]}, "logs": []}
        self.assertEqual(validate(good, envelope), [])
        bad = {"status": "ok", "result": {"v": 1, "kids": [{"v": "2", "kids": []}]}}
        self.assertEqual(validate(bad, envelope)[0].pointer, "/result/kids/0/v")


if __name__ == "__main__":
    unittest.main()
