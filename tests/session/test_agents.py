"""The one agent of a server that has no others."""

from __future__ import annotations

import unittest
from typing import Any

from server.errors import Problem
from server.session.agents import Agents


class OneAgent(unittest.TestCase):
    def setUp(self) -> None:
        self.agents = Agents("mine", {"max_steps": 20})

    def refused(self, name: str, brought: Any = None) -> Problem:
        with self.assertRaises(Problem) as caught:
            self.agents.resolve({"agent": name, "config": {"agent": brought}})
        return caught.exception

    def test_it_is_the_configured_one_and_narrows_nothing(self) -> None:
        for name in ("", "auto", "mine"):
            self.assertEqual(self.agents.resolve({"agent": name}), {"name": "mine"})
        self.assertEqual(self.agents.resolve({}), {"name": "mine"})
        listed = [{"name": "mine", "origin": "built in", "default": True}]
        self.assertEqual(self.agents.info(), listed)

    def test_that_a_chosen_one_narrows_nothing_is_a_problem(self) -> None:
        text = "session.agent is mine, which may use all tools: no extension reads its definition"
        for agents, problems in ((Agents(), []), (self.agents, [text])):
            self.assertEqual(agents.problems(["shell"]), problems)

    def test_another_one_is_refused_in_one_sentence(self) -> None:
        problem = self.refused("coder")
        self.assertEqual((problem.code, problem.errors[0]["pointer"]), ("agent_unknown", "/agent"))
        self.assertEqual(problem.detail, "This server has no agent 'coder'. Known: mine.")

    def test_what_a_session_brings_goes_on_and_only_narrows(self) -> None:
        brought = {"name": "far", "policy": {"shell": "auto"}, "limits": {"max_steps": 21}}
        session = {"agent": "far", "config": {"agent": brought}}
        found, remarks = self.agents.resolve_with_warnings(session)
        self.assertEqual(found, {"name": "far", "policy": {}, "limits": {}})
        self.assertEqual(remarks[0]["left_out"], ["policy.shell", "limits.max_steps"])

    def test_what_a_session_brings_replaces_not_the_one_here(self) -> None:
        policy = {"shell": "deny"}
        for name in ("", "auto", "mine"):
            brought = {"name": name, "policy": policy}
            found = self.agents.resolve({"agent": name, "config": {"agent": brought}})
            self.assertEqual(found, {"name": "mine"})
        self.assertEqual(
            self.refused("MINE", {"name": "MINE", "policy": policy}).code, "agent_unknown"
        )


if __name__ == "__main__":
    unittest.main()
