"""What kept sessions cost: lists of many, a start beside many, and what a run writes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from server.cli.session_files import as_text, journal_of
from server.extensions.keeper.folder import KeptFolder
from server.extensions.keeper.kept_file import BEHIND
from server.session import events
from server.session.fold import fold

from ...bench.measures import LINUX
from ...tooling import tools, turns
from ...tooling.api import Api
from ...tooling.child import Yaa
from .bench import ROOM, fill

MANY = 5_000
_watched: list[tuple[str, list[str]]] = []  # folder, and what was opened below it


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if _watched and event == "open" and str(arguments[0]).startswith(_watched[-1][0]):
        _watched[-1][1].append(Path(str(arguments[0])).name)


@contextmanager
def opened_below(folder: Path) -> Iterator[list[str]]:
    """The names of the files below a folder that this process opens."""
    if not _watched:
        sys.addaudithook(_note)
    names: list[str] = []
    _watched.append((f"{folder}/", names))
    yield names
    _watched.append(("nowhere", []))


class Cost(unittest.TestCase):
    def setUp(self) -> None:
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory())) / "home"
        self.home.mkdir()

    def test_the_first_page_of_a_process_opens_no_session(self) -> None:
        fill(self.home, MANY, 200)
        path = KeptFolder(self.home, "", ROOM).path
        before = ""
        while True:  # as somebody has looked at all of them once
            _, before = KeptFolder(self.home, "", ROOM).page(500, before)
            if not before:
                break
        self.assertEqual(len((path / ".index").read_bytes().splitlines()), MANY)
        with opened_below(path) as names:
            found, _ = KeptFolder(self.home, "", ROOM).page(50)
        self.assertEqual((len(found), {*names} - {".index"}), (50, set()))
        (path / ".index").unlink()
        with opened_below(path) as names:
            KeptFolder(self.home, "", ROOM).page(50)
        self.assertGreaterEqual(len(names), 50)

    def test_a_list_forgets_what_was_deleted(self) -> None:
        folder = KeptFolder(self.home, "", ROOM)
        for number in range(300):
            folder.put(f"s{number}", {"id": f"s{number}", "messages": []}, "")
            folder.page(50)
            if number:
                folder.delete(f"s{number - 1}")
        folder.put("last", {"id": "last", "messages": []}, "")
        folder.page(50)
        self.assertLess(len((folder.path / ".index").read_bytes().splitlines()), 150)

    def test_a_start_and_health_look_at_no_session(self) -> None:
        fill(self.home, 30, 200)
        heard = self.home.parent / "heard"
        command = [sys.executable, "-m", "tests.chaos.listing_server", str(heard)]
        with Yaa({"server": {"discover": False}}, home=self.home, command=command) as yaa:
            api = Api(yaa.url, yaa.key)
            self.assertEqual(api.request("GET", "/health")[0], 200)
            lines = heard.read_text().splitlines()
            self.assertIn(str(self.home / "keeper" / ".running"), lines, "it is heard")
            self.assertEqual([each for each in lines if "@home" in each], [])
            rows = api.request("GET", "/keeper/sessions")[1]["sessions"]
            self.assertEqual(len(rows), 30)
            self.assertIn("@home", heard.read_text(), "a list is heard, too")

    @unittest.skipUnless(LINUX, "processor time is read from /proc, as Linux has it")
    def test_the_bench_runs(self) -> None:
        """It is tiny here, and no time is judged. `soak` plays all of it."""
        if not turns.plays(self.id(), 4):
            self.skipTest(turns.ELSEWHEN)
        options = "--sessions 20 --rounds 1 --many 2 --seconds 0.1 --tokens 2 --turns 1".split()
        command = [sys.executable, "-m", "tests.extensions.keeper.bench", *options]
        ended = subprocess.run(command, cwd=tools.ROOT, capture_output=True, text=True, check=False)
        rows = re.findall(r"^(.+?) +([\d.]+)(?:  ≤ .*)?$", ended.stdout, re.M)
        self.assertEqual(len(rows), 18, ended.stdout + ended.stderr)
        self.assertRegex(ended.stderr, r"\A(missed: .+\n)?\Z")


class Writes(unittest.TestCase):
    def setUp(self) -> None:
        home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.folder = KeptFolder(home, "", ROOM)
        content: Any = {"role": "user", "content": "x" * 5_000}
        self.folder.put("s", {"id": "s", "messages": [content]}, "")
        self.file = self.folder.path / "s.json"

    def test_a_run_writes_the_file_when_there_are_more_events_than_it_has(self) -> None:
        """A file is indented JSON: to write all of it for each event costs more than the run."""
        saved, sizes = 0, [0]
        with self.folder.lock("s") as kept:
            document: Any = kept.open()
            before = self.file.stat().st_ino
            kept.begin(document)
            self.assertEqual(self.file.stat().st_ino, before, "a run begins without writing it")
            for number in range(400):
                event = events.text_start(f"m{number}" + "x" * 500, 1)
                fold(document, event)
                kept.save_event(event, document)
                inode = self.file.stat().st_ino
                saved, before = saved + (inode != before), inode
                sizes.append(len(journal_of(self.file).read_bytes()))
                stored = self.folder.read("s")
                self.assertEqual(len(stored.session["messages"]), number + 2, "each is there")
            self.assertLess(max(sizes), 2 * self.file.stat().st_size + BEHIND + 10_000)
        self.assertIn(saved, range(1, 5))

    def test_what_a_killed_process_left_is_written_before_the_next_run(self) -> None:
        with self.folder.lock("s") as kept:
            document: Any = kept.open()
            kept.begin(document)
            event = events.text_start("m1", 1)
            fold(document, event)
            kept.append(event)
            left = journal_of(self.file).read_bytes()
        journal_of(self.file).write_bytes(left)
        with self.folder.lock("s") as kept:
            document = kept.open()
            kept.begin(document)
            self.assertEqual(len(json.loads(self.file.read_text())["messages"]), 2)

    def test_what_an_editor_wrote_before_the_run_began_stays(self) -> None:
        with self.folder.lock("s") as kept:
            document: Any = kept.open()
            self.file.write_bytes(as_text({"id": "s", "messages": []}))
            kept.begin(document)
            self.assertEqual((kept.id, kept.failed), ("s-2", ""))
        self.assertEqual(json.loads(self.file.read_text())["messages"], [])
        self.assertEqual(len(self.folder.read("s-2").session["messages"]), 1)


if __name__ == "__main__":
    unittest.main()
