"""The folder of a skill: what is read, what is refused, and the hash of it all."""

from __future__ import annotations

import os
import socket
import tempfile
import unittest
from pathlib import Path

from server.lib.agent_skills import folder as reading
from server.lib.agent_skills.folder import SkillError, content_hash, files_of, read_file, skill_text

PLAIN = "---\nname: pdf\ndescription: Reads PDF files\n---\nDo it.\n"


class Text(unittest.TestCase):
    def refused(self, data: bytes, name: str = "pdf") -> str:
        with self.assertRaises(SkillError) as caught:
            skill_text(data, name)
        return str(caught.exception)

    def test_what_it_says(self) -> None:
        text = (
            "---\nname: pdf\ndescription: >\n  Reads\n  PDF files\nlicense: MIT\n"
            "compatibility: Requires Python 3.11+\nallowed-tools:\n  - Bash(git:*)\n  - Read\n"
            'metadata:\n  author: me\n  version: "1.0"\nx-more: 1\n---\nDo it.\n'
        )
        about = skill_text(text.encode(), "pdf")
        self.assertEqual(about.description, "Reads PDF files")
        self.assertEqual((about.license, about.compatibility), ("MIT", "Requires Python 3.11+"))
        self.assertEqual(about.allowed_tools, "Bash(git:*) Read")
        self.assertEqual(about.metadata, {"author": "me", "version": "1.0"})
        self.assertEqual((about.text, about.remarks, about.hidden), (text, (), {}))

    def test_what_the_standard_forbids_is_remarked(self) -> None:
        cases = [
            ("name: other", "the standard wants them to be equal"),
            ("name: PDF", "lowercase letters"),
            ("name: pdf--x", "single hyphens"),
            ("name: pdf_x", "single hyphens"),
            ("license: MIT", "there is no name"),
            (f"name: pdf\ncompatibility: {'x' * 501}", "compatibility is longer"),
        ]
        for line, expected in cases:
            with self.subTest(line[:30]):
                about = skill_text(f"---\n{line}\ndescription: d\n---\nx".encode(), "pdf")
                self.assertIn(expected, " ".join(about.remarks))
        long = skill_text(f"---\nname: pdf\ndescription: {'d' * 2000}\n---\n".encode(), "pdf")
        self.assertIn("longer than 1024", long.remarks[0])
        self.assertIn("no instructions", long.remarks[1])

    def test_names_that_are_no_names(self) -> None:
        names = ("../x", "a/b", "/etc", "..", ".x", "a b", "a\\b", "x" * 65, "-x", "a.b", "*")
        for name in (*names, '"a\\u200bb"', '"a\\nb"', '"a\\0b"'):
            with self.subTest(name):
                text = f"---\nname: {name}\ndescription: d\n---\nx".encode()
                about = skill_text(text, "pdf")
                self.assertEqual(about.name, "pdf")
                self.assertIn("is not possible; the folder's is used", " ".join(about.remarks))
                with self.assertRaisesRegex(SkillError, "is not possible"):
                    skill_text(text, "a b")

    def test_what_is_no_skill(self) -> None:
        cases = [
            (b"", "begins with a line ---"),
            (b"\xff\xfe", "is not UTF-8"),
            (PLAIN.encode() + b"\0", "is no text"),
            (b"---\nname: pdf\n---\nx", "has no description"),
            (b'---\nname: pdf\ndescription: "x\n---', "line 3: description: the quote"),
            (b"x" * (reading.MAX_TEXT + 1), "is larger than 256 KB"),
        ]
        for data, expected in cases:
            with self.subTest(data[:30]):
                self.assertIn(expected, self.refused(data))

    def test_hidden_characters_are_counted(self) -> None:
        about = skill_text(PLAIN.replace("Do", "D\u200bo").encode(), "pdf")
        self.assertEqual(about.hidden, {"U+200B ZERO WIDTH SPACE": 1})


class Files(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.outside = Path(holder.name, "secret")
        self.outside.write_text("secret")
        self.folder = Path(holder.name, "pdf")
        self.write("SKILL.md", PLAIN)
        self.write("scripts/run.py", "print()", 0o755)
        self.write("references/a.md", "words")

    def write(self, path: str, text: str, mode: int = 0o644) -> Path:
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(mode)
        return place

    def refused(self, path: str, most: int = 1 << 20) -> str:
        with self.assertRaises(SkillError) as caught:
            read_file(self.folder, path, most)
        return str(caught.exception)

    def test_files_in_order(self) -> None:
        self.write(".git/config", "x")
        self.write("node_modules/a/b.js", "x")
        found, left_out = files_of(self.folder)
        expected = [("SKILL.md", False), ("references/a.md", False), ("scripts/run.py", True)]
        self.assertEqual([(each.path, each.executable) for each in found], expected)
        self.assertEqual(left_out, [])

    def test_links_and_what_is_no_file_are_left_out(self) -> None:
        (self.folder / "link").symlink_to(self.outside)
        (self.folder / "scripts" / "up").symlink_to("..")
        os.mkfifo(self.folder / "pipe")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.folder / "socket"))
            found, left_out = files_of(self.folder)
        self.assertEqual(len(found), 3)
        self.assertEqual(len(left_out), 4)
        self.assertIn("link is a link and is left out", left_out)
        for path in ("link", "scripts/up/SKILL.md", "pipe", "scripts"):
            with self.subTest(path):
                self.refused(path)

    def test_folders_that_are_too_deep(self) -> None:
        for depth, found in ((reading.MAX_DEPTH - 1, True), (reading.MAX_DEPTH, False)):
            with self.subTest(depth=depth):
                path = "/".join([*[f"d{depth}"] * depth, "a.md"])
                self.write(path, "x")
                there, left_out = files_of(self.folder)
                self.assertEqual(path in [each.path for each in there], found)
                self.assertEqual(len(left_out), 1 - found)

    def test_paths_that_lead_out(self) -> None:
        for path in ("", ".", "..", "../secret", "a/../../secret", "/etc/passwd", "a//b", "x\0"):
            with self.subTest(path):
                self.assertIn("is no file of the skill", self.refused(path))
        self.assertIn("No such file", self.refused("none.md"))
        self.assertIn("larger than 0 KB", self.refused("references/a.md", 4))
        self.assertEqual(read_file(self.folder, "references/a.md", 5), b"words")

    def test_too_many_files(self) -> None:
        for number in range(reading.MAX_FILES + 1):
            (self.folder / f"{number}").touch()
        with self.assertRaises(SkillError) as caught:
            files_of(self.folder)
        self.assertIn("more than 1000 files", str(caught.exception))

    def test_links_and_empty_folders_count_too(self) -> None:
        for kind in ("links", "folders"):
            with self.subTest(kind):
                for number in range(70):
                    (self.folder / kind / f"{number}").mkdir(parents=True)
                for number in range(reading.MAX_LOOKED_AT):
                    place = self.folder / f"{kind}/{number % 70}/{number}"
                    if kind == "links":
                        place.symlink_to(self.folder)
                    else:
                        place.mkdir()
                with self.assertRaisesRegex(SkillError, "more than 5000 files, folders and links"):
                    files_of(self.folder)
                (self.folder / kind).rename(self.folder.with_name(kind))
        self.folder.with_name("links").rename(self.folder / "node_modules")
        self.assertEqual(len(files_of(self.folder)[0]), 3)

    def test_too_large(self) -> None:
        with (self.folder / "large").open("wb") as file:
            file.truncate(reading.MAX_BYTES + 1)  # a sparse file counts as it would be copied
        with self.assertRaises(SkillError) as caught:
            content_hash(self.folder)
        self.assertIn("larger than 32 MB", str(caught.exception))

    def test_the_hash_tells_every_change(self) -> None:
        seen = {content_hash(self.folder)}
        os.utime(self.folder / "SKILL.md", (1, 1))
        self.assertEqual({content_hash(self.folder)}, seen, "times do not count")
        for change in (
            lambda: self.write("SKILL.md", PLAIN + "More."),
            lambda: self.write("references/a.md", "others"),
            lambda: (self.folder / "scripts" / "run.py").chmod(0o644),
            lambda: (self.folder / "references").rename(self.folder / "refs"),
            lambda: self.write("empty", ""),
        ):
            change()
            found = content_hash(self.folder)
            self.assertNotIn(found, seen)
            seen.add(found)

    def test_names_that_are_no_text(self) -> None:
        os.close(os.open(os.fsencode(self.folder) + b"/\xff.md", os.O_CREAT))
        found, left_out = files_of(self.folder)
        self.assertEqual(len(found), 3)
        self.assertIn("no name in UTF-8", left_out[0])


if __name__ == "__main__":
    unittest.main()
