"""What is kept of recorded files, and what a server removes by itself."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from pathlib import Path

from server.workspace.collection import (
    collect_objects,
    folder_of,
    folders,
    ids_in,
    limit_objects,
    trees_of_states,
)
from server.workspace.objects import ObjectStore
from server.workspace.trees import keep

SIZE = 1_000


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.home = Path(os.path.realpath(self.enterContext(tempfile.TemporaryDirectory())))
        self.store = ObjectStore(folder_of(self.home, "ann"))
        self.old = self.tree(b"1" * SIZE)
        self.now = self.tree(b"2" * SIZE)
        self.state({"tree": self.now, "seen": {"0" * 32: self.now}})

    def tree(self, data: bytes) -> str:
        sha256 = self.store.put(data)
        tree = keep(self.store, {"file": ["f", 0o644, len(data), sha256]})
        for name, _ in self.store.ids():  # older than what may be in the making
            os.utime(self.store.path(name), (0, 0))
        return tree

    def state(self, value: object) -> None:
        folder = self.home / "workspace_state" / "w"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "state.json").write_text(json.dumps(value))

    def number(self) -> int:
        return sum(1 for _ in self.store.ids())


class Collecting(Case):
    def test_only_beyond_the_limit(self) -> None:
        self.assertEqual((limit_objects(self.home, 10_000), self.number()), (0, 4))
        self.assertEqual((limit_objects(self.home, SIZE), self.number()), (2, 2))
        self.assertTrue(self.store.has(self.now))
        self.assertFalse(self.store.has(self.old))
        self.assertEqual((limit_objects(self.home, 0), self.number()), (0, 2))  # it is needed

    def test_what_is_needed(self) -> None:
        for kept, useless in (([], 4), ([self.now], 2), ([self.now, self.old], 0)):
            found = collect_objects(Path(self.store.folder), kept, clean=False)
            self.assertEqual(
                (found["objects"], found["useless"], found["removed"]), (4, useless, 0)
            )
        os.utime(self.store.path(self.old))  # it is new again
        found = collect_objects(Path(self.store.folder), [], clean=True)
        self.assertEqual((found["removed"], self.number()), (3, 1))

    def test_states_that_cannot_be_read(self) -> None:
        self.assertEqual(list(trees_of_states(self.home)), [self.now])
        state = self.home / "workspace_state" / "w" / "state.json"
        for data in (b"", b"\xff\xfe{", b"[" * 100_000):
            state.write_bytes(data)
            self.assertEqual(list(trees_of_states(self.home)), [])
        state.write_bytes(b'{"tree": "' + self.now.encode())  # cut
        self.assertEqual(list(trees_of_states(self.home)), [self.now])

    def test_no_objects(self) -> None:
        empty = self.home / "empty"
        self.assertEqual((folders(empty), limit_objects(empty, 0)), ([], 0))
        self.assertEqual(
            [path.name for path in folders(self.home)], [folder_of(self.home, "ann").name]
        )
        self.assertEqual(list(ids_in("0" * 63 + " " + "a" * 65 + " " + "b" * 64)), ["b" * 64])


if __name__ == "__main__":
    unittest.main()
