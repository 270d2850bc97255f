"""Prompts in files beside the definitions, and names that would lead elsewhere."""

from __future__ import annotations

import json
import os
import unittest
from typing import Any

from server.extensions.agents.registry import AgentRegistry
from server.session.agent_definition import MAX_FILE

from .test_registry import Case

SECRET = "sk-very-secret"


class Included(Case):
    def setUp(self) -> None:
        super().setUp()
        self.home = self.folder
        (self.home / "config.json").write_text(json.dumps({"key": SECRET}))
        (self.home / "secret.md").write_text(SECRET)
        self.folder = self.home / "agents"
        self.folder.mkdir()
        self.agents = AgentRegistry(self.folder)

    def test_a_prompt_is_what_its_file_says(self) -> None:
        self.write("pirate.md", '\ufeffYou are\r\n  {a} "pirate" 海盗.\n')
        (self.folder / "parts").mkdir()
        self.write("parts/rules.txt", "Never guess.")
        prompts = {"prompt": {"rules": "@parts/rules.txt", "append": "as it is"}}
        for key in ("systemPrompt", "system_prompt"):
            self.write("a.json", {key: "@pirate.md", **prompts})
            found = self.resolved("a")
            self.assertEqual(found["systemPrompt"], 'You are\n  {a} "pirate" 海盗.\n')
            self.assertEqual(found["prompt"], {"rules": "Never guess.", "append": "as it is"})
        self.assertEqual(self.agents.problems(), [])

    def test_an_edit_of_the_file_holds_from_the_next_run_on(self) -> None:
        self.write("a.json", {"systemPrompt": "@a.md"})
        self.assertEqual(
            self.agents.problems(), ["agents/a.json: @a.md: No such file or directory"]
        )
        self.write("a.md", "one")
        self.assertEqual(self.resolved("a")["systemPrompt"], "one")
        self.assertEqual(self.agents.problems(), [])
        self.write("a.md", "two")
        self.assertEqual(self.resolved("a")["systemPrompt"], "two")
        (self.folder / "a.md").unlink()
        self.assertEqual(self.resolved("a")["systemPrompt"], "two", "the last one is kept")
        self.assertIn("No such file", self.agents.problems()[0])

    def test_text_that_only_begins_like_it_is_text(self) -> None:
        for text in ("@alice knows", "@", "@a.md ", "see @a.md", "@a.json", "@config", " @a.md"):
            self.write("a.json", {"systemPrompt": text})
            self.assertEqual(self.resolved("a")["systemPrompt"], text)

    def test_nothing_outside_of_the_folder_is_read(self) -> None:
        (self.folder / "out.md").symlink_to(self.home / "secret.md")
        (self.folder / "up").symlink_to(self.home)
        (self.folder / "inside.md").symlink_to(self.folder / "fine.md")
        (self.folder / "loop.md").symlink_to(self.folder / "loop.md")
        (self.folder / "fine.md").write_text("fine")
        (self.folder / "folder.md").mkdir()
        os.mkfifo(self.folder / "pipe.md")
        (self.folder / "binary.md").write_bytes(b"\x7fELF\xff\xfe")
        (self.folder / "nul.md").write_bytes(b"a\0b")
        with (self.folder / "huge.md").open("wb") as file:
            file.truncate(1 << 40)
        self.write("large.md", "x" * (MAX_FILE + 1))
        self.write("long.md", "x" * 300_000)
        for name, said in (
            ("../secret.md", "without .."),
            ("../../" * 9 + "etc/hosts.txt", "without .."),
            ("./fine.md", "without .."),
            ("sub/../fine.md", "without .."),
            (f"{self.home}/secret.md", "without .."),
            ("//etc/x.md", "without .."),
            ("~/x.md", "without .."),
            ("a\\b.md", "without .."),
            ("%2e%2e/secret.md", "without .."),
            (".hidden.md", "without .."),
            ("out.md", "links are not followed"),
            ("up/secret.md", "links are not followed"),
            ("inside.md", "links are not followed"),
            ("loop.md", ""),
            ("folder.md", "it is no file"),
            ("pipe.md", "it is no file"),
            ("binary.md", "not UTF-8"),
            ("nul.md", "it is no text"),
            ("huge.md", "larger than"),
            ("large.md", "larger than"),
            ("long.md", "/systemPrompt"),
            ("gone.md", "No such file"),
            ("fine.md/x.md", "Not a directory"),
            ("x" * 300 + ".md", "File name too long"),
        ):
            with self.subTest(name):
                self.write("a.json", {"systemPrompt": f"@{name}"})
                told = self.agents.problems()
                self.assertEqual(len(told), 1, told)
                self.assertIn(said, told[0])
                self.assertNotIn(SECRET, told[0])
                self.assertNotIn("a", [item["name"] for item in self.agents.info()])
        self.write("a.json", {"systemPrompt": "@fine.md"})
        self.assertEqual(self.resolved("a")["systemPrompt"], "fine")

    def test_a_folder_that_is_a_link_itself_is_the_owners(self) -> None:
        self.write("a.json", {"systemPrompt": "@a.md"})
        self.write("a.md", "linked")
        link = self.home / "link"
        link.symlink_to(self.folder)
        self.assertEqual(AgentRegistry(link).resolve({"agent": "a"})["systemPrompt"], "linked")

    def test_what_a_session_brings_along_names_no_file(self) -> None:
        self.write("mine.md", SECRET)
        brought: dict[str, Any] = {"name": "theirs", "systemPrompt": "@mine.md"}
        found = self.resolved("theirs", config={"agent": brought})
        self.assertEqual(found["systemPrompt"], "@mine.md")


if __name__ == "__main__":
    unittest.main()
