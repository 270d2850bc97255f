"""Uploads in pieces that begin again; archives: what they hold, in pieces."""

from __future__ import annotations

import base64
import io
import os
import time
import zipfile
from typing import Any

from server.workspace import uploads
from server.workspace.errors import WorkspaceError
from server.workspace.trees import build

from .made import Case, write


class Pieces(Case):
    def test_an_upload_that_begins_again_is_not_mixed_with_what_was_received(self) -> None:
        run = self.operations()

        def send(offset: int, data: bytes, total: int = 10) -> dict[str, Any]:
            text = base64.b64encode(data).decode()
            piece = {"path": "a", "data": text, "offset": offset, "total": total, "upload": "u"}
            return run.perform("write", piece)

        send(0, b"old old")
        self.assertEqual(send(0, b"new"), {"received": 3})
        self.assertEqual(send(0, b""), {"received": 3})
        self.assertEqual(send(1, b"ewer ", 4096), {"received": 6})
        self.assertEqual(send(0, b"", 5), {"received": 0})
        send(0, b"new n")
        self.assertEqual(send(5, b"ew ne")["bytes"], 10)
        self.assertEqual((self.files / "a").read_bytes(), b"new new ne")

    def test_pieces_that_nobody_completes_do_not_fill_the_disk(self) -> None:
        run, pieces = self.operations(), self.home / "state/pieces"
        data = base64.b64encode(b"12").decode()

        def send(upload: str, offset: int = 0) -> dict[str, Any]:
            piece = {"path": "a", "data": data, "offset": offset, "total": 6, "upload": upload}
            return run.perform("write", piece)

        for number in range(uploads.MOST + 5):
            send(f"{number}")
            for age, path in enumerate(pieces.iterdir()):
                os.utime(path, (time.time() - 100 - age,) * 2)
        send("mine")
        self.assertEqual(len(list(pieces.iterdir())), uploads.MOST)
        for number in range(5):
            with self.assertRaises(WorkspaceError) as caught:
                send(f"late {number}", 2)
            self.assertEqual(caught.exception.facts, {"received": 0})
        self.assertEqual(send("mine", 2), {"received": 4})
        self.assertEqual(len(list(pieces.iterdir())), uploads.MOST)
        for path in pieces.iterdir():
            os.utime(path, (0, 0))
        self.assertEqual(send("mine", 4)["bytes"], 6)
        self.assertEqual(list(pieces.iterdir()), [])


class Archives(Case):
    def test_a_tree_whose_sizes_are_not_those_of_its_files(self) -> None:
        """Limits go by the sizes that a tree says, and trees come from clients."""
        run = self.operations()
        sha256 = run.store.put(b"12345")
        for size in (0, 6, 10**30):
            tree = build(run.store, {("a",): ["f", 0o644, size, sha256]})
            for name, more in (("archive", {}), ("read", {"path": "a"})):
                with self.subTest(name, size=size), self.assertRaises(WorkspaceError) as caught:
                    run.perform(name, {"tree": tree, **more})
                self.assertIn(caught.exception.code, ("missing_objects", "too_large"))
        self.assertEqual(list((self.home / "state/pieces").iterdir()), [])

    def test_an_archive_is_told_the_size_of_a_file_before_its_bytes(self) -> None:
        """Without it a file of 2 GiB would not fit into what was begun."""
        told: list[int] = []

        class Archive(zipfile.ZipFile):
            def open(self, name: Any, *more: Any, **options: Any) -> Any:
                told.append(name.file_size)
                return super().open(name, *more, **options)

        run = self.operations()
        sha256 = run.store.put(b"12345")
        with Archive(io.BytesIO(), "w") as file:
            uploads._add(file, run.store, ("a",), ["f", 0o644, 5, sha256])
        self.assertEqual(told, [5])

    def test_an_archive_in_pieces(self) -> None:
        write(self.files, {"a": "1", "d/é": "2", "other": "3"})
        (self.files / "d/link").symlink_to("a")
        (self.files / "a").chmod(0o755)
        run = self.operations()
        data, found = b"", run.perform("archive", {"paths": ["a", "d"]})
        while True:
            data += base64.b64decode(found["data"])
            if found["complete"]:
                break
            more = {"archive": found["archive"], "offset": len(data)}
            found = run.perform("archive", more)
        self.assertEqual(len(data), found["bytes"])
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            self.assertEqual(sorted(file.namelist()), ["a", "d/", "d/link", "d/é"])
            self.assertEqual(file.read("d/é"), b"2")
            self.assertEqual(file.getinfo("a").external_attr >> 16 & 0o777, 0o755)
        with self.assertRaises(WorkspaceError):
            run.perform("archive", {"archive": found["archive"]})
        self.assertEqual(list((self.home / "state/pieces").iterdir()), [])
