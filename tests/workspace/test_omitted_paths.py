"""What is left out of a tree is no deletion: nothing says so, and going back and forth keeps it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server.workspace.errors import WorkspaceError
from server.workspace.objects import ObjectStore
from server.workspace.omitted_paths import Left
from server.workspace.restore import Step
from server.workspace.scan import Limits
from server.workspace.trees import build, decode, encode

from .made import Case, read, write

Json = dict[str, Any]
MINE = {"a.txt": "1", ".env": "KEY=1", "node_modules/m/index.js": "m", "z/log": "l", "z/y": "y"}
KEEPS_ITSELF = {"z/.gitignore": "*\n"}


@dataclass(frozen=True)
class Leaving:
    """A call after which files are left out, and what it is said to have changed."""

    call: Callable[[Path], None]
    changed: dict[str, str]
    limits: Limits = Limits()
    now: dict[str, str] = field(default_factory=dict)


def ignore(*lines: str) -> Callable[[Path], None]:
    return lambda top: write(top, {".gitignore": "".join(line + "\n" for line in lines)})


def grow(name: str, size: int) -> Callable[[Path], None]:
    return lambda top: write(top, {name: "x" * size})


def pipe(top: Path) -> None:
    (top / "z/y").unlink()
    os.mkfifo(top / "z/y")


ADDED = {".gitignore": "added"}
CASES = {
    "names in rules": Leaving(
        ignore(".env", "node_modules/"), ADDED, now={".env": "ignored", "node_modules": "ignored"}
    ),
    "a glob": Leaving(
        ignore("*.js", "lo?", "/z/y"),
        ADDED,
        now=dict.fromkeys(("node_modules/m/index.js", "z/log", "z/y"), "ignored"),
    ),
    "everything": Leaving(
        ignore("*", "!.gitignore"),
        ADDED,
        now=dict.fromkeys((".env", "a.txt", "node_modules", "z"), "ignored"),
    ),
    "rules that ignore themselves": Leaving(
        lambda top: write(top, KEEPS_ITSELF), {}, now={"z": "ignored"}
    ),
    "rules that ignore themselves below": Leaving(
        lambda top: write(top, {"node_modules/m/.gitignore": "*\n"}),
        {},
        now={"node_modules": "ignored"},
    ),
    "rules that ignore their file and one more": Leaving(
        lambda top: write(top, {"z/.gitignore": ".gitignore\nlog\n"}),
        {},
        now={"z/.gitignore": "ignored", "z/log": "ignored"},
    ),
    "a file beside the rules that ignore it": Leaving(
        lambda top: write(top, {".gitignore": ".gitignore\nnew\n", "new": "n", "z/new": "n"}),
        {},
        now=dict.fromkeys((".gitignore", "new", "z/new"), "ignored"),
    ),
    "the count": Leaving(
        lambda top: write(top, {"0": "", "1": ""}),
        {"0": "added", "1": "added"},
        Limits(files=8),
        {"z/log": "beyond", "z/y": "beyond"},
    ),
    "the size": Leaving(grow("z/log", 100), {}, Limits(file_bytes=50), {"z/log": "large"}),
    "a new large file": Leaving(grow("z/new", 100), {}, Limits(file_bytes=50), {"z/new": "large"}),
    "a pipe": Leaving(pipe, {}, now={"z/y": "special"}),
}

# What becomes recorded -> what left it out, what ends that, and what came so.
COMES = {
    "the size": (
        Leaving(grow("big", 100), {}, Limits(file_bytes=50)),
        grow("big", 5),
        (b"big",),
    ),
    "the count": (
        Leaving(grow("z/zz", 1), {}, Limits(files=7)),
        lambda top: (top / "a.txt").unlink(),
        (b"z/zz",),
    ),
    "the rules": (
        Leaving(ignore(".env", "node_modules/"), {}),
        lambda top: (top / ".gitignore").unlink(),
        (b".env", b"node_modules/m/index.js"),
    ),
}


class NoDeletion(Case):
    def test_what_is_left_out_now_is_neither_said_nor_touched(self) -> None:
        for overlay in (False, True):
            for name, case in CASES.items():
                with self.subTest(name, overlay=overlay):
                    self.setUp()
                    self._back_and_forth(case, overlay)

    def _back_and_forth(self, case: Leaving, overlay: bool) -> None:
        run = self.operations(case.limits, overlay=overlay)
        write(self.folder if overlay else self.files, MINE)
        if overlay:
            run.perform("refresh", {"session": "s"})
        first = run.perform("record", {"session": "s"})["after"]
        case.call(self.files)
        second = run.perform("record", {"session": "s"})
        self.assertEqual(_said(second["changed"]), case.changed)
        now = {row["path"]: row["reason"] for row in second.get("left_out_now", ())}
        self.assertEqual(now, case.now)
        found = run.perform("diff", {"from": second["after"], "to": first})
        self.assertEqual([row for row in found["files"] if row["change"] == "added"], [])
        there = read(self.files)
        for tree in (first, second["after"], first, second["after"]):
            done = run.perform("restore", {"session": "s", "tree": tree})
            if case.call is not pipe and not case.limits.file_bytes < 64:
                self.assertNotIn("blocked", done)  # what is there already is not in the way
            self.assertEqual(run.perform("record", {"session": "s"})["after"], done["tree"])
        self.assertEqual(read(self.files), there)

    def test_what_is_removed_and_ignored_at_once_is_deleted(self) -> None:
        run = self.operations()
        write(self.files, MINE | {"node_modules/n": "n"})
        run.perform("record", {"session": "s"})
        write(self.files, {".gitignore": ".env\nnode_modules/m/\nz/\na.txt\n"})
        (self.files / ".env").unlink()
        shutil.rmtree(self.files / "node_modules/m")
        shutil.rmtree(self.files / "z")
        found = run.perform("record", {"session": "s"})
        gone = (".env", "node_modules/m/index.js", "z/log", "z/y")
        self.assertEqual(_said(found["changed"]), ADDED | dict.fromkeys(gone, "deleted"))
        self.assertEqual(found["left_out_now"], [{"path": "a.txt", "reason": "ignored"}])

    def test_an_edit_of_what_is_ignored_stays(self) -> None:
        run = self.operations()
        write(self.files, MINE)
        first = run.perform("record", {"session": "s"})["after"]
        write(self.files, {".gitignore": ".env\n"})
        second = run.perform("record", {"session": "s"})["after"]
        write(self.files, {".env": "KEY=2"})
        done = run.perform("restore", {"session": "s", "tree": first})
        self.assertEqual(done["blocked"], [".env"])
        run.perform("restore", {"session": "s", "tree": second})
        self.assertEqual((self.files / ".env").read_text(), "KEY=2")

    def test_what_was_ignored_stays_when_the_files_change_meanwhile(self) -> None:
        """A restore that begins again knows it by then, since the rules are gone."""
        run = self.operations()
        write(self.files, {"a.txt": "1", "b.txt": "1"})
        first = run.perform("record", {"session": "s"})["after"]
        write(self.files, MINE | {".gitignore": ".env\nnode_modules\nz\n", "b.txt": "2"})

        def step(name: str) -> None:
            if name == "rename" and (self.files / "b.txt").read_text() == "2":
                write(self.files, {"b.txt": "3"})

        changing = self.operations(step=step, state="state2")
        write(self.files, {"a.txt": "3"})
        changing.perform("restore", {"session": "s", "tree": first})
        for path in (".env", "node_modules/m/index.js", "z/y"):
            self.assertEqual((self.files / path).read_text(), MINE[path])

    def test_what_is_ignored_and_gone_comes_back(self) -> None:
        run = self.operations()
        write(self.files, MINE)
        first = run.perform("record", {"session": "s"})["after"]
        write(self.files, {".gitignore": ".env\n"})
        run.perform("record", {"session": "s"})
        (self.files / ".env").unlink()
        done = run.perform("restore", {"session": "s", "tree": first})
        self.assertEqual(done["tree"], first)
        self.assertEqual((self.files / ".env").read_text(), "KEY=1")

    def test_what_was_left_out_before_is_no_addition(self) -> None:
        """A large file that becomes small, names that move below the limit, rules that go."""
        for name, (case, change, _) in COMES.items():
            with self.subTest(name):
                self.setUp()
                run = self.operations(case.limits)
                write(self.files, MINE)
                case.call(self.files)
                first = run.perform("record", {"session": "s"})["after"]
                change(self.files)
                second = run.perform("record", {"session": "s"})
                self.assertNotIn("added", _said(second["changed"]).values())
                there = read(self.files)
                for tree in (first, second["after"]):
                    run.perform("restore", {"session": "s", "tree": tree})
                self.assertEqual(read(self.files), there)

    def test_what_was_there_before_it_was_recorded_stays(self) -> None:
        """Going back to before it was made, in a process of its own, and there is no tree of it."""
        for name, (case, change, stays) in COMES.items():
            for restart in (False, True):
                with self.subTest(name, restart=restart):
                    self.setUp()
                    run = self.operations(case.limits)
                    zero = run.perform("record", {"session": "s"})["after"]
                    write(self.files, MINE)
                    case.call(self.files)
                    first = run.perform("record", {"session": "s"})["after"]
                    change(self.files)
                    second = run.perform("record", {"session": "s"})["after"]
                    write(self.files, {"made": "by a call"})
                    run.perform("record", {"session": "s"})
                    there = read(self.files)
                    run = self.operations(case.limits) if restart else run
                    for tree in (zero, first, second, zero):
                        done = run.perform("restore", {"session": "s", "tree": tree})["tree"]
                        self.assertEqual(run.perform("record", {"session": "s"})["after"], done)
                        self.assertFalse((self.files / "made").exists())
                        for path in stays:
                            self.assertEqual(read(self.files)[path], there[path])
                    self.assertFalse((self.files / "a.txt").exists())

    def test_what_going_back_brings_to_light_stays(self) -> None:
        run = self.operations()
        write(self.files, {"a.txt": "1"})
        zero = run.perform("record", {"session": "s"})["after"]
        write(self.files, MINE | {".gitignore": ".env\nnode_modules\n"})
        run.perform("record", {"session": "s"})
        for _ in range(2):  # the first takes the rules away
            run.perform("restore", {"session": "s", "tree": zero})
            self.assertEqual((self.files / ".env").read_text(), "KEY=1")
            self.assertFalse((self.files / "z").exists())

    def test_it_stays_also_if_going_back_is_cut(self) -> None:
        write(self.files, MINE | {".gitignore": ".env\nnode_modules\n"})
        (self.files / ".env").unlink()
        run = self.operations()
        zero = run.perform("record", {"session": "s"})["after"]
        write(self.files, {".env": "KEY=1", "z/new": "by a call"})
        run.perform("record", {"session": "s"})
        (self.files / ".gitignore").unlink()
        last = run.perform("record", {"session": "s"})["after"]
        number = 0
        while self.cut(number, lambda step: self._restore(zero, step)):
            done = self.operations().perform("record", {"session": "s"})
            self.assertEqual((self.files / ".env").read_text(), "KEY=1", number)
            self.operations().perform("restore", {"session": "s", "tree": done["after"]})
            self.operations().perform("restore", {"session": "s", "tree": last})
            number += 1
        self.assertGreater(number, 3)
        self.assertFalse((self.files / "z/new").exists())

    def _restore(self, tree: str, step: Step) -> None:
        self.operations(step=step).perform("restore", {"session": "s", "tree": tree})

    def test_what_is_deleted_and_made_again_goes(self) -> None:
        run = self.operations()
        zero = run.perform("record", {"session": "s"})["after"]
        write(self.files, MINE)
        for rules in (".env\n", ""):
            write(self.files, {".gitignore": rules})
            run.perform("record", {"session": "s"})
        (self.files / ".env").unlink()
        run.perform("record", {"session": "s"})
        write(self.files, {".env": "by a call"})
        run.perform("record", {"session": "s"})
        run.perform("restore", {"session": "s", "tree": zero})
        self.assertFalse((self.files / ".env").exists())

    def test_what_a_call_made_goes_when_nothing_explains_it(self) -> None:
        """Also where a tree is full: what sorts before the first that was beyond was looked at."""
        run = self.operations(Limits(files=7))
        write(self.files, MINE | {"zz": "", "zzz": ""})
        first = run.perform("record", {"session": "s"})["after"]
        write(self.files, {"b": "", "y": "", "zzzz": ""})
        run.perform("record", {"session": "s"})
        run.perform("restore", {"session": "s", "tree": first})
        names = sorted(path.name for path in self.files.iterdir())
        self.assertEqual(
            names, sorted([*{path.split("/")[0] for path in MINE}, "zz", "zzz", "zzzz"])
        )

    def test_a_tree_of_an_earlier_version_does_not_say(self) -> None:
        """It may have left out anything: going back to it removes nothing, and changes the rest."""
        run = self.operations()
        write(self.files, MINE)
        top = decode(run.store.read(run.perform("record", {"session": "s"})["after"], 1 << 20))
        old = run.store.put(encode({name: entry for name, entry in top.items() if name}))
        write(self.files, {"a.txt": "2", "new": "n"})
        found = run.perform("diff", {"from": old, "to": "now"})
        self.assertEqual(_said(found["files"]), {"a.txt": "modified", "new": "added"})
        done = run.perform("restore", {"session": "s", "tree": old})
        self.assertEqual(read(self.files)[b"a.txt"][2], b"1")
        self.assertEqual(read(self.files)[b"new"][2], b"n")
        self.assertEqual(run.perform("record", {"session": "s"})["after"], done["tree"])


class GivenUp(Case):
    """What is in the way of a tree, and in none, stays until it is named."""

    def test_only_what_is_named_is_replaced(self) -> None:
        limits = Limits(file_bytes=50)
        for name, change, paths in (
            ("ignored", {".gitignore": ".env\n", ".env": "KEY=2"}, [".env"]),
            ("large", {"z/log": "x" * 100}, ["z/log"]),
            ("a pipe", {"a.txt": None}, ["a.txt"]),
            ("a file in place of a folder", {".gitignore": "z\n", "z": "mine"}, ["z", "z/log"]),
        ):
            with self.subTest(name):
                self.setUp()
                run = self.operations(limits)
                write(self.files, MINE | {"other": "1"})
                first = run.perform("record", {"session": "s"})["after"]
                then = read(self.files)
                shutil.rmtree(self.files / "z")
                for path, text in change.items():
                    if text is None:
                        (self.files / path).unlink()
                        os.mkfifo(self.files / path)
                    else:
                        write(self.files, {path: text})
                write(self.files, {"other": "2"})
                about = {"session": "s", "tree": first}
                blocked = run.perform("restore", about)["blocked"]
                self.assertLessEqual(set(paths), set(blocked))
                there = read(self.files)
                for path in change.keys() - {".gitignore"}:
                    self.assertNotEqual(there.get(path.encode()), then[path.encode()])
                write(self.files, {"other": "3"})
                done = run.perform("restore", about | {"paths": blocked})
                self.assertNotIn("blocked", done)
                wanted = then | {b"other": (*then[b"other"][:2], b"3")}
                self.assertEqual(read(self.files), wanted)
                self.assertEqual(run.perform("record", {"session": "s"})["after"], done["tree"])

    def test_what_the_tree_does_not_have_is_refused(self) -> None:
        run = self.operations()
        write(self.files, {"a": "1"})
        first = run.perform("record", {"session": "s"})["after"]
        write(self.files, {"b/c": "mine"})
        for path, about, code in (
            ("none", {}, "not_found"),
            ("../x", {}, "outside"),
            ("a", {"after": first}, "invalid"),
        ):
            with self.assertRaises(WorkspaceError) as caught:
                run.perform("restore", {"session": "s", "tree": first, "paths": [path], **about})
            self.assertEqual(caught.exception.code, code)
        (self.files / "a").unlink()
        write(self.files, {"a/b": "mine"})
        with self.assertRaises(WorkspaceError) as caught:
            run.perform("restore", {"session": "s", "tree": first, "paths": ["a"]})
        self.assertEqual(caught.exception.code, "conflict")
        self.assertEqual((self.files / "a/b").read_text(), "mine")


class Overlay(Case):
    """What an overlay left out: said, no addition, and never over what the folder has."""

    def setUp(self) -> None:
        super().setUp()
        self.run_ = self.operations(Limits(file_bytes=50), overlay=True)
        write(self.folder, {"a": "1", "big": "x" * 100, "kept.log": "k", "gone": "x" * 100})
        write(self.folder, {".gitignore": "*.log\n"})
        self.run_.perform("refresh", {"session": "s"})

    def test_a_change_of_what_was_left_out_is_listed(self) -> None:
        write(self.files, {"big": "small", "new": "n", "huge": "x" * 200, ".gitignore": ""})
        (self.files / "gone").unlink()
        found = self.run_.perform("status", {})
        said = {row.pop("path"): row for row in found["files"]}
        unkept = {"conflict": True, "unkept": True}
        wanted = {
            ".gitignore": {"change": "modified", "bytes": 0},
            "big": {"change": "modified", "bytes": 5, **unkept},
            "gone": {"change": "deleted", **unkept},
            "new": {"change": "added", "bytes": 1},
        }
        self.assertEqual(said, wanted)
        self.assertEqual(found["left_out"]["large"], ["big", "gone", "huge"])

    def test_what_nothing_kept_is_replaced_and_removed_only_by_name(self) -> None:
        write(self.files, {"big": "small", "new": "n"})
        (self.files / "gone").unlink()
        done = self.run_.perform("apply", {})
        self.assertEqual((done["applied"], done["conflicts"]), (1, ["gone", "big"]))
        for about, left in ({"force": True}, ["gone", "big"]), ({"paths": ["big", "gone"]}, []):
            done = self.run_.perform("apply", about)
            self.assertEqual((done["applied"], done["left"]), (0, left))
            for name in ("big", "gone"):
                self.assertEqual((self.folder / name).read_text(), "x" * 100)
        done = self.run_.perform("apply", {"force": True, "paths": ["big", "gone"]})
        self.assertEqual((done["applied"], done["left"]), (2, []))
        self.assertEqual(read(self.folder), read(self.files))
        self.assertEqual(self.run_.perform("status", {})["files"], [])

    def test_what_a_discard_cannot_bring_is_said(self) -> None:
        write(self.files, {"big": "small", "new": "n"})
        (self.files / "gone").unlink()
        done = self.run_.perform("discard", {})
        self.assertEqual((done["discarded"], sorted(done["left"])), (1, ["big", "gone"]))

    def test_what_rules_ignored_is_applied_where_nothing_is(self) -> None:
        """The layer takes a rule away: what it made comes to the folder, what is there stays."""
        write(self.files, {".gitignore": "", "made.log": "m", "kept.log": "other"})
        done = self.run_.perform("apply", {})
        self.assertEqual((done["applied"], done["conflicts"]), (2, ["kept.log"]))
        self.assertEqual((self.folder / "made.log").read_text(), "m")
        self.assertEqual((self.folder / "kept.log").read_text(), "k")

    def test_going_back_keeps_what_the_base_left_out(self) -> None:
        first = self.run_.perform("record", {"session": "s"})["after"]
        write(self.files, {"big": "small", "a": "2"})
        self.run_.perform("record", {"session": "s"})
        self.run_.perform("restore", {"session": "s", "tree": first})
        found = self.run_.perform("status", {})["files"]
        self.assertEqual([(row["path"], row["change"]) for row in found], [("big", "modified")])


class Places(Case):
    def test_where_something_may_be(self) -> None:
        store = ObjectStore(self.home / "objects")
        rules = store.put(b"*.log\nbuild/\n!keep.log\n")
        tree = build(
            store,
            {
                ("",): ["x", ""],
                (".gitignore",): ["f", 0o644, 23, rules],
                ("d", ".gitignore"): ["x", "ignored"],
                ("full", "m"): ["x", "beyond"],
                ("sock",): ["x", "special"],
            },
        )
        left = Left(store, tree)
        for path, is_folder, expected in (
            ("a", False, False),
            ("a.log", False, True),
            ("keep.log", False, False),
            ("new/deep/a.log", False, True),
            ("new/deep/a", False, False),
            ("build", False, False),
            ("build", True, True),
            ("build/x/y", False, True),
            ("d/anything", False, True),
            ("full/a", False, False),
            ("full/n", False, True),
            ("sock/x", False, True),
            (".git/a.log", False, False),
        ):
            with self.subTest(path, is_folder=is_folder):
                self.assertIs(left.may_hold(tuple(path.split("/")), is_folder), expected)
        self.assertFalse(Left(store, None, strict=True).may_hold(("a.log",), False))


def _said(rows: list[Json]) -> dict[str, str]:
    return {row["path"]: row["change"] for row in rows}
