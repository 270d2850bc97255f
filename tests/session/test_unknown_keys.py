"""Keys of a session's settings that do nothing, and what was probably meant."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.session import config_schema

from ..fakes import DEFAULTS

TOOLS = frozenset(("calculator", "shell", "read_file"))


def told(config: Any, **session: Any) -> list[tuple[str, str | None]]:
    found = config_schema.remarks({"config": config, **session}, TOOLS)
    return [(remark["key"], remark["nearest"]) for remark in found]


class UnknownKeys(unittest.TestCase):
    def test_the_nearest_key(self) -> None:
        cases: list[tuple[Any, str, str | None]] = [
            ({"limts": {"max_steps": 3}}, "limts", "limits"),
            ({"langauge": "中文"}, "langauge", "yaa.language"),
            ({"language": "中文"}, "language", "yaa.language"),
            ({"yaa": {"langauge": "中文"}}, "yaa.langauge", "yaa.language"),
            ({"yaa": {"Language": "中文"}}, "yaa.Language", "yaa.language"),
            ({"limits": {"max_step": 3}}, "limits.max_step", "limits.max_steps"),
            ({"limits": {"tool": {"memory": 3}}}, "limits.tool.memory", "limits.tool.memory_mb"),
            ({"tool": {"calculater": {"deny": True}}}, "tool.calculater", "tool.calculator"),
            ({"tool": {"shell": {"denny": True}}}, "tool.shell.denny", "tool.shell.deny"),
            ({"llm_api": {"model_name": "x"}}, "llm_api.model_name", "llm_api.provider.model_name"),
            ({"temperature": 1}, "temperature", "llm_api.model_settings.temperature"),
            ({"retry": {"times": 1}}, "retry", "llm_api.retry"),
            ({"llm_api": {"retry": {"time": 1}}}, "llm_api.retry.time", "llm_api.retry.times"),
            ({"llm_api": {"provider": {"api_urls": ""}}}, "llm_api.provider.api_urls")
            + ("llm_api.provider.api_url",),
            ({"llm_api": {"model_settings": {"temprature": 1}}},)
            + ("llm_api.model_settings.temprature", "llm_api.model_settings.temperature"),
            ({"заметка": 1}, "заметка", None),
            ({"": 1}, "", None),
        ]
        for config, key, nearest in cases:
            with self.subTest(config):
                self.assertEqual(told(config), [(key, nearest)])

    def test_what_is_known_or_may_be_meant_for_others(self) -> None:
        for config in (
            DEFAULTS["session"]["config"],
            {},
            {"agent": {"name": "x", "anything": 1}},
            {"prompt": {"ruels": "told of as a section"}},
            {"tool": {"calculator": {"deny": True}, "base_tool": {"auto_approve": True}}},
            {"tool": {"mcp__notes__write": {"deny": True}}},
            {"yaa": {"output_schema": {"type": "object", "limts": 1}}},
            {"llm_api": {"model_settings": {"use_costum_temp": True, "vendors_own": 1}}},
            {"llm_api": {"provider": {"extra_body": {"anything": {"limts": 1}}}}},
            {"limits": None, "yaa": [1]},
        ):
            with self.subTest(config):
                self.assertEqual(told(config), [])
        self.assertEqual(told("text"), [])

    def test_tools_of_the_page_are_tools(self) -> None:
        rules = {"tool": {"calculater": {"deny": True}}}
        self.assertEqual(told(rules, tools=[{"name": "calculater"}]), [])

    def test_what_is_said(self) -> None:
        (remark,) = config_schema.remarks({"config": {"limts": {}}})
        self.assertEqual(remark["code"], "config_key_unknown")
        said = "config.limts is no setting, and does nothing; did you mean config.limits?"
        self.assertEqual(remark["message"], said)

    def test_many_and_long_keys_stay_few_and_short(self) -> None:
        config: Any = {f"{number}{'x' * 100_000}": {} for number in range(100)}
        found = config_schema.remarks({"config": config})
        self.assertEqual(len(found), config_schema.MOST_TOLD)
        self.assertLess(len(json.dumps(found)), 10_000)


if __name__ == "__main__":
    unittest.main()
