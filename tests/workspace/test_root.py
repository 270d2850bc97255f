"""Restores: whatever is cut wherever, each tree can be had again exactly."""

from __future__ import annotations

import random
from functools import partial

from server.workspace.operations import Operations, Places
from server.workspace.restore import Step

from .made import Case, change, read, write


class Restores(Case):
    def test_what_was_recorded_comes_back(self) -> None:
        """Without rules of ignoring: names, modes, links and contents, from any tree to any."""
        for seed in range(8):
            chance = random.Random(seed)
            with self.subTest(seed=seed):
                self.setUp()
                run = self.operations()
                trees = []
                for _ in range(5):
                    change(self.files, chance, plain=True)
                    tree = run.perform("record", {"session": "s"})["after"]
                    trees.append((tree, read(self.files)))
                for _ in range(8):
                    tree, files = chance.choice(trees)
                    done = run.perform("restore", {"session": "s", "tree": tree})
                    self.assertEqual(done["tree"], tree)
                    after = run.perform("record", {"session": "s"})["after"]
                    self.assertEqual(after, tree)
                    self.assertEqual(read(self.files), files)

    def test_a_kill_at_any_step_loses_nothing(self) -> None:
        write(
            self.files, {"a": "old", "b/c": "old", "b/d": "same", "gone/x": "old", "kind": "file"}
        )
        (self.files / "link").symlink_to("a")
        (self.files / "b/d").chmod(0o600)
        first = self.operations().perform("record", {"session": "s"})["after"]
        before = read(self.files)
        write(self.files, {"a": "new", "b/c": "new", "made/y": "new"})
        (self.files / "gone/x").unlink()
        (self.files / "gone").rmdir()
        (self.files / "kind").unlink()
        write(self.files, {"kind/is": "folder"})
        (self.files / "link").unlink()
        (self.files / "link").symlink_to("b")
        (self.files / "b/d").chmod(0o755)
        second = self.operations().perform("record", {"session": "s"})["after"]
        after = read(self.files)
        trees = {first: before, second: after}
        steps = 0
        was_cut = True
        while was_cut:
            for aim, then in ((first, first), (first, second), (first, None)):
                self._restore(second)
                self.assertEqual(read(self.files), after)
                was_cut = self.cut(steps, partial(self._restore, aim))
                if then:
                    self._restore(then)
                else:  # whatever comes next finishes what was begun, or has the tree it was at
                    self.operations().perform("record", {"session": "s"})
                    then = self.operations().perform("state", {})["tree"]
                self.assertEqual(read(self.files), trees[then], f"cut at step {steps}")
            steps += 1
        self.assertGreater(steps, 15)

    def _restore(self, tree: str, step: Step | None = None) -> None:
        home = str(self.home)
        places = Places(f"{home}/workspace", f"{home}/state", f"{home}/objects")
        run = Operations(places, step) if step else Operations(places)
        run.perform("restore", {"session": "s", "tree": tree})
        if not step:
            run.close()

    def test_what_is_ignored_stays(self) -> None:
        run = self.operations()
        write(self.files, {".gitignore": "*.log\n", "a": "1", "x.log": "mine", "d/y.log": "mine"})
        first = run.perform("record", {"session": "s"})["after"]
        write(self.files, {"a": "2", "d/z": "2"})
        run.perform("record", {"session": "s"})
        run.perform("restore", {"session": "s", "tree": first})
        self.assertEqual((self.files / "x.log").read_text(), "mine")
        self.assertEqual((self.files / "d/y.log").read_text(), "mine")
        self.assertFalse((self.files / "d/z").exists())
        self.assertEqual(run.perform("record", {"session": "s"})["after"], first)

    def test_what_is_ignored_and_in_the_way_stays(self) -> None:
        run = self.operations()
        write(self.files, {"x.log": "recorded"})
        first = run.perform("record", {"session": "s"})["after"]
        write(self.files, {".gitignore": "*.log\n", "x.log": "left out"})
        run.perform("record", {"session": "s"})
        done = run.perform("restore", {"session": "s", "tree": first})
        self.assertEqual(done["blocked"], ["x.log"])
        self.assertEqual((self.files / "x.log").read_text(), "left out")
        self.assertEqual(run.perform("record", {"session": "s"})["after"], done["tree"])

    def test_a_folder_of_what_is_left_out_blocks_a_file(self) -> None:
        run = self.operations()
        write(self.files, {"out": "file", ".gitignore": "*.o\n"})
        first = run.perform("record", {"session": "s"})["after"]
        (self.files / "out").unlink()
        write(self.files, {"out/x.o": "mine"})
        done = run.perform("restore", {"session": "s", "tree": first})
        self.assertEqual(done["blocked"], ["out"])
        self.assertNotEqual(done["tree"], first)
        self.assertEqual((self.files / "out/x.o").read_text(), "mine")
