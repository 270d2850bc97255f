"""Tools in one line, and in detail."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.lib.json_schema.validate import validate
from server.lib.sandbox.process import Outcome, limit_error
from server.tools.base import MAX_LINE, Tool, brief, declaration, detail, one_line, result_schema
from server.tools.client_tools import ClientTool
from server.tools.result import envelope

FIELDS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


NODE = {
    "$defs": {
        "Node": {
            "title": "m.Node",
            "type": "object",
            "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
        }
    }
}


class Results(unittest.TestCase):
    """What comes back: in the description where that is wanted, and the envelope for people."""

    def test_in_the_description(self) -> None:
        cases: list[tuple[Any, bool, str]] = [
            ({"type": "integer"}, True, 'Add.\n\nReturns {"type":"integer"}'),
            ({"type": "integer"}, False, "Add."),
            ({}, True, "Add."),
            (None, True, "Add."),
        ]
        for returns, results, wanted in cases:
            with self.subTest(returns, results=results):
                tool = Tool("add", "Add.", FIELDS, returns=returns)
                about = declaration(tool, results=results)["function"]
                self.assertEqual(about["description"], wanted)
        self.assertEqual(
            detail(Tool("add", "", FIELDS, returns={"type": "integer"}))["returns"],
            {"type": "integer"},
        )

    def test_what_a_toolkit_says_of_all_its_tools(self) -> None:
        tool = Tool("Kit_add", "Add.", FIELDS, toolkit=("Kit", "For sums."))
        told = declaration(tool, results=False, kit=True)["function"]["description"]
        self.assertEqual(told, "Add.\n\nAll tools Kit_*: For sums.")
        self.assertEqual(declaration(tool, results=False)["function"]["description"], "Add.")
        self.assertEqual(detail(tool)["toolkit"], {"name": "Kit", "description": "For sums."})
        silent = Tool("Kit_add", "Add.", FIELDS, toolkit=("Kit", ""))
        self.assertNotIn("toolkit", detail(silent))

    def test_what_a_provider_would_refuse_is_said_in_words(self) -> None:
        choice = [{"required": ["city"]}, {"required": ["zip"]}]
        tool = Tool("add", "Add.", {"type": "object", "anyOf": choice}, returns={"type": "null"})
        about = declaration(tool, results=True)["function"]
        self.assertEqual(about["parameters"], {"type": "object", "properties": {}})
        before, words, returned = about["description"].split("\n\n")
        self.assertEqual((before, returned), ("Add.", 'Returns {"type":"null"}'))
        self.assertIn('{"anyOf":[{"required":["city"]},', words)
        self.assertEqual(tool.parameters["anyOf"], choice)  # which arguments are checked against

    def test_arguments_whose_names_a_provider_would_refuse(self) -> None:
        schema = {"type": "object", "properties": {"$top": {"type": "integer"}}}
        for kind, name in ((Tool, "_top"), (ClientTool, "$top")):
            about = declaration(kind("list", "", schema), results=False)
            self.assertEqual([*about["function"]["parameters"]["properties"]], [name])

    def test_the_envelope(self) -> None:
        for returns, wanted in (({"type": "integer"},) * 2, ({}, {}), (None, None)):
            tool = Tool("add", "", FIELDS, returns=returns)
            schema = result_schema(tool)
            self.assertEqual(schema["properties"].get("result"), wanted)
            self.assertIn("attachments", schema["properties"])
        inner = {**NODE, "$ref": "#/$defs/Node"}
        schema = result_schema(Tool("tree", "", FIELDS, returns=inner))
        self.assertNotIn("$ref", json.dumps(schema))
        kids = schema["properties"]["result"]["properties"]["kids"]["items"]
        self.assertEqual(kids["description"], "same shape as m.Node")

    def test_what_results_really_look_like(self) -> None:
        """Every key and status of an envelope is in the schema that is told of it."""
        made = {"path": "a", "name": "a", "media_type": "text/plain", "bytes": 1}
        error = {"type": "error", "message": "no"}
        for outcome in (
            Outcome("ok", 3, attachments=(made,), logs=("line",), keep=1),
            Outcome("error", error=error),
            Outcome(*limit_error({"limit": "wall_s", "allowed": 1, "observed": 2})),
        ):
            found = envelope(outcome, ["/a: x"], {"a": 1})
            schema = result_schema(Tool("add", "", FIELDS, returns={"type": "integer"}))
            self.assertEqual(validate(found, schema), [])
            self.assertEqual(set(found) - set(schema["properties"]), set())


class Disclosure(unittest.TestCase):
    def test_one_line(self) -> None:
        cases = [
            ("", ""),
            ("Add.", "Add."),
            ("Add numbers. Then more.", "Add numbers."),
            ("Add 1.5 to it\n  and stop.\n\nLong story.", "Add 1.5 to it and stop."),
            ("word " * 50, "word " * 19 + "…"),
        ]
        for text, line in cases:
            with self.subTest(text[:20]):
                self.assertEqual(one_line(text), line)
                self.assertLessEqual(len(one_line(text)), MAX_LINE)

    def test_brief_and_detail(self) -> None:
        tool = Tool("weather", "Tell the weather. In any city.", FIELDS)
        about = brief(tool)["function"]
        self.assertEqual(about["description"], "Tell the weather.")
        self.assertEqual(about["parameters"], {"type": "object", "properties": {}})
        self.assertEqual(detail(tool)["parameters"], FIELDS)
        self.assertEqual(detail(tool)["example"], {"city": "Paris"})
        bare = Tool("now", "Tell the time.", {"type": "object"})
        self.assertEqual(brief(bare), declaration(bare, results=False))
        odd = {"type": "object", "properties": {"a": {"not": {}}}, "required": ["a"]}
        self.assertNotIn("example", detail(Tool("odd", "", odd)))


if __name__ == "__main__":
    unittest.main()
