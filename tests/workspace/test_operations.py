"""The operations as the server asks for them: results, refusals, locks."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from server.workspace.errors import WorkspaceError
from server.workspace.file_access import FileAccess
from server.workspace.scan import Limits
from server.workspace.trees import Place

from .made import Case, Closing, read, write

NO_TREE = "0" * 64


class Interrupted(FileAccess):
    """Files of which a program writes one right after a person has changed another."""

    def __init__(self, top: int, files: Path) -> None:
        super().__init__(top)
        self._agents, self._number = files / "of-the-agent", 0

    def _write(self) -> None:
        self._number += 1
        self._agents.write_text(str(self._number))

    def place(self, place: Place, source: int) -> str:
        digest = super().place(place, source)
        self._write()
        return digest

    def remove(self, place: Place) -> None:
        super().remove(place)
        self._write()

    def move(self, source: Place, target: Place) -> None:
        super().move(source, target)
        self._write()


class Answers(Case):
    def setUp(self) -> None:
        super().setUp()
        self.run_ = self.operations()

    def ask(self, name: str, **arguments: Any) -> dict[str, Any]:
        result = self.run_.perform(name, arguments)
        json.dumps(result).encode()
        return result

    def refusal(self, name: str, **arguments: Any) -> str:
        with self.assertRaises(WorkspaceError) as caught:
            self.run_.perform(name, arguments)
        self.assertNotIn(str(self.home), caught.exception.detail)
        return caught.exception.code

    def test_record_and_state(self) -> None:
        self.assertEqual(self.ask("state"), {"tree": None})
        write(self.files, {"a": "1"})
        first = self.ask("record", session="s")
        self.assertEqual((first["before"], first["changed"], first["changed_count"]), (None, [], 0))
        write(self.files, {"b": "22"})
        (self.files / "a").chmod(0o600)
        second = self.ask("record", session="s", call="c")
        changed = [{"path": "a", "change": "mode", "bytes": 1}]
        changed += [{"path": "b", "change": "added", "bytes": 2}]
        self.assertEqual((second["before"], second["changed"]), (first["after"], changed))
        found = self.ask("state", session="s")
        wanted = {"tree": second["after"], "call": "c", "seen": second["after"]}
        self.assertEqual(found, wanted)
        self.assertIsNone(self.ask("state", session="other")["seen"])

    def test_many_changes_are_counted(self) -> None:
        self.ask("record", session="s")
        write(self.files, {f"f{number}": "" for number in range(150)})
        found = self.ask("record", session="s")
        self.assertEqual((len(found["changed"]), found["changed_count"]), (100, 150))

    def test_a_tree_whose_objects_are_missing(self) -> None:
        write(self.files, {"a": "here"})
        self.assertEqual(self.refusal("restore", session="s", tree=NO_TREE), "missing_objects")
        self.assertEqual((self.files / "a").read_text(), "here")
        found = self.ask("missing", tree=NO_TREE, most=10)
        self.assertEqual(found["objects"], [{"sha256": NO_TREE, "bytes": 0, "path": ""}])

    def test_a_tree_that_holds_nothing_is_never_missing(self) -> None:
        empty = self.ask("record", session="s")["after"]
        shutil.rmtree(self.home / "objects")
        self.run_ = self.operations()
        self.assertEqual(self.ask("missing", tree=empty)["count"], 0)
        write(self.files, {"a": "1"})
        self.ask("restore", session="s", tree=empty)
        self.assertEqual(list(self.files.iterdir()), [])

    def test_a_running_call_holds_off_a_restore(self) -> None:
        write(self.files, {"a": "1"})
        tree = self.ask("record", session="s")["after"]
        self.run_ = self.operations(wait_s=0)
        with (self.home / "state/lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            self.assertEqual(self.ask("record", session="s")["after"], tree)
            self.assertEqual(self.refusal("restore", session="s", tree=tree), "busy")
        self.ask("restore", session="s", tree=tree)

    def test_read_and_list(self) -> None:
        write(self.files, {"d/a.txt": "hello", "b": ""})
        os.mkfifo(self.files / "pipe")
        (self.files / "link").symlink_to("/etc/passwd")
        tree = self.ask("record", session="s")["after"]
        for at in (None, tree):
            rows = self.ask("list", path="", tree=at, depth=2, offset=0, limit=10)
            kinds = {row["path"]: row["kind"] for row in rows["entries"]}
            kinds.pop("pipe", None)
            expected = {"b": "file", "d": "folder", "d/a.txt": "file", "link": "link"}
            self.assertEqual((kinds, rows["complete"]), (expected, True))
            found = self.ask("read", path="d/a.txt", tree=at, offset=1, length=3)
            self.assertEqual(base64.b64decode(found["data"]), b"ell")
            self.assertEqual((found["bytes"], found["media_type"]), (5, "text/plain"))
        rows = self.ask("list", path="d", depth=1, offset=0, limit=1)
        self.assertTrue(rows["complete"])
        self.assertFalse(self.ask("list", path="", limit=1)["complete"])
        for path in ("link", "pipe", "d", "none", "d/a.txt/x"):
            self.assertIn(self.refusal("read", path=path), ("not_found", "outside"), path)

    def test_links_lead_nowhere(self) -> None:
        write(self.home, {"outside/a": "secret"})
        (self.files / "out").symlink_to("../outside")
        data = base64.b64encode(b"x").decode()
        for name, arguments in (
            ("read", {"path": "out/a"}),
            ("list", {"path": "out"}),
            ("write", {"path": "out/a", "data": data, "offset": 0, "total": 1, "upload": "u"}),
            ("remove", {"path": "out/a"}),
            ("make_folder", {"path": "out/b"}),
            ("move", {"path": "out/a", "to": "b"}),
            ("move", {"path": "out", "to": "../b"}),
            ("read", {"path": "../outside/a"}),
        ):
            with self.subTest(name, **arguments):
                self.assertIn(self.refusal(name, **arguments), ("outside", "not_found"))
        self.ask("write", path="out", data=data, offset=0, total=1, upload="u")
        self.assertEqual((self.files / "out").read_bytes(), b"x")
        self.assertEqual((self.home / "outside/a").read_text(), "secret")
        self.assertEqual([path.name for path in (self.home / "outside").iterdir()], ["a"])

    def test_write_in_pieces(self) -> None:
        content = os.urandom(1000)
        pieces = [(at, content[at : at + 300]) for at in (0, 300, 300, 600, 900)]
        for at, piece in pieces:
            data = base64.b64encode(piece).decode()
            found = self.ask("write", path="n/a", data=data, offset=at, total=1000, upload="u")
            self.assertEqual((self.files / "n/a").exists(), "sha256" in found)
        self.assertEqual(found["bytes"], 1000)
        self.assertEqual((self.files / "n/a").read_bytes(), content)
        late = {"path": "b", "data": "", "offset": 5, "total": 9, "upload": "v"}
        self.assertEqual(self.refusal("write", **late), "conflict")
        self.assertEqual(self.refusal("write", **late | {"data": "?"}), "invalid")
        self.ask("write", path="empty", data="", offset=0, total=0, upload="w")
        self.assertEqual((self.files / "empty").read_bytes(), b"")

    def test_a_folder_of_the_name_of_a_draft_holds_no_upload_up(self) -> None:
        name = f".yaa-{hashlib.sha256(b'a').hexdigest()[:32]}"
        write(self.files, {f"{name}/planted": "by a tool", "a": "old"})
        data = base64.b64encode(b"new").decode()
        self.ask("write", path="a", data=data, offset=0, total=3, upload="u")
        planted = {name.encode(): ("d",), f"{name}/planted".encode(): ("f",), b"a": ("f",)}
        self.assertEqual({path: row[:1] for path, row in read(self.files).items()}, planted)
        self.assertEqual((self.files / "a").read_text(), "new")

    def test_objects_that_were_removed_give_room_for_others(self) -> None:
        self.run_.places = replace(self.run_.places, objects_bytes=10)

        def send(data: bytes) -> dict[str, str | int]:
            text = base64.b64encode(data).decode()
            name = hashlib.sha256(data).hexdigest()
            return {"sha256": name, "data": text, "offset": 0, "total": len(data)}

        self.ask("write_object", **send(b"1" * 8))
        self.assertEqual(self.refusal("write_object", **send(b"2" * 8)), "too_large")
        self.run_.store.collect([], 0, grace_s=-1)  # as `server objects` does
        self.ask("write_object", **send(b"2" * 8))
        self.assertEqual(self.refusal("write_object", **send(b"3" * 8)), "too_large")

    def test_move_and_remove(self) -> None:
        write(self.files, {"a": "1", "d/e/f": "2", "d/g": "3"})
        self.ask("move", path="d", to="x/y")
        self.assertEqual((self.files / "x/y/e/f").read_text(), "2")
        self.assertEqual(self.refusal("move", path="a", to="x/y/g"), "conflict")
        self.assertEqual(self.refusal("move", path="x", to="x/z"), "conflict")
        self.ask("remove", path="x")
        self.assertEqual([path.name for path in self.files.iterdir()], ["a"])

    def test_diff(self) -> None:
        write(self.files, {"a": "1\n2\n3\n", "b": "x"})
        first = self.ask("record", session="s")["after"]
        write(self.files, {"a": "1\ntwo\n3\n", "b": "x\0"})
        found = self.ask("diff", **{"from": first, "to": "now", "path": "a"})
        self.assertEqual(found["diff"], "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n")
        found = self.ask("diff", **{"from": first, "to": "now", "path": "b"})
        self.assertEqual(found["files"][0]["binary"], True)
        self.assertEqual(self.ask("diff", **{"from": first, "to": "now"})["count"], 2)

    def test_a_change_tells_what_it_alone_changed(self) -> None:
        """Whatever programs write between the two looks at the files."""
        write(self.files, {"a": "1", "d/e": "2", "d/f": "3"})
        self.ask("record", session="s")
        data = base64.b64encode(b"new").decode()
        upload = {"data": data, "offset": 0, "total": 3, "upload": "u"}
        for name, arguments, expected in (
            ("write", {"path": "n/m/new", **upload}, [("n/m/new", "added")]),
            ("write", {"path": "a", **upload}, [("a", "modified")]),
            ("move", {"path": "a", "to": "k/b"}, [("a", "deleted"), ("k/b", "added")]),
            ("remove", {"path": "d"}, [("d/e", "deleted"), ("d/f", "deleted")]),
        ):
            with self.subTest(name, **arguments):
                write(self.files, {"unrecorded": f"before {name} {arguments['path']}"})
                there = read(self.files)
                self.run_.files = Interrupted(self.run_.root.top, self.files)
                done = self.ask(name, session="s", **arguments)
                self.run_.files = FileAccess(self.run_.root.top)
                found = self.ask("diff", **{"from": done["before"], "to": done["after"]})
                files = [(row["path"], row["change"]) for row in found["files"]]
                self.assertEqual(files, expected)
                agents = (self.files / "of-the-agent").read_text()
                undone = {"session": "s", "tree": done["before"], "after": done["after"]}
                self.ask("restore", **undone)
                self.assertEqual((self.files / "of-the-agent").read_text(), agents)
                (self.files / "of-the-agent").unlink()
                self.assertEqual(read(self.files), there)
                self.ask("restore", **{**undone, "tree": done["after"], "after": done["before"]})

    def test_what_was_changed_again_is_not_undone(self) -> None:
        data = base64.b64encode(b"new").decode()
        given = {"path": "d/a", "data": data, "offset": 0, "total": 3, "upload": "u"}
        done = self.ask("write", session="s", **given)
        undo = {"session": "s", "tree": done["before"], "after": done["after"]}
        write(self.files, {"d/a": "the agent's", "d/b": "too"})
        self.assertEqual(self.refusal("restore", **undo), "moved")
        self.assertEqual((self.files / "d/a").read_text(), "the agent's")
        write(self.files, {"d/a": "new"})
        self.ask("restore", **undo)
        self.assertEqual([path.name for path in (self.files / "d").iterdir()], ["b"])

    def test_a_restore_that_may_not_write_holds_up_nothing(self) -> None:
        closing = Closing("write")
        self.run_ = self.operations(step=closing)
        write(self.files, {"d/a": "1", "b": "1"})
        tree = self.ask("record", session="s")["after"]
        write(self.files, {"d/a": "2", "b": "2"})
        closing.closed = True
        self.assertEqual(self.refusal("restore", session="s", tree=tree), "closed")
        self.assertIsNotNone(self.ask("record", session="s")["after"])
        self.assertNotIn("restoring", self.ask("state"))
        closing.closed = False
        self.ask("restore", session="s", tree=tree)
        self.assertEqual((self.files / "d/a").read_text(), "1")

    def test_what_is_no_operation(self) -> None:
        self.assertEqual(self.refusal("perform"), "invalid")
        self.assertEqual(self.refusal("close"), "invalid")
        self.assertEqual(self.refusal("restore"), "invalid")
        self.assertEqual(self.refusal("record", session="s", more=1), "invalid")
        self.assertEqual(self.refusal("status"), "invalid")

    def test_what_was_left_out_is_told(self) -> None:
        write(self.files, {"big": "x" * 100})
        self.run_ = self.operations(Limits(file_bytes=10))
        self.assertEqual(self.ask("record", session="s")["left_out"], {"large": ["big"]})
