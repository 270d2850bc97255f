"""Many small stories of one kept session: killed at every write, two keepers, an editor outside.

What tells right from wrong knows only what was acknowledged: each word that a save or an event has
told, each content that another program wrote. All of it is in a file at the end, once.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.cli.session_files import as_text
from server.errors import Problem
from server.extensions.keeper.folder import Conflict, KeptFolder, Room
from server.session import events
from server.session.fold import fold

ROOM = Room(1_000, 1 << 30, 1 << 20)
STORIES = int(os.environ.get("YAA_KEEPER_STORIES", "60"))
# Calls that change a file, before each of which a process may be killed.
WRITES = {"write", "flush", "truncate", "replace", "rename", "unlink", "fsync", "open", "close"}


class Story:
    """One session, told by a seed. `acknowledged`: the words that must not be lost."""

    def __init__(self, home: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.folder = KeptFolder(home, "", ROOM)
        self.acknowledged: set[str] = set()
        self.theirs = ""  # what another program wrote last
        self.number, self.killed = 0, False

    def word(self, kind: str) -> str:
        self.number += 1
        return f"{kind}{self.number}"

    def files(self) -> dict[str, list[str]]:
        """The words of each session that is there, as it would be read."""
        found = {}
        for file in sorted(self.folder.path.glob("*.json")):
            messages: Any = self.folder.read(file.stem).session["messages"]
            found[file.stem] = " ".join(m["content"] for m in messages).split()
        return found

    def run_in_a_child_that_is_killed(self) -> None:
        """A run that saves each event; before some write of it, its process is killed."""
        at, words = self.random.randint(1, 120), [self.word("run") for _ in range(6)]
        reading, writing = os.pipe()
        if not (child := os.fork()):
            code = 1
            self.killed = True  # an editor that is killed in its middle is not our matter
            try:
                _kill_at(at)
                self._run(words, lambda word: os.write(writing, f"{word} ".encode()))
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        with os.fdopen(reading) as told:
            self.acknowledged |= {*told.read().split()}
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        assert code in (0, -signal.SIGKILL), code

    def run(self) -> None:
        self._run([self.word("run") for _ in range(3)], self.acknowledged.add)

    def _run(self, words: list[str], tell: Any) -> None:
        """A run of this folder: each word is told when it is safe."""
        with self.folder.lock("s") as kept:
            document: Any = kept.open() or {"id": "s", "messages": []}
            kept.save(document)
            for number, word in enumerate(words):
                if number % 3 == 0:
                    event = events.text_start(word, 1)
                    fold(document, event)
                    kept.save_event(event, document)
                event = events.text_delta(words[number - number % 3], f" {word}")
                fold(document, event)
                kept.save_event(event, document)
                assert not kept.failed, kept.failed
                tell(word)
                if self.random.random() < 0.1:
                    self.edit_outside()
            kept.save(document)

    def edit_outside(self) -> None:
        """Another program writes the file: in its place, or as a new one."""
        word = self.word("outside")
        file = self.folder.path / "s.json"
        data = as_text({"id": "s", "messages": [{"role": "user", "content": word}]})
        if self.random.random() < 0.5 or self.killed:
            draft = file.with_name(".swp")
            draft.write_bytes(data)
            draft.replace(file)
        else:
            file.write_bytes(data)
        self.acknowledged -= {self.theirs}  # its own work
        self.theirs = word

    def put(self) -> None:
        """Another device stores what it has, which may be old."""
        word = self.word("put")
        base, there = "", []
        if (self.folder.path / "s.json").exists():
            stored = self.folder.read("s")
            base, there = stored.revision, [*stored.session["messages"]]
            if self.random.random() < 0.4:
                base = "old"
        message: Any = {"role": "user", "content": word}
        try:
            self.folder.put("s", {"id": "s", "messages": [*there, message]}, base)
        except Conflict as conflict:
            assert word in self.files()[conflict.branch]
        self.acknowledged.add(word)

    def tell(self) -> None:
        deeds = [self.run, self.run_in_a_child_that_is_killed, self.edit_outside, self.put]
        self.put()
        for _ in range(self.random.randint(2, 6)):
            deed = self.random.choice(deeds)
            before = self.files().get("s", [])
            deed()
            if deed == self.edit_outside:  # who edits has read what was there
                self.acknowledged -= {*before} - {w for n, f in self.files().items() for w in f}
        for name in self.files():
            with self.folder.lock(name) as kept:
                kept.save(kept.open() or {"messages": []})


def _kill_at(number: int) -> None:
    left = number

    def look(frame: Any, event: str, called: Any) -> None:
        nonlocal left
        if event == "c_call" and getattr(called, "__name__", "") in WRITES:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(look)


class Stories(unittest.TestCase):
    def test_nothing_that_was_acknowledged_is_lost(self) -> None:
        killed = branches = 0
        for seed in range(STORIES):
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as home:
                story = Story(Path(home), seed)
                story.tell()
                files = story.files()
                everywhere = {word for words in files.values() for word in words}
                self.assertEqual(story.acknowledged - everywhere, set(), files)
                if story.theirs:
                    self.assertIn(story.theirs, everywhere)
                for name, words in files.items():
                    self.assertEqual(len(words), len({*words}), (name, words))
                self.assertEqual([*story.folder.path.glob(".*.journal")], [])
                branches += len(files) - 1
                killed += any(w.startswith("run") for w in everywhere)
        self.assertGreater(branches, STORIES // 10)

    def test_a_session_that_is_open_is_not_opened_again(self) -> None:
        with tempfile.TemporaryDirectory() as home:
            story = Story(Path(home), 1)
            story.put()
            with story.folder.lock("s"), self.assertRaises(Problem) as caught:
                story.run()
            self.assertEqual(caught.exception.code, "run_active")


if __name__ == "__main__":
    unittest.main()
