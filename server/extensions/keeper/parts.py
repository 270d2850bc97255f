"""What the keeper has beside the agent: its routes, and what runs by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ...api import idempotency
from ...api.person_runs import PersonRuns
from ...api.router import Route
from ...errors import Problem
from ...json_types import Json
from ...telemetry import log
from ..parts import Host, Parts
from .alerts import Alerts
from .changes import Changes
from .driver import Keeper
from .folder import FOLDER, KeptFolder, Room, remove_drafts
from .job import Means
from .marks import ENDED, Marks
from .remote import RemoteRuns
from .routes import KeptSessions
from .seat import Seat
from .wakes import Wakes

logger = log.get("keeper")


class KeeperParts(Parts):
    """The folders of kept sessions, their routes, and what runs them."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._folders: dict[str, KeptFolder] = {}
        server = host.config.server
        self.room, self._settings = Room.of(server), server["keeper"]
        self._runs: PersonRuns | RemoteRuns | None = None
        self._resuming: asyncio.Task[None] | None = None
        home = host.config.home / FOLDER
        self._marks, self._ended_marks = Marks(home), Marks(home, ENDED)
        self.changes = Changes(home, self.folder, self._marks)
        self._alerts = Alerts(host, self.folder, self.answer, self._ended_marks)
        self.wakes = Wakes(home, self.folder, self.changes, self._start)

    @property
    def seat(self) -> Seat:
        """Return the keeper's place in this process."""
        assert isinstance(self.host.process, Seat)
        return self.host.process

    @property
    def keeper(self) -> Keeper:
        """Return what runs sessions in this process. Raises Problem until the server is open."""
        keeper: Keeper | None = self.seat.keeper
        if keeper is None:
            text = "This server does not keep sessions yet: it is starting"
            raise Problem("overloaded", text, headers={"Retry-After": "1"})
        return keeper

    def problems(self) -> Mapping[str, list[str]]:
        """Return which ways to people cannot be used."""
        return {"notices": self._alerts.problems}

    def folder(self, owner: str) -> KeptFolder:
        """Return the folder of a person."""
        if owner not in self._folders:
            self._folders[owner] = KeptFolder(self.host.config.home, owner, self.room)
        return self._folders[owner]

    async def open(self, runs: PersonRuns) -> None:
        """Go on with what was to run when the last process ended.

        After a change of the configuration what runs goes on, and the next runs are by the new one.
        """
        place = self.host.config.server["keeper"]["server"]
        self._runs = RemoteRuns(place["url"], place["api_key"]) if place["url"] else runs
        former: Keeper | None = self.seat.keeper
        if former is not None:
            former.means, former.ended = self._means, self._ended
            self.wakes.open()
            former.end_followers()
            return
        keeper = self.seat.keeper = Keeper(self._marks, self._means)
        keeper.ended = self._ended
        for folder in (self.host.config.home / FOLDER).glob(".*"):
            remove_drafts(folder)
        for mark in self._ended_marks.all():
            self.wakes.look(mark.owner, mark.id)
        self.wakes.open()
        self._alerts.resume()
        self._resuming = asyncio.create_task(keeper.resume())

    def stop(self) -> None:
        """Begin no run any more, and end the streams of those who follow."""
        if (keeper := self.seat.keeper) is not None and self._is_last():
            keeper.stop()

    async def close(self) -> None:
        """End what runs by itself, unless a newer configuration has taken it over."""
        await self._alerts.close()
        await self.wakes.close()
        if isinstance(self._runs, RemoteRuns):
            await self._runs.close()
        if (keeper := self.seat.keeper) is None or not self._is_last():
            return
        keeper.stop()
        if self._resuming is not None:
            self._resuming.cancel()
            await asyncio.gather(self._resuming, return_exceptions=True)
        await keeper.close(self.host.config.server["limits"]["disconnect_grace_s"])

    async def end_runs(self, owner: str, session_id: str) -> bool | None:
        """End the runs of a session, as PersonRuns.stop."""
        return None if self._runs is None else await self._runs.stop(owner, session_id)

    def _is_last(self) -> bool:
        return bool(self.seat.keeper.means == self._means)

    def _means(self, owner: str) -> Means:
        assert self._runs is not None
        settings = self._settings
        about = self._marks, self._ended_marks, settings["attempts"], settings["pause_s"]
        return Means(self._runs.begin, self.folder(owner), *about)

    async def _start(self, owner: str, session_id: str) -> None:
        await self.keeper.start(owner, session_id, alone=True)

    async def answer(self, owner: str, session_id: str, entries: list[Any]) -> Json:
        """Store answers to questions of a session, and have it go on. Raises Problem.

        Return {id, running, run}, and `refused`: why it does not run, though it was to.
        """
        if await self.changes.answer((owner, session_id), entries):
            self.wakes.look(owner, session_id)
        self.keeper.note_change(owner, session_id)
        try:
            return await self.keeper.run(owner, session_id)
        except Problem as problem:  # the answer is stored; whoever runs it next goes on with it
            logger.warning("kept session %s does not go on: %s", session_id, problem.detail)
            return {"id": session_id, "running": False, "run": "", "refused": problem.detail}

    def _ended(self, owner: str, session_id: str, *, followed: bool, stopped: bool) -> None:
        """Take note that a session runs no more."""
        if not stopped:
            self._alerts.run_ended(owner, session_id, followed=followed)
        self.wakes.look(owner, session_id, "stop" if stopped else "end")

    def routes(self) -> Mapping[tuple[str, str], Route]:
        """Return its routes. What changes something may be repeated."""
        heartbeat_s = self.host.config.server["limits"]["heartbeat_s"]
        handlers = KeptSessions(self, self.host.ceilings, heartbeat_s)
        return {
            **idempotency.of_process.wrap(handlers.routes()),
            **self._alerts.routes(),
            **self.wakes.routes(),
        }

    def info(self, owner: str) -> Mapping[str, Any]:
        """Return how much a person may keep."""
        return {"keeper": dict(self.room._asdict())}
