"""The JSON Schema of `session.config` says what the check of a session says."""

from __future__ import annotations

import json
import unittest
from pathlib import Path
from typing import Any

from server.lib.json_schema.validate import check_schema, validate
from server.session import prompts
from server.session.config_schema import CONFIG, config_schema, with_choices
from server.session.schema import check

ROOT = Path(__file__).parents[2]
PROBES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 3, 0.5, 1.5, -1, 20, 21, 60, 61, 2**53 - 1, 2**53),
    *("", "text", "free", "auto", "full", "llm", "stop", [], ["a"], [1], {}, {"a": 1}),
)
# An alias of a mode is accepted, and no form offers it. An empty provider preset is none.
WIDER = {("yaa", "mode")}
DEFAULTS = json.loads((ROOT / "config.default.json").read_text())["session"]["config"]


class Schema(unittest.TestCase):
    def setUp(self) -> None:
        self.schema = config_schema()
        self.sections = self.schema["properties"]

    def test_it_is_a_schema_and_the_defaults_fit(self) -> None:
        self.assertEqual(check_schema(self.schema), [])
        self.assertEqual(validate(DEFAULTS, self.schema), [])

    def test_a_form_offers_only_the_choices_that_are_there(self) -> None:
        given = json.dumps(self.schema)
        for there in ((), ("text",), ("native", "json_schema", "text")):
            made = with_choices(self.schema, {"tool_mode": there})["properties"]
            provider = made["llm_api"]["properties"]["provider"]["properties"]
            for place in (made["yaa"]["properties"], provider):
                with self.subTest(there):
                    self.assertEqual(place["tool_mode"]["enum"], ["auto", *there])
                    self.assertEqual(place["tool_mode"]["title"], "How tools are called")
            self.assertIn("messages", provider["api"]["enum"])
        self.assertEqual(json.dumps(self.schema), given)

    def test_it_has_the_keys_with_a_default(self) -> None:
        self.assertEqual(set(self.sections), set(DEFAULTS) | {"agent"})
        for name in DEFAULTS.keys() - {"prompt", "tool", "agent"}:
            self.assertLessEqual(set(DEFAULTS[name]), set(self.sections[name]["properties"]), name)
        self.assertEqual(list(self.sections["prompt"]["properties"]), list(prompts.NAMES))
        limits = self.sections["limits"]["properties"]["tool"]["properties"]
        self.assertEqual(set(limits), set(DEFAULTS["limits"]["tool"]))

    def test_a_value_fits_both_or_neither(self) -> None:
        for section in CONFIG.fields.keys() - {"agent", "prompt"}:
            for key in CONFIG.fields[section].fields.keys() - {"provider", "model_settings"}:
                for value in PROBES:
                    with self.subTest(section=section, key=key, value=value):
                        config = {section: {key: value}}
                        refused = bool(check({"messages": [], "config": config}))
                        misfit = bool(validate(config, self.schema))
                        if isinstance(value, dict) and value and misfit:
                            continue  # a key that is not known is kept
                        if (section, key) not in WIDER:
                            self.assertEqual(misfit, refused)
                        elif misfit:
                            self.assertTrue(refused)

    def test_every_key_of_a_provider_is_held_to_its_schema(self) -> None:
        provider = self.sections["llm_api"]["properties"]["provider"]
        for pointer, schema in walk(provider, ""):
            if schema.get("properties") or pointer.endswith("/stop"):  # the vendor checks it
                continue
            asked = {key: value for key, value in schema.items() if key != "format"}
            for value in PROBES:
                with self.subTest(pointer, value=value):
                    wanted: Any = value
                    for key in reversed(pointer.split("/")[1:]):
                        wanted = {key: wanted}
                    document = {"messages": [], "config": {"llm_api": {"provider": wanted}}}
                    self.assertEqual(bool(check(document)), bool(validate(value, asked)))

    def test_type_words_of_a_settings_file_are_no_values(self) -> None:
        words = {
            "model_type": {"is_function_call": "false"},
            "model_settings": {"use_costum_temp": "bool", "temperature": "float"},
        }
        found = check({"messages": [], "config": {"llm_api": {"provider": words}}})
        self.assertEqual(
            [each["pointer"].removeprefix("/config/llm_api/provider/") for each in found],
            [
                "model_type/is_function_call",
                *("model_settings/use_costum_temp", "model_settings/temperature"),
            ],
        )

    def test_every_key_has_a_title_and_says_what_it_does(self) -> None:
        for pointer, entry in walk(self.schema, ""):
            with self.subTest(pointer):
                self.assertTrue(entry.get("title"))
                self.assertTrue(entry.get("description"))

    def test_the_order_has_every_key_once_and_the_model_first(self) -> None:
        order = self.schema["x-order"]
        self.assertEqual(len(order), len(set(order)))
        edited = {
            pointer
            for pointer, schema in walk(self.schema, "")
            if not schema.get("properties") and not schema.get("readOnly")
        }
        self.assertEqual(set(order), edited)
        self.assertTrue(all(each.startswith("/llm_api/provider/") for each in order[:4]))
        self.assertLess(order.index("/yaa/language"), order.index("/llm_api/retry/times"))

    def test_a_key_is_not_shown(self) -> None:
        provider = self.sections["llm_api"]["properties"]["provider"]["properties"]
        self.assertEqual(provider["api_key"]["format"], "password")


def walk(schema: dict[str, Any], at: str) -> list[tuple[str, dict[str, Any]]]:
    """Every key below, with its pointer."""
    found = []
    for name, inner in schema.get("properties", {}).items():
        found += [(f"{at}/{name}", inner), *walk(inner, f"{at}/{name}")]
    return found


if __name__ == "__main__":
    unittest.main()
