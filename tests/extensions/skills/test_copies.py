"""Copies of skills: one for each content and key, closed, together under their names."""

from __future__ import annotations

import os
import stat
import tempfile
import unittest
from pathlib import Path

from server.extensions.skills import copies as keeping
from server.extensions.skills.copies import SkillCopies
from server.lib.agent_skills.folder import SkillError, content_hash


class Copies(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.top = Path(holder.name)
        self.copies = SkillCopies(self.top / "skill_files")
        self.pdf, self.csv = self.made("pdf"), self.made("csv")

    def made(self, name: str) -> Path:
        folder = self.top / name
        (folder / "scripts").mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: d\n---\n")
        (folder / "scripts" / "run.sh").write_text("#!/bin/sh\necho ok\n")
        (folder / "scripts" / "run.sh").chmod(0o700)
        (folder / "leak").symlink_to("/etc/passwd")
        return folder

    def kept(self, folder: Path, owner: str = "") -> str:
        content = content_hash(folder)
        self.copies.keep(owner, folder, content)
        return content

    def test_a_copy_has_the_files_and_nobody_may_write_it(self) -> None:
        content = self.kept(self.pdf)
        (copy,) = self.copies.paths("", [("pdf", content)]).values()
        names = sorted(each.relative_to(copy).as_posix() for each in copy.rglob("*"))
        self.assertEqual(names, ["SKILL.md", "scripts", "scripts/run.sh"])
        modes = [stat.S_IMODE((copy / name).stat().st_mode) for name in names]
        self.assertEqual(modes, [0o444, 0o555, 0o555])
        self.assertEqual(content_hash(copy), content)

    def test_it_stays_when_the_skill_changes(self) -> None:
        before = self.kept(self.pdf)
        (self.pdf / "SKILL.md").write_text("other")
        after = self.kept(self.pdf)
        old, new = (self.copies.paths("", [("pdf", each)])["pdf"] for each in (before, after))
        self.assertIn("description", (old / "SKILL.md").read_text())
        self.assertEqual((new / "SKILL.md").read_text(), "other")

    def test_a_copy_of_what_is_no_longer_there_is_refused(self) -> None:
        content = content_hash(self.pdf)
        (self.pdf / "SKILL.md").write_text("other")
        with self.assertRaises(SkillError):
            self.copies.keep("", self.pdf, content)
        self.assertFalse(self.copies.has("", content))
        self.assertEqual(list(self.copies.folder.iterdir()), [], "nothing is left")

    def test_what_cannot_be_named(self) -> None:
        content = self.kept(self.pdf)
        cases = [("pdf", "f" * 64), ("pdf", "../x"), ("pdf", ""), ("..", content), ("a/b", content)]
        self.assertEqual(self.copies.paths("", cases), {})
        self.assertEqual(self.copies.paths("other key", [("pdf", content)]), {})
        self.assertIsNone(self.copies.together({}))

    def test_together(self) -> None:
        used = [("pdf", self.kept(self.pdf)), ("csv", self.kept(self.csv))]
        paths = self.copies.paths("", used)
        folder = self.copies.together(paths)
        assert folder is not None
        self.assertEqual(sorted(each.name for each in folder.iterdir()), ["csv", "pdf"])
        self.assertEqual(content_hash(folder / "pdf"), used[0][1])
        self.assertEqual(self.copies.together(paths), folder)
        self.assertNotEqual(self.copies.together({"pdf": paths["pdf"]}), folder)
        self.assertEqual(folder.parent, self.copies.folder, "the stage holds it directly")

    def test_unused_ones_go(self) -> None:
        old = self.copies.paths("", [("pdf", self.kept(self.pdf))])["pdf"]
        long_ago = old.stat().st_mtime - keeping.UNUSED_S - 10
        os.utime(old, (long_ago, long_ago))
        self.kept(self.csv)
        self.assertFalse(old.exists())


if __name__ == "__main__":
    unittest.main()
