"""File tools: whole contents, exact edits, and no way out of the folder."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from server.tools.builtin.edits import edit_file
from server.tools.builtin.files import MAX_LINE, list_files, read_file, search_files, write_file
from server.tools.decorators import Context, ToolError
from server.tools.result import MAX_TEXT, as_text

from ...tooling import patience

ROOT = Path(__file__).resolve().parents[3]
CTX = Context({}, lambda _: None)
LONG = "é" * 120 + ".txt"  # 244 bytes: as long as a name may be, nearly


class Case(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.outside = Path(holder.name).resolve() / "outside"
        self.root = self.outside.parent / "root"
        self.outside.mkdir()
        self.root.mkdir()
        (self.outside / "secret").write_text("canary")
        stack = contextlib.ExitStack()
        stack.enter_context(contextlib.chdir(self.root))
        self.addCleanup(stack.close)


class Writing(Case):
    def test_round_trip(self) -> None:
        for content in ("", "one", "é世😀\n", "a\r\nb\rc\n", "\u2028", "x" * 100_000 + "\n" + "y"):
            with self.subTest(content[:10]):
                write_file(CTX, "deep/er/file.txt", content)
                self.assertEqual((self.root / "deep/er/file.txt").read_bytes(), content.encode())
        self.assertEqual([p.name for p in (self.root / "deep/er").iterdir()], ["file.txt"])

    def test_names(self) -> None:
        for name in ("größe.txt", "日本語/ファイル", "😀", " leading", "a\nb", "-rf", LONG):
            with self.subTest(name):
                write_file(CTX, name, name)
                self.assertEqual(
                    read_file(CTX, name)["content"][7:], "\n     2\t".join(name.split("\n"))
                )
                self.assertEqual(edit_file(CTX, name, name, "x")["replaced"], 1)

    def test_what_replacing_loses_is_said(self) -> None:
        (self.root / "f").write_text("a")
        self.assertNotIn("notes", write_file(CTX, "f", "ab"))
        os.link("f", "other")
        (self.root / "f").chmod(0o444)
        edited = edit_file(CTX, "f", "a", "c")
        self.assertIn("read-only", edited["notes"][0])
        self.assertIn("hard links", edited["notes"][1])
        self.assertEqual((self.root / "f").stat().st_mode & 0o777, 0o444)
        self.assertEqual((self.root / "other").read_text(), "ab")
        self.assertEqual(len(write_file(CTX, "f", "d")["notes"]), 1)

    def test_both_are_offered_to_the_person(self) -> None:
        said: list[dict[str, object]] = []
        ctx = Context({}, said.append)
        write_file(ctx, "sub/f", "a")
        edit_file(ctx, "sub/f", "a", "b")
        self.assertEqual(said, [{"attach": {"path": "sub/f", "name": "f"}}] * 2)

    def test_mode_is_kept(self) -> None:
        write_file(CTX, "run.sh", "a")
        (self.root / "run.sh").chmod(0o755)
        self.assertTrue(write_file(CTX, "run.sh", "b")["replaced"])
        self.assertEqual((self.root / "run.sh").stat().st_mode & 0o777, 0o755)

    def test_refused(self) -> None:
        (self.root / "folder").mkdir()
        with self.assertRaisesRegex(ToolError, "is a folder"):
            write_file(CTX, "folder", "x")
        with self.assertRaisesRegex(ToolError, "surrogate"):
            write_file(CTX, "x", "\ud800")
        with self.assertRaisesRegex(ToolError, "xxx: File name too long"):
            write_file(CTX, "x" * 300, "y")
        with self.assertRaisesRegex(ToolError, "folder/f/g: (File exists|Not a directory)"):
            write_file(CTX, "folder/f", "x")
            write_file(CTX, "folder/f/g", "x")
        (self.root / "folder" / "f").unlink()
        self.assertEqual(sorted(p.name for p in self.root.iterdir()), ["folder"])

    def test_a_full_disk(self) -> None:
        """In a mount namespace of its own, on 64 KB of memory."""
        script = (
            "from server.tools.builtin.files import write_file\n"
            "from server.tools.decorators import Context, ToolError\n"
            "import os\n"
            f"os.chdir({str(self.root)!r})\n"
            "ctx = Context({}, lambda _: None)\n"
            "write_file(ctx, 'f', 'as it was')\n"
            "try:\n    write_file(ctx, 'f', 'x' * 1_000_000)\n"
            "except ToolError as error:\n    print(error)\n"
            "print(open('f').read(), os.listdir('.'))\n"
        )
        mount = f'mount -t tmpfs -o size=64k none {self.root} && exec {sys.executable} -c "$1"'
        command = ["unshare", "-rm", "sh", "-c", mount, "sh", script]
        try:
            done = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, timeout=patience.seconds(30)
            )
        except FileNotFoundError:
            self.skipTest("no unshare here")
        if "unshare failed" in done.stderr or "permission denied" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.stdout, "f: No space left on device\nas it was ['f']\n", done.stderr)


class Reading(Case):
    def test_parts(self) -> None:
        write_file(CTX, "f", "".join(f"line {n}\n" for n in range(1, 11)))
        found = read_file(CTX, "f", 4, 2)
        self.assertEqual(found["content"], "     4\tline 4\n     5\tline 5")
        self.assertEqual((found["lines"], found["next_offset"]), (10, 6))
        self.assertNotIn("next_offset", read_file(CTX, "f"))
        self.assertEqual(read_file(CTX, "f", 50)["content"], "")

    def test_what_is_not_text(self) -> None:
        (self.root / "bin").write_bytes(b"\x7fELF\0\0")
        (self.root / "latin").write_bytes(b"caf\xe9")
        os.mkfifo(self.root / "pipe")
        (self.root / "a.bmp").write_bytes(b"BM" + b"\0" * 14)
        with self.assertRaisesRegex(
            ToolError, r"not a text file \(application/octet-stream, 6 bytes"
        ):
            read_file(CTX, "bin")
        with self.assertRaisesRegex(ToolError, r"not a text file \(image/bmp, 16 bytes"):
            read_file(CTX, "a.bmp")
        with (self.root / "huge").open("wb") as file:
            file.truncate(1 << 40)  # no byte of it is on the disk
        with self.assertRaisesRegex(ToolError, "larger than 10 MB; use shell"):
            read_file(CTX, "huge")
        self.assertIn("caf\ufffd", read_file(CTX, "latin")["content"])
        with self.assertRaisesRegex(ToolError, "pipe is not a file"):
            read_file(CTX, "pipe")
        for path, message in ((".", "Is a directory"), ("none", "No such file"), ("a\0b", "NUL")):
            with self.subTest(path), self.assertRaisesRegex(ToolError, message):
                read_file(CTX, path)

    def test_lines_are_counted_as_compilers_do(self) -> None:
        text = "a\x0cb\u2028c\x85d\x1ce\rf\r\ng\n\n"
        (self.root / "f").write_bytes(text.encode())
        found = read_file(CTX, "f")
        wanted = "     1\ta\x0cb\u2028c\x85d\x1ce\rf\n     2\tg\n     3\t"
        self.assertEqual((found["content"], found["lines"]), (wanted, 3))

    def test_a_part_ends_where_a_model_would_not_read_it(self) -> None:
        for line in (
            "x = 'a'  # a usual line of code, as long as those are, or so\n",
            "\x01" * 3000,
        ):
            with self.subTest(line[:5]):
                write_file(CTX, "f", (line.rstrip("\n") + "\n") * 600)
                seen, offset = list[str](), 1
                while offset:
                    found = read_file(CTX, "f", offset, 500)
                    self.assertLessEqual(len(as_text(found)), MAX_TEXT)
                    seen += [part.split("\t")[0].strip() for part in found["content"].split("\n")]
                    offset = found.get("next_offset", 0)
                self.assertEqual(seen, [str(number) for number in range(1, 601)])


class Editing(Case):
    def test_exactly_once(self) -> None:
        write_file(CTX, "f", "alpha\nbeta\nalpha\n")
        with self.assertRaisesRegex(ToolError, "2 times"):
            edit_file(CTX, "f", "alpha", "x")
        with self.assertRaisesRegex(ToolError, "not found.*nearest line is 2: 'beta'"):
            edit_file(CTX, "f", "betta", "x")
        found = edit_file(CTX, "f", "beta\n", "gamma\n")
        self.assertIn("-beta\n+gamma", found["diff"])
        self.assertEqual(edit_file(CTX, "f", "alpha", "x", True)["replaced"], 2)
        self.assertEqual((self.root / "f").read_text(), "x\ngamma\nx\n")

    def test_the_rest_of_the_file_stays_byte_for_byte(self) -> None:
        before = b"\xef\xbb\xbfcaf\xe9\r\nold\rend \xff\n\n"
        (self.root / "f").write_bytes(before)
        edit_file(CTX, "f", "old", "neu é")
        after = (self.root / "f").read_bytes()
        self.assertEqual(after, before.replace(b"old", "neu é".encode()))

    def test_what_windows_wrote_is_read_and_stays_what_it_is(self) -> None:
        for mark, name in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
            with self.subTest(name):
                (self.root / "f").write_bytes(mark + "naïve 世\r\n😀\r\n".encode(name))
                found = read_file(CTX, "f")
                self.assertEqual((found["lines"], found["encoding"]), (2, name))
                self.assertTrue(found["content"].endswith("naïve 世\n     2\t😀"))
                edit_file(CTX, "f", "世\n😀", "x\ny")
                self.assertEqual(
                    (self.root / "f").read_bytes(), mark + "naïve x\r\ny\r\n".encode(name)
                )
        for data, message in ((b"\xff\xfea\0b", "truncated"), (b"\xff\xfea\0\0\0", "not a text")):
            (self.root / "f").write_bytes(data)
            with self.subTest(data), self.assertRaisesRegex(ToolError, message):
                edit_file(CTX, "f", "a", "b")
            self.assertEqual((self.root / "f").read_bytes(), data)

    def test_line_ends_stay_as_they_are(self) -> None:
        """A model writes line feeds, and read_file shows nothing else."""
        for before, old, new, after in (
            (b"a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", b"x\r\ny\r\nz\r\nc\r\n"),
            (b"a\r\nb\r\n", "a\r\nb", "x\r\ny", b"x\r\ny\r\n"),
            (b"a\r\nb\r\n", "a", "x\ny", b"x\r\ny\r\nb\r\n"),
            (b"a\r\nb\n", "b", "x\ny", b"a\r\nx\ny\n"),
            (b"a\nb\n", "a", "x\r\ny", b"x\r\ny\nb\n"),
        ):
            with self.subTest(before=before, old=old):
                (self.root / "f").write_bytes(before)
                edit_file(CTX, "f", old, new)
                self.assertEqual((self.root / "f").read_bytes(), after)
        (self.root / "f").write_bytes(b"a\r\nb\nc\n")
        with self.assertRaisesRegex(ToolError, "not found in f; it is there with other line ends"):
            edit_file(CTX, "f", "a\nb", "x")

    def test_two_at_once_lose_nothing(self) -> None:
        names = [f"<{n}>" for n in range(8)]
        (self.root / "f").write_text("\n".join([*names, "x" * 1_000_000]))
        with ThreadPoolExecutor(len(names)) as pool:
            list(pool.map(lambda name: edit_file(CTX, "f", name, "done"), names))
        self.assertEqual((self.root / "f").read_text().count("done"), len(names))
        with self.assertRaisesRegex(ToolError, "none/f: No such file"):
            edit_file(CTX, "none/f", "x", "y")

    def test_the_nearest_line_is_shown_as_it_is(self) -> None:
        (self.root / "f").write_text("def f():\n\treturn 1\n")
        for old in ("    return 1\n", "return 2"):
            with self.assertRaisesRegex(ToolError, r"the nearest line is 2: '\\treturn 1'$"):
                edit_file(CTX, "f", old, "x")

    def test_a_change_that_is_made_is_soon_told(self) -> None:
        """However long the lines are, and however many of them it touches."""
        (self.root / "long").write_text("[" + "1," * 1_000_000 + "9]")
        found = edit_file(CTX, "long", "9]", "8]")
        self.assertLess(len(found["diff"]), 2 * MAX_LINE + 100)
        every_other = "".join(f"{n} {'old' if n % 2 else 'x'}\n" for n in range(20_000))
        (self.root / "many").write_text(every_other)
        self.assertEqual(
            edit_file(CTX, "many", "old", "new", True), {"path": "many", "replaced": 10_000}
        )
        self.assertEqual((self.root / "many").read_text(), every_other.replace("old", "new"))
        lines = "".join(f"{'lorem ipsum dolor' * 80} {n}\n" for n in range(2_000))
        (self.root / "wide").write_text(lines)
        with self.assertRaisesRegex(ToolError, "nearest line is 1: 'lorem"):
            edit_file(CTX, "wide", "lorem ipsum dolos" * 80, "x")


class Listing(Case):
    def test_what_is_there(self) -> None:
        for path in ("a.py", "b.txt", "sub/c.py", "sub/deep/d.py", ".hidden/e.py"):
            write_file(CTX, path, "x")
        (self.root / "link").symlink_to(self.outside)
        names = [entry["path"] for entry in list_files(CTX)["files"]]
        self.assertEqual(
            names, ["a.py", "b.txt", "link", "sub/", "sub/c.py", "sub/deep/", "sub/deep/d.py"]
        )
        self.assertEqual(
            [e["path"] for e in list_files(CTX, pattern="*.py", depth=1)["files"]], ["a.py"]
        )
        self.assertIn(".hidden/", [e["path"] for e in list_files(CTX, hidden=True)["files"]])
        with self.assertRaisesRegex(ToolError, "not a folder"):
            list_files(CTX, "a.py")

    def test_what_is_listed_can_be_read(self) -> None:
        """Whichever folder was asked for, and however."""
        write_file(CTX, "src/deep/a.py", "x")
        for path in (
            "src",
            "src/",
            "./src",
            "src/deep",
            ".",
            "",
            str(self.root),
            f"{self.root}/src",
        ):
            with self.subTest(path):
                entries = list_files(CTX, path)["files"]
                files = [entry["path"] for entry in entries if entry["type"] == "file"]
                self.assertEqual(len(files), 1)
                self.assertEqual(read_file(CTX, files[0])["lines"], 1)

    def test_patterns(self) -> None:
        for path in ("a.py", "src/b.py", "src/deep/c.py", "src/d.js"):
            write_file(CTX, path, "x")
        python = ["a.py", "src/b.py", "src/deep/c.py"]
        for pattern, wanted in (
            ("*.py", python),
            ("**/*.py", python),
            ("./**/*.py", python),
            ("src/*.py", python[1:]),
            ("src/**/*.py", python[1:]),
            ("**/deep/*", python[2:]),
            ("src", ["src/"]),
            ("*.PY", []),
        ):
            with self.subTest(pattern):
                found = list_files(CTX, pattern=pattern)["files"]
                self.assertEqual([entry["path"] for entry in found], wanted)

    def test_what_lies_deeper_is_not_passed_over_in_silence(self) -> None:
        write_file(CTX, "a/b/c/d.py", "x")
        (self.root / "empty").mkdir()
        for path, depth, complete in (
            (".", 3, False),
            (".", 4, True),
            ("a", 2, False),
            ("empty", 1, True),
        ):
            with self.subTest(path=path, depth=depth):
                self.assertEqual(list_files(CTX, path, "*.py", depth)["complete"], complete)
        (self.root / "a/b/c/d.py").unlink()
        self.assertTrue(list_files(CTX)["complete"], "nothing is in the folder that lies deeper")


class NoWayOut(Case):
    def test_paths(self) -> None:
        (self.root / "up").symlink_to("..")
        (self.root / "abs").symlink_to(self.outside)
        (self.root / "file").symlink_to(self.outside / "secret")
        (self.root / "sub").mkdir()
        (self.root / "sub" / "chain").symlink_to("../abs")
        paths = [
            *("../outside/secret", "sub/../../outside/secret", str(self.outside / "secret")),
            *("up/outside/secret", "abs/secret", "file", "sub/chain/secret", "/etc/passwd"),
            "./././../outside/secret",
        ]
        for path in paths:
            with self.subTest(path):
                for attempt in (
                    partial(read_file, CTX, path),
                    partial(write_file, CTX, path, "x"),
                    partial(edit_file, CTX, path, "canary", "x"),
                    partial(list_files, CTX, path),
                ):
                    with self.assertRaises(ToolError) as caught:
                        attempt()
                    self.assertNotIn("canary", str(caught.exception))
        self.assertEqual((self.outside / "secret").read_text(), "canary")

    def test_a_link_inside_of_the_folder_is_no_other_name(self) -> None:
        """Rules are compared with names: the error says the one that the file has."""
        (self.root / ".git").mkdir()
        (self.root / ".git" / "config").write_text("canary\n")
        (self.root / "src").mkdir()
        (self.root / "src" / "link").symlink_to("../.git")
        (self.root / "src" / "file").symlink_to("../.git/config")
        for path, name in (
            ("src/link/config", ".git/config"),
            ("src/file", ".git/config"),
            ("src/link/new", ".git/new"),
        ):
            for attempt in (
                partial(read_file, CTX, path),
                partial(write_file, CTX, path, "x"),
                partial(edit_file, CTX, path, "canary", "x"),
                partial(list_files, CTX, path),
                partial(search_files, CTX, "canary", path),
            ):
                with self.subTest(path, tool=attempt.func.__name__):
                    words = f"{path} leads through a link; the name without it is {name}"
                    with self.assertRaisesRegex(ToolError, words.replace(".", r"\.")):
                        attempt()
        self.assertFalse((self.root / ".git" / "new").exists())
        self.assertEqual((self.root / ".git" / "config").read_text(), "canary\n")
        self.assertEqual(read_file(CTX, ".git/config")["lines"], 1)

    def test_a_name_that_only_begins_like_the_folder(self) -> None:
        twin = self.root.with_name("root2")
        twin.mkdir()
        (twin / "f").write_text("canary")
        with self.assertRaisesRegex(ToolError, "outside"):
            read_file(CTX, "../root2/f")


if __name__ == "__main__":
    unittest.main()
