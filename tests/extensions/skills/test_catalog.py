"""The owner's folders of skills: what is found in them, and how changes are seen."""

from __future__ import annotations

import os
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path

from server.extensions.skills import catalog as finding
from server.extensions.skills.catalog import SkillCatalog, mistakes
from server.lib.agent_skills.folder import MAX_LOOKED_AT


def age(top: Path) -> None:
    """Let a folder and all in it have been changed an hour ago."""
    hour_ago = time.time() - 3_600
    for each in (top, *top.rglob("*")):
        os.utime(each, (hour_ago, hour_ago), follow_symlinks=False)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.top = Path(holder.name)
        self.home, self.other = self.top / "home", self.top / "other"
        self.catalog = SkillCatalog(self.home, [str(self.other)])
        self.writes = 0

    def write(self, folder: Path, name: str, about: str = "d", text: str = "x") -> Path:
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        file = place / "SKILL.md"
        file.write_text(f"---\nname: {name}\ndescription: {about}\n---\n{text}")
        self.writes += 1
        os.utime(file, ns=(self.writes * 10**9, self.writes * 10**9))
        return place

    def found(self, owner: str = "") -> dict[str, str]:
        return {name: skill.about.description for name, skill in self.catalog.of(owner).items()}


class Folders(Case):
    def test_none(self) -> None:
        self.assertEqual((self.found(), self.catalog.problems()), ({}, []))
        (self.other / ".hidden").mkdir(parents=True)
        self.assertEqual(self.found(), {})

    def test_names_in_order_and_the_first_folder_wins(self) -> None:
        self.write(self.other, "zoo", "other zoo")
        self.write(self.other, "pdf", "other pdf")
        self.write(self.home / "skills", "pdf", "home pdf")
        (self.other / "README.md").write_text("no skill")
        (self.other / "empty").mkdir()
        self.write(self.other, ".hidden")
        self.assertEqual(self.found(), {"pdf": "home pdf", "zoo": "other zoo"})
        self.assertEqual([*self.found()], ["pdf", "zoo"])
        sources = {name: skill.source for name, skill in self.catalog.of().items()}
        self.assertEqual(sources, {"pdf": "home", "zoo": "folder"})
        self.assertEqual(
            self.catalog.problems(), [f"{self.other}/pdf: not used, since skills/pdf has this name"]
        )

    def test_a_change_is_seen_and_what_did_not_change_is_not_read_again(self) -> None:
        self.write(self.home / "skills", "pdf", "one")
        self.write(self.home / "skills", "csv", "csv")
        before = self.catalog.of()
        self.write(self.home / "skills", "pdf", "two")
        after = self.catalog.of()
        self.assertEqual(after["pdf"].about.description, "two")
        self.assertIs(after["csv"], before["csv"])
        (self.home / "skills" / "csv" / "SKILL.md").unlink()
        self.assertEqual([*self.catalog.of()], ["pdf"])

    def test_what_was_found_is_current_until_anything_changes(self) -> None:
        home = self.home / "skills"
        waiting = home / "waiting"

        def grow() -> None:
            (waiting / "SKILL.md").write_text("---\nname: waiting\ndescription: d\n---\nx")

        changes: list[tuple[str, Callable[[], object], list[str]]] = [
            ("the first", lambda: self.write(home, "pdf", "one"), ["pdf"]),
            ("its text", lambda: self.write(home, "pdf", "two"), ["pdf"]),
            ("a folder without a text", lambda: waiting.mkdir(), ["pdf"]),
            ("its text comes", grow, ["pdf", "waiting"]),
            ("a text goes", lambda: (waiting / "SKILL.md").unlink(), ["pdf"]),
            ("another name", lambda: (home / "pdf").rename(home / "text"), ["pdf"]),
            ("another folder", lambda: self.write(self.other, "csv"), ["csv", "pdf"]),
            ("all of it goes", lambda: home.rename(self.top / "gone"), ["csv"]),
        ]
        self.assertIsNone(self.catalog.current())
        self.found()
        self.assertEqual(self.catalog.current(), {})
        for name, change, names in changes:
            with self.subTest(name):
                change()
                self.assertIsNone(self.catalog.current())
                self.assertEqual([*self.found()], names)
                age(self.top)
                self.assertEqual([*self.found()], names)
                self.assertIs(self.catalog.current(), self.catalog.current())
                self.assertEqual([*(self.catalog.current() or ())], names)

    def test_what_is_current_is_so_for_one_key(self) -> None:
        self.write(self.home / "skills", "all")
        age(self.top)
        self.assertEqual((self.found(), self.found("me")), ({"all": "d"}, {"all": "d"}))
        age(self.write(self.catalog.sources("me")[0].folder, "mine"))
        self.assertIsNone(self.catalog.current("me"))
        age(self.top)
        self.found()
        self.found("me")
        self.assertEqual([*(self.catalog.current() or ())], ["all"])
        self.assertEqual([*(self.catalog.current("me") or ())], ["all", "mine"])

    def test_a_broken_one_is_a_problem_and_the_others_stay(self) -> None:
        self.write(self.home / "skills", "good")
        broken = self.write(self.home / "skills", "broken") / "SKILL.md"
        broken.write_text("---\nname: broken\n---")
        linked = self.write(self.other, "linked")
        (self.home / "skills" / "linked").symlink_to(linked)
        (linked / "SKILL.md").rename(linked / "real.md")
        (linked / "SKILL.md").symlink_to("real.md")
        self.assertEqual([*self.found()], ["good"])
        said = "\n".join(self.catalog.problems())
        self.assertIn("skills/broken: SKILL.md has no description", said)
        self.assertIn("skills/linked: it is a link, and links are not followed", said)
        self.assertIn("other/linked: SKILL.md: Too many levels of symbolic links", said)

    def test_no_more_than_so_many(self) -> None:
        for number in range(finding.MAX_SKILLS + 1):
            self.write(self.other, f"s{number:03}")
        self.assertEqual(len(self.found()), finding.MAX_SKILLS)
        self.assertIn("more than 200 skills; s200 and what follows", self.catalog.problems()[0])

    def test_what_is_no_skill_counts_for_nothing(self) -> None:
        for number in range(finding.MAX_SKILLS):
            self.write(self.other, f"s{number:03}")
        bad = self.other / "a-first" / "SKILL.md"
        bad.parent.mkdir()
        bad.write_text("no front matter")
        self.assertEqual(len(self.found()), finding.MAX_SKILLS)
        self.assertNotIn("more than", "".join(self.catalog.problems()))

    def test_no_more_than_so_many_entries_are_looked_at(self) -> None:
        self.write(self.home / "skills", "good")
        self.other.mkdir()
        for number in range(MAX_LOOKED_AT + 1):
            (self.other / f"{number}").symlink_to(".")
        self.assertEqual([*self.found()], ["good"])
        told = "other: more than 5000 entries; the rest is not looked at"
        self.assertEqual(self.catalog.problems()[0][-len(told) :], told)

    def test_what_a_key_saved_is_its_own(self) -> None:
        self.write(self.home / "skills", "all")
        mine = self.catalog.sources("me")[0].folder
        self.write(mine, "mine")
        self.write(mine, "all", "my own")
        self.assertEqual(self.found("me"), {"all": "my own", "mine": "d"})
        self.assertEqual(self.found("you"), {"all": "d"})
        self.assertEqual(self.found(""), {"all": "d"})
        self.assertEqual(self.catalog.of("me")["mine"].source, "key")

    def test_the_hash_is_of_the_files_as_they_are(self) -> None:
        place = self.write(self.other, "pdf")
        skill = self.catalog.of()["pdf"]
        first = self.catalog.hash_of(skill)
        self.assertEqual(self.catalog.hash_of(skill), first)
        (place / "more.md").write_text("x")
        self.assertNotEqual(self.catalog.hash_of(skill), first)
        (place / "more.md").unlink()
        self.assertEqual(self.catalog.hash_of(skill), first)


class Mistakes(Case):
    def test_folders_that_cannot_be(self) -> None:
        cases = [
            ("relative", "is no path that begins with / or ~"),
            ("/with\0nul", "is no path that begins with / or ~"),
            (str(self.top), "holds the home folder"),
            (str(self.home), "holds the home folder"),
            (str(self.other), ""),
            (str(self.home / "more"), ""),
            ("~/.agents/skills", ""),
        ]
        for given, expected in cases:
            with self.subTest(given):
                found = "".join(mistakes({"skills": {"folders": [given]}}, self.home))
                self.assertIn(expected, found)
                self.assertEqual(bool(found), bool(expected))


if __name__ == "__main__":
    unittest.main()
