"""What may be configured as a folder, and what becomes of it while the server runs."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.config import ConfigError, load
from server.errors import Problem
from server.settings.real_folders import Folders, mistakes


class Case(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.base = Path(os.path.realpath(holder.name))
        for name in ("home", "notes/inner", "code", "elsewhere"):
            (self.base / name).mkdir(parents=True)
        (self.base / "link").symlink_to("notes")
        (self.base / "home-link").symlink_to("home")
        (self.base / "up").symlink_to(".")

    def found(self, **folders: tuple[str, str]) -> list[str]:
        configured = {
            name: {"path": path if path[:1] in "/~" else str(self.base / path), "mode": mode}
            for name, (path, mode) in folders.items()
        }
        return [*mistakes(configured, self.base / "home", [self.base / "code" / "server"])]


class Mistakes(Case):
    def test_what_is_no_mistake(self) -> None:
        for folders in (
            {"a": ("notes", "write")},
            {"a": ("link", "write")},
            {"a": ("missing", "write")},
            {"a": ("code", "read")},
            {"a": ("code", "overlay")},
            {"a": ("notes", "write"), "b": ("notes", "read")},
            {"a": ("notes", "read"), "b": ("notes/inner", "write")},
            {"笔记 of mine": ("notes", "write")},
        ):
            with self.subTest(folders):
                self.assertEqual(self.found(**folders), [])

    def test_mistakes(self) -> None:
        for folders, word in (
            ({"a": ("home", "read")}, "home folder"),
            ({"a": ("home/inner", "read")}, "home folder"),
            ({"a": ("home-link/inner", "read")}, "home folder"),
            ({"a": ("", "read")}, "begins with"),
            ({"a": ("up", "read")}, "home folder"),
            ({"a": ("/", "read")}, "home folder"),
            ({"a": ("notes/../home", "read")}, "home folder"),
            ({"a": ("code", "write")}, "the server loads"),
            ({"a": ("code/server", "write")}, "the server loads"),
            ({"a": ("~nobody-of-this-name/x", "read")}, "no such home folder"),
            ({"a/b": ("notes", "read")}, "is no name"),
            ({"": ("notes", "read")}, "is no name"),
            ({"a\n": ("notes", "read")}, "is no name"),
            ({"a" * 101: ("notes", "read")}, "is no name"),
            ({"a": ("notes", "write"), "b": ("notes/inner", "read")}, "a link in its place"),
            ({"a": ("notes", "overlay"), "b": ("link/inner", "write")}, "a link in its place"),
        ):
            with self.subTest(folders):
                found = self.found(**folders)
                self.assertEqual(len(found), 1, found)
                self.assertIn(word, found[0])

    def test_the_server_does_not_start_with_them(self) -> None:
        home = self.base / "home"
        for folders, word in (
            ({"a": {"path": str(home)}}, "home folder"),
            ({"a": {"path": "notes"}}, "begins with / or ~"),
            ({"a": {"path": ""}}, "begins with / or ~"),
            ({"a": {}}, "begins with / or ~"),
            ({"a": {"path": "/x\0y"}}, "begins with / or ~"),
            ({"a": {"path": "/x", "mode": "all"}}, "overlay"),
            ({"a": {"path": "/x", "kind": "read"}}, "kind"),
            ({"a": "/x"}, "server.folders.a"),
            ({"a": {"path": str(Path(__file__).resolve().parents[2]), "mode": "write"}}, "loads"),
        ):
            with self.subTest(folders):
                text = json.dumps({"server": {"folders": folders}})
                (home / "config.json").write_text(text)
                with self.assertRaises(ConfigError) as caught:
                    load(home, None, {}, {})
                self.assertIn(word, str(caught.exception))
                self.assertIn("folders", str(caught.exception))


class Use(Case):
    def test_a_folder_is_for_its_people_and_the_owner(self) -> None:
        notes: dict[str, Any] = {"path": str(self.base / "notes")}
        configured = {
            "all": notes,
            "bobs": {**notes, "people": ["bob"]},
            "own": {**notes, "people": []},
        }
        folders = Folders(configured, ("", "ann"))
        for person, names in (
            ("", ["all", "bobs", "own"]),
            ("ann", ["all", "bobs", "own"]),
            ("bob", ["all", "bobs"]),
            ("Bob", ["all"]),
        ):
            with self.subTest(person=person):
                self.assertEqual([each["name"] for each in folders.info(person)], names)
                for name in configured.keys() - set(names):
                    with self.assertRaises(Problem) as caught:
                        folders.find(name, person)
                    self.assertEqual(caught.exception.code, "folder_unknown")
                    self.assertTrue(caught.exception.detail.endswith(", ".join(names)))

    def test_a_name_that_no_key_has_is_said(self) -> None:
        notes: dict[str, Any] = {"path": str(self.base / "notes")}
        configured = {"a": {**notes, "people": ["bob", "bib", "ann"]}, "b": {**notes, "people": []}}
        folders = Folders(configured, ("", "ann"))
        said = "server.folders.a.people: no key is bib's; known: bob, eve"
        self.assertEqual(folders.problems({"bob", "eve"}), [said])
        self.assertEqual(Folders({"b": notes}).problems(()), [])

    def test_the_default_is_an_overlay(self) -> None:
        folders = Folders({"a": {"path": str(self.base / "notes")}})
        self.assertEqual(folders.find("a").mode, "overlay")

    def test_a_link_is_followed_once_and_said(self) -> None:
        configured = {"a": {"path": str(self.base / "link"), "mode": "write"}}
        with self.assertLogs("yaa.workspace", "INFO") as said:
            folders = Folders(configured)
        self.assertIn(str(self.base / "notes"), said.output[0])
        (self.base / "link").unlink()
        (self.base / "link").symlink_to("elsewhere")
        self.assertEqual(folders.find("a").path, self.base / "notes")

    def test_what_takes_its_place(self) -> None:
        folders = Folders({"a": {"path": str(self.base / "notes/inner"), "mode": "write"}})
        folders.find("a")
        (self.base / "notes").rename(self.base / "aside")
        for what, found in (
            ("nothing", False),
            ("a link", False),
            ("a file", False),
            ("a link above", False),
            ("a folder", True),
        ):
            with self.subTest(what):
                if what == "a link above":
                    (self.base / "notes").symlink_to("aside")
                elif what != "nothing":
                    (self.base / "notes").mkdir()
                    place = self.base / "notes" / "inner"
                    if what == "a link":
                        place.symlink_to(self.base / "elsewhere")
                    elif what == "a file":
                        place.touch()
                    else:
                        place.mkdir()
                if found:
                    self.assertEqual(folders.find("a").name, "a")
                else:
                    with self.assertRaises(Problem) as caught:
                        folders.find("a")
                    self.assertEqual(caught.exception.code, "folder_missing")
                    self.assertNotIn(str(self.base), caught.exception.detail)
                    self.assertIn(str(self.base), folders.problems(())[0])
                if (self.base / "notes").is_symlink():
                    (self.base / "notes").unlink()
                elif what != "nothing" and not found:
                    (self.base / "notes" / "inner").unlink()
                    (self.base / "notes").rmdir()

    def test_names(self) -> None:
        folders = Folders({"a": {"path": str(self.base / "notes")}})
        for name in ("b", "A", "a/", "../a", "a\0", "x" * 10_000, str(self.base / "notes")):
            with self.subTest(name[:20]), self.assertRaises(Problem) as caught:
                folders.find(name)
            self.assertEqual(caught.exception.code, "folder_unknown")
            self.assertLess(len(caught.exception.detail), 1000)

    def test_reading_needs_a_tier(self) -> None:
        folders = Folders({"a": {"path": str(self.base / "notes"), "mode": "read"}})
        for tier, available in (("A", True), ("B", True), ("C", False), ("none", False)):
            folders.tier = tier
            self.assertEqual(folders.info()[0]["available"], available)


if __name__ == "__main__":
    unittest.main()
