"""A storm of stories: kills, full disks, two keepers or devices, git, editors, a folder that goes.

Told by seed, so that each can be told again: `SEEDS=17 python3 -m unittest` of this module. What
tells right from wrong knows only what was acknowledged, as in test_stories.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
import unittest
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from server.cli.session_files import as_text
from server.errors import Problem
from server.extensions.keeper.driver import Keeper
from server.extensions.keeper.feed import Feed
from server.extensions.keeper.job import Job, Means
from server.extensions.keeper.marks import ENDED, Marks
from server.session import events
from server.session.fold import fold

from ...tooling import turns
from .test_stories import Story, _kill_at

STORIES, SHARES = 2_400, 40
SEEDS = [int(each) for each in os.environ.get("SEEDS", "").split()] or [*range(STORIES)]
ROOT_ONLY = os.geteuid() == 0 and sys.platform == "linux"
UNUSABLE = ("kept_unusable", "run_active")
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@a.example", "-c", "commit.gpgsign=false")


class FakeRun:
    """A run of an agent that says some words, and asks before some whether they are on the disk."""

    id = "r"

    def __init__(self, document: Any, words: list[str], between: Callable[[], None]) -> None:
        self.session, self._words, self._between = document, words, between
        self._keep: Callable[[Any], object] = lambda session: None

    def keep_before_calls(self, keep: Callable[[Any], object]) -> None:
        self._keep = keep

    async def events(self) -> AsyncIterator[Any]:
        for number, word in enumerate(self._words):
            message = self._words[number - number % 3]
            event = events.text_delta(message, f" {word}")
            for each in ([] if number % 3 else [events.text_start(message, 1)]) + [event]:
                fold(self.session, each)
                yield each
            if number % 4 == 3:
                await asyncio.sleep(0)
            if number % 5 == 4:
                try:
                    self._keep(self.session)
                except OSError as error:
                    yield {"type": "RUN_ERROR", "message": str(error), "code": "claim_failed"}
                    return
            self._between()
        end: Any = {"type": "RUN_FINISHED", "threadId": "s", "runId": "r"}
        yield end


class Storm(Story):
    """One session in a storm. `disk`: a small one that can be filled up."""

    def __init__(self, home: Path, seed: int, disk: Path | None = None) -> None:
        super().__init__(home, seed)
        self.disk, self.halves = disk, list[Callable[[], None]]()
        self.untold = 0  # words for which there was no room
        self.told: Callable[[str], object] = self.acknowledged.add

    # -- what another program does

    def document(self, word: str) -> bytes:
        return as_text({"id": "s", "messages": [{"role": "user", "content": word}]})

    def edit_outside(self) -> None:
        self.finish()
        deeds = [super().edit_outside, self.edit_in_halves, self.git_takes_an_older_one]
        self.random.choice(deeds[: 1 if self.killed else 3])()

    def edit_in_halves(self) -> None:
        """Another program writes in place, and is not done yet."""
        self.acknowledged -= {self.theirs}
        self.theirs = self.word("outside")
        data = self.document(self.theirs)
        half = self.random.randint(0, len(data))
        file = (self.folder.path / "s.json").open("wb", buffering=0)
        file.write(data[:half])

        def finish() -> None:
            file.write(data[half:])
            file.close()

        self.halves.append(finish)

    def finish(self) -> None:
        while self.halves:
            self.halves.pop()()

    def git(self, *command: str) -> bool:
        ended = subprocess.run(
            [*GIT, "-C", self.folder.path, *command], capture_output=True, check=False
        )
        return not ended.returncode

    def git_takes_an_older_one(self) -> None:
        """Git replaces the file by one of its past: what was in it goes with its will."""
        if (self.folder.path / ".git").exists():
            if self.git("checkout", "-q", f"HEAD~{self.random.randint(0, 2)}", "--", "s.json"):
                self.acknowledged -= {self.theirs}
                self.theirs = ""

    def git_commit(self) -> None:
        if not (self.folder.path / ".git").exists():
            self.git("init", "-q", "-b", "main")
            (self.folder.path / ".gitignore").write_text(".*\n")
        self.git("add", "s.json")
        self.git("commit", "-q", "-m", self.word("commit"))

    def git_merges(self) -> None:
        """A merge of another device's change: pulled as it is, or with marks of a conflict."""
        self.git_commit()
        before = (self.folder.path / "s.json").read_bytes()
        self.git("checkout", "-q", "-B", "theirs", "HEAD~1")
        if not (self.folder.path / "s.json").exists():
            (self.folder.path / "s.json").write_bytes(before)
        super().edit_outside()
        self.git_commit()
        self.git("checkout", "-q", "-f", "main")
        if self.git("merge", "-q", "theirs"):
            return
        text = (self.folder.path / "s.json").read_bytes()
        if b"<<<<<<<" in text:
            self.refused_while_unusable(text)
        word, self.theirs = self.theirs, ""
        if self.random.random() < 0.5:
            self.git("checkout", "-q", "--ours", "--", "s.json")
        else:
            self.git("checkout", "-q", "--theirs", "--", "s.json")
            self.theirs = word
        self.git_commit()

    def refused_while_unusable(self, text: bytes) -> None:
        """Nobody writes a file with marks of a conflict, whoever tries."""
        for deed in (self.run, self.put):
            try:
                deed()
            except Problem as problem:
                assert problem.code in UNUSABLE, problem.code
                continue
            raise AssertionError(f"{deed} went on")
        (row,) = (each for each in self.folder.page(500)[0] if each["id"] == "s")
        assert row["problem"], row
        assert (self.folder.path / "s.json").read_bytes() == text

    def folder_goes_and_returns(self) -> None:
        """A disk that is taken out while something runs, and put in again."""
        aside = self.folder.path.with_name("aside")
        there = True

        def go() -> None:
            nonlocal there
            if there and self.random.random() < 0.3:
                self.folder.path.rename(aside)
                there = False
            elif not there and self.random.random() < 0.5:
                aside.rename(self.folder.path)
                there = True

        try:
            self.speak(12, go, self.acknowledged.add)
        finally:
            if not there:
                aside.rename(self.folder.path)

    # -- what a keeper does

    def _run(self, words: list[str], tell: Any) -> None:
        if self.random.random() < 0.5:
            return super()._run(words, tell)
        return self.job(words, tell, self.now_and_then)

    def now_and_then(self) -> None:
        if self.random.random() < 0.1:
            self.edit_outside()

    def speak(self, count: int, between: Callable[[], None], tell: Any) -> None:
        """A run that goes on when it cannot write: what is told is on the disk."""
        words = [self.word("run") for _ in range(count)]
        waiting: list[str] = []
        with self.folder.lock("s") as kept:
            document: Any = kept.open() or {"id": "s", "messages": []}
            kept.begin(document) if kept.exists() else kept.save(document)
            for number, word in enumerate(words):
                if number % 3 == 0:
                    event = events.text_start(word, 1)
                    fold(document, event)
                    kept.save_event(event, document)
                event = events.text_delta(words[number - number % 3], f" {word}")
                fold(document, event)
                kept.save_event(event, document)
                waiting.append(word)
                if not kept.failed:
                    for each in waiting:
                        tell(each)
                    waiting.clear()
                between()
            kept.save(document)
            if not kept.failed:
                for each in waiting:
                    tell(each)

    def job(self, words: list[str], tell: Any, between: Callable[[], None]) -> None:
        """The same by what drives runs: told is what those who follow get."""
        deltas = {f" {word}": word for word in words}

        class Told(Feed):
            def push(self, *pushed: Any, event_id: str = "") -> None:
                super().push(*pushed, event_id=event_id)
                for event in pushed:
                    if word := deltas.get(event.get("delta", "")):
                        tell(word)

        async def main() -> None:
            told = Told()
            job = Job("", "s", told, lambda: self.means(words, between))
            job.moved = lambda branch: told
            if await job.open():
                await job.work()
            else:
                job.close()

        asyncio.run(main())

    def means(self, words: list[str], between: Callable[[], None]) -> Means:
        @asynccontextmanager
        async def begin(owner: str, document: Any, size: int, abort: Any) -> AsyncIterator[Any]:
            yield FakeRun(document, words, between)

        given: Any = begin
        home = self.folder.path.parent
        return Means(given, self.folder, Marks(home), Marks(home, ENDED), 1, 0.01)

    async def resume(self) -> None:
        """A process that goes on with what was cut."""
        keeper = Keeper(Marks(self.folder.path.parent), lambda owner: self.means([], lambda: None))
        await keeper.resume()
        while keeper.jobs:
            await asyncio.sleep(0)

    def in_a_child(self, work: Callable[[Callable[[str], None]], None]) -> Iterator[str]:
        """Yield each word that it tells; it may be killed meanwhile: `self.child`."""
        reading, writing = os.pipe()

        def tell(word: str) -> None:
            os.write(writing, f"{word} ".encode())

        if not (child := os.fork()):
            code = 1
            self.killed = True
            try:
                work(tell)
                code = 0
            except Problem as problem:
                code = 0 if problem.code in (*UNUSABLE, "disk_failed", "disk_full") else 1
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(writing)
        self.child = child
        with os.fdopen(reading, "rb", buffering=0) as told:
            while data := told.read(4096):
                yield from data.decode().split()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, -signal.SIGKILL), code

    def run_in_a_child_that_is_killed(self) -> None:
        at, words = self.random.randint(1, 150), [self.word("run") for _ in range(6)]

        def work(tell: Callable[[str], None]) -> None:
            _kill_at(at)
            self._run(words, tell)

        for word in self.in_a_child(work):
            self.acknowledged.add(word)

    def two_keepers(self) -> None:
        """Another process runs it; this one and a second device want to, too."""
        words = [self.word("run") for _ in range(8)]
        deeds: list[Callable[[], None]] = [self.run, self.put, self.look, self.kill]
        self.number += 100  # the child has numbers of its own
        for word in self.in_a_child(lambda tell: self._run(words, tell)):
            self.acknowledged.add(word)
            if self.random.random() < 0.4:
                try:
                    self.random.choice(deeds)()
                except Problem as problem:
                    assert problem.code in UNUSABLE, problem.code  # the editor is not done

    def kill(self) -> None:
        os.kill(self.child, signal.SIGKILL)

    def look(self) -> None:
        """A list has each session, whatever is being written."""
        ids = {row["id"] for row in self.folder.page(500)[0]}
        assert ids >= {"s"}, ids

    def full_disk(self) -> None:
        """No room for what comes; perhaps some again later."""
        count, size = 9, (self.folder.path / "s.json").stat().st_size
        room = self.random.choice([0, 500, *range(size + 200, size + 1_500, 100), 9_000])
        again, jobs = self.random.randint(3, 20), self.random.random() < 0.5
        filler = self.disk / "filler" if self.disk else None

        def work(tell: Callable[[str], None]) -> None:
            steps = 0

            def between() -> None:
                nonlocal steps
                steps += 1
                if steps == again:
                    if filler:
                        filler.unlink(missing_ok=True)
                    else:
                        resource.setrlimit(resource.RLIMIT_FSIZE, former)

            former = resource.getrlimit(resource.RLIMIT_FSIZE)
            if filler:
                _fill(filler, room)
            else:
                resource.setrlimit(resource.RLIMIT_FSIZE, (room, former[1]))
            if jobs:
                self.job([self.word("run") for _ in range(count)], tell, between)
            else:
                self.speak(count, between, tell)

        told = {*self.in_a_child(work)}
        self.acknowledged |= told
        self.untold += count - len(told)
        self.number += count
        if filler:
            filler.unlink(missing_ok=True)

    def all_deeds(self) -> list[Callable[[], None]]:
        deeds = [self.run, self.run_in_a_child_that_is_killed, self.put, self.two_keepers]
        deeds += [self.full_disk, self.folder_goes_and_returns, self.git_commit, self.git_merges]
        return [*deeds, self.edit_outside]

    def tell(self, deeds: Sequence[Callable[[], None]] = ()) -> None:
        self.put()
        deeds = deeds or self.all_deeds()
        for _ in range(self.random.randint(3, 8)):
            deed = self.random.choice(deeds)
            before = self.files().get("s", [])
            try:
                deed()
            except Problem as problem:
                assert problem.code in UNUSABLE, problem
            self.finish()
            if deed in (self.edit_outside, self.git_merges):  # who edits has read what was there
                self.acknowledged -= {*before} - {w for f in self.files().values() for w in f}
        asyncio.run(self.resume())
        for name in self.files():
            with self.folder.lock(name) as kept:
                kept.save(kept.open() or {"messages": []})


def _fill(filler: Path, room: int) -> None:
    """Leave so many bytes of a disk, about."""
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(b"\0" * 4096):
            pass
    size = max(0, filler.stat().st_size - room)
    os.truncate(filler, size)


class Storms(unittest.TestCase):
    def check(self, story: Storm) -> int:
        files = story.files()
        everywhere = {word for words in files.values() for word in words}
        self.assertEqual(story.acknowledged - everywhere, set(), files)
        if story.theirs:
            self.assertIn(story.theirs, everywhere)
        for name, words in files.items():
            self.assertEqual(len(words), len({*words}), (name, words))
            if name != "s":
                session: Any = json.loads((story.folder.path / f"{name}.json").read_text())
                origin = session["ext"]["forked_from"]
                self.assertIn(origin["session"], files, "a branch says of what it is one")
        self.assertEqual([*story.folder.path.glob(".*.journal")], [])
        marks = (story.folder.path.parent / ".running").glob("[!.]*")  # drafts of killed ones stay
        self.assertEqual([*marks], [])
        return len(files) - 1

    def test_nothing_is_lost_and_nothing_is_twice(self) -> None:
        branches, seeds = 0, turns.share(SEEDS, SHARES)
        for seed in seeds:
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as home:
                story = Storm(Path(home), seed)
                story.tell()
                branches += self.check(story)
        self.assertGreater(branches, len(seeds) // 3)

    @unittest.skipUnless(ROOT_ONLY, "needs root to mount a small disk")
    def test_on_a_disk_that_is_full(self) -> None:
        untold = 0
        for seed in turns.share(SEEDS, 4 * SHARES):
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", folder]
                if subprocess.run(mount, capture_output=True, check=False).returncode:
                    self.skipTest("may not mount a disk")
                try:
                    story = Storm(Path(folder), seed, Path(folder))
                    story.tell([story.full_disk, story.full_disk, story.put, story.run])
                    self.check(story)
                    untold += story.untold
                finally:
                    subprocess.run(["umount", "-l", folder], check=True)
        self.assertGreater(untold, 0, "it was full")


if __name__ == "__main__":
    unittest.main()
