"""Several edits and patches: all or nothing, as the shared vectors say, and never a wrong text."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Any
from unittest import main

from server.lib.strict_json import dumps
from server.tools.builtin.edits import MAX_BRIEF, MAX_DIFF, MAX_DIFF_TEXT, brief, edit_file
from server.tools.builtin.files import write_file
from server.tools.builtin.patch import apply_patch
from server.tools.decorators import ToolError

from ...tooling import turns
from .mangled_patches import samples
from .test_files import CTX, Case

VECTORS = Path(__file__).resolve().parents[2] / "vectors" / "edits.json"
MAX_ERROR = 1024  # bytes


def tens(number: int) -> str:
    return "".join(f"line {n} of a file\n" for n in range(number))


class Vectors(Case):
    def test_what_becomes_of_the_file(self) -> None:
        target = self.root / "f.py"
        for case in json.loads(VECTORS.read_text())["cases"]:
            with self.subTest(case["name"]):
                target.unlink(missing_ok=True)
                if case["text"] is not None:
                    target.write_bytes(case["text"].encode())
                try:
                    found = edit_file(CTX, "f.py", **case["args"])
                except ToolError as error:
                    self.assertIn(case.get("message", "no error"), str(error))
                    self.assertLessEqual(len(str(error).encode()), MAX_ERROR)
                    after = case["text"]
                else:
                    self.assertNotIn("message", case)
                    self.assertEqual(found.get("notes"), case.get("notes"))
                    self.assertEqual(found.get("deleted", False), case["after"] is None)
                    self.assertEqual(found.get("created", False), case["text"] is None)
                    after = case["after"]
                there = target.read_bytes().decode() if target.exists() else None
                self.assertEqual(there, after)


class Patches(Case):
    def test_what_models_write_wrong_is_made_right_or_refused(self) -> None:
        made = refused = 0
        for sample in samples(20, 2_000):
            try:
                found = apply_patch(sample.before, sample.patch, "f").text
            except ToolError as error:
                refused += 1
                self.assertTrue(sample.how, sample)
                self.assertLessEqual(len(str(error).encode()), MAX_ERROR)
                continue
            made += 1
            wanted: str | None = sample.after
            if {"no_marker", "starred"} & {*sample.how}:  # they do not say how the file ends
                found, wanted = ((text or "").rstrip("\r\n") for text in (found, wanted))
            self.assertEqual(found, wanted, sample)
        self.assertGreater(made, 20 * refused)

    def test_the_rest_of_the_file_stays_byte_for_byte(self) -> None:
        before = b"\xef\xbb\xbfcaf\xe9\r\nold\rend \xff\r\nb\r\n"
        (self.root / "f").write_bytes(before)
        edit_file(CTX, "f", patch="@@\n-b\n+neu \u00e9\n")
        after = (self.root / "f").read_bytes()
        self.assertEqual(after, before.replace(b"b\r\n", "neu \u00e9\r\n".encode()))
        (self.root / "f").write_bytes(b"\xff\xfe" + "a\r\n世\r\n".encode("utf-16-le"))
        edit_file(CTX, "f", patch="@@\n a\n-世\n+😀\n+b\n")
        self.assertEqual(
            (self.root / "f").read_bytes(), b"\xff\xfe" + "a\r\n😀\r\nb\r\n".encode("utf-16-le")
        )

    def test_new_files_and_deletions(self) -> None:
        said: list[dict[str, object]] = []
        ctx = type(CTX)({}, said.append)
        made = edit_file(ctx, "sub/new.py", patch="--- /dev/null\n+++ b/sub/new.py\n@@\n+a\n")
        self.assertEqual((made["created"], len(said)), (True, 1))
        (self.root / "sub/new.py").chmod(0o755)
        edit_file(ctx, "sub/new.py", patch="@@\n-a\n+b\n")
        self.assertEqual((self.root / "sub/new.py").stat().st_mode & 0o777, 0o755)
        gone = edit_file(ctx, "sub/new.py", patch="*** Delete File: sub/new.py")
        self.assertEqual((gone["deleted"], gone["diff"].splitlines()[-1]), (True, "-b"))
        self.assertFalse((self.root / "sub/new.py").exists())
        self.assertEqual(len(said), 2, "what is gone is not offered")
        os.mkfifo(self.root / "pipe")
        (self.root / "folder").mkdir()
        for path, message in (
            ("pipe", "pipe is not a file"),
            ("folder", "Is a directory"),
            ("../outside/secret", "outside of the session's folder"),
        ):
            for patch in (f"*** Delete File: {path}", f"*** Add File: {path}\n+a", "@@\n-a\n+b"):
                with self.subTest(path=path), self.assertRaisesRegex(ToolError, message):
                    edit_file(CTX, path, patch=patch)
        self.assertEqual((self.outside / "secret").read_text(), "canary")

    def test_names_that_git_quotes(self) -> None:
        write_file(CTX, "sub dir/größe.txt", "a\n")
        for old, new in (("größe.txt", "b"), (r"gr\303\266\303\237e.txt", "c")):
            before = (self.root / "sub dir/größe.txt").read_text()
            names = f'"a/sub dir/{old}" "b/sub dir/{old}"'
            patch = f"diff --git {names}\n@@\n-{before}+{new}\n"
            edit_file(CTX, "sub dir/größe.txt", patch=patch)
            self.assertEqual((self.root / "sub dir/größe.txt").read_text(), f"{new}\n")
        with self.assertRaisesRegex(
            ToolError, "the patch is for sub dir/größe, path is sub dir/größe.txt"
        ):
            other = names.replace("e.txt", "e")
            edit_file(CTX, "sub dir/größe.txt", patch=f"diff --git {other}\ndeleted file mode 1\n")

    def test_an_error_is_short_whatever_is_in_the_file(self) -> None:
        write_file(CTX, "f", "".join(f"{'世界' * 3_000} {n}\n" for n in range(200)) + tens(2_000))
        for lines in (1, 30, 900):
            body = "".join(f" line {n} of a file\n" for n in range(lines)) + f"-{'é' * 5_000}\n+x\n"
            with self.subTest(lines), self.assertRaises(ToolError) as caught:
                edit_file(CTX, "f", patch=f"@@\n{body}")
            message = str(caught.exception)
            self.assertLessEqual(len(message.encode()), MAX_ERROR)
            self.assertRegex(message, rf"its line {lines + 1}, 'ééé.*The nearest lines are 201 to")
            self.assertIn(f"\tline {lines}", message, "what is there in place of the line")
        with self.assertRaises(ToolError) as caught:
            edit_file(
                CTX,
                "f",
                edits=[{"old": f"line 3 of a file\n{'x' * 9_000}\nline 5 of a file\n", "new": ""}],
            )
        self.assertRegex(
            str(caught.exception), r"line 2, 'xxx.*\n +\d+\tline 3 of a file\n +\d+\tline 4"
        )
        self.assertLessEqual(len(str(caught.exception).encode()), MAX_ERROR)

    def test_many_lines_that_are_alike_take_no_time(self) -> None:
        write_file(CTX, "f", "x\n" * 40_000)
        many = "".join(f"@@ -{n},3 +{n},3 @@\n x\n-x\n+y\n x\n" for n in range(1, 900, 3))
        for patch in (many, "@@ x\n" * 50 + "-x\n+y\n", "@@\n" + " x\n" * 3_000 + "-x\n+y\n"):
            used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
            for form in turns.share((patch, f"*** Update File: f\n{patch}"), 2):
                with self.assertRaisesRegex(ToolError, "too often|fits at lines 1, 2, 3"):
                    edit_file(CTX, "f", patch=form)
            self.assertLess(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) - used, 12)


class Forms(Case):
    def test_one_of_the_three(self) -> None:
        write_file(CTX, "f", "a")
        forms: tuple[Any, ...] = (
            *({}, {"old": "a"}, {"new": "b"}, {"old": "", "new": "b"}, {"edits": []}),
            *({"old": "a", "new": "b", "patch": "@@\n-a\n+b"}, {"old": "a", "patch": "@@\n-a\n+b"}),
            {"edits": [{"old": "a", "new": "b"}], "patch": "@@\n-a\n+b"},
            {"edits": [{"old": "a", "new": "b"}], "new": ""},
        )
        for args in forms:
            with self.subTest(args), self.assertRaisesRegex(ToolError, "one of the|belong"):
                edit_file(CTX, "f", **args)
        self.assertEqual((self.root / "f").read_text(), "a")
        edit_file(CTX, "f", "a", "")
        self.assertEqual((self.root / "f").read_text(), "")


class Results(Case):
    def test_the_diff_is_bounded_and_the_model_reads_less(self) -> None:
        write_file(CTX, "f", tens(900))
        found = edit_file(CTX, "f", "line", "word", replace_all=True)
        self.assertEqual(found["replaced"], 900)
        shown = found["diff"].splitlines()
        self.assertLessEqual(len(shown), MAX_DIFF)
        self.assertLessEqual(len(found["diff"]), MAX_DIFF_TEXT + MAX_DIFF)
        read = json.loads(brief(found))
        self.assertLessEqual(len(read["diff"]), MAX_BRIEF + 100)
        lines = read["diff"].splitlines()
        self.assertEqual(lines[-1], f"… {len(shown) - len(lines) + 1} more lines of the diff")
        self.assertEqual(lines[:-1], shown[: len(lines) - 1])
        short = edit_file(CTX, "f", "word 5 of", "line 5 of")
        self.assertIn("-word 5 of a file\n+line 5 of a file", short["diff"])
        self.assertEqual(brief(short), "")
        for other in (None, "text", {"diff": 5}, {}):
            self.assertEqual(brief(other), "")
        self.assertLess(len(brief(found)), len(dumps(found)))


if __name__ == "__main__":
    main()
