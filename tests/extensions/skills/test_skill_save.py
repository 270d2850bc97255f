"""The tool that writes skills: what it writes, for whom, and that nothing is overwritten unseen."""

from __future__ import annotations

import asyncio
import stat
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from server.extensions.skills.catalog import SkillCatalog
from server.extensions.skills.skill_save import MOST_FILES, SkillSaveTool, save, skill_save
from server.lib.agent_skills.folder import MAX_BYTES, read_file
from server.tools.decorators import ToolError
from server.tools.policy import decide

ABOUT: dict[str, Any] = {"name": "pdf", "description": "Reads: PDF", "instructions": "Do it."}


class Saving(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.home = Path(holder.name)
        self.catalog = SkillCatalog(self.home)

    def save(self, owner: str = "", **more: Any) -> str:
        return save(self.catalog, owner, **{**ABOUT, **more})

    def refused(self, **more: Any) -> str:
        before = self.everything()
        with self.assertRaises(ToolError) as caught:
            self.save(**more)
        self.assertEqual(self.everything(), before, "and nothing is left")
        return str(caught.exception)

    def everything(self) -> list[str]:
        return sorted(map(str, self.home.rglob("*")))

    def test_what_is_written_can_be_loaded(self) -> None:
        files = {"scripts/run.py": "#!/usr/bin/env python3\n", "references/a.md": "ü"}
        told = self.save(description='Says "x": y\n# z', files=files)
        self.assertEqual(told, "The skill pdf is saved; sessions can load it now.")
        skill = self.catalog.of()["pdf"]
        self.assertEqual(skill.about.description, 'Says "x": y # z')
        self.assertEqual((skill.about.remarks, self.catalog.problems()), ((), []))
        self.assertEqual(read_file(skill.folder, "references/a.md", 10).decode(), "ü")
        modes = [
            stat.S_IMODE((skill.folder / name).stat().st_mode) for name in ("SKILL.md", *files)
        ]
        self.assertEqual(modes, [0o600, 0o700, 0o600])

    def test_emoji_hide_nothing(self) -> None:
        self.save(description="For families 👨‍👩‍👧", instructions="With ❤️.\r\n\tTwice.")
        self.assertEqual(self.catalog.of()["pdf"].about.hidden, {})

    def test_one_that_is_there_is_replaced_only_when_told(self) -> None:
        self.save(files={"kept.md": "kept"})
        self.assertIn("there is a skill pdf already", self.refused(instructions="Other."))
        told = self.save(instructions="Other.", replace=True)
        self.assertEqual(told, "The skill pdf is replaced; sessions can load it now.")
        folder = self.catalog.of()["pdf"].folder
        self.assertIn("Other.", (folder / "SKILL.md").read_text())
        self.assertEqual((folder / "kept.md").read_text(), "kept")
        self.assertEqual([each.name for each in folder.parent.iterdir()], ["pdf"])

    def test_each_key_saves_for_itself(self) -> None:
        self.save("me")
        self.assertEqual([*self.catalog.of("me")], ["pdf"])
        self.assertEqual([*self.catalog.of("you")], [])
        self.save()
        self.assertEqual([*self.catalog.of("you")], ["pdf"])

    def test_a_shared_one_is_not_hidden_unseen(self) -> None:
        self.save()
        with self.assertRaises(ToolError):
            self.save("me")
        self.save("me", replace=True)
        self.assertEqual(self.catalog.of("me")["pdf"].source, "key")

    def test_what_is_refused(self) -> None:
        cases: list[tuple[dict[str, Any], str]] = [
            *(
                ({"name": name}, "a name has 1 to 64")
                for name in ("", "..", "a/b", "A", "a--b", "-a", "a b", "x" * 65, "a\0", ".keys")
            ),
            ({"description": " "}, "has no description"),
            ({"description": "d" * 1025}, "over 1024"),
            ({"instructions": "\ud800"}, "half a surrogate pair"),
            ({"instructions": "a\0b"}, "is no text"),
            ({"instructions": "x" * 300_000}, "larger than 256 KB"),
            ({"description": "a\u200bb"}, "the description would hide U+200B ZERO WIDTH SPACE"),
            ({"instructions": "a\n\u202eb"}, "hide U+202E RIGHT-TO-LEFT OVERRIDE (line 2, char"),
            ({"files": {"a.md": "b\U000e0041"}}, "a.md would hide U+E0041 TAG LATIN CAPITAL LETT"),
            ({"files": {"a\u3164.md": "b"}}, "is no path such as"),
            *(
                ({"files": {path: "x"}}, "is no path such as")
                for path in ("", "..", "../x", "/etc/x", "a//b", "SKILL.md", "a\nb", "a/b/c/d/e")
            ),
            *(
                ({"files": dict.fromkeys(paths, "x")}, "may be one file")
                for paths in (
                    *(
                        ["skill.md"],
                        ["Skill.MD"],
                        ["\uff33KILL.md"],
                        ["SKILL.md."],
                        ["s\ufe0fKILL.md"],
                    ),
                    *(
                        ["a.md", "A.md"],
                        ["x/straße.md", "X/STRASSE.md"],
                        ["e\u0301.md", "\u00e9.md"],
                    ),
                    ["a/b.md", "a /b.md"],
                )
            ),
            ({"files": {"a": "x", "A/b.md": "x"}}, "a would be a file, and a folder of A/b.md"),
            ({"files": {f"{n}.md": "x" for n in range(MOST_FILES + 1)}}, "more than 20 files"),
            ({"files": {"a.md": "x" * MAX_BYTES}}, "larger than 32 MB"),
        ]
        for more, expected in cases:
            with self.subTest(str(more)[:60]):
                self.assertIn(expected, self.refused(**more))

    def test_no_link_is_written_through(self) -> None:
        outside = self.home / "outside"
        outside.mkdir()
        self.save()
        folder = self.catalog.of()["pdf"].folder
        (folder / "scripts").symlink_to(outside)
        said = self.refused(replace=True, files={"scripts/x.sh": "x"})
        self.assertIn("is no folder", said)
        folder.rename(self.home / "moved")
        folder.symlink_to(self.home / "moved")
        self.assertIn("is no folder", self.refused(replace=True))
        self.assertEqual(list(outside.iterdir()), [])

    def test_the_call_says_what_was_done(self) -> None:
        library: Any = SimpleNamespace(catalog=self.catalog)
        tool: Any = SkillSaveTool.of(skill_save, library=library)
        for saved, text in ((True, "is saved"), (False, "there is a skill pdf already")):
            call: Any = SimpleNamespace(args=ABOUT, owner="me")
            outcome = asyncio.run(tool.run(call, None))
            with self.subTest(text):
                self.assertEqual(outcome.status == "ok", saved)
                self.assertIn(text, str(outcome.text or outcome.error))
        self.assertEqual([*self.catalog.of("me")], ["pdf"])


class Asking(unittest.TestCase):
    def test_nothing_lets_it_run_unseen(self) -> None:
        tool = SkillSaveTool.of(skill_save, library=None)
        sessions: list[Any] = [
            {"config": {}, "grants": []},
            {"config": {}, "grants": [{"tool": "skill_save", "decision": "allow"}]},
            {"config": {"tool": {"skill_save": {"auto_approve": True}}}, "grants": []},
            {"config": {"agent": {"policy": {"skill_save": "auto"}}}, "grants": []},
        ]
        for session in sessions:
            with self.subTest(session):
                self.assertEqual(decide(tool, ABOUT, "auto", session)[0], "ask")
        unattended: Any = {"config": {"yaa": {"unattended": True}}, "grants": []}
        self.assertEqual(decide(tool, ABOUT, "auto", unattended)[0], "deny")


if __name__ == "__main__":
    unittest.main()
