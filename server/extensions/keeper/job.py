"""One kept session that is to run: runs of it, one after the other, until nothing is left to do.

Each event of a run is in the session's journal before it is told to anybody, and before a call
starts. While nobody follows, text waits a moment for more of it, as each write costs. A run that is
cut begins again with what is there; that no call runs twice is the server's work, as for every
client that comes back.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from typing import Any, NamedTuple

from ...agent.loop import STOP_REASONS, Run, new_id, now_ms
from ...errors import Problem
from ...json_types import Event, Json, Session
from ...lib.runtime.offload import LARGE, offload
from ...session import events
from ...session.fold import DELTAS, fold
from ...telemetry import log
from .feed import Feed
from .folder import KeptFolder, problems
from .kept_file import KeptFile
from .marks import Mark, Marks
from .remote import RemoteRun

LONGEST_PAUSE_S = 600.0
TEXT_WAIT_S = 0.5
PASSING = ("busy", "overloaded", "rate_limited", "run_active")  # refusals that pass by themselves
PROGRESS = ("TEXT_MESSAGE_END", "TOOL_CALL_RESULT")
GAVE_UP = "keeper_gave_up"

logger = log.get("keeper")


DrivenRun = Run | RemoteRun
Abort = Callable[[], object]
# (owner, document, its size, what ends the run) -> what prepares the run; raises Problem.
Begin = Callable[[str, dict[str, Any], int, Abort], AbstractAsyncContextManager[DrivenRun]]


class Means(NamedTuple):
    """With what a job works.

    marks    of the sessions that are to run
    ended    of those that have run, and of which nobody was told yet
    pause_s  after the first failure; doubled after each further one
    """

    begin: Begin
    folder: KeptFolder
    marks: Marks
    ended: Marks
    attempts: int
    pause_s: float


class Outcome(NamedTuple):
    """How a run ended that is to be repeated. `counts`: as one of the attempts."""

    why: str
    counts: bool = True
    wait_s: float = 0.0


class Job:
    """A session that runs. `means`: () -> with what, as it is now. Call `open`, then `work`.

    failures  runs that were begun since it last got anywhere
    alone     nobody has asked for the run, who would be answered: a refusal is said in the session
    begun     is set when its first run has begun, or could not
    """

    def __init__(
        self,
        owner: str,
        session_id: str,
        feed: Feed,
        means: Callable[[], Means],
        failures: int = 0,
        *,
        alone: bool = False,
    ) -> None:
        self.owner, self.id, self.feed, self._means = owner, session_id, feed, means
        self.failures, self._alone = failures, alone
        self.run: DrivenRun | None = None
        self.run_session = session_id  # under which the server knows its run
        self.moved: Callable[[str], Feed] = lambda session_id: feed  # it became a branch
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.stopped, self.ended = asyncio.Event(), asyncio.Event()  # by a person; altogether
        self.server_stops = False
        self._kept: KeptFile | None = None
        self._opened: Session | None = None  # what `open` has found, until a run has it
        self._task: asyncio.Task[Any] | None = None
        self._last: Event | None = None  # of the run, if it is a terminal one
        self._marked: Mark | None = None
        self._untold: list[Event] = []  # added to the journal since it was written

    async def open(self) -> bool:
        """Lock the session and note that it is to run. Raises Problem.

        Return False if a run would do nothing; then `close` is called in place of `work`.
        """
        self._opened = await offload(LARGE, self._open, self._means())
        if self._opened is not None:
            assert self._kept is not None
            if self._kept.id != self.id:  # another program wrote it in this moment
                self._move(self._kept.id)
            self.feed.mark(self._kept.place)
            self.feed.tell_state(running=True)
        return self._opened is not None

    def _open(self, means: Means) -> Session | None:
        """Open the session, None if a run would do nothing. Raises Problem."""
        kept = self._kept = means.folder.open(self.id)
        try:
            with problems(self.id):
                if (session := kept.open()) is None:
                    raise FileNotFoundError
                if not needs_run(session):
                    return None
                kept.begin(session)
                self._mark(means)
        except BaseException:
            kept.close()
            raise
        return session

    def _mark(self, means: Means) -> None:
        """Note on the disk that it is to run, unless that is noted. Raises OSError."""
        mark = Mark(self.owner, self.id, self.failures)
        if mark != self._marked:
            means.marks.set(mark)
            self._marked = mark

    def close(self) -> None:
        """End a job that has nothing to do."""
        self._end(leaves_mark=False, has_run=False)

    async def work(self) -> None:
        """Run the session until it has ended, waits for an answer, is stopped or given up."""
        self._task = asyncio.current_task()
        leaves_mark = True
        outcome: Outcome | None = None
        try:
            while self.failures <= self._means().attempts:
                if outcome is not None and not await self._pause(outcome):
                    break
                outcome = None if self.server_stops else await self._run_once()
                if self.server_stops:
                    return
                if outcome is None or self.stopped.is_set():
                    break
                self.failures += outcome.counts
            else:
                reason = outcome.why if outcome else "The server ended before it got anywhere"
                await self._say(f"It was tried {self.failures} times. {reason}", GAVE_UP)
            leaves_mark = False
        except (Problem, OSError) as problem:  # the disk, for instance: the mark stays
            logger.warning("kept session %s: %s", self.id, problem)
        finally:
            self._end(leaves_mark)

    def _end(self, leaves_mark: bool, has_run: bool = True) -> None:
        kept = self._kept
        assert kept is not None
        if not leaves_mark and not kept.failed:
            means = self._means()
            with suppress(OSError):
                if has_run and not self.stopped.is_set():
                    means.marks.move(self.owner, self.id, means.ended)
                else:
                    means.marks.remove(self.owner, self.id)
        kept.close()
        self.feed.tell_state(kept.revision, running=False)
        self.ended.set()
        if not self.begun.done():
            self.begun.set_result(None)

    async def _pause(self, outcome: Outcome) -> bool:
        """Wait before the next run. Return False if it was stopped meanwhile."""
        means = self._means()
        growing = means.pause_s * 2.0 ** max(0, self.failures - 1)
        pause_s = min(outcome.wait_s or growing, LONGEST_PAUSE_S)
        logger.info("kept session %s: again in %.1f s: %s", self.id, pause_s, outcome.why)
        if not self.begun.done():
            self.begun.set_result(None)
        self.feed.tell_state(running=True, attempts=self.failures, pause_s=pause_s)
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self.stopped.wait()
        # Another process may have been asked to stop it.
        stopped = self.stopped.is_set() and not self.server_stops
        return not stopped and means.marks.has(self.owner, self.id)

    async def _run_once(self) -> Outcome | None:
        """Run what is on the disk. Return why it is to be repeated, None if it is not."""
        means, kept = self._means(), self._kept
        assert kept is not None
        session, self._opened = self._opened, None
        if session is None:
            session = (await asyncio.to_thread(means.folder.read, self.id)).session
        document: Any = {**session, "id": self.id}
        self._mark(means)
        self._last, self.run_session = None, self.id
        try:
            async with means.begin(self.owner, document, kept.size, self._abort) as run:
                self.run = run
                run.keep_before_calls(self._check_disk)
                if not self.begun.done():
                    self.begun.set_result(None)
                if self.stopped.is_set():  # while it was prepared, and nobody knew it
                    run.stop("stopped")
                async with aclosing(run.events()) as source:
                    await self._follow(source, run.session)
                    await self._save(run.session)
        except Problem as problem:
            return await self._refuse(problem)
        finally:
            self.run = None
        return self._outcome()

    async def _follow(self, source: AsyncGenerator[Event, None], session: Session) -> None:
        loop = asyncio.get_running_loop()
        async for event in source:
            kept = self._kept
            assert kept is not None
            kind = event["type"]
            if self.failures and kind in PROGRESS:
                self.failures = 0
                with suppress(OSError):
                    self._mark(self._means())
            self._last = event if kind in ("RUN_FINISHED", "RUN_ERROR") else None
            kept.add(event)
            is_text = kind in DELTAS
            if not is_text or self.feed.followed:
                loop.call_soon(self._tell)
            elif not self._untold:
                loop.call_later(TEXT_WAIT_S, self._tell)
            self._untold.append(event)
            if not is_text and self._last is None and kept.needs_save(event):
                await self._save(session)

    def _tell(self) -> None:
        """Tell the events that came since, once they are on the disk: those of a turn at once."""
        kept = self._kept
        if kept is None or not self._untold:
            return
        kept.flush()
        if not kept.failed:
            self.feed.push(*self._untold)
            self.feed.mark(kept.place)
            self._untold.clear()

    async def _save(self, session: Session) -> None:
        kept = self._kept
        assert kept is not None
        self._tell()
        await asyncio.to_thread(kept.save, session)
        if kept.id != self.id:
            self._move(kept.id)
        self._tell()
        self.feed.mark(kept.place)

    def _move(self, branch: str) -> None:
        """Go on as a branch: another program has changed the session."""
        marks = self._means().marks
        logger.warning("kept session %s was changed by another program: %s", self.id, branch)
        marks.set(Mark(self.owner, branch, self.failures))
        self._marked = None
        marks.remove(self.owner, self.id)
        self.feed.tell_state(running=False, branch=branch)
        self.feed.change()
        self.feed = self.moved(branch)
        self.id = branch
        self.feed.tell_state(running=True)

    def _check_disk(self, session: Session) -> None:
        """Raise OSError if what came last could not be written."""
        self._tell()
        if self._kept is not None and self._kept.failed:
            raise OSError(errno.EIO, self._kept.failed)

    def _abort(self) -> None:
        """End the job: the person has no key here any more."""
        self.stopped.set()
        if self._task is not None:
            self._task.cancel()

    async def _refuse(self, problem: Problem) -> Outcome | None:
        """Return why a run is to be repeated that could not begin, None if it is not."""
        if problem.code in PASSING:
            after = problem.headers.get("Retry-After", "")
            wait_s = float(after) if after.isdigit() else self._means().pause_s
            return Outcome(problem.detail, counts=False, wait_s=max(1.0, wait_s))
        if problem.status >= 500:
            return Outcome(problem.detail)
        if self.begun.done() or self._alone:
            await self._say(problem.detail, problem.code)
        if not self.begun.done():
            self.begun.set_exception(problem)
        return None

    async def _say(self, text: str, code: str) -> None:
        """Add an error to the session, as a run does that fails."""
        stored = await asyncio.to_thread(self._means().folder.read, self.id)
        ids = {"message_id": new_id("err"), "rev": events.next_rev(stored.session)}
        event = events.run_error(text, code, **ids)
        event["timestamp"] = now_ms()
        fold(stored.session, event)
        await self._save(stored.session)
        self.feed.push(event)

    def _outcome(self) -> Outcome | None:
        """Return why the run that has ended is to be repeated, None if it is not."""
        last = self._last
        if last is None:
            return Outcome("The connection to the run was lost")
        if last["type"] == "RUN_FINISHED" or last.get("code") in STOP_REASONS:
            return None
        about: Json = last.get("metadata", {}).get("yaa", {})
        return Outcome(last["message"]) if about.get("retryable") else None


def needs_run(session: Session) -> bool:
    """Return whether a run of a session would do something.

    It would if one was cut, a question has an answer, or the last word is the user's or a tool's.
    """
    asked: Any = session.get("interrupts") or []
    if session.get("status") == "in_progress" or any("answer" in each for each in asked):
        return True
    spoken = [each for each in session["messages"] if each.get("role") != "error"]
    return bool(spoken) and spoken[-1].get("role") != "assistant"
