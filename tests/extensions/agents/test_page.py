"""Its page of the reference has the agents that come with it."""

from __future__ import annotations

import unittest

from server.extensions.agents.registry import AgentRegistry

from ...test_docs import REFERENCE, first_column


class Page(unittest.TestCase):
    def test_the_built_in_agents(self) -> None:
        page = (REFERENCE / "extension-agents.md").read_text()
        names = {each["name"] for each in AgentRegistry().info()}
        self.assertEqual(sorted(first_column(page, "Agent")), sorted(names))


if __name__ == "__main__":
    unittest.main()
