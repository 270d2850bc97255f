"""What a model wrote becomes arguments, or a sentence on what is wrong with it."""

from __future__ import annotations

import unittest
from typing import Any

from server.lib.json_schema.validate import cached_validator
from server.tools.arguments import UnfilledTemplate, fit_arguments
from server.tools.result import MAX_NESTED

SCHEMA = {
    "type": "object",
    "properties": {"count": {"type": "integer"}, "text": {"type": "string"}, "any": {}},
    "required": ["count"],
    "additionalProperties": False,
}


def plain(args: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    return args, []


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


class Fitted(unittest.TestCase):
    def test_table(self) -> None:
        for raw, args, wrong, changed in (
            ('{"count": 1}', {"count": 1}, "", 0),
            ({"count": 1}, {"count": 1}, "", 0),
            ('{"count": "12"}', {"count": 12}, "", 1),
            ('{"count": 1, "text": "好\\n"}', {"count": 1, "text": "好\n"}, "", 0),
            ("{}", {}, "count", 0),
            ("", {}, "count", 0),
            ('{"count": "many"}', {}, "count", 0),
            ("not JSON at all", {}, "JSON", 0),
            ({"count": 1, "any": nested(MAX_NESTED + 1)}, {}, "nested deeper", 0),
        ):
            with self.subTest(raw=str(raw)[:60]):
                found, error, changes = fit_arguments(raw, cached_validator(SCHEMA), plain)
                self.assertEqual(found, args)
                self.assertIn(wrong, error)
                self.assertEqual(bool(error), bool(wrong))
                self.assertEqual(len(changes), changed, changes)

    def test_arguments_get_the_names_that_their_author_gave_them(self) -> None:
        """Anthropic takes no other letters, so a model was offered `filter_id_` and `_top`."""
        members = {"filter[id]": {"type": "string"}, "$top": {"type": "integer"}}
        schema = {"type": "object", "properties": members, "additionalProperties": False}
        for raw in ('{"filter_id_": "a", "_top": 5}', '{"filter[id]": "a", "$top": 5}'):
            found, error, changes = fit_arguments(raw, cached_validator(schema), plain)
            self.assertEqual((found, error, changes), ({"filter[id]": "a", "$top": 5}, "", []))

    def test_templates_are_filled_before_anything_is_mended(self) -> None:
        def fill(args: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
            return {**args, "count": "7"}, ["count was filled"]

        found, error, changes = fit_arguments('{"count": "{{x}}"}', cached_validator(SCHEMA), fill)
        self.assertEqual((found, error), ({"count": 7}, ""))
        self.assertEqual((changes[0], len(changes)), ("count was filled", 2))

    def test_what_cannot_be_filled_is_said(self) -> None:
        def fill(args: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
            raise UnfilledTemplate("there is no call call_9")

        found = fit_arguments({"count": 1}, cached_validator(SCHEMA), fill)
        self.assertEqual(found, ({}, "there is no call call_9", []))


if __name__ == "__main__":
    unittest.main()
