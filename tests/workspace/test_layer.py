"""Overlays: filled, kept up with the real folder, applied in part, discarded, cut anywhere."""

from __future__ import annotations

import base64
import os
import random
import shutil
from typing import Any

from server.workspace.errors import WorkspaceError
from server.workspace.operations import Operations, Places
from server.workspace.restore import Step
from server.workspace.scan import Limits

from .made import Case, Closing, change, read, write


class Overlays(Case):
    def setUp(self) -> None:
        super().setUp()
        write(
            self.folder, {".gitignore": "*.log\n", "a": "1", "b": "1", "d/c": "1", "x.log": "kept"}
        )

    def begin(self) -> Operations:
        run = self.operations(overlay=True)
        run.perform("refresh", {"session": "s"})
        return run

    def test_the_copy_has_everything(self) -> None:
        (self.folder / "b").chmod(0o755)
        (self.folder / "link").symlink_to("/nowhere")
        os.mkfifo(self.folder / "pipe")
        run = self.begin()
        expected = read(self.folder)
        del expected[b"pipe"]
        self.assertEqual(read(self.files), expected)
        self.assertEqual(run.perform("status", {})["files"], [])

    def test_a_part_is_applied_and_the_rest_is_not(self) -> None:
        run = self.begin()
        write(self.files, {"a": "2", "b": "2", "new/e": "2"})
        (self.files / "d/c").unlink()
        found = {row["path"]: row["change"] for row in run.perform("status", {})["files"]}
        expected = {"a": "modified", "b": "modified", "d/c": "deleted", "new/e": "added"}
        self.assertEqual(found, expected)
        before = read(self.folder)
        done = run.perform("apply", {"paths": ["a", "new"]})
        self.assertEqual(done.pop("left_out"), {"ignored": 1})
        trees = {"from": done.pop("before"), "to": done.pop("after")}
        files = [(row["path"], row["change"]) for row in run.perform("diff", trees)["files"]]
        self.assertEqual(files, [("a", "modified"), ("new/e", "added")])
        self.assertEqual(done, {"applied": 2, "left": [], "conflicts": [], "asks": []})
        before[b"a"] = ("f", 0o644, b"2")
        before[b"new"], before[b"new/e"] = ("d", 0o755), ("f", 0o644, b"2")
        self.assertEqual(read(self.folder), before)
        self.assertEqual(_paths(run), ["b", "d/c"])
        run.perform("apply", {})
        self.assertEqual(read(self.folder), read(self.files))
        self.assertEqual(_paths(run), [])

    def test_what_only_the_folder_changed_is_taken_over(self) -> None:
        run = self.begin()
        write(self.folder, {"a": "theirs", "d/more": "theirs"})
        (self.folder / "b").unlink()
        write(self.files, {"d/c": "mine"})
        found = run.perform("refresh", {"session": "s"})
        self.assertEqual(found["conflicts"], [])
        self.assertEqual((self.files / "d/more").read_text(), "theirs")
        self.assertEqual((self.files / "a").read_text(), "theirs")
        self.assertFalse((self.files / "b").exists())
        self.assertEqual(_paths(run), ["d/c"])

    def test_what_is_compared_is_only_what_differs(self) -> None:
        write(self.folder, {f"e{number}/f": "1" for number in range(50)})
        run = self.begin()
        for name in ("refresh", "status"):
            run.store.parsed.clear()
            run.perform(name, {"session": "s"} if name == "refresh" else {})
            self.assertEqual(len(run.store.parsed), 0, name)
        write(self.files, {"e7/f": "2"})
        self.assertEqual(_paths(run), ["e7/f"])
        self.assertLess(len(run.store.parsed), 6)

    def test_a_file_in_place_of_a_folder_is_no_conflict(self) -> None:
        run = self.begin()
        shutil.rmtree(self.files / "d")
        write(self.files, {"d": "mine"})
        rows = run.perform("status", {})["files"]
        self.assertEqual(
            [(row["path"], "conflict" in row) for row in rows if row["path"] == "d"], [("d", False)]
        )
        run.perform("apply", {})
        self.assertEqual((self.folder / "d").read_text(), "mine")

    def test_what_the_layer_ignores_and_removed_is_a_deletion(self) -> None:
        some: dict[str, Any] = {"paths": ["a.txt", "e"]}
        for operation, about, has_it in (
            ("apply", some, False),
            ("apply", {}, False),
            ("discard", some, True),
        ):
            with self.subTest(operation, about=about):
                write(self.folder, {"a.txt": "1", "e/b.txt": "1", "c.txt": "1", "d.txt": "1"})
                run = self.begin()
                write(self.files, {".gitignore": "*.log\n*.txt\ne/\n", "d.txt": "kept"})
                (self.files / "a.txt").unlink()
                shutil.rmtree(self.files / "e")
                found = {row["path"]: row["change"] for row in run.perform("status", {})["files"]}
                deleted = {"a.txt": "deleted", "e/b.txt": "deleted"}
                self.assertEqual(found, {".gitignore": "modified"} | deleted)
                run.perform(operation, about)
                self.assertEqual(_paths(run), [".gitignore"] if about else [])
                self.assertEqual((self.folder / "a.txt").exists(), has_it)
                self.assertEqual((self.folder / "e").exists(), has_it)
                self.assertEqual((self.files / "e/b.txt").exists(), has_it)
                self.assertEqual((self.folder / "c.txt").read_text(), "1")
                self.assertEqual((self.files / "d.txt").read_text(), "kept")
                self.setUp()

    def test_rules_that_ignore_themselves_and_were_removed_are_a_deletion(self) -> None:
        write(self.folder, {".gitignore": ".gitignore\n*.log\n"})
        run = self.begin()
        (self.files / ".gitignore").unlink()
        write(self.folder, {".gitignore": "build/\n"})
        run.perform("refresh", {"session": "s"})
        (row,) = run.perform("status", {})["files"]
        self.assertEqual(row["path"], ".gitignore")
        self.assertEqual((row["change"], row.get("conflict")), ("deleted", True))
        self.assertNotIn("unkept", row)  # the folder's rules are recorded by now
        self.assertEqual(run.perform("apply", {})["conflicts"], [".gitignore"])
        self.assertTrue((self.folder / ".gitignore").exists())
        before = run.perform("apply", {"force": True})["before"]
        self.assertFalse((self.folder / ".gitignore").exists())
        kept = run.perform("read", {"path": ".gitignore", "tree": before})
        self.assertEqual(base64.b64decode(kept["data"]), b"build/\n")
        self.assertEqual(_paths(run), [])

    def test_a_conflict_is_said_and_decided_by_force(self) -> None:
        run = self.begin()
        write(self.folder, {"a": "theirs", "b": "same"})
        write(self.files, {"a": "mine", "b": "same"})
        self.assertEqual(run.perform("refresh", {"session": "s"})["conflicts"], ["a"])
        (row,) = run.perform("status", {})["files"]
        self.assertEqual((row["path"], row.get("conflict")), ("a", True))
        done = run.perform("apply", {})
        self.assertEqual((done["applied"], done["conflicts"]), (0, ["a"]))
        self.assertEqual((self.folder / "a").read_text(), "theirs")
        self.assertEqual(run.perform("apply", {"force": True})["applied"], 1)
        self.assertEqual((self.folder / "a").read_text(), "mine")

    def test_a_folder_that_cannot_be_written_is_named_and_holds_up_nothing(self) -> None:
        closing = Closing("write")
        run = self.operations(step=closing, overlay=True)
        run.perform("refresh", {"session": "s"})
        write(self.files, {"a": "2", "b": "2", "d/c": "2"})
        closing.closed = True
        with self.assertRaises(WorkspaceError) as caught:
            run.perform("apply", {})
        self.assertEqual(caught.exception.code, "failed")
        self.assertRegex(
            caught.exception.detail, r"cannot be written \(.*\): \d of 3 files were applied; let "
        )
        self.assertEqual(_paths(run), ["a", "b", "d/c"], "the layer can be listed")
        closing.closed = False
        run.perform("apply", {})
        self.assertEqual((read(self.folder), _paths(run)), (read(self.files), []))

    def test_a_discard_is_undone_alone(self) -> None:
        run = self.begin()
        write(self.files, {"a": "mine", "b": "mine"})
        write(self.folder, {"d/c": "theirs"})
        done = run.perform("discard", {"paths": ["a"]})
        write(self.files, {"of-the-agent": "later"})
        run.perform("restore", {"session": "s", "tree": done["before"], "after": done["after"]})
        self.assertEqual(_paths(run), ["a", "b", "of-the-agent"])
        self.assertEqual((self.files / "d/c").read_text(), "theirs")

    def test_discarding_takes_what_the_folder_has_now(self) -> None:
        run = self.begin()
        write(self.folder, {"a": "theirs"})
        write(self.files, {"a": "mine", "b": "mine", "e": "mine"})
        done = run.perform("discard", {"paths": ["a", "e"]})
        self.assertEqual((done["discarded"], done["left"]), (2, []))
        self.assertEqual((self.files / "a").read_text(), "theirs")
        self.assertEqual(_paths(run), ["b"])
        run.perform("discard", {})
        self.assertEqual(read(self.files), read(self.folder))

    def test_discarding_removes_nothing_that_the_folder_has_and_ignores(self) -> None:
        run = self.begin()
        write(self.files, {"rules/.gitignore": "*.tmp\n", "new": "mine"})
        write(self.folder, {"rules/.gitignore": ".gitignore\n"})
        found = run.perform("discard", {})
        self.assertEqual((found["discarded"], found["left"]), (1, ["rules/.gitignore"]))
        self.assertEqual((self.files / "rules/.gitignore").read_text(), "*.tmp\n")
        self.assertFalse((self.files / "new").exists())

    def test_what_rules_leave_out_no_more_is_known_at_once(self) -> None:
        """A call may remove it in the same run, and nothing brings it back."""
        run = self.begin()
        write(self.folder, {".gitignore": "\n", "new.log": "theirs"})
        run.perform("refresh", {"session": "s"})
        self.assertEqual((self.files / "new.log").read_text(), "theirs")
        (self.files / "x.log").unlink()
        self.assertEqual(_paths(run), ["x.log"])
        run.perform("refresh", {"session": "s"})
        self.assertFalse((self.files / "x.log").exists())

    def test_an_old_tree_does_not_undo_the_folder(self) -> None:
        """What the folder changed after that tree is taken over again, not taken for a change."""
        run = self.begin()
        old = run.perform("record", {"session": "s"})["after"]
        write(self.folder, {"a": "theirs"})
        run.perform("refresh", {"session": "s"})
        run.perform("restore", {"session": "s", "tree": old})
        self.assertEqual((self.files / "a").read_text(), "1")
        run.perform("refresh", {"session": "s"})
        self.assertEqual((self.files / "a").read_text(), "theirs")
        self.assertEqual(_paths(run), [])

    def test_an_old_tree_does_not_undo_the_folder_after_a_kill(self) -> None:
        run = self.begin()
        old = run.perform("record", {"session": "s"})["after"]
        write(self.folder, {"b": "theirs", "d/more": "theirs"})
        new = run.perform("refresh", {"session": "s"})["tree"]
        number = 0
        while self.cut(number, lambda step: self._restore(old, step)):
            again = self.operations(overlay=True)
            self.assertEqual(_paths(again), [], f"cut at step {number}")
            again.perform("refresh", {"session": "s"})
            self.assertEqual(read(self.files), read(self.folder))
            again.perform("restore", {"session": "s", "tree": new})
            number += 1
        self.assertGreater(number, 3)

    def _restore(self, tree: str, step: Step) -> None:
        home = str(self.home)
        places = Places(f"{home}/workspace", f"{home}/state", f"{home}/objects", f"{home}/folder")
        Operations(places, step).perform("restore", {"session": "s", "tree": tree})

    def test_a_tree_of_another_server_removes_nothing_it_never_saw(self) -> None:
        """Another folder of the same name has files that the session never saw, and others of the
        same name. Only what is as the session found it may be changed without a person's force."""
        run = self.begin()
        start = run.perform("record", {"session": "s"})["after"]
        write(self.files, {"a": "2", "b": "2", "new": "2"})
        (self.files / "d/c").unlink()
        stand = run.perform("record", {"session": "s"})["after"]
        for told, changed, conflicts in (
            (start, {"a", "b", "new", "d/c"}, ["b"]),
            (None, {"a", "b", "new"}, ["a", "b"]),
        ):
            with self.subTest(start=told):
                shutil.rmtree(self.home / "state")
                shutil.rmtree(self.files)
                shutil.rmtree(self.folder)
                for path in (self.home / "state", self.files, self.folder):
                    path.mkdir()
                mine = {"a": "1", "b": "other", "d/c": "1", "own": "1"}
                write(self.folder, {".gitignore": "*.log\n", **mine})
                run = self.begin()
                more = {"start": told} if told else {}
                run.perform("restore", {"session": "s", "tree": stand, **more})
                run.perform("refresh", {"session": "s"})
                rows = run.perform("status", {})["files"]
                self.assertEqual({row["path"] for row in rows}, changed)
                self.assertEqual([row["path"] for row in rows if "conflict" in row], conflicts)
                run.perform("apply", {})
                self.assertEqual((self.folder / "own").read_text(), "1")
                self.assertEqual((self.folder / "b").read_text(), "other")
                self.assertEqual((self.folder / "d/c").exists(), told is None)

    def test_what_a_session_never_changed_is_taken_over_at_another_server(self) -> None:
        """With the tree that the session began with, only its own changes are in the layer."""
        run = self.begin()
        start = run.perform("record", {"session": "s"})["after"]
        write(self.files, {"a": "2"})
        stand = run.perform("record", {"session": "s"})["after"]
        for told, layer, conflicts in ((start, "other", []), (None, "1", ["a", "b"])):
            with self.subTest(start=told):
                for path in (self.home / "state", self.files, self.folder):
                    shutil.rmtree(path)
                    path.mkdir()
                write(self.folder, {".gitignore": "*.log\n", "a": "1", "b": "other"})
                run = self.begin()
                more = {"start": told} if told else {}
                run.perform("restore", {"session": "s", "tree": stand, **more})
                run.perform("refresh", {"session": "s"})
                rows = run.perform("status", {})["files"]
                self.assertEqual([row["path"] for row in rows if "conflict" in row], conflicts)
                self.assertIn("a", [row["path"] for row in rows])
                self.assertEqual((self.files / "b").read_text(), layer)
                self.assertEqual((self.files / "d/c").exists(), told is None)

    def test_laws_at_random(self) -> None:
        """Applying all makes status empty and the folder what the layer is; discarding all, too."""
        for seed in range(12):
            chance = random.Random(seed)
            with self.subTest(seed=seed):
                self.setUp()
                run = self.begin()
                for _ in range(4):
                    change(self.files, chance, plain=True)
                    change(self.folder, chance, plain=True)
                    run.perform("refresh", {"session": "s"})
                    if chance.random() < 0.5:
                        done = run.perform("apply", {"force": True})
                        left = done["left"]
                        rows = run.perform("status", {})["files"]
                        plain = {row["path"] for row in rows if "asks" not in row}
                        self.assertLessEqual(plain, {*left})
                        told = {"force": True, "paths": [row["path"] for row in rows]}
                        left += run.perform("apply", told)["left"]
                    else:
                        left = run.perform("discard", {})["left"]
                        left += run.perform("refresh", {"session": "s"})["conflicts"]
                    if not left:
                        self.assertEqual(_paths(run), [])

    def test_a_kill_at_any_step(self) -> None:
        """Each file of the folder is the old or the new one, and the next apply gives the new."""
        write(self.folder, {"kind": "1"})
        run = self.begin()
        self._change()
        run.perform("record", {"session": "s"})
        old, new = read(self.folder), read(self.files)
        number = 0
        while self.cut(number, self._apply):
            for path, row in read(self.folder).items():
                if b".yaa-" not in path:
                    self.assertIn(row, (old.get(path), new.get(path)))
            write(self.folder, {"other": f"{number}"})  # a person goes on meanwhile
            again = self.operations(overlay=True)
            again.perform("apply", {})
            found = read(self.folder)
            found.pop(b"other")
            self.assertEqual(found, new, f"cut at step {number}")
            self.assertEqual(_paths(again), [])
            self._reset(old)
            number += 1
        self.assertGreater(number, 5)

    def _apply(self, step: Step) -> None:
        home = str(self.home)
        places = Places(f"{home}/workspace", f"{home}/state", f"{home}/objects", f"{home}/folder")
        Operations(places, step).perform("apply", {})

    def _reset(self, old: dict[bytes, tuple[Any, ...]]) -> None:
        """Make folder and base what they were, and the layer the changed one again."""
        for name in ("new", "kind"):
            shutil.rmtree(self.folder / name)
        write(self.folder, {"a": "1", "d/c": "1", "kind": "1"})
        (self.folder / "other").unlink(missing_ok=True)
        self.assertEqual(read(self.folder), old)
        run = self.operations(overlay=True)
        run.perform("refresh", {"session": "s"})
        self._change()
        run.perform("record", {"session": "s"})

    def _change(self) -> None:
        """Make the layer the changed one."""
        (self.files / "kind").unlink()
        (self.files / "kind").mkdir()
        write(self.files, {"a": "2", "new/e": "2"})
        (self.files / "d/c").unlink()

    def test_filling_that_was_cut_begins_again(self) -> None:
        number = 0
        while self.cut(number, self._refresh):
            run = self.begin()
            self.assertEqual(read(self.files), read(self.folder))
            self.assertEqual(_paths(run), [])
            for name in ("workspace", "state"):
                (self.home / name).rename(self.home / f"{name}{number}")
                (self.home / name).mkdir()
            number += 1
        self.assertGreater(number, 3)

    def test_the_folder_changes_while_the_copy_is_filled_and_all_is_cut(self) -> None:
        def work(step: Step) -> None:
            def changing(name: str) -> None:
                if name == "filled":
                    write(self.folder, {"a": "theirs", "d/more": "theirs"})
                step(name)

            self._refresh(changing)

        number = 0
        while self.cut(number, work):
            run = self.begin()
            self.assertEqual(read(self.files), read(self.folder), f"cut at step {number}")
            self.assertEqual(_paths(run), [])
            for name in ("workspace", "state", "folder"):
                (self.home / name).rename(self.home / f"{name}{number}")
                (self.home / name).mkdir()
            write(self.folder, {"a": "1", "b": "1", "d/c": "1"})
            number += 1
        self.assertGreater(number, 10)

    def _refresh(self, step: Step) -> None:
        home = str(self.home)
        places = Places(f"{home}/workspace", f"{home}/state", f"{home}/objects", f"{home}/folder")
        Operations(places, step).perform("refresh", {"session": "s"})

    def test_too_large_a_folder_is_refused(self) -> None:
        run = self.operations(Limits(files=3), overlay=True)
        with self.assertRaises(WorkspaceError) as caught:
            run.perform("refresh", {"session": "s"})
        self.assertEqual(caught.exception.code, "too_large")
        self.assertEqual(read(self.files), {})

    def test_files_of_the_session_are_not_mixed_in(self) -> None:
        write(self.files, {"own": "1"})
        run = self.operations(overlay=True)
        with self.assertRaises(WorkspaceError) as caught:
            run.perform("refresh", {"session": "s"})
        self.assertEqual(caught.exception.code, "conflict")
        self.assertEqual((self.files / "own").read_text(), "1")


def _paths(run: Operations) -> list[str]:
    return [row["path"] for row in run.perform("status", {})["files"]]
