"""Scans: what is recorded, what is left out and said, and that changes alone find the same."""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
import unittest

from server.workspace.differences import differences
from server.workspace.objects import ObjectStore
from server.workspace.scan import FOLDER, Limits, Scanner
from server.workspace.trees import DEPTH, flatten, text_of

from .made import Case, change, write

# Lines of rules, each with another number in the place of {}.
HOSTILE = {
    "folders": "/x{}/*/*\n",
    "ends": "*{}.zz\n",
    "stars": "*a*b*c*{}*d\n",
    "long": "*aaaaaaaab" * 40 + "{}\n",
    "sets": "[!a-z]" * 50 + "{}\n",
    "classes": "[[:alnum:]]" * 30 + "{}\n",
    "double stars": "**/a/" * 70 + "{}\n",
    "of all names": "!a*\n?{}*q\n",
}


class Scans(Case):
    def scanner(self, limits: Limits = Limits(), watched: bool = True) -> Scanner:  # noqa: B008
        top = os.open(self.files, FOLDER)
        self.addCleanup(os.close, top)
        store = ObjectStore(self.home / "objects")
        found = Scanner(top, store, limits, watched=watched)
        self.addCleanup(found.close)
        return found

    def paths(self, scanner: Scanner) -> list[str]:
        return sorted(map(text_of, flatten(scanner.store, scanner.scan())))

    def test_changes_alone_find_what_a_whole_scan_finds(self) -> None:
        for seed in range(10):
            chance = random.Random(seed)
            self.setUp()
            watched = self.scanner()
            for _ in range(12):
                change(self.files, chance)
                tree, left = watched.scan(), watched.left_out()
                other = self.scanner(watched=False)
                self.assertEqual(other.scan(), tree, f"seed {seed}")
                self.assertEqual(other.left_out(), left, f"seed {seed}")

    def test_what_is_left_out_is_said(self) -> None:
        write(self.files, {".gitignore": "*.o\nout/\n", "a.o": "", "out/x": "", "big": "x" * 100})
        write(self.files, {"d/.gitignore": "!a.o\n", "d/a.o": "", "d/b.o": ""})
        os.mkfifo(self.files / "pipe")
        os.mknod(self.files / "socket", stat.S_IFSOCK | 0o600)
        scanner = self.scanner(Limits(file_bytes=50))
        self.assertEqual(self.paths(scanner), [".gitignore", "d", "d/.gitignore", "d/a.o"])
        self.assertEqual(scanner.left_out(), {"ignored": 3, "large": ["big"], "special": 2})

    def test_rules_that_cost_too_much_ignore_nothing(self) -> None:
        """Then none does, also of files that would cost little; and it is said of each."""
        files = {f"d{number % 9}/a{number}.o": "" for number in range(200)}
        for name, line in HOSTILE.items():
            with self.subTest(name):
                self.setUp()
                text = "".join(line.format(number) for number in range(1_000))
                write(self.files, {".gitignore": text, "d3/.gitignore": "a3.o\n", **files})
                scanner = self.scanner(Limits(steps=50_000))
                tree = scanner.scan()
                self.assertEqual(len(flatten(scanner.store, tree)), 211)
                left = scanner.left_out()
                self.assertEqual(left, {"rules": [".gitignore", "d3/.gitignore"]})
                (self.files / "d4/a4.o").write_text("x")
                self.assertNotEqual(scanner.scan(), tree)
                self.assertEqual(scanner.left_out(), left)
                write(self.files, {".gitignore": "*.o\n"})
                scanner.scan()
                self.assertEqual(scanner.left_out(), {"ignored": 200})

    def test_a_file_of_rules_that_is_too_large_is_said(self) -> None:
        for text in ("x\n" * 10_001, "x" * ((1 << 20) + 1)):
            self.setUp()
            write(self.files, {".gitignore": text, "x": "", "d/.gitignore": "y\n", "d/y": ""})
            scanner = self.scanner()
            self.assertEqual(self.paths(scanner), [".gitignore", "d", "d/.gitignore", "x"])
            self.assertEqual(scanner.left_out(), {"ignored": 1, "rules": [".gitignore"]})

    def test_many_names_are_looked_up(self) -> None:
        """Patterns without wildcards are no cost, however many."""
        for line in ("a{}.o\n", "/d{}/\n", "x/y/{}\n"):
            self.setUp()
            write(self.files, {".gitignore": "".join(line.format(n) for n in range(9_990))})
            write(self.files, {f"d/f{number}": "" for number in range(400)})
            scanner = self.scanner()
            scanner.scan()
            self.assertEqual(scanner.left_out(), {})

    def test_no_rules_hold_in_git(self) -> None:
        write(
            self.files, {".gitignore": ".*\nconfig\n", ".git/config": "", ".git/.x": "", ".y": ""}
        )
        self.assertEqual(self.paths(self.scanner()), [".git", ".git/.x", ".git/config"])

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_what_git_tracks_is_recorded_whatever_rules_say(self) -> None:
        """Found by what changed as by a whole scan, in one repository within another, too."""
        write(self.files, {".gitignore": "*.log\nout/\n", "a.log": "", "out/b": "", "out/c": ""})
        write(self.files, {"inner/d.log": "", "inner/e.log": ""})
        watched = self.scanner()
        wanted = {".gitignore"}
        self.assertEqual(self.tracked(watched), wanted)
        git = ("git", "-c", "safe.directory=*", "-C")
        for top, command, more, fewer in (
            ("", ("init", "-q"), (), ()),
            ("", ("add", "-f", "a.log"), ("a.log",), ()),
            ("", ("add", "-f", "out/b"), ("out", "out/b"), ()),
            ("inner", ("init", "-q"), ("inner",), ()),
            ("inner", ("add", "-f", "d.log"), ("inner/d.log",), ()),
            ("", ("rm", "-q", "--cached", "a.log"), (), ("a.log",)),
            ("", ("rm", "-q", "--cached", "out/b"), (), ("out", "out/b")),
        ):
            subprocess.run([*git, str(self.files / top), *command], check=True, capture_output=True)
            wanted = (wanted | {*more}) - {*fewer}
            self.assertEqual(self.tracked(watched), wanted, command)
            self.assertEqual(self.tracked(self.scanner(watched=False)), wanted, command)

    def tracked(self, scanner: Scanner) -> set[str]:
        """Return what is recorded outside of the folders of git."""
        return {path for path in self.paths(scanner) if ".git" not in path.split("/")}

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_a_tracked_file_that_goes_is_deleted(self) -> None:
        """One that git does not track, and that rules ignore, may still be there."""
        write(self.files, {".gitignore": "out/\n", "out/a": "", "out/b": "", "out/c": ""})
        git = ("git", "-c", "safe.directory=*", "-C", str(self.files))
        for command in (("init", "-q"), ("add", "-f", "out/a", "out/b")):
            subprocess.run([*git, *command], check=True, capture_output=True)
        scanner = self.scanner()
        before = scanner.scan()
        (self.files / "out/a").unlink()
        found = [*differences(scanner.store, before, scanner.scan())]
        self.assertEqual(
            [(text_of(row.place), row.change) for row in found], [("out/a", "deleted")]
        )
        subprocess.run([*git, "rm", "-q", "--cached", "out/b"], check=True, capture_output=True)
        found = [*differences(scanner.store, before, scanner.scan())]
        changes = {text_of(row.place): row.change for row in found}
        self.assertNotIn("out/b", changes)

    def test_the_count_is_bounded(self) -> None:
        write(self.files, {f"f{number}": "" for number in range(9)})
        scanner = self.scanner(Limits(files=5))
        self.assertEqual(self.paths(scanner), ["f0", "f1", "f2", "f3", "f4"])
        self.assertEqual(scanner.left_out(), {"beyond": 4})
        (self.files / "f0").unlink()
        self.assertEqual(self.paths(scanner)[-1], "f5")
        small = self.scanner(Limits(files=10))
        small.scan()
        write(self.files, {"a": "", "b": "", "c": ""})
        self.assertEqual(len(self.paths(small)), 10)
        self.assertEqual(small.left_out(), {"beyond": 1})

    def test_links_are_not_followed(self) -> None:
        write(self.home, {"outside/secret": "x"})
        write(self.files, {"real/a": ""})
        for name, target in (("up", ".."), ("out", "../outside"), ("loop", "loop"), ("in", "real")):
            (self.files / name).symlink_to(target)
        found = flatten(ObjectStore(self.home / "objects"), self.scanner().scan())
        self.assertEqual({row[0] for row in found.values()}, {"l", "d", "f"})
        self.assertNotIn("secret", "".join(map(text_of, found)))
        (self.files / ".gitignore").symlink_to("../outside/secret")
        self.assertIn(".gitignore", self.paths(self.scanner()))

    def test_a_path_longer_than_the_system_takes(self) -> None:
        descriptor = os.open(self.files, FOLDER)
        name = "n" * 200
        for _ in range(DEPTH + 3):
            os.mkdir(name, dir_fd=descriptor)
            below = os.open(name, FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        os.close(descriptor)
        scanner = self.scanner()
        tree = scanner.scan()
        self.assertEqual(scanner.left_out(), {"beyond": 1})
        self.assertEqual(scanner.scan(True), tree)

    def test_a_write_that_leaves_the_same_times(self) -> None:
        """As with a clock of whole seconds, or one that was set back."""
        scanner = self.scanner(watched=False)
        path = self.files / "a"
        path.write_text("one")
        about = path.stat()
        before = scanner.scan()
        path.write_text("two")
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
        self.assertNotEqual(scanner.scan(), before)

    def test_another_name_of_a_file_that_is_not_watched(self) -> None:
        (self.home / "outside").write_text("one")
        (self.files / "a").hardlink_to(self.home / "outside")
        write(self.files, {"b": ""})
        scanner = self.scanner()
        before = scanner.scan()
        (self.home / "outside").write_text("other")
        self.assertNotEqual(scanner.scan(), before)

    def test_a_file_that_gets_another_name(self) -> None:
        """The kernel tells of the new name only, also when the file changes by it."""
        for size in (1, 100):  # the second is left out until it becomes small
            self.setUp()
            write(self.files, {"d/a": "x" * size})
            scanner = self.scanner(Limits(file_bytes=50))
            scanner.scan()
            (self.files / "b").hardlink_to(self.files / "d/a")
            write(self.files, {"b": "other"})
            found = flatten(scanner.store, scanner.scan())
            self.assertEqual(found["d", "a"], found["b",])

    def test_a_later_process_reads_only_what_changed(self) -> None:
        write(self.files, {"a": "1", "d/b": "1"})
        for path in ("a", "d/b"):
            os.utime(self.files / path, (1, 1))
        first = self.scanner()
        first.scan()
        saved = first.save()
        later = Scanner(first.top, first.store, known=saved)
        self.addCleanup(later.close)
        self.assertEqual(later.scan(), first.scan())

    def test_what_cannot_be_read_is_said(self) -> None:
        if os.geteuid() == 0:
            self.skipTest("root reads everything")
        write(self.files, {"closed/a": "", "shut": ""})
        (self.files / "closed").chmod(0)
        (self.files / "shut").chmod(0)
        scanner = self.scanner()
        scanner.scan()
        self.assertEqual(scanner.left_out(), {"unreadable": ["shut", "closed"]})
        (self.files / "closed").chmod(0o700)
