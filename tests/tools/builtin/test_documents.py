"""Pictures, sounds and PDFs as `read_file` reads them, with and without `pdftotext`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from server.tools.builtin.documents import MAX_PAGES, chosen_pages
from server.tools.builtin.files import read_file
from server.tools.decorators import Context, ToolError
from server.tools.workspace import shown_file

from ...tooling import pictures
from .test_files import Case

# A reader of this test's own: five pages, of which the third is long; `-f` and `-l` say which.
READER = """#!/bin/sh
while [ $# -gt 1 ]; do
  case "$1" in -f) first=$2 ;; -l) last=$2 ;; esac
  shift
done
[ -e "$PWD/scan" ] && { printf '\\f\\f'; exit 0; }
[ "$first" -gt 5 ] && exit 99
for page in 1 2 3 4 5; do
  if [ $page -ge "$first" ] && [ $page -le "$last" ]; then
    printf 'Page %s says é.\\n' $page
    [ $page = 3 ] && head -c 17950 /dev/zero | tr '\\0' x
    printf '\\f'
  fi
done
"""


class Documents(Case):
    def setUp(self) -> None:
        super().setUp()
        self.said: list[Any] = []
        self.ctx = Context({}, self.said.append)
        self.bin = self.outside.parent / "bin"
        self.bin.mkdir()
        usual = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", usual)
        os.environ["PATH"] = str(self.bin)
        self.usual = usual
        for name, data in {
            "a.png": pictures.png(),
            "picture-without-a-name": pictures.gif(),
            "text.png": b"only text",
            "a.wav": pictures.wav(),
            "a.pdf": pictures.PDF,
        }.items():
            (self.root / name).write_bytes(data)

    def install(self) -> None:
        (self.bin / "pdftotext").write_text(READER)
        (self.bin / "pdftotext").chmod(0o755)
        os.environ["PATH"] = f"{self.bin}:{self.usual}"

    def test_what_is_shown(self) -> None:
        for name in ("a.png", "picture-without-a-name", "a.wav", "a.pdf"):
            with self.subTest(name):
                self.said.clear()
                self.assertEqual(read_file(self.ctx, name), {"shown": name})
                self.assertEqual(self.said, [{"show": {"path": name}}])

    def test_a_text_named_like_a_picture_is_a_text(self) -> None:
        self.assertIn("only text", read_file(self.ctx, "text.png")["content"])
        self.assertEqual(self.said, [])

    def test_pages_need_a_reader(self) -> None:
        with self.assertRaisesRegex(ToolError, "no pdftotext"):
            read_file(self.ctx, "a.pdf", pages="2-3")

    def test_pages(self) -> None:
        self.install()
        for pages, wanted, parts, further in (
            ("4-5", "4-5", ["--- page 4 ---\nPage 4 says é.", "--- page 5 ---"], None),
            ("5", "5-5", ["--- page 5 ---"], None),
            ("2", "2-2", ["--- page 2 ---"], 3),
            ("", "1-2", ["--- page 1 ---", "--- page 2 ---"], 3),
            ("3-4", "3-3", ["--- page 3 ---"], 4),
        ):
            with self.subTest(pages):
                found = read_file(self.ctx, "a.pdf", pages=pages)
                self.assertEqual(found["pages"], wanted)
                self.assertEqual(found.get("next_page"), further)
                for part in parts:
                    self.assertIn(part, found["content"])
        with self.assertRaisesRegex(ToolError, "no page 6"):
            read_file(self.ctx, "a.pdf", pages="6")
        self.assertEqual(self.said, [])

    def test_a_scan_is_shown(self) -> None:
        self.install()
        (self.root / "scan").touch()
        found = read_file(self.ctx, "a.pdf")
        self.assertIn("no text", found["note"])
        self.assertEqual(self.said, [{"show": {"path": "a.pdf"}}])

    def test_which_pages(self) -> None:
        for pages, wanted in (("", (1, MAX_PAGES)), ("3", (3, 3)), (" 2 - 5 ", (2, 5))):
            self.assertEqual(chosen_pages(pages), wanted)
        self.assertEqual(chosen_pages("5-900000"), (5, 4 + MAX_PAGES))
        for pages in ("0", "5-3", "a", "1,2", "-1", "1-", "9999999", "-f", "１"):
            with self.subTest(pages), self.assertRaisesRegex(ToolError, "wanted one page"):
                chosen_pages(pages)

    def test_of_what_a_file_is_shown(self) -> None:
        found = shown_file((), "a.png")
        self.assertEqual((found["path"], found["name"]), ("a.png", "a.png"))
        (self.root / "link.png").symlink_to(self.root / "a.png")
        (self.root / "out.png").symlink_to(self.outside / "secret")
        (self.root / "cut.png").write_bytes(pictures.png()[:-3])
        self.assertEqual(shown_file((), "link.png")["path"], "a.png")
        os.mkfifo(self.root / "pipe.png")
        for path, words in (
            ("out.png", "outside"),
            ("none.png", "No such file"),
            (".", "a directory|not a file"),
            ("pipe.png", "not a file"),
            ("cut.png", "cut.png cannot be shown: the picture is cut off"),
            ("text.png", "neither a PNG"),
        ):
            with self.subTest(path), self.assertRaisesRegex(ToolError, words):
                shown_file((), path)
        with self.assertRaisesRegex(ToolError, "at most 8"):
            shown_file([{}] * 8, "a.png")

    def test_a_picture_that_is_too_large_is_refused_with_its_size(self) -> None:
        Path("wide.png").write_bytes(pictures.png(8_001, 9_000))
        words = "wide.png cannot be shown: the picture has 8001 x 9000 pixels.*make it smaller"
        with self.assertRaisesRegex(ToolError, words):
            shown_file((), "wide.png")

    def test_a_large_one_is_not_read_whole(self) -> None:
        with Path("huge.png").open("wb") as file:
            file.write(pictures.png())
            file.truncate(1 << 40)
        with self.assertRaisesRegex(ToolError, "huge.png has 1099511.6 MB, and 3.75 MB can be"):
            shown_file((), "huge.png")
