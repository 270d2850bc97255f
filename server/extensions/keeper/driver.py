"""The kept sessions of a process that run, and what is told of them.

One `Keeper` for each process, whatever its configuration becomes. Of several processes with one
home folder that one drives a session which has the lock on its journal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from ...errors import Problem
from ...json_types import Json
from ...telemetry import log
from .feed import Feed
from .job import Job, Means
from .marks import Marks

STOP_S = 5.0  # how long a stop request waits for the job to end

Key = tuple[str, str]  # owner, id of the session


class EndListener(Protocol):
    """Is called when a session runs no more, unless the server stops."""

    def __call__(self, owner: str, session_id: str, *, followed: bool, stopped: bool) -> None:
        """Take note. `followed`: somebody looks at the session; `stopped`: by a person."""


logger = log.get("keeper")


class Keeper:
    """The jobs and the feeds of a process.

    `means`: (owner) -> with what their sessions are run now; changed when the configuration is.
    """

    def __init__(self, marks: Marks, means: Callable[[str], Means]) -> None:
        self.marks, self.means = marks, means
        self.ended: EndListener = lambda owner, session_id, **about: None
        self.jobs: dict[Key, Job] = {}
        self._feeds: dict[Key, Feed] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = False

    def feed(self, owner: str, session_id: str) -> Feed:
        """Return the feed of a session; one that has ended once the server stops."""
        feed = self._feeds.setdefault((owner, session_id), Feed())
        if self._stopping:
            feed.end()
        return feed

    def drop_feeds(self) -> None:
        """Forget the feeds that nobody needs."""
        for key, feed in [*self._feeds.items()]:
            if not feed.followers and key not in self.jobs:
                del self._feeds[key]

    def note_change(self, owner: str, session_id: str) -> None:
        """Note that a session was stored or deleted."""
        if feed := self._feeds.get((owner, session_id)):
            feed.change()

    def is_running(self, owner: str, session_id: str) -> bool:
        """Return whether a session is to run, here or in another process."""
        return self.marks.has(owner, session_id)

    async def start(
        self, owner: str, session_id: str, failures: int = 0, *, alone: bool = False
    ) -> Job:
        """Run a session, unless it runs. Raises Problem; `run_active` if another process has it.

        `failures`, `alone`: see Job.
        """
        key = (owner, session_id)
        if (job := self.jobs.get(key)) is None:
            if self._stopping:
                text = "This server is stopping. Ask again in a moment."
                raise Problem("overloaded", text, headers={"Retry-After": "1"})
            means = partial(self.means, owner)
            job = Job(owner, session_id, self.feed(*key), means, failures, alone=alone)
            self.jobs[key] = job
            job.moved = lambda branch: self._move(job, branch)
            task = asyncio.create_task(self._work(job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        await asyncio.shield(job.begun)
        return job

    async def run(self, owner: str, session_id: str) -> Json:
        """Run a session wherever that is done. Return {id, running, run}. Raises Problem."""
        answer = {"id": session_id, "running": True, "run": ""}
        try:
            job = await self.start(owner, session_id)
        except Problem as problem:
            if problem.code != "run_active" or not self.is_running(owner, session_id):
                raise
            return answer
        return {**answer, "running": not job.ended.is_set(), "run": job.run.id if job.run else ""}

    async def _work(self, job: Job) -> None:
        try:
            if not await job.open():
                job.close()
                self._forget(job)
                return
        except (Problem, OSError) as error:
            self._forget(job)
            if not job.begun.done():
                problem = Problem("disk_failed", f"The session cannot be opened: {error}")
                job.begun.set_exception(error if isinstance(error, Problem) else problem)
            return
        with suppress(asyncio.CancelledError):
            try:
                await job.work()
            finally:
                followed = bool(job.feed.followers)
                self._forget(job)
            if not job.server_stops:
                stopped = job.stopped.is_set()
                self.ended(job.owner, job.id, followed=followed, stopped=stopped)

    def _forget(self, job: Job) -> None:
        self.jobs = {key: each for key, each in self.jobs.items() if each is not job}
        self.drop_feeds()

    def _move(self, job: Job, branch: str) -> Feed:
        self.jobs[job.owner, branch] = job
        self.jobs.pop((job.owner, job.id), None)
        return self.feed(job.owner, branch)

    async def pause(self, owner: str, session_id: str, stop: Callable[[str, str], Any]) -> Json:
        """Stop a session's run, and let it not begin again: {stopped, running}.

        `stop`: ends the runs of a session of a person, as PersonRuns.stop.
        """
        job = self.jobs.get((owner, session_id))
        was = self.marks.remove(owner, session_id)
        if job is not None:
            job.stopped.set()
        ended = await stop(owner, job.run_session if job else session_id)
        if job is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_S):
                    await job.ended.wait()
        running = ended is False or (job is not None and not job.ended.is_set())
        return {"stopped": (was or bool(ended)) and not running, "running": running}

    async def resume(self) -> None:
        """Run what was to run when the last process ended."""
        for mark in self.marks.all():
            try:
                await self.start(mark.owner, mark.id, mark.attempts + 1, alone=True)
            except Problem as problem:
                logger.warning("kept session %s does not go on: %s", mark.id, problem.detail)
                if problem.code in ("not_found", "kept_unusable"):
                    self.marks.remove(mark.owner, mark.id)

    def end_followers(self) -> None:
        """Let all who follow come again, to the routes of a new configuration."""
        for feed in self._feeds.values():
            feed.end()
        self._feeds = {}
        for key, job in self.jobs.items():
            job.feed = self._feeds[key] = job.feed.end_for_new()

    def stop(self) -> None:
        """Begin no run any more; those that are on are ended by the server."""
        self._stopping = True
        for job in self.jobs.values():
            job.server_stops = True
        for feed in self._feeds.values():
            feed.end()

    async def close(self, grace_s: float) -> None:
        """Wait for the jobs to end, so long at most, then end them."""
        tasks = [*self._tasks]
        for job in self.jobs.values():
            if job.run is None:
                job.stopped.set()
        if tasks:
            await asyncio.wait(tasks, timeout=grace_s)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
