"""The folder of kept sessions: cut journals, other programs' changes, limits, names, lists."""

from __future__ import annotations

import json
import os
import resource
import tempfile
import unittest
from pathlib import Path
from typing import Any, cast

from server.cli.session_files import as_text, digest_of, journal_of, write_whole
from server.errors import Problem
from server.extensions.keeper.folder import Conflict, KeptFolder, Room, folder_name
from server.extensions.keeper.kept_file import KeptFile, read_stored
from server.session import events
from server.session.fold import fold

MOST = 1 << 20
ROOM = Room(20, 4 * MOST, MOST)


def session(*words: str, **more: Any) -> Any:
    return {"id": "s", "messages": [{"role": "user", "content": each} for each in words], **more}


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.folder = self.of("")

    def of(self, owner: str, room: Room = ROOM) -> KeptFolder:
        return KeptFolder(self.home, owner, room)

    def speak(self, kept: KeptFile, document: Any, *words: str) -> None:
        """Fold a message as it is written, saved after each event."""
        number = len(document["messages"])
        for event in (
            events.text_start(f"m{number}", 1),
            *(events.text_delta(f"m{number}", each) for each in words),
        ):
            fold(document, event)
            kept.append(event)

    def words(self, session_id: str = "s") -> str:
        messages: Any = self.folder.read(session_id).session["messages"]
        return " ".join(each["content"] for each in messages)

    def refused(self, code: str, work: Any, *given: Any) -> Problem:
        with self.assertRaises(Problem) as caught:
            work(*given)
        self.assertEqual(caught.exception.code, code)
        return caught.exception


class Journals(Case):
    def test_nothing_follows_a_gap_and_a_save_has_all(self) -> None:
        document = session("one")
        with self.folder.lock("s") as kept:
            kept.save(document)
            self.speak(kept, document, "two")
            kept.failed = "No space left on device"
            self.speak(kept, document, "lost")
            self.assertEqual(self.words(), "one two")
            kept.save(document)
            self.assertEqual(kept.failed, "")
            self.speak(kept, document, "three")
            self.assertEqual(self.words(), " ".join(m["content"] for m in document["messages"]))

    def test_an_end_writes_what_was_added(self) -> None:
        with self.folder.lock("s") as kept:
            kept.save(session("one"))
            kept.add(events.text_start("m", 1))
            kept.add(events.text_delta("m", "two"))
            self.assertEqual(self.words(), "one")
        self.assertEqual(self.words(), "one two")

    def test_every_event_is_there_wherever_the_journal_is_cut(self) -> None:
        kept, document = self.folder.open("s"), session("one")
        self.addCleanup(kept.close)
        kept.save(document)
        file = kept.file
        begun = len(journal_of(file).read_bytes())
        states = {begun: "one"}
        for word in ("你", "好", "!"):
            event = events.text_start(word, 1) if word == "你" else None
            for each in ([event] if event else []) + [events.text_delta("你", word)]:
                kept.append(each)
                fold(document, each)
                told = " ".join(str(m.get("content")) for m in document["messages"])
                states[len(journal_of(file).read_bytes())] = told
        whole = journal_of(file).read_bytes()
        revisions = set()
        for cut in range(len(whole) + 1):
            journal_of(file).write_bytes(whole[:cut])
            stored = read_stored(file, MOST)
            text = " ".join(str(m.get("content")) for m in stored.session["messages"])
            at = max((each for each in states if each <= cut), default=begun)
            self.assertEqual(text, states[at], cut)
            self.assertIsNone(stored.unsaved)
            revisions.add(stored.revision)
        self.assertEqual(len(revisions), len(states))

    def test_a_file_that_another_program_wrote_stays_and_ours_is_a_branch(self) -> None:
        for live in (True, False):
            with self.subTest(live=live):
                kept, document = self.folder.open("s"), session("one")
                kept.save(document)
                self.speak(kept, document, "ours")
                kept.file.write_bytes(as_text(session("theirs")))
                if live:
                    kept.save(document)
                    self.assertEqual((kept.id, kept.origin), ("s-2", "s"))
                kept.close()
                with self.folder.lock("s") as again:
                    again.open()
                self.assertEqual(self.words("s"), "theirs")
                self.assertEqual(self.words("s-2"), "one ours")
                branch: Any = self.folder.read("s-2").session
                self.assertEqual(branch["id"], "s-2")
                self.assertEqual(branch["ext"]["forked_from"]["session"], "s")
                self.assertEqual(len([*self.folder.path.glob("*.json")]), 2)
                self.assertEqual([*self.folder.path.glob(".*.journal")], [])
                for each in ("s", "s-2"):
                    self.folder.delete(each)

    def test_a_branch_goes_on_in_its_own_file(self) -> None:
        with self.folder.lock("s") as kept:
            document = session("one")
            kept.save(document)
            kept.file.write_bytes(as_text(session("theirs")))
            self.speak(kept, document, "two")
            kept.save(document)
            self.speak(kept, document, "three")
            self.assertEqual(self.words("s-2"), "one two three")
            self.refused("run_active", self.folder.open, "s-2")
            with self.folder.lock("s") as other:
                self.assertTrue(other.exists())
            kept.save(document)
        self.assertEqual(self.words("s-2"), "one two three")

    def test_what_an_editor_wrote_between_two_runs_is_no_conflict(self) -> None:
        self.folder.put("s", session("one"), "")
        (self.folder.path / "s.json").write_bytes(as_text(session("edited")))
        with self.folder.lock("s") as kept:
            document: Any = kept.open()
            self.speak(kept, document, "more")
            kept.save(document)
        self.assertEqual(self.words(), "edited more")
        self.assertEqual(len([*self.folder.path.glob("*.json")]), 1)

    def test_the_events_of_a_file_that_was_removed_are_kept(self) -> None:
        kept, document = self.folder.open("s"), session("one")
        kept.save(document)
        self.speak(kept, document, "ours")
        kept.file.unlink()
        kept.close()
        self.folder.put("s", session("new"), "")
        self.assertEqual((self.words("s"), self.words("s-2")), ("new", "one ours"))

    def test_without_room_on_the_disk_the_file_stays_whole(self) -> None:
        with self.folder.lock("s") as kept:
            kept.save(session("one"))
            limits = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, limits[1]))
            try:
                kept.save(session("x" * 10_000))
                self.assertNotEqual(kept.failed, "")
                self.assertEqual(self.words(), "one")
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            kept.save(session("two"))
            self.assertEqual(kept.failed, "")
        self.assertEqual(self.words(), "two")


class Stored(Case):
    def test_a_change_needs_the_revision_that_it_was_made_from(self) -> None:
        first = self.folder.put("s", session("one"), "")
        self.assertEqual(first, self.folder.read("s").revision)
        self.assertEqual(first, digest_of(as_text(session("one")))[:32])
        second = self.folder.put("s", session("one", "two"), first)
        self.assertEqual(
            self.folder.put("s", session("one", "two"), first), second, "it came twice"
        )
        for base in (first, ""):
            with self.assertRaises(Conflict) as caught:
                self.folder.put("s", session("one", "other"), base)
            self.assertEqual(caught.exception.revision, second)
        self.assertEqual(self.words(), "one two")
        self.assertEqual((self.words("s-2"), self.words("s-3")), ("one other", "one other"))
        with self.assertRaises(Conflict) as caught:
            self.folder.put("s", session("one", "other"), first)
        self.assertEqual(caught.exception.branch, "s-2", "the same change again is the same branch")

    def test_one_that_is_open_elsewhere_becomes_a_branch(self) -> None:
        revision = self.folder.put("s", session("one"), "")
        with self.folder.lock("s"), self.assertRaises(Conflict):
            self.of("").put("s", session("two"), revision)
        self.assertEqual((self.words(), self.words("s-2")), ("one", "two"))

    def test_what_is_no_session_is_listed_with_the_reason_and_not_touched(self) -> None:
        self.folder.put("good", session("one"), "")
        path = self.folder.path
        secret = self.home / "secret.json"
        secret.write_bytes(as_text(session("secret")))
        (path / "link.json").symlink_to(secret)
        (path / "half.json").write_bytes(b'{"messages": [')
        (path / "list.json").write_bytes(b"[]")
        (path / "large.json").write_bytes(b" " * (MOST + 1))
        (path / "folder.json").mkdir()
        os.mkfifo(path / "pipe.json")
        rows = {each["id"]: each for each in self.folder.page(50)[0]}
        told = {name: row.get("problem", "") for name, row in rows.items()}
        for name, said in {
            "good": "",
            "link": "link",
            "half": "not valid JSON",
            "list": "no session",
            "large": "session_mb",
            "folder": "no file",
            "pipe": "no file",
        }.items():
            self.assertIn(said, told[name], name)
            if said:
                self.refused("kept_unusable", self.folder.read, name)
                self.refused("kept_unusable", self.folder.put, name, session("mine"), "")
        self.assertEqual((path / "half.json").read_bytes(), b'{"messages": [')
        self.assertIn("secret", secret.read_text())

    def test_there_is_an_end_to_what_may_be_kept(self) -> None:
        small = self.of("", Room(2, 3_000, 2_000))
        self.assertIn(
            "session_mb",
            self.refused("body_too_large", small.put, "s", session("x" * 2_000), "").detail,
        )
        small.put("a", session("x" * 1_000), "")
        small.put("b", session("x" * 1_000), "")
        self.assertIn(
            "keeper.sessions", self.refused("keeper_full", small.put, "c", session(), "").detail
        )
        small.delete("b")
        self.assertIn(
            "total_mb", self.refused("keeper_full", small.put, "c", session("x" * 1_900), "").detail
        )

    def test_people_have_folders_of_their_own(self) -> None:
        names = ["", "@home", "home", "..", ".", "a/b", "é", "A", "x" * 500, "x" * 501, "%40home"]
        folders = [folder_name(each) for each in names]
        self.assertEqual(len({*folders}), len(names))
        for each in folders:
            self.assertNotIn("/", each)
            self.assertFalse(each.startswith("."), each)
            self.assertLess(len(each), 256)
        for name in ("a", "b"):
            self.of(name).put("s", session(name), "")
        self.assertEqual(self.of("a").read("s").session["messages"], session("a")["messages"])
        self.refused("not_found", self.folder.read, "s")
        self.refused("not_found", self.folder.delete, "s")

    def test_what_a_kill_left_of_a_write_goes_with_the_next_list(self) -> None:
        self.folder.put("s", session("one"), "")
        with self.assertRaises(TypeError):  # as little is cleared up after it as after a kill
            write_whole(self.folder.path / "s.json", cast(Any, 3))
        (draft,) = self.folder.path.glob(".s.json.*")
        self.folder.page(1)
        self.assertTrue(draft.exists(), "it may be another process's that writes it")
        os.utime(draft, (0, 0))
        self.folder.page(1)
        self.assertFalse(draft.exists())
        self.assertEqual(len(self.folder.page(9)[0]), 1)

    def test_until_something_is_kept_nothing_is_made(self) -> None:
        self.assertEqual(self.folder.page(10), ([], ""))
        self.refused("not_found", self.folder.read, "s")
        self.assertEqual([*self.home.iterdir()], [])


class Lists(Case):
    def test_page_by_page_the_last_changed_first(self) -> None:
        for number in range(5):
            self.folder.put(f"s{number}", session(f"say {number}", status="completed"), "")
            os.utime(self.folder.path / f"s{number}.json", ns=(number, 1_000_000 * (number // 2)))
        ids: list[str] = []
        before = ""
        while True:
            rows, before = self.folder.page(2, before)
            ids += [each["id"] for each in rows]
            if not before:
                break
        self.assertEqual(ids, ["s4", "s3", "s2", "s1", "s0"])
        stored = self.folder.read("s4")
        self.assertEqual(
            self.folder.page(1)[0],
            [
                {
                    "id": "s4",
                    "title": "say 4",
                    "status": "completed",
                    "messages": 1,
                    "bytes": stored.size,
                    "changed": 2,
                    "revision": stored.revision,
                    "waiting": 0,
                    "queued": 0,
                }
            ],
        )

    def test_the_index_is_believed_only_for_the_file_that_it_was_made_of(self) -> None:
        self.folder.put("s", session("one"), "")
        self.assertEqual(self.folder.page(1)[0][0]["title"], "one")
        index = self.folder.path / ".index"
        for content in (index.read_bytes().replace(b'"one"', b'"index"'), b"", b"[1]\n{", b"\xff"):
            index.write_bytes(content)
            title = self.of("").page(1)[0][0]["title"]
            self.assertEqual(title, "index" if b"index" in content else "one")
        (self.folder.path / "s.json").write_bytes(as_text(session("two")))
        self.assertEqual(self.folder.page(1)[0][0]["title"], "two")
        for number in range(300):
            self.folder.put("s", session(f"{number}"), self.folder.read("s").revision)
            self.folder.page(1)
        self.assertLess(len(index.read_bytes().splitlines()), 150)

    def test_open_questions_are_counted(self) -> None:
        asked: Any = [{"id": "a", "reason": "tool_call"}, {"id": "b", "answer": {}}, 3]
        self.folder.put("s", session(interrupts=asked), "")
        self.assertEqual(self.folder.page(1)[0][0]["waiting"], 1)
        self.assertEqual(json.loads((self.folder.path / "s.json").read_text())["interrupts"], asked)


if __name__ == "__main__":
    unittest.main()
