"""Have kept sessions run by themselves: when their schedules are due, when something is delivered.

What is decided is stored in the session, under its lock, before it is done: of several processes
one decides. A session with a schedule has a small file, so that a start reads these sessions only.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...api.router import RequestContext, Route
from ...errors import Problem
from ...json_types import Session
from ...lib.runtime.offload import LARGE, offload
from ...lib.strict_json import as_object
from ...telemetry import log
from .folder import KeptFolder, open_questions
from .job import PASSING
from .marks import Mark, Marks
from .next_run import Decision, count_run, decide, scheduled_message
from .session_keys import (
    check_keys,
    keeper_keys,
    read_schedule,
    start_of,
    with_keeper_keys,
)
from .webhooks import MAX_BODY, WAITING, Webhooks, add_delivery, known_ids, send_waiting

STEP_S = 240.0  # a wait is looked at so often, as the clock may be set and the machine sleep
HOME = "@home"  # the person of the key of the home folder, in an address
AGAIN_S = 30  # after which what could not run, or be delivered, is tried again

Key = tuple[str, str]  # person, id of the session
STOP = Decision("stop", {})
USED = ("total_tokens", "cost_micro")

logger = log.get("keeper")


class Wakes:
    """The schedules and webhooks of a server.

    folder  (person) -> their kept sessions
    run     (person, session id) has it run; raises Problem
    clock   Unix seconds
    """

    def __init__(
        self,
        marks: Path,
        folder: Callable[[str], KeptFolder],
        run: Callable[[str, str], Awaitable[object]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._marks, self._folder, self._clock = Marks(marks), folder, clock
        self._run = run
        self._webhooks = Webhooks(clock)
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._queued: set[Key] = set()
        self._since: dict[Key, str] = {}  # when a schedule was first seen, perhaps under a run

    def routes(self) -> Mapping[tuple[str, str], Route]:
        """Return the route of deliveries; a signature or a token takes the place of a key."""
        return {("POST", "/keeper/webhooks/{person}/{id}/{name}"): Route(self.post, open=True)}

    def open(self) -> None:
        """Wait for all schedules that are known."""
        for mark in self._marks.all():
            self._arm(mark.owner, mark.id)

    async def note_change(self, owner: str, session_id: str, session: Session) -> None:
        """Take note that a person has stored a session, which was checked. Raises OSError."""
        if "schedule" in keeper_keys(session):
            await asyncio.to_thread(self._marks.set, Mark(owner, session_id))
            self._arm(owner, session_id)

    def run_ended(self, owner: str, session_id: str) -> None:
        """Go on with what waited until a session was free."""
        self._arm(owner, session_id)

    async def close(self) -> None:
        """Wait for nothing any more."""
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _arm(self, owner: str, session_id: str) -> None:
        key = (owner, session_id)
        if (former := self._tasks.get(key)) is not None:
            former.cancel()
        task = self._tasks[key] = asyncio.create_task(self._wait(key))

        def forget(_: object) -> None:
            """Forget the task, unless another one has taken its place."""
            if self._tasks.get(key) is task:
                del self._tasks[key]

        task.add_done_callback(forget)

    async def _wait(self, key: Key) -> None:
        """Run a session whenever it is due, until it has no schedule or waits to be free."""
        try:
            while True:
                decision = await offload(LARGE, self._decide, key)
                if decision.act == "run":
                    logger.info("kept session %s runs by itself", key[1])
                    await self._begin(key)
                    return  # when it has ended, this begins anew
                if decision.reason:
                    logger.info("kept session %s does not run: %s", key[1], decision.reason)
                if decision.at is None:
                    return
                while (left_s := decision.at.timestamp() - self._clock()) > 0:
                    await asyncio.sleep(min(left_s, STEP_S))
        except (Problem, OSError) as error:
            text = "kept session %s runs by itself no more, until it is stored or run: %s"
            logger.warning(text, key[1], error)

    async def _begin(self, key: Key) -> None:
        """Have a session run, as soon as that is possible. Raises Problem."""
        while True:
            try:
                await self._run(*key)
                return
            except Problem as problem:
                logger.warning("kept session %s does not run: %s", key[1], problem.detail)
                if problem.code not in PASSING:
                    raise
            await asyncio.sleep(AGAIN_S)

    def _decide(self, key: Key) -> Decision:
        """Decide, and store what was decided. Raises Problem, and OSError."""
        owner, session_id = key
        try:
            with self._folder(owner).lock(session_id) as kept:
                session = kept.open()
                if session is None:
                    self._marks.remove(owner, session_id)
                    return STOP
                decision, changed = self._choose(key, session)
                if changed is not session:
                    kept.save(changed)
                    if kept.failed:
                        raise Problem("disk_failed", kept.failed)
                return decision
        except Problem as problem:
            if problem.code != "run_active":
                if problem.code == "not_found":
                    self._marks.remove(owner, session_id)
                raise
        # What runs has the file: it is asked again when that has ended.
        stored = self._folder(owner).read(session_id).session
        decision, _ = self._choose(key, stored, busy=True)
        if decision.act == "wait_for_end":
            self._queued.add(key)
        return decision

    def _choose(
        self, key: Key, session: Session, *, busy: bool = False
    ) -> tuple[Decision, Session]:
        """Return the decision, and the session as it is to be stored."""
        now = datetime.fromtimestamp(self._clock(), UTC)
        keys, is_free = keeper_keys(session), not busy and not open_questions(session)
        if is_free and keys.get(WAITING):
            return Decision("run", {}), send_waiting(session)
        try:
            check_keys(session)
        except Problem as problem:  # as another program has written it
            logger.warning("kept session %s: %s", key[1], problem.detail)
            return STOP, session
        if not (asked := as_object(keys.get("schedule"))):
            self._marks.remove(*key)
            return STOP, session
        schedule = read_schedule(asked, start_of(session))
        usage = session.get("usage", {})
        record = as_object(keys.get("scheduled"))
        record = count_run(schedule, record, record.get("usage") or usage, usage, now)
        record.setdefault("last", self._since.setdefault(key, now.isoformat()))
        if key in self._queued and is_free:
            self._queued.discard(key)
            record["queued"] = True
        decision = decide(asked, schedule, record, now, busy=not is_free)
        stored = {**decision.record, "usage": {name: usage.get(name, 0) for name in USED}}
        if stored == as_object(keys.get("scheduled")):
            return decision, session
        changed = with_keeper_keys(session, {**keys, "scheduled": stored})
        if decision.act == "run":
            message: Any = scheduled_message(asked, now)
            changed["messages"] = [*session["messages"], message]
        return decision, changed

    async def post(self, call: RequestContext) -> None:
        """Take a delivery: 202, or 200 if the session has it already."""
        length = call.request.headers.get("content-length", "")
        if not length.isdigit() or int(length) > MAX_BODY:
            raise Problem("body_too_large", f"A delivery has a length, of {MAX_BODY} bytes at most")
        body = bytes(await call.exchange.body())
        owner = "" if call.at["person"] == HOME else call.at["person"]
        session_id, name = call.at["id"], call.at["name"]
        arguments = owner, session_id, name, call.request.headers, body
        is_new = await offload(LARGE, self._take, *arguments)
        if is_new:
            with suppress(Problem):  # it is stored; whoever runs the session next goes on with it
                await self._run(owner, session_id)
        await call.json({"taken": is_new}, status=202 if is_new else 200)

    def _take(
        self, owner: str, session_id: str, name: str, headers: Mapping[str, str], body: bytes
    ) -> bool:
        """Store a delivery. Return whether it is new. Raises Problem."""
        session: Session | None = None
        with suppress(Problem):
            stored: Session = self._folder(owner).read(session_id).session
            check_keys(stored)
            session = stored
        message = self._webhooks.take(owner, session, name, headers, body)
        if message is None:
            return False
        try:
            with self._folder(owner).lock(session_id) as kept:
                there = kept.open()
                if there is None or message["id"] in known_ids(there):
                    return False
                kept.save(add_delivery(there, message, busy=bool(open_questions(there))))
                if kept.failed:
                    raise Problem("disk_failed", kept.failed)
        except Problem as problem:
            if problem.code != "run_active":
                raise
            headers = {"Retry-After": str(AGAIN_S)}
            text = f"The session runs. Deliver it again in {AGAIN_S} s"
            raise Problem("busy", text, headers=headers) from None
        return True
