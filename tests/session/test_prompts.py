"""The system prompt: sections in order, each replaceable, nothing stored."""

from __future__ import annotations

import copy
import json
import unittest
from pathlib import Path
from typing import Any

from server.session import prompt_texts, prompts

ROOT = Path(__file__).parents[2]


def session(prompt: Any | None = None, **more: Any) -> Any:
    config = {"yaa": {"language": more.pop("language", "")}, "prompt": prompt or {}}
    config["agent"] = more.pop("agent", {})
    run = {"started_at": 1_700_000_000_000, "host": more.pop("host", "Linux (x86_64)")}
    run |= {"place": more.pop("place", "")}
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

    def test_the_place_of_tools_and_what_a_call_may_take(self) -> None:
        limits = {"tool": {"wall_s": 300, "memory_mb": 512, "cpu_s": 60}}
        here = session({"place": "At: {place}"})
        self.assertNotIn("At:", prompts.system(here))
        here["run"]["place"] = "In a folder."
        self.assertIn("At: In a folder.\n", prompts.system(here) + "\n")
        here["config"]["limits"] = limits
        told = "At: In a folder. One call has 300 s and 512 MB of memory.\n"
        self.assertIn(told, prompts.system(here) + "\n")
        self.assertEqual(prompts.system(here), prompts.system(copy.deepcopy(here)))

    def test_the_usual_character_is_left_out_where_another_text_says_who_the_agent_is(self) -> None:
        defaults = json.loads((ROOT / "config.default.json").read_text("utf-8"))["session"]
        self.assertEqual(prompt_texts.CHARACTER, defaults["character"])
        usual, own = prompt_texts.CHARACTER, "You work at ACME."
        agent, plain = {"systemPrompt": "You are Max."}, {"description": "d"}
        first = [{"role": "system", "content": "You are Max."}, {"role": "user", "content": "hi"}]
        later = [*reversed(first)]
        rows: list[tuple[str, dict[str, Any], list[Any], dict[str, str], bool]] = [
            (usual, plain, [], {}, True),
            (usual, plain, later, {}, True),
            (usual, agent, [], {}, False),
            (usual, plain, first, {}, False),
            (own, agent, first, {}, True),
            (usual, agent, [], {"persona": "Here: {character}"}, True),
        ]
        for character, about, messages, prompt, is_told in rows:
            with self.subTest(character=character, agent=about, messages=messages, prompt=prompt):
                made = session(prompt, agent=about, messages=messages, character=character)
                self.assertEqual(character in prompts.system(made), is_told)

    def test_one_section_replaced_leaves_the_others(self) -> None:
        text = prompts.system(session({"rules": "Be {character} and {nothing}.", "append": "End."}))
        self.assertIn("Be You are yaa. and {nothing}.", text)
        self.assertIn("2023-11-14", text)
        self.assertTrue(text.endswith("\n\nEnd."))

    def test_the_agents_part(self) -> None:
        agent = {"systemPrompt": "Be {date}.\n", "mode": "react", "prompt": {"rules": "R1"}}
        agent |= {"output_schema": {"type": "integer"}}
        text = prompts.system(session(agent=agent))
        parts = [
            "You are yaa.",
            "Be {date}.",
            "R1",
            prompt_texts.MODE_RULES["react"],
            '{"type":"integer"}',
        ]
        order = [text.index(part) for part in parts]
        self.assertEqual(order, sorted(order))
        own = prompts.system(
            session({"rules": "R2", "mode": "M", "agent": "A {agent}"}, agent=agent)
        )
        self.assertNotIn("R1", own)
        for part in ("R2", "M", "A Be {date}."):
            self.assertIn(part, own)
        self.assertEqual(
            prompts.system(session({"system": "S {agent}"}, agent=agent)), "S Be {date}."
        )

    def test_every_section_can_be_replaced_alone(self) -> None:
        agent = {"systemPrompt": "A.", "mode": "plain", "output_schema": {}}
        more: Any = {"agent": agent, "environment": ["home"], "language": "zh-CN"}
        for name in prompt_texts.SECTIONS:
            with self.subTest(name):
                whole = session({"append": "End."}, place="Here.", **more)
                whole["skills"] = {"offered": [{"name": "pdf", "description": "PDF files"}]}
                whole["instructions"] = {"path": "AGENTS.md", "text": "Use tabs."}
                before = prompts.system(whole).split("\n\n")
                whole["config"]["prompt"][name] = "Mine."
                after = prompts.system(whole).split("\n\n")
                self.assertEqual(len(before), len(prompt_texts.SECTIONS))
                changed = [old for old, new in zip(before, after, strict=True) if old != new]
                self.assertEqual((len(changed), after.count("Mine.")), (1, 1))

    def test_what_tools_run_on_is_said_where_they_run(self) -> None:
        self.assertIn("tools run on Linux (x86_64).", prompts.system(session()))
        self.assertNotIn("tools run on", prompts.system(session(host="")))
        bare = session()
        del bare["run"]["host"]
        self.assertNotIn("tools run on", prompts.system(bare))

    def test_a_fact_is_never_a_template(self) -> None:
        made = session(environment=["{character} {system}"], agent={"systemPrompt": "{append}"})
        self.assertIn("{character} {system}", prompts.system(made))

    def test_replaced_whole(self) -> None:
        self.assertEqual(prompts.system(session({"system": "Only {date}."})), "Only 2023-11-14.")

    def test_templates_that_mean_nothing_are_remarked(self) -> None:
        placeholder, section = prompts.UNKNOWN_PLACEHOLDER, prompts.UNKNOWN_SECTION
        cases: list[tuple[Any, list[Any], str]] = [
            (
                {"rules": "{a} {date} {a} {b_c}"},
                [{"code": placeholder, "section": "rules", "placeholders": ["{a}", "{b_c}"]}],
                "prompt.rules names {a}, {b_c}, which means nothing; known: character,",
            ),
            (
                {"rulez": "{x}", "é\n": 1},
                [{"code": section, "section": "rulez"}, {"code": section, "section": "é\n"}],
                "prompt.rulez is no section; there are persona,",
            ),
            ({"append": "{x}", "mode": "{{tool.field}} {mode} {X} {}", "title": "t"}, [], ""),
            ({"rules": 7, "system": "{character}"}, [], ""),
            (
                {"tools": "{tools} {name}", "call": "{name} {arguments}", "title": "{x}"},
                [{"code": placeholder, "section": "tools", "placeholders": ["{name}"]}],
                "prompt.tools names {name}, which means nothing; known: tools, call",
            ),
        ]
        known = {placeholder: list(prompts.FACTS), section: list(prompts.NAMES)}
        for templates, expected, begins in cases:
            with self.subTest(templates):
                found: list[Any] = [*prompts.remarks(templates)]
                messages = [remark.pop("message") for remark in found]
                for one in expected:
                    one["known"] = known[one["code"]]
                    if one["section"] in prompt_texts.PROTOCOL:
                        one["known"] = list(prompt_texts.PROTOCOL_FACTS[one["section"]])
                self.assertEqual(found, expected)
                self.assertTrue(all(messages))
                self.assertTrue("".join(messages).startswith(begins), messages)

    def test_a_remark_names_few(self) -> None:
        text = "".join(f"{{a{'b' * number}}}" for number in range(400))
        remark, other = prompts.remarks({"rules": text, "x" * 900: ""})
        self.assertEqual(len(remark["placeholders"]), 20)
        self.assertLess(len(remark["message"]) + len(other["message"]), 4_000)

    def test_pure_and_stable(self) -> None:
        made = session(environment=["x"])
        before = copy.deepcopy(made)
        self.assertEqual(prompts.system(made), prompts.system(made))
        self.assertEqual(made, before)

    def test_the_title_request_shows_the_talk_only(self) -> None:
        messages: Any = [
            {"role": "user", "content": "hi" * 3000},
            {"role": "tool", "tool_call_id": "c", "content": "secret"},
            {"role": "assistant", "content": "hello"},
        ]
        request = prompts.title_request(session(), messages)
        self.assertNotIn("secret", request[1]["content"])
        self.assertLess(len(request[1]["content"]), 2100)
        self.assertEqual(request[0]["content"], prompt_texts.TITLE)
        named = prompts.title_request(session({"title": "Name it."}), messages)
        self.assertEqual(named[0]["content"], "Name it.")


if __name__ == "__main__":
    unittest.main()
