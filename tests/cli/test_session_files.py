"""Sessions in files: journals, kills in the middle, full disks, names, two at once."""

from __future__ import annotations

import json
import resource
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.cli.session_files import (
    JsonSession,
    LockedSession,
    SessionManager,
    component_name,
    file_of,
    read,
)
from server.errors import Problem
from server.json_types import Session
from server.session import events
from server.session.fold import fold


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "s.json"
        self.now = 0.0

    def clock(self) -> float:
        """Each look takes a second: writing the whole file is dear."""
        self.now += 1
        return self.now

    def kept(self) -> LockedSession:
        kept = LockedSession(self.file, self.clock)
        self.addCleanup(kept.close)
        return kept

    def spoken(self, kept: LockedSession, session: Any, *words: str) -> None:
        started = events.run_started("s", {"id": "r"}, 1)
        for event in (
            started,
            events.text_start("m", 1),
            *(events.text_delta("m", w) for w in words),
        ):
            fold(session, event)
            kept.save_event(event, session)


class Killed(Case):
    def test_every_event_is_there_wherever_it_is_cut(self) -> None:
        kept, session = self.kept(), Session(id="s", messages=[])
        kept.save(session)
        self.spoken(kept, session, "你", "好", "!")
        self.assertEqual(read(self.file), session)
        self.assertEqual(json.loads(self.file.read_text())["messages"][:0], [])
        journal = self.folder / ".s.json.journal"
        whole = journal.read_bytes()
        self.assertIn("好", whole.decode())
        for cut in range(len(whole)):
            journal.write_bytes(whole[:cut])
            found = read(self.file)  # never broken, never more than was said
            text = "".join(message["content"] for message in found["messages"])
            self.assertTrue("你好!".startswith(text), text)

    def test_a_link_in_the_place_of_the_journal_is_not_written_through(self) -> None:
        """In a folder that others can write, somebody may have put it there."""
        victim = self.folder / "victim"
        victim.write_text("mine")
        (self.folder / ".s.json.journal").symlink_to(victim)
        with self.assertRaises(OSError):
            LockedSession(self.file)
        self.assertEqual(victim.read_text(), "mine")

    def test_a_journal_of_another_file_does_not_count(self) -> None:
        kept, session = self.kept(), Session(id="s", messages=[])
        kept.save(session)
        self.spoken(kept, session, "old")
        edited = {"id": "s", "messages": [{"role": "user", "content": "edited"}]}
        self.file.write_text(json.dumps(edited))
        self.assertEqual(read(self.file), edited)

    def test_an_unread_journal_stays(self) -> None:
        kept, session = self.kept(), Session(id="s", messages=[])
        kept.save(session)
        self.spoken(kept, session, "words")
        kept._journal.close()  # as a kill does
        with LockedSession(self.file) as again:
            self.assertEqual(again.load(), session)
        with LockedSession(self.file) as again:
            self.assertEqual(again.load(), session)
            again.save(session)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["s.json"])
        self.assertEqual(json.loads(self.file.read_text()), session)

    def test_a_full_disk(self) -> None:
        kept, session = self.kept(), Session(id="s", messages=[])
        kept.save(session)
        before = self.file.read_bytes()
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, hard))  # SIGXFSZ is ignored by Python
        try:
            kept.save({**session, "title": "x" * 10_000})
            self.assertEqual(kept.failed, "File too large")
            self.assertEqual(self.file.read_bytes(), before)
            kept.save_event(events.text_delta("m", "y" * 10_000), session)
            self.assertEqual(kept.failed, "File too large")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        self.spoken(kept, session, "again")
        self.assertEqual((kept.failed, read(self.file)["messages"][0]["id"]), ("", "m"))
        self.assertEqual([path.name for path in self.folder.glob(".s.json.*")], [".s.json.journal"])

    def test_two_at_once(self) -> None:
        kept = self.kept()
        with self.assertRaisesRegex(Problem, "another program has this session open"):
            LockedSession(self.file)
        kept.close()
        kept.close()
        LockedSession(self.file).close()

    def test_a_long_answer_is_not_written_whole_for_each_word(self) -> None:
        kept, session = self.kept(), Session(id="s", messages=[])
        kept.save(session)
        before = self.file.stat().st_ino
        self.spoken(kept, session, *["word "] * 50)
        self.assertEqual(self.file.stat().st_ino, before)
        self.assertEqual(read(self.file)["messages"][0]["content"], "word " * 50)


class Store(Case):
    def test_any_text_is_an_id(self) -> None:
        store = JsonSession(self.folder / "store")
        names = ("a", "../up", "..", ".hidden", "会话 1", "a/b", "a%2Fb", "nul\0", "\ud800x", " ")
        for name in names:
            store.save_session_state(name, {"id": name.encode("utf-8", "replace").decode()})
        files = {path.name for path in (self.folder / "store").iterdir()}
        self.assertEqual(len(files), len(names))
        self.assertFalse([name for name in files if name.startswith(".")])
        self.assertEqual([path.name for path in self.folder.iterdir()], ["store"])
        known = {name.encode("utf-8", "replace").decode() for name in names}
        self.assertEqual(set(store.list_sessions()), known)
        for name in ("", "x" * 300):
            with self.assertRaisesRegex(Problem, "no id"):
                store.session_exists(name)

    def test_what_is_not_there_or_broken(self) -> None:
        store = JsonSession(self.folder / "none")
        self.assertEqual((store.list_sessions(), store.session_exists("a")), ([], False))
        self.assertFalse(store.delete_session("a"))
        with self.assertRaisesRegex(Problem, "No such file"):
            store.load_session_state("a")
        self.file.write_text("{")
        with self.assertRaisesRegex(Problem, r"s\.json:1:2: "):
            JsonSession(self.folder).load_session_state("s")
        with self.assertRaises(Problem):
            JsonSession(self.file).save_session_state("a", {})

    def test_one_that_is_open_is_not_deleted(self) -> None:
        store = JsonSession(self.folder)
        store.save_session_state("s", {"messages": []})
        with store.open_locked("s"), self.assertRaises(Problem):
            store.delete_session("s")
        self.assertTrue(store.session_exists("s"))

    def test_names_of_components(self) -> None:
        class AutoContextMemory:
            component_name = " "

        self.assertEqual(component_name(AutoContextMemory()), "autoContextMemory")
        AutoContextMemory.component_name = "memory"
        self.assertEqual(component_name(AutoContextMemory()), "memory")
        manager = SessionManager.for_session_id("s")
        with self.assertRaises(TypeError):
            manager.add_component(5)
        with self.assertRaisesRegex(TypeError, "no store"):
            manager.session_exists()

    def test_only_files_are_written(self) -> None:
        for name in ("/dev/null", self.folder, "~nobody-at-all/x", "a\0b"):
            with self.subTest(name), self.assertRaises(OSError):
                file_of(name)


if __name__ == "__main__":
    unittest.main()
