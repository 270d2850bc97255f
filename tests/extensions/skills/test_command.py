"""`skills list` and `skills check`: what a model sees, and every remark and refusal."""

from __future__ import annotations

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from server.__main__ import main


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.enterContext(contextlib.chdir("."))  # the command leaves the current folder
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.home = Path(holder.name, "home")
        self.folder = Path(holder.name, "pdf")
        (self.home).mkdir()
        (self.home / "config.json").write_text('{"server": {"skills": {"folders": []}}}')

    def run_command(self, *arguments: str) -> tuple[int, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = main(["skills", "--home", str(self.home), *arguments])
        return code, out.getvalue()

    def write(self, folder: Path, text: str) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "SKILL.md").write_text(text)
        return folder


class Check(Case):
    def test_one_that_can_be_used(self) -> None:
        text = "---\nname: pdf\ndescription: Use it: often\nallowed-tools: Bash(git:*)\n"
        self.write(self.folder, f"{text}compatibility: needs git\n---\nDo.\n")
        (self.folder / "run.sh").write_text("#!/bin/sh\n")
        (self.folder / "run.sh").chmod(0o755)
        (self.folder / "leak").symlink_to("/etc/passwd")
        for path in (self.folder, self.folder / "SKILL.md"):
            code, said = self.run_command("check", str(path))
            self.assertEqual(code, 0)
            for wanted in (
                "pdf\n  Use it: often\n",
                "tokens in each prompt",
                "  needs    needs git\n",
                "  tools    Bash(git:*) (allowed-tools permits nothing here)\n",
                "  file     run.sh, 10 bytes, a program\n",
                "  better   line 3: description: a colon in a value",
                "  better   leak is a link and is left out\n",
            ):
                self.assertIn(wanted, said)

    def test_hidden_characters_are_shown_and_fail(self) -> None:
        text = "---\nname: pdf\ndescription: d\n---\nDo\u202e it.\n\U000e0041\n"
        self.write(self.folder, text)
        code, said = self.run_command("check", str(self.folder))
        self.assertEqual(code, 1)
        self.assertIn("hidden   1 x U+202E RIGHT-TO-LEFT OVERRIDE", said)
        self.assertIn("line 5: Do\\u{202e} it.", said)
        self.assertIn("\\u{e0041}", said)
        self.assertNotIn("\u202e", said)

    def test_a_name_that_is_not_possible(self) -> None:
        self.write(self.folder, "---\nname: ../x\ndescription: d\n---\nDo it.\n")
        code, said = self.run_command("check", str(self.folder))
        self.assertEqual(code, 0)
        self.assertIn("better   its name '../x' is not possible; the folder's is used", said)

    def test_refusals(self) -> None:
        cases = [
            ("no front matter", "refused  SKILL.md: line 1"),
            ("---\nname: pdf\n---", "refused  SKILL.md has no description"),
        ]
        for text, expected in cases:
            with self.subTest(text):
                self.write(self.folder, text)
                code, said = self.run_command("check", str(self.folder))
                self.assertEqual((code, expected in said), (1, True), said)
        self.assertEqual(self.run_command("check", f"{self.folder}-none")[0], 1)
        code, said = self.run_command("check")
        self.assertEqual(code, 2)
        self.assertIn("skills check FOLDER", said)


class List(Case):
    def test_what_is_used_and_what_is_not(self) -> None:
        code, said = self.run_command("list")
        self.assertEqual(code, 0)
        self.assertIn("no skill in skills", said)
        self.write(self.home / "skills" / "pdf", "---\nname: pdf\ndescription: d\n---\nx\u200b")
        self.write(self.home / "skills" / "bad", "---\nname: bad\n---")
        code, said = self.run_command("list")
        self.assertEqual(code, 1)
        self.assertIn("pdf  HIDDEN CHARACTERS\n  d\n  in       skills/pdf\n", said)
        self.assertIn("not used  skills/bad: SKILL.md has no description", said)
        self.assertIn("1 to use, 1 not used", said)


if __name__ == "__main__":
    unittest.main()
