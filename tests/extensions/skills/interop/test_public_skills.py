"""Public skills, as packages ship them: they load, are listed and used, their scripts contained."""

from __future__ import annotations

import json
import shutil
import unittest
from pathlib import Path
from typing import Any

from server.extensions.skills.catalog import SkillCatalog
from server.extensions.skills.skill_tool import PAGE
from server.lib.agent_skills.front_matter import read_front_matter
from server.lib.hidden_characters import count_hidden

from ....tooling import tools
from ..test_run import AUTO, Case, call, results

# Where packages of the tests have skills.
PLACES = (
    tools.FRAMEWORKS / "pydantic_ai" / ".agents" / "skills",
    tools.FRAMEWORKS / "agno" / "company" / "skills",
    tools.SKILLS / "abvx_agent_skills" / "skills",
)
SCRIPTED = "bug-evidence-protocol"
MOST = 40  # of one package


def folders() -> list[Path]:
    return [
        path.parent
        for place in PLACES
        for path in sorted(place.glob("*/SKILL.md"))[:MOST] + [place / SCRIPTED / "SKILL.md"]
        if path.exists()
    ]


@tools.needs(*(tools.public_skills(place) for place in PLACES))
class Public(Case):
    def setUp(self) -> None:
        super().setUp()
        self.names: list[str] = []
        for folder in dict.fromkeys(folders()):
            shutil.copytree(folder, self.skills / folder.name, dirs_exist_ok=True)
            self.names.append(folder.name)
        self.names.sort()

    def test_they_can_be_used_and_nothing_is_hidden_in_them(self) -> None:
        catalog = SkillCatalog(self.home)
        found = catalog.of()
        self.assertGreaterEqual(len(self.names), 10)
        self.assertEqual([*found], self.names)
        self.assertEqual(catalog.problems(), [])
        for name, skill in found.items():
            with self.subTest(name):
                self.assertEqual((skill.about.remarks, skill.about.hidden), ((), {}))
                self.assertEqual(count_hidden(skill.about.text), {})
                self.assertEqual(len(catalog.hash_of(skill)), 64)

    async def test_each_is_listed_and_loaded(self) -> None:
        loads = [call("skill", name=name) for name in self.names]
        async with self.server(loads, skills={"folders": [], "list_tokens": 100_000}) as server:
            client = await server.post({}, "go")
        for name, text in zip(self.names, results(client), strict=True):
            with self.subTest(name):
                front = read_front_matter((self.skills / name / "SKILL.md").read_text())
                if len(front.body) <= PAGE:
                    self.assertTrue(text.endswith(front.body))
                else:
                    self.assertIn(f"of {len(front.body)}; for the rest call skill", text)
                    self.assertIn(front.body[: PAGE // 2], text)
                self.assertIn(f"\n- {name}: ", server.prompts[0])
                self.assertEqual(client["skills"]["used"][name]["here"], "same")

    async def test_a_script_runs_contained(self) -> None:
        """It runs and is copied to the session's folder; elsewhere nothing is read or written."""
        script = f"/skills/{SCRIPTED}/scripts/capture_command.py"
        tries = (
            f"python3 {script} --help && cp {script} mine.py && ls mine.py;"
            f" echo x >> {script}; ls /skills; cat {self.home}/key {self.skills}/*/SKILL.md"
        )
        turns: list[list[Any]] = [
            [call("skill", name=SCRIPTED)],
            [call("shell", command=tries)],
        ]
        async with self.server(*turns) as server:
            if server.toolbox.sandbox()["tier"] != "A":
                self.skipTest("the place /skills needs tier A")
            client = await server.post(AUTO, "go")
        text, output = results(client)
        self.assertIn(f"/skills/{SCRIPTED}; paths", text)
        said = json.JSONDecoder().raw_decode(output)[0]["output"]  # files are named behind it
        self.assertIn("usage: capture_command.py", said)
        self.assertIn("\nmine.py\n", said)
        self.assertRegex(said, f"{script}: (Read-only file system|Permission denied)")
        self.assertIn(f"\n{SCRIPTED}\n", said)
        self.assertEqual(said.count("No such file or directory"), 2, said)


if __name__ == "__main__":
    unittest.main()
