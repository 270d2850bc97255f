"""Restores against what happens meanwhile: writers, a full disk, closed folders, planted links."""

from __future__ import annotations

import os
import resource
import shutil
import signal
from pathlib import Path

from server.workspace.errors import WorkspaceError
from server.workspace.operations import Operations, Places
from server.workspace.restore import Folders, Step

from .made import Case, read, write


class Looks(Case):
    def test_a_look_at_a_place_leaves_nothing_open(self) -> None:
        write(self.files, {"file": "1", "folder/a": "1"})
        top = os.open(self.files, os.O_RDONLY)
        self.addCleanup(os.close, top)
        with Folders(top) as folders:
            before = len([*Path("/proc/self/fd").iterdir()])
            for name, readable in (("file", True), ("folder", False), ("gone", False)):
                with self.subTest(name):
                    self.assertIs(folders.can_read((name,)), readable)
                    self.assertEqual(len([*Path("/proc/self/fd").iterdir()]), before)


class Meanwhile(Case):
    def test_what_is_written_meanwhile_is_recorded_before_it_is_replaced(self) -> None:
        write(self.files, {"a": "1", "b": "1"})
        tree = self.operations().perform("record", {"session": "s"})["after"]
        write(self.files, {"a": "2", "b": "2"})
        written: list[str] = []

        def step(name: str) -> None:
            if name == "rename" and not written:
                written.append(name)
                write(self.files, {"a": "a person's"})

        run = self.operations(step=step, state="state2")
        run.perform("restore", {"session": "s", "tree": tree})
        self.assertEqual((self.files / "a").read_text(), "1")
        objects = [path for path in (self.home / "objects").glob("??/*")]
        self.assertIn(b"a person's", [path.read_bytes() for path in objects])

    def test_who_never_stops_writing_gets_an_answer(self) -> None:
        write(self.files, {"a": "1"})
        tree = self.operations().perform("record", {"session": "s"})["after"]
        write(self.files, {"a": "2"})
        count = 0

        def step(name: str) -> None:
            nonlocal count
            if name == "rename":
                count += 1
                write(self.files, {"a": "x" * count})

        run = self.operations(step=step, state="state2")
        with self.assertRaises(WorkspaceError) as caught:
            run.perform("restore", {"session": "s", "tree": tree})
        self.assertEqual(caught.exception.code, "busy")
        self.assertEqual((self.files / "a").read_text(), "x" * count)
        self.operations(state="state2").perform("record", {"session": "s"})
        self.assertEqual((self.files / "a").read_text(), "x" * count)
        self.operations(state="state2").perform("restore", {"session": "s", "tree": tree})
        self.assertEqual((self.files / "a").read_text(), "1")

    def test_what_others_write_after_a_kill_is_left(self) -> None:
        write(self.files, {"a": "1", "b": "1", "d/c": "1", "kind": "1", "same": "1"})
        (self.files / "d").chmod(0o500)
        tree = self.operations().perform("record", {"session": "s"})["after"]
        aim = read(self.files)
        number = 0
        while True:
            (self.files / "d").chmod(0o755)
            for path in self.files.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            names = ("a", "b", "d/c", "more/e", "kind/e")
            write(self.files, {"same": "1"} | dict.fromkeys(names, "2"))
            (self.files / "d").chmod(0o500)
            self.operations().perform("record", {"session": "s"})
            if not self.cut(number, lambda step: self._restore(tree, step)):
                break
            write(self.files, {"b": "theirs", "new": "theirs"})
            run = self.operations()
            if "restoring" in run.perform("state", {}):
                run.perform("record", {"session": "s"})
                theirs = {b: ("f", 0o644, b"theirs") for b in (b"b", b"new")}
                self.assertEqual(read(self.files), aim | theirs, f"cut at step {number}")
            self.assertEqual((self.files / "b").read_text(), "theirs")
            number += 1
        self.assertGreater(number, 10)
        (self.files / "d").chmod(0o755)

    def _restore(self, tree: str, step: Step) -> None:
        home = str(self.home)
        places = Places(f"{home}/workspace", f"{home}/state", f"{home}/objects")
        Operations(places, step).perform("restore", {"session": "s", "tree": tree})

    def test_a_link_planted_meanwhile_leads_nowhere(self) -> None:
        write(self.home, {"outside/a": "theirs"})
        write(self.files, {"d/a": "1", "e/a": "1"})
        tree = self.operations().perform("record", {"session": "s"})["after"]
        write(self.files, {"d/a": "2", "e/a": "2"})

        def step(name: str) -> None:
            if name == "marked":
                (self.files / "e").rename(self.home / "moved")
                (self.files / "e").symlink_to("../outside")

        run = self.operations(step=step, state="state2")
        run.perform("restore", {"session": "s", "tree": tree})
        self.assertEqual((self.home / "outside/a").read_text(), "theirs")
        self.assertEqual(list((self.home / "outside").iterdir()), [self.home / "outside/a"])
        self.assertEqual((self.files / "e/a").read_text(), "1")

    def test_a_file_with_several_names(self) -> None:
        run = self.operations()
        write(self.files, {"a": "1", "b": "1", "c": "1"})
        (self.files / "a").chmod(0o755)
        first, before = run.perform("record", {"session": "s"})["after"], read(self.files)
        write(self.home, {"outside": "1"})
        for number in range(9):
            name = self.files / ("abc"[number] if number < 3 else f"more{number}")
            name.unlink(missing_ok=True)
            os.link(self.home / "outside", name)
        second, after = run.perform("record", {"session": "s"})["after"], read(self.files)
        for tree, files in ((first, before), (second, after), (first, before)):
            self.assertEqual(run.perform("restore", {"session": "s", "tree": tree})["tree"], tree)
            self.assertEqual(read(self.files), files)
            self.assertEqual(run.perform("record", {"session": "s"})["after"], tree)
        self.assertEqual((self.home / "outside").stat().st_mode & 0o777, 0o644)

    def test_a_full_disk_loses_nothing(self) -> None:
        write(self.files, {"a": "1" * 5000, "b": "1", "gone": "1"})
        first = self.operations().perform("record", {"session": "s"})["after"]
        before = read(self.files)
        write(self.files, {"a": "2", "b": "2", "new": "2"})
        (self.files / "gone").unlink()
        second = self.operations().perform("record", {"session": "s"})["after"]
        after = read(self.files)
        child = os.fork()
        if not child:
            code = 1
            try:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
                home = str(self.home)
                places = Places(f"{home}/workspace", f"{home}/state", f"{home}/objects")
                Operations(places).perform("restore", {"session": "s", "tree": first})
            except WorkspaceError as error:
                code = 7 if error.code == "disk_full" else 2
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
        run = self.operations()
        self.assertEqual(run.perform("state", {})["restoring"], first)
        for tree, files in ((second, after), (first, before)):
            run.perform("restore", {"session": "s", "tree": tree})
            self.assertEqual(read(self.files), files)
        self.assertNotIn("restoring", run.perform("state", {}))

    def test_a_folder_keeps_its_sticky_and_set_id_bits(self) -> None:
        for bits in (0o1000, 0o2000):
            self.setUp()
            write(self.files, {"d/a": "1"})
            (self.files / "d").chmod(bits | 0o775)
            first = self.operations().perform("record", {"session": "s"})["after"]
            (self.files / "d").chmod(bits | 0o700)
            self.operations().perform("restore", {"session": "s", "tree": first})
            self.assertEqual((self.files / "d").stat().st_mode & 0o7777, bits | 0o775)

    def test_folders_without_write_permission(self) -> None:
        write(self.files, {"d/e/a": "1"})
        for path, mode in (("d/e", 0o500), ("d", 0o555)):
            (self.files / path).chmod(mode)
        first = self.operations().perform("record", {"session": "s"})["after"]
        before = read(self.files)
        for path in ("d", "d/e"):
            (self.files / path).chmod(0o755)
        write(self.files, {"d/e/a": "2", "d/b": "2"})
        (self.files / "d/e").chmod(0o500)
        self.operations().perform("restore", {"session": "s", "tree": first})
        self.assertEqual(read(self.files), before)
        for path in ("d", "d/e"):
            (self.files / path).chmod(0o755)
