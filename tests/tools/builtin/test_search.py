"""Searching files: what is found, what is passed over, and patterns that would hang others."""

from __future__ import annotations

from server.tools.builtin.files import MAX_MATCH_LINE, search_files
from server.tools.decorators import ToolError

from .test_files import CTX, Case


class Searching(Case):
    def setUp(self) -> None:
        super().setUp()
        (self.root / "src").mkdir()
        (self.root / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
        (self.root / "src" / "b.py").write_text("def two():\n    return 2 # Ümlaut\n")
        (self.root / ".hidden").write_text("two")
        (self.root / "binary").write_bytes(b"two\0")

    def lines(self, query: str, **options: object) -> list[str]:
        found = search_files(CTX, query, **options)  # type: ignore[arg-type]
        return str(found["lines"]).splitlines()

    def test_what_is_found(self) -> None:
        both = ["a.txt:2: two", "src/b.py:1: def two():"]
        self.assertEqual(self.lines("two"), both)
        self.assertEqual(self.lines("TWO", ignore_case=True), both)
        self.assertEqual(self.lines("TWO"), [])
        self.assertEqual(self.lines("ÜMLAUT", ignore_case=True)[0][:10], "src/b.py:2")
        self.assertEqual(self.lines("two", glob="*.py"), both[1:])
        self.assertEqual(self.lines("two", glob="src/*"), both[1:])
        self.assertEqual(self.lines("two", path="src"), both[1:])
        self.assertEqual(self.lines("two", path="a.txt"), both[:1])
        self.assertEqual(self.lines("^t(wo|hree)$", regex=True), ["a.txt:2: two", "a.txt:3: three"])
        self.assertEqual(self.lines("two()"), both[1:])
        (self.root / "utf16").write_bytes("ein\nzwölf\n".encode("utf-16"))
        self.assertEqual(self.lines("zwölf"), ["utf16:2: zwölf"])
        (self.root / "utf16").unlink()
        found = search_files(CTX, "two")
        self.assertEqual((found["matches"], found["files_searched"]), (2, 2))
        self.assertEqual((found["complete"], found["passed_over"]), (True, 1))

    def test_lines_around(self) -> None:
        found = self.lines("o", path="a.txt", context=1, regex=True)
        self.assertEqual(found[0], "a.txt:1: one")
        self.assertEqual(found[2:4], ["a.txt-3- three", "a.txt:4: four"])
        (self.root / "a.txt").write_text("x\n1\n2\n3\n4\nx\n")
        found = self.lines("x", path="a.txt", context=1)
        self.assertEqual(found, ["a.txt:1: x", "a.txt-2- 1", "--", "a.txt-5- 4", "a.txt:6: x"])

    def test_patterns_for_names(self) -> None:
        (self.root / "c.py").write_text("two")
        every = ["c.py:1: two", "src/b.py:1: def two():"]
        for glob, wanted in (("*.py", every), ("**/*.py", every), ("src/**/*.py", every[1:])):
            with self.subTest(glob):
                self.assertEqual(self.lines("two", glob=glob), wanted)

    def test_lines_are_counted_as_compilers_do(self) -> None:
        (self.root / "f").write_bytes(b"a\x0cb\xe2\x80\xa8c\r\nwanted\r\n")
        self.assertEqual(self.lines("wanted$", path="f", regex=True), ["f:2: wanted"])

    def test_caps(self) -> None:
        (self.root / "many").write_text("x\n" * 1000)
        found = search_files(CTX, "x", path="many", max_matches=7)
        self.assertEqual((found["matches"], found["complete"]), (7, False))
        (self.root / "long").write_text("x" * 10_000)
        self.assertLess(len(self.lines("x", path="long")[0]), MAX_MATCH_LINE + 20)

    def test_no_pattern_hangs(self) -> None:
        (self.root / "evil").write_text("a" * 50_000 + "!\n")
        for pattern in ("^(a+)+$", "(a|aa)+$", "(a?){50}a{50}b"):
            with self.subTest(pattern), self.assertRaisesRegex(ToolError, "expression that works"):
                self.lines(pattern, path="evil", regex=True)
        found = search_files(CTX, "(.*)(.*)(.*)(.*)x", path="evil", regex=True)
        self.assertEqual((found["matches"], found["passed_over"]), (0, 1))

    def test_refused(self) -> None:
        (self.root / "link").symlink_to(self.outside)
        (self.root / "file-link").symlink_to(self.outside / "secret")
        self.assertEqual(self.lines("canary"), [])
        for path, wanted in (("..", "outside"), ("link", "outside"), ("nowhere", "no nowhere")):
            with self.subTest(path), self.assertRaisesRegex(ToolError, wanted):
                search_files(CTX, "canary", path=path)
        with self.assertRaisesRegex(ToolError, "no regular expression"):
            search_files(CTX, "(", regex=True)
        with self.assertRaisesRegex(ToolError, r"\[Aa\]"):
            search_files(CTX, "a", regex=True, ignore_case=True)
