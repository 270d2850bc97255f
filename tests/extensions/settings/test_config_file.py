"""The owner's configuration file: revisions, changes, and writes that are whole or not there."""

from __future__ import annotations

import json
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any

from server.extensions.settings.config_file import ConfigFile, ConfigFileError, apply_changes

HALF: dict[str, Any] = {"server": {"providers": {"main": {"preset": "openai", "api_key": "sk-1"}}}}


class Files(unittest.TestCase):
    def setUp(self) -> None:
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.path = self.home / "config.json"
        self.file = ConfigFile(self.path, self.home)

    def test_a_file_that_is_not_there(self) -> None:
        self.assertEqual((self.file.read().document, self.file.stamp()), ({}, ()))
        self.file.write(HALF)
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.file.read().document, HALF)
        self.assertEqual([*self.home.iterdir()], [self.path], "no draft is left")

    def test_a_revision_is_of_the_bytes(self) -> None:
        self.file.write({"server": {"port": 1}})
        first, stamp = self.file.read().revision, self.file.stamp()
        self.file.write({"server": {"port": 2}})
        self.assertNotEqual(self.file.read().revision, first)
        self.assertNotEqual(self.file.stamp(), stamp)

    def test_what_cannot_be_read(self) -> None:
        for data, words in (
            (b"{", "not valid JSON"),
            (b"[]", "an object"),
            (b'{"a": 1, "a": 2}', "not valid JSON"),
            (b"\xff", "not valid JSON"),
        ):
            with self.subTest(data=data):
                self.path.write_bytes(data)
                with self.assertRaises(ConfigFileError) as caught:
                    self.file.read()
                self.assertIn(words, caught.exception.detail)
                self.assertNotIn(str(self.home), caught.exception.detail)
        self.path.write_bytes(b"\xef\xbb\xbf{}")
        self.assertEqual(self.file.read().document, {}, "a byte order mark")
        self.path.unlink()
        self.path.mkdir()
        with self.assertRaises(ConfigFileError):
            self.file.read()
        self.assertEqual(self.file.unwritable(), "it is not a writable file")

    def test_a_link_is_followed(self) -> None:
        real = self.home / "real.json"
        real.write_text("{}")
        self.path.symlink_to(real)
        self.file.write(HALF)
        self.assertTrue(self.path.is_symlink())
        self.assertEqual(json.loads(real.read_text()), HALF)

    def test_a_folder_that_is_not_there(self) -> None:
        file = ConfigFile(self.home / "no" / "config.json", self.home)
        self.assertTrue(file.unwritable())
        with self.assertRaises(ConfigFileError):
            file.write(HALF)

    def test_a_reader_never_sees_half_of_it(self) -> None:
        documents = [{"server": {"x": "a" * 200_000}}, {"server": {"x": "b"}}]
        self.file.write(documents[0])
        done = threading.Event()
        seen: list[bool] = []

        def read() -> None:
            while not done.is_set():
                seen.append(self.file.read().document in documents)

        reader = threading.Thread(target=read)
        reader.start()
        for number in range(60):
            with self.file.lock():
                self.file.write(documents[number % 2])
        done.set()
        reader.join()
        self.assertTrue(all(seen))

    def test_two_that_write_wait_for_each_other(self) -> None:
        def add(name: str) -> None:
            for number in range(20):
                with self.file.lock():
                    document = self.file.read().document
                    document.setdefault("server", {})[f"{name}{number}"] = 1
                    self.file.write(document)

        threads = [threading.Thread(target=add, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(self.file.read().document["server"]), 60)

    def test_text_that_is_no_unicode_is_kept_whole(self) -> None:
        document = {"server": {"x": "ü\u0000 \U0001f600"}}
        self.file.write(document)
        self.assertEqual(self.file.read().document, document)
        self.assertEqual([*self.home.iterdir()], [self.path])


class Changes(unittest.TestCase):
    def test_changes(self) -> None:
        hidden = {"secret": True}
        main = ["server", "providers", "main"]
        for changes, wanted in (
            ([{"path": ["server", "port"], "value": 5}], {"port": 5}),
            ([{"path": ["server", "a", "b"], "value": None}], {"a": {"b": None}}),
            ([{"path": ["server", "nothing"], "remove": True}], {}),
            ([{"path": [*main, "model_name"], "value": "m"}], {"model_name": "m"}),
            ([{"path": [*main, "api_key"], "value": hidden}], {}),
            ([{"path": ["server", "__proto__"], "value": {"x": 1}}], {"__proto__": {"x": 1}}),
        ):
            with self.subTest(changes=changes):
                found = apply_changes(HALF, changes)
                flat = found["server"] | found["server"]["providers"]["main"]
                self.assertEqual({**flat, **wanted}, flat)
                self.assertEqual(found["server"]["providers"]["main"]["api_key"], "sk-1")
        self.assertEqual(HALF["server"].keys(), {"providers"}, "a copy")
        gone = apply_changes(HALF, [{"path": main, "remove": True}])
        self.assertEqual(gone, {"server": {"providers": {}}})

    def test_what_is_refused(self) -> None:
        for change, pointer in (
            (
                {"path": ["server", "providers", "main", "preset", "x"], "value": 1},
                "/changes/0/path",
            ),
            ({"path": ["server", "p", "q"], "value": {"secret": True}}, "/changes/0/value"),
        ):
            with self.subTest(change=change), self.assertRaises(ConfigFileError) as caught:
                apply_changes(HALF, [change])
            self.assertEqual(caught.exception.pointer, pointer)
