"""The store of objects: what is stored, checked, copied and collected."""

from __future__ import annotations

import hashlib
import os
import resource
import signal
from pathlib import Path

from server.workspace.errors import WorkspaceError
from server.workspace.objects import SMALL, TEMPORARY, ObjectStore

from .made import Case


class Objects(Case):
    def setUp(self) -> None:
        super().setUp()
        self.store = ObjectStore(self.home / "objects")

    def test_what_is_put_is_there(self) -> None:
        for data in (b"", b"a", os.urandom(100_000), bytes(SMALL + 10), os.urandom(SMALL + 1)):
            (self.home / "file").write_bytes(data)
            with (self.home / "file").open("rb") as file:
                put = self.store.put_file(file.fileno())
            found = hashlib.sha256(data).hexdigest()
            self.assertEqual(put, (found, len(data)))
            self.assertEqual(self.store.put(data), found)
            self.assertEqual(self.store.read(found, len(data)), data)
            self.assertEqual(self.store.size(found), len(data))
            self.assertEqual(Path(self.store.path(found)).stat().st_mode & 0o777, 0o400)
            with (self.home / "copy").open("wb") as file:
                self.store.copy_to(found, file.fileno())
            self.assertEqual((self.home / "copy").read_bytes(), data)

    def test_zeros_become_holes(self) -> None:
        found = self.store.put(b"x" + bytes(20 << 20))
        with (self.home / "copy").open("wb") as file:
            self.store.copy_to(found, file.fileno())
        self.assertLess((self.home / "copy").stat().st_blocks * 512, 1 << 20)

    def test_too_large_a_file_is_not_stored(self) -> None:
        for size, most in ((11, 10), (SMALL + 2, SMALL + 1)):
            (self.home / "file").write_bytes(bytes(size))
            with (self.home / "file").open("rb") as file:
                self.assertIsNone(self.store.put_file(file.fileno(), most))
        self.assertEqual(list(self.store.ids()), [])
        self.assertEqual(list((self.home / "objects").glob(TEMPORARY + "*")), [])

    def test_a_changed_object_counts_as_missing(self) -> None:
        found = self.store.put(b"right")
        path = self.home / "objects" / found[:2] / found[2:]
        path.chmod(0o600)
        path.write_bytes(b"wrong")
        with self.assertRaises(WorkspaceError) as caught, (self.home / "copy").open("wb") as file:
            self.store.copy_to(found, file.fileno())
        self.assertEqual(caught.exception.code, "missing_objects")
        self.assertFalse(self.store.has(found))
        self.store.put(b"right")
        path.chmod(0o600)
        path.write_bytes(b"")  # cut by a power failure
        self.store.put(b"right")
        self.assertEqual(self.store.read(found, 10), b"right")

    def test_ids_are_checked(self) -> None:
        for name in ("", "..", "a" * 63, "A" * 64, "../" * 21 + "a", "a" * 64 + "\n"):
            with self.subTest(name), self.assertRaises(WorkspaceError):
                self.store.has(name)

    def test_collect(self) -> None:
        kept, old, new = (self.store.put(text) for text in (b"kept", b"old", b"new"))
        for sha256 in (kept, old):
            os.utime(self.store.path(sha256), (1, 1))
        found = self.store.collect([kept], 0, grace_s=1000)
        about = {"useless": 1, "useless_bytes": 3, "removed": 1, "freed": 3}
        self.assertEqual(found, {"objects": 2, "bytes": 7, **about})
        self.assertEqual([*map(self.store.has, (kept, old, new))], [True, False, True])
        os.utime(self.store.path(new), (1, 1))
        self.assertEqual(self.store.collect([], 7)["removed"], 0)

    def test_a_full_disk_leaves_nothing(self) -> None:
        child = os.fork()
        if not child:
            try:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
                try:
                    self.store.put(b"y" * 5000)
                except OSError:
                    os._exit(7)
            finally:
                os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
        self.assertEqual(
            [path for path in (self.home / "objects").rglob("*") if path.is_file()], []
        )
