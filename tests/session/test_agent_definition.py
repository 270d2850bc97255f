"""What a definition means for a session: it narrows, and is narrowed."""

from __future__ import annotations

import copy
import unittest
from typing import Any

from server.session import agent_definition, prompts
from server.session.accept import accept, opening_events
from server.session.fold import Folder

from ..fakes import DEFAULTS, Ids

LIMITS = DEFAULTS["session"]["config"]["limits"]


def session(**agent: Any) -> Any:
    found, misfits = agent_definition.read("a", agent)
    assert not misfits, misfits
    config = copy.deepcopy(DEFAULTS["session"]["config"])
    return {"config": {**config, "agent": found}, "grants": [], "messages": []}


class Words(unittest.TestCase):
    def test_tools_and_policy(self) -> None:
        cases: list[tuple[Any, str, bool, str]] = [
            ({}, "shell", False, ""),
            ({"tools": ["Shell"]}, "shell", False, ""),
            ({"tools": ["mcp__n*"]}, "mcp__notes__add", False, ""),
            ({"tools": ["mcp__n*"]}, "shell", False, "deny"),
            ({"tools": []}, "shell", False, "deny"),
            ({"tools": []}, "of_the_page", True, ""),
            ({"tools": []}, "context_reload", False, ""),
            ({"tools": [], "policy": {"shell": "auto"}}, "shell", False, "deny"),
            ({"policy": {"shell": "ask"}}, "shell", False, "ask"),
            ({"policy": {"of_the_page": "deny"}}, "of_the_page", True, "deny"),
        ]
        for agent, tool, page, wanted in cases:
            with self.subTest(agent=agent, tool=tool):
                self.assertEqual(
                    agent_definition.policy_word(session(**agent), tool, page=page), wanted
                )

    def test_finish(self) -> None:
        for agent, strict, listed in (
            ({}, False, True),
            ({"tools": ["shell"]}, False, False),
            ({"tools": ["finish"], "require_finish_tool": True}, True, True),
        ):
            found = session(**agent)
            self.assertEqual(agent_definition.wants_finish(found), strict)
            self.assertEqual(agent_definition.lists_finish(found), listed)
        own = session()
        own["config"]["yaa"]["require_finish_tool"] = True
        self.assertTrue(agent_definition.wants_finish(own))


class Provider(unittest.TestCase):
    def test_the_session_then_the_agent_then_the_server(self) -> None:
        auto, mine = {"name": "auto"}, {"name": "mine"}
        agents, model = {"provider": "p", "model": "m"}, {"model": "m"}
        whole = {"name": "p", "model_name": "m"}
        own_key = {"api_url": "http://x", "api_key": "k"}
        cases: list[tuple[Any, Any, Any]] = [
            ({}, None, auto),
            ({}, mine, mine),
            ({}, auto, auto),
            (agents, None, whole),
            (agents, auto, whole),
            (agents, {}, whole),
            (agents, mine, mine),
            (agents, own_key, own_key),
            (agents, {"name": "auto", "model_name": "x"}, {"name": "auto", "model_name": "x"}),
            (model, auto, {"name": "auto", "model_name": "m"}),
            (agents, "text", "text"),
        ]
        for agent, own, wanted in cases:
            with self.subTest(agent=agent, own=own):
                self.assertEqual(agent_definition.provider(agent, own, auto), wanted)


class Filled(unittest.TestCase):
    def opened(self, document: Any, agent: Any) -> Any:
        folder = Folder(copy.deepcopy(accept(document)))
        for event in opening_events(folder.session, DEFAULTS["session"], agent, "r", 1, Ids()):
            folder.apply(event)
        return folder.session

    def test_the_definition_travels(self) -> None:
        agent, _ = agent_definition.read("coder", {"limits": {"max_steps": 60}})
        first = self.opened({"messages": []}, agent)
        self.assertEqual(first["config"]["agent"], agent)
        self.assertEqual(agent_definition.definition_of(first), agent)

    def test_limits_change_with_the_agent_unless_somebody_set_them(self) -> None:
        wide, _ = agent_definition.read("coder", {"limits": {"max_steps": 60}})
        narrow, _ = agent_definition.read("react", {"mode": "react"})
        first = self.opened({"messages": []}, wide)
        self.assertEqual(first["config"]["limits"], {**LIMITS, "max_steps": 60})
        second = self.opened(first, narrow)
        self.assertEqual(second["config"]["limits"], {**LIMITS, "max_steps": 6})
        plain = self.opened(second, {})
        self.assertEqual(plain["config"]["limits"], LIMITS)
        second["config"]["limits"]["max_steps"] = 3
        self.assertEqual(self.opened(second, wide)["config"]["limits"]["max_steps"], 3)

    def test_limits_change_with_the_mode_unless_somebody_set_them(self) -> None:
        def steps(mode: str, made: Any, agent: Any) -> Any:
            made = copy.deepcopy(made)
            made.setdefault("config", {}).setdefault("yaa", {})["mode"] = mode
            return self.opened(made, agent)

        wide, _ = agent_definition.read("coder", {"limits": {"max_steps": 60}})
        usual = LIMITS["max_steps"]
        new: Any = {"messages": []}
        set_to_3: Any = {"messages": [], "config": {"limits": {"max_steps": 3}}}
        for name, agent, document, modes, wanted in (
            ("react", {}, new, ("react", "re-act"), (6, 6)),
            ("to react and back", {}, new, ("", "react", "free", ""), (usual, 6, usual, usual)),
            ("the agent has its own", wide, new, ("", "react"), (60, 60)),
            ("somebody set it", {}, set_to_3, ("react", "", "react"), (3, 3, 3)),
        ):
            with self.subTest(name):
                made = document
                for mode, limit in zip(modes, wanted, strict=True):
                    made = steps(mode, made, agent)
                    self.assertEqual(made["config"]["limits"], {**LIMITS, "max_steps": limit})
        made = steps("react", new, {})
        made["config"]["limits"]["max_steps"] = 9  # a person, in the page
        self.assertEqual(steps("react", made, {})["config"]["limits"]["max_steps"], 9)
        made["run"]["mode"] = ["not", "a", "mode"]  # a stranger's
        self.assertEqual(steps("", made, {})["config"]["limits"]["max_steps"], 9)

    def test_nothing_is_said_twice(self) -> None:
        agent, _ = agent_definition.read("coder", {"limits": {"max_steps": 60}})
        first = self.opened({"messages": []}, agent)
        again = opening_events(first, DEFAULTS["session"], agent, "r", 1, Ids())
        self.assertEqual([event["type"] for event in again], ["RUN_STARTED"])

    def test_templates_that_mean_nothing_are_reported(self) -> None:
        made = self.opened({"messages": [], "config": {"prompt": {"rules": "{x}"}}}, {})
        [warning] = made["run"]["warnings"]
        self.assertEqual(warning["code"], prompts.UNKNOWN_PLACEHOLDER)
        self.assertEqual((warning["section"], warning["placeholders"]), ("rules", ["{x}"]))
        self.assertNotIn("warnings", self.opened({"messages": []}, {})["run"])


class Read(unittest.TestCase):
    def test_names(self) -> None:
        for name in ("", "_A", "a/b", "../a", ".a", "-a", "a" * 65, "a\n", "é"):
            self.assertTrue(agent_definition.read(name, {})[1], name)
        for name in ("a", "0-a_b", "a" * 64):
            self.assertEqual(agent_definition.read(name, {}), ({"name": name}, []))

    def test_so_many_tools(self) -> None:
        for tools, place in ((["a"] * 257, "/tools"), (["a?"] * 33, "/tools")):
            _, misfits = agent_definition.read("mine", {"tools": tools})
            self.assertEqual([misfit["pointer"] for misfit in misfits], [place])
        for tools in (["a*"] * 256, ["a?"] * 32 + ["b*"] * 9):
            self.assertEqual(agent_definition.read("mine", {"tools": tools})[1], [])

    def test_a_name_in_a_file_counts_for_nothing(self) -> None:
        self.assertEqual(agent_definition.read("a", {"name": "b"}), ({"name": "a"}, []))

    def test_reading_what_was_read_changes_nothing(self) -> None:
        agent = {"providerType": "ZHIPU", "mode": "re-act", "systemPrompt": ["a", "b"]}
        once, _ = agent_definition.read("a", agent)
        self.assertEqual(agent_definition.read("a", once), (once, []))


if __name__ == "__main__":
    unittest.main()
