"""Have kept sessions run by themselves: when their schedules are due, when something is delivered.

What is decided is stored in the session, under its lock, before it is done: of several processes
one decides. A session that may have to be woken has a small file, so that a start reads these only.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ...agent.loop import new_id
from ...api.router import RequestContext, Route
from ...errors import Problem
from ...json_types import Session
from ...lib.runtime.offload import LARGE, offload
from ...lib.strict_json import as_object
from ...telemetry import log
from .changes import LOOK_S, Changes, Key, remove
from .denials import deny_unanswered
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
from .webhooks import MAX_BODY, WAITING, Webhooks, send_waiting

HOME = "@home"  # the person of the key of the home folder, in an address
AGAIN_S = 30  # after which what could not run, or be looked at, is tried again
NOT_RUN, NOT_RUN_CODE = "The session did not run by itself: {}", "keeper_not_run"
WAKING = {"schedule", "unanswered"}  # keys of a session that may have to be woken

STOP = Decision("stop", {})
AGAIN = Decision("again", {})
USED = ("total_tokens", "cost_micro")

logger = log.get("keeper")


class Wakes:
    """The schedules and webhooks of a server.

    home     folder of all kept sessions
    folder   (person) -> their kept sessions
    changes  what waits for sessions that are in use
    run      (person, session id) has it run; raises Problem
    clock    Unix seconds
    again_s  after which what was refused is tried again
    """

    step_s = 240.0  # a wait is looked at so often, as the clock may be set and the machine sleep

    def __init__(
        self,
        home: Path,
        folder: Callable[[str], KeptFolder],
        changes: Changes,
        run: Callable[[str, str], Awaitable[object]],
        clock: Callable[[], float] = time.time,
        again_s: float = AGAIN_S,
    ) -> None:
        self._marks, self._folder, self._clock = Marks(home, ".schedules"), folder, clock
        self._changes, self._run, self._again_s = changes, run, again_s
        self._webhooks = Webhooks(clock)
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._since: dict[Key, str] = {}  # when a schedule was first seen, perhaps under a run
        self._unsaid: dict[Key, str] = {}  # why a session could not be looked at

    def routes(self) -> Mapping[tuple[str, str], Route]:
        """Return the route of deliveries; a signature or a token takes the place of a key."""
        return {("POST", "/keeper/webhooks/{person}/{id}/{name}"): Route(self.post, open=True)}

    def open(self) -> None:
        """Wait for all schedules that are known, and go on with what was to be stored."""
        known = {(mark.owner, mark.id) for mark in self._marks.all()}
        for key in sorted(known | self._changes.keys()):
            self._arm(*key)

    async def note_change(self, owner: str, session_id: str, session: Session) -> None:
        """Take note that a person has stored a session, which was checked. Raises OSError."""
        if WAKING.intersection(keeper_keys(session)):
            await asyncio.to_thread(self._marks.set, Mark(owner, session_id))
            self._arm(owner, session_id)

    def look(self, owner: str, session_id: str, after: str = "") -> None:
        """Go on with what waited until a session was free.

        after  `end`: of a run, which may have left it as one that is to run · `stop`: by a person,
               then nothing goes on · ""
        """
        self._arm(owner, session_id, after)

    async def close(self) -> None:
        """Wait for nothing any more."""
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _arm(self, owner: str, session_id: str, after: str = "") -> None:
        key = (owner, session_id)
        if (former := self._tasks.get(key)) is not None:
            former.cancel()
        task = self._tasks[key] = asyncio.create_task(self._wait(key, after))

        def forget(_: object) -> None:
            """Forget the task, unless another one has taken its place."""
            if self._tasks.get(key) is task:
                del self._tasks[key]

        task.add_done_callback(forget)

    async def _wait(self, key: Key, after: str) -> None:
        """Run a session whenever it is due, until nothing of it is, or it waits to be free."""
        pause_s = LOOK_S
        while True:
            try:
                decision = await offload(LARGE, self._decide, key, after)
            except (Problem, OSError) as error:
                if isinstance(error, Problem) and error.code == "not_found":
                    return
                logger.warning("kept session %s cannot be looked at: %s", key[1], error)
                self._unsaid[key] = str(error)
                await asyncio.sleep(self._again_s)
                continue
            if decision is AGAIN:
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, self._again_s)  # a chat may have it open for hours
                continue
            after, pause_s = "", LOOK_S
            if decision.act == "run":
                logger.info("kept session %s runs by itself", key[1])
                await self._begin(key)
                continue
            if decision.reason:
                logger.info("kept session %s does not run: %s", key[1], decision.reason)
            if decision.at is None:
                return
            while (left_s := decision.at.timestamp() - self._clock()) > 0:
                await asyncio.sleep(min(left_s, self.step_s))

    async def _begin(self, key: Key) -> None:
        """Have a session run, as soon as that is possible; a refusal is said in it."""
        while True:
            try:
                await self._run(*key)
                return
            except Problem as problem:
                logger.warning("kept session %s does not run: %s", key[1], problem.detail)
                if problem.code not in PASSING:
                    self._changes.marks.remove(*key)
                    return
            await asyncio.sleep(self._again_s)

    def _decide(self, key: Key, after: str) -> Decision:
        """Decide, and store what was decided. Raises Problem, and OSError."""
        owner, session_id = key
        try:
            with self._folder(owner).lock(session_id) as kept:
                there = kept.open()
                if there is None:
                    raise FileNotFoundError
                session, applied = self._changes.apply(key, there)
                if key in self._unsaid:
                    session = with_error(session, NOT_RUN.format(self._unsaid[key]))
                answered = any(file.name.count("-answers-") for file in applied)
                goes_on: bool | None = answered or not after and self._changes.marks.has(*key)
                goes_on = None if after == "stop" else goes_on
                decision, changed = self._choose(key, session, goes_on=goes_on)
                if decision.act == "run":
                    self._changes.marks.set(Mark(*key))
                if changed is not there or applied:
                    kept.save(changed)
                    if kept.failed:
                        raise Problem("disk_failed", kept.failed)
                remove(applied)
                self._unsaid.pop(key, None)
                return decision
        except Problem as problem:
            if problem.code == "not_found":
                self._marks.remove(owner, session_id)
                self._changes.drop(key)
            if problem.code != "run_active":
                raise
        if not self._changes.marks.has(owner, session_id):  # somebody else has it for a moment
            return AGAIN
        now = datetime.fromtimestamp(self._clock(), UTC)
        # What runs has the file: it is asked again when that has ended, wherever that is.
        stored = self._folder(owner).read(session_id).session
        decision, _ = self._choose(key, stored, busy=True)
        if decision.act == "wait_for_end":
            self._changes.queue(key, "due", decision.record["last"])
        at = min(decision.at or now + timedelta(days=1), now + timedelta(seconds=self.step_s))
        return decision._replace(act="wait", at=at)

    def _choose(
        self, key: Key, session: Session, *, busy: bool = False, goes_on: bool | None = False
    ) -> tuple[Decision, Session]:
        """Return the decision, and the session as it is to be stored.

        goes_on  it has got an answer, or was to run; None: a person has stopped it, so nothing goes
                 on now
        """
        now = datetime.fromtimestamp(self._clock(), UTC)
        keys, is_free = keeper_keys(session), not busy and not open_questions(session)
        waits = is_free and bool(keys.get(WAITING))
        if goes_on:
            return Decision("run", {}), session
        if waits and goes_on is not None:
            return Decision("run", {}), send_waiting(session)
        try:
            check_keys(session)
        except Problem as problem:  # as another program has written it
            logger.warning("kept session %s: %s", key[1], problem.detail)
            return STOP, session if busy else with_error(session, NOT_RUN.format(problem.detail))
        expires: datetime | None = None
        if not busy and goes_on is not None:
            session, denied, expires = deny_unanswered(session, now)
            if denied:
                return Decision("run", {}), session
        decision, session = self._schedule(key, session, now, busy=not is_free)
        if expires is None:
            return decision, session
        self._marks.set(Mark(*key))
        at = min(decision.at or expires, expires)
        return decision._replace(
            act="wait" if decision.act == "stop" else decision.act, at=at
        ), session

    def _schedule(
        self, key: Key, session: Session, now: datetime, *, busy: bool
    ) -> tuple[Decision, Session]:
        """Return what the schedule of a session wants, and the session as it is to be stored."""
        keys = keeper_keys(session)
        if not (asked := as_object(keys.get("schedule"))):
            if "unanswered" not in keys:
                self._marks.remove(*key)
            return STOP, session
        schedule = read_schedule(asked, start_of(session))
        usage = session.get("usage", {})
        record = as_object(keys.get("scheduled"))
        record = count_run(schedule, record, record.get("usage") or usage, usage, now)
        record.setdefault("last", self._since.setdefault(key, now.isoformat()))
        decision = decide(asked, schedule, record, now, busy=busy)
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
        key = "" if call.at["person"] == HOME else call.at["person"], call.at["id"]
        headers = call.request.headers
        is_new = await offload(LARGE, self._take, key, call.at["name"], headers, body)
        if is_new:
            self._arm(*key)
        await call.json({"taken": is_new}, status=202 if is_new else 200)

    def _take(self, key: Key, name: str, headers: Mapping[str, str], body: bytes) -> bool:
        """Store a delivery. Return whether it is new. Raises Problem."""
        session: Session | None = None
        with suppress(Problem):
            stored = self._changes.look(key)
            check_keys(stored)
            session = stored
        message = self._webhooks.take(key[0], session, name, headers, body)
        return message is not None and self._changes.queue(key, "delivery", message)


def with_error(session: Session, text: str) -> Session:
    """Return the session with an error message, unless that is the last one."""
    messages: list[Any] = session["messages"]
    if messages and messages[-1].get("content") == text:
        return session
    message: Any = {"id": new_id("err"), "role": "error", "content": text, "code": NOT_RUN_CODE}
    return {**session, "messages": [*messages, message]}
