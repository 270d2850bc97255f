"""The system prompt: sections in order, each replaceable, nothing stored."""

from __future__ import annotations

import copy
import unittest
from typing import Any

from server.session import prompts


def session(prompt: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    config = {"yaa": {"language": more.pop("language", "")}, "prompt": prompt or {}}
    run = {"started_at": 1_700_000_000_000}
    return {"character": "You are yaa.", "config": config, "run": run, "messages": [], **more}


class System(unittest.TestCase):
    def test_sections(self) -> None:
        text = prompts.system(session(environment=["OS: Linux", "at home"], language="zh-CN"))
        order = [
            text.index(x) for x in ("You are yaa.", "2023-11-14", "- OS: Linux\n- at home", "zh-CN")
        ]
        self.assertEqual(order, sorted(order))
        plain = prompts.system(session())
        self.assertNotIn("environment", plain)
        self.assertNotIn("language", plain)

    def test_one_section_replaced_leaves_the_others(self) -> None:
        text = prompts.system(session({"rules": "Be {character} and {nothing}.", "append": "End."}))
        self.assertIn("Be You are yaa. and {nothing}.", text)
        self.assertIn("2023-11-14", text)
        self.assertTrue(text.endswith("\n\nEnd."))

    def test_replaced_whole(self) -> None:
        self.assertEqual(prompts.system(session({"system": "Only {date}."})), "Only 2023-11-14.")

    def test_unknown_placeholders_are_named(self) -> None:
        cases: list[tuple[dict[str, Any], list[str]]] = [
            ({"rules": "{a} {date} {a} {b_c}"}, ["prompt.rules names {a}, {b_c}"]),
            ({"rulez": "x"}, ["prompt.rulez is no section; there are persona"]),
            ({"append": "{x}", "mode": "{{tool.field}} {mode} {X} {}", "title": "t"}, []),
            ({"rules": 7, "system": "{character}"}, []),
        ]
        for templates, begins in cases:
            with self.subTest(templates):
                found = prompts.unknown_placeholders(templates)
                self.assertEqual(len(found), len(begins))
                for line, begin in zip(found, begins, strict=True):
                    self.assertTrue(line.startswith(begin), line)

    def test_pure_and_stable(self) -> None:
        made = session(environment=["x"])
        before = copy.deepcopy(made)
        self.assertEqual(prompts.system(made), prompts.system(made))
        self.assertEqual(made, before)

    def test_the_title_request_shows_the_talk_only(self) -> None:
        messages = [
            {"role": "user", "content": "hi" * 3000},
            {"role": "tool", "tool_call_id": "c", "content": "secret"},
            {"role": "assistant", "content": "hello"},
        ]
        request = prompts.title_request(session(), messages)
        self.assertNotIn("secret", request[1]["content"])
        self.assertLess(len(request[1]["content"]), 2100)


if __name__ == "__main__":
    unittest.main()
