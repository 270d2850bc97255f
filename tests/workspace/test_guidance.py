"""What a trusted folder says: its instructions, nearest ones by name, and its skills."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

from server.workspace import guidance
from server.workspace.errors import WorkspaceError
from server.workspace.guidance import read_guidance, read_skill

SKILL = "---\nname: {0}\ndescription: d\n---\nText of {0}."


class Case(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.top = Path(holder.name, "site")
        self.top.mkdir()
        self.secret = Path(holder.name, "secret.md")
        self.secret.write_text("secret")

    def write(self, path: str, text: str | bytes) -> Path:
        place = self.top / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
        return place

    def told(self) -> dict[str, object]:
        found: dict[str, object] = read_guidance(str(self.top))["instructions"]
        return found


class Instructions(Case):
    def test_nothing(self) -> None:
        nothing = {"nested": [], "nested_count": 0}
        self.assertEqual(read_guidance(str(self.top)), {"instructions": nothing, "skills": []})

    def test_which_file_it_is(self) -> None:
        self.write("CLAUDE.md", "claude")
        self.assertEqual((self.told()["path"], self.told()["text"]), ("CLAUDE.md", "claude"))
        self.write("AGENTS.md", "\ufeffagents")
        self.assertEqual((self.told()["path"], self.told()["text"]), ("AGENTS.md", "agents"))

    def test_links_count_only_inside(self) -> None:
        (self.top / "AGENTS.md").symlink_to("CLAUDE.md")
        self.write("CLAUDE.md", "claude")
        self.assertEqual(self.told()["text"], "claude")
        for target in (self.secret, "../secret.md", "AGENTS.md", "gone.md", "."):
            with self.subTest(str(target)):
                (self.top / "AGENTS.md").unlink()
                (self.top / "AGENTS.md").symlink_to(target)
                self.assertEqual(self.told()["path"], "CLAUDE.md")
        (self.top / "AGENTS.md").unlink()
        os.mkfifo(self.top / "AGENTS.md")
        self.assertEqual(self.told()["path"], "CLAUDE.md")

    def test_bounds_and_bytes(self) -> None:
        cases = [
            (b"x" * guidance.MAX_INSTRUCTIONS, guidance.MAX_INSTRUCTIONS, False),
            (b"x" * (guidance.MAX_INSTRUCTIONS + 1), guidance.MAX_INSTRUCTIONS, True),
            ("é".encode() * guidance.MAX_INSTRUCTIONS, guidance.MAX_INSTRUCTIONS // 2, True),
            (b"a\xffb\0", 4, False),
        ]
        for data, length, cut in cases:
            self.write("AGENTS.md", data)
            with self.subTest(data[:4]):
                text = self.told()["text"]
                assert isinstance(text, str)
                self.assertEqual((len(text), self.told().get("cut", False)), (length, cut))
                self.assertNotIn("\0", text)

    def test_those_below(self) -> None:
        for path in ("b/AGENTS.md", "b/CLAUDE.md", "a/b/c/CLAUDE.md", ".x/AGENTS.md"):
            self.write(path, "x")
        self.write("node_modules/p/AGENTS.md", "x")
        self.write("/".join("d" * 9) + "/AGENTS.md", "too deep")
        (self.top / "loop").symlink_to(".")
        (self.top / "out").symlink_to(self.top.parent)
        found = self.told()
        self.assertEqual(found["nested"], ["b/AGENTS.md", "a/b/c/CLAUDE.md"])
        self.assertEqual(found["nested_count"], 2)

    def test_no_more_than_so_many_are_looked_at(self) -> None:
        many = self.top / "a"
        many.mkdir()
        for number in range(guidance.MOST_LOOKED_AT + 1):
            (many / str(number)).touch()
        self.write("a/AGENTS.md", "x")
        self.write("b/c/AGENTS.md", "beyond")
        self.assertEqual(self.told()["nested"], ["a/AGENTS.md"])


class Skills(Case):
    def paths(self) -> dict[str, str]:
        found = read_guidance(str(self.top))["skills"]
        return {each["path"]: each.get("text", each.get("problem", "")) for each in found}

    def test_the_usual_places(self) -> None:
        for place in guidance.SKILLS:
            name = place.strip(".").split("/")[0]
            self.write(f"{place}/{name}/SKILL.md", SKILL.format(name))
        self.write(".agents/skills/README.md", "none")
        self.write(".agents/skills/.hidden/SKILL.md", SKILL.format("hidden"))
        self.assertEqual(len(self.paths()), len(guidance.SKILLS))
        self.assertIn("Text of agents.", self.paths()[".agents/skills/agents"])

    def test_one_that_is_linked_within_is_there_once(self) -> None:
        self.write(".agents/skills/pdf/SKILL.md", SKILL.format("pdf"))
        (self.top / ".claude").mkdir()
        (self.top / ".claude/skills").symlink_to("../.agents/skills")
        self.assertEqual([*self.paths()], [".agents/skills/pdf"])

    def test_no_more_than_so_many_are_looked_at(self) -> None:
        self.write(".agents/skills/pdf/SKILL.md", SKILL.format("pdf"))
        self.write(".codex/skills/late/SKILL.md", SKILL.format("late"))
        many = self.top / ".claude/skills"
        many.mkdir(parents=True)
        for number in range(guidance.MOST_LOOKED_AT):
            (many / str(number)).symlink_to("..")
        told = f"more than {guidance.MOST_LOOKED_AT} entries are there"
        found = self.paths()
        self.assertEqual([*found], [".agents/skills/pdf", ".claude/skills"])
        self.assertEqual(found[".claude/skills"], told)

    def test_links_that_lead_out(self) -> None:
        self.write(".agents/skills/pdf/SKILL.md", SKILL.format("pdf"))
        (self.top / ".agents/skills/out").symlink_to(self.top.parent)
        (self.secret.parent / "SKILL.md").write_text(SKILL.format("secret"))
        (self.top / ".claude").symlink_to(self.top.parent)
        self.assertNotIn("Text of secret", str(self.paths()))
        self.assertIn("outside", self.paths()[".agents/skills/out"])

    def test_one_is_read(self) -> None:
        self.write(".agents/skills/pdf/SKILL.md", SKILL.format("pdf"))
        self.write(".agents/skills/pdf/a.md", "reference")
        self.write(".agents/skills/pdf/b.bin", b"\xff")
        (self.top / ".agents/skills/pdf/leak").symlink_to(self.secret)
        top, path = str(self.top), ".agents/skills/pdf"
        found = read_skill(top, path)
        self.assertEqual(found["files"], ["SKILL.md", "a.md", "b.bin"])
        self.assertEqual(len(found["hash"]), 64)
        self.assertEqual(read_skill(top, path, "a.md"), {"text": "reference"})
        for place, file in (
            (path, "../pdf/a.md"),
            (path, "leak"),
            (path, "none"),
            (path, "b.bin"),
            (".agents/skills/none", None),
            (".agents/skills/..", None),
            ("../site", None),
            ("/etc", None),
        ):
            with self.subTest(place, file=file), self.assertRaises(WorkspaceError):
                read_skill(top, place, file)


if __name__ == "__main__":
    unittest.main()
