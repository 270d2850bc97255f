"""What was decided about the calls of a message (session/decide), performed: jobs in, events out.

In the walk: `agent.Run` hands over a `RunTools`. The rule of the file: a call is claimed, then
announced by a `tool.exec` that has left before the call begins, then run. Calls that may run side
by side do; results come in call order, whichever is done first.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing
from itertools import groupby
from typing import Any

from ..session import events
from ..session.calls import unanswered
from ..session.decide import takes_time
from ..session.events import Event, put, state_delta
from ..session.fields import is_id
from ..session.jobs import Execute, Given, Job, Recover, Reply, Send
from . import page
from .executions import Batch, Executions, Key
from .toolbox import Toolbox

Session = dict[str, Any]
Left = Callable[[], float | None]  # seconds that the run has left, where it has such a limit


class Unclaimed(Exception):
    """A call cannot be claimed, so it was not run. Says so to people."""


class Jobs:
    """The calls of one run. `session` is the live document, folded between two events;
    `new_id("res")` makes an identifier."""

    def __init__(
        self,
        session: Session,
        toolbox: Toolbox,
        executions: Executions,
        clock: Callable[[], int],
        new_id: Callable[[str], str],
    ) -> None:
        self._session, self._toolbox = session, toolbox
        self._executions, self._clock, self._new_id = executions, clock, new_id

    async def perform(self, jobs: Iterable[Job], left: Left) -> AsyncGenerator[Event, None]:
        """Neighbours that are parallel_safe side by side, everything else alone, in call order."""
        async with aclosing(self._perform(jobs, left)) as source:
            async for event in source:
                if event["type"] == "TOOL_CALL_RESULT" and not self._is_free(event["messageId"]):
                    event = {**event, "messageId": self._new_id("res")}
                yield event

    def _is_free(self, message_id: str) -> bool:
        """Whether a result may have this id, made of its call's: in a session that was edited it
        may stand on another message, and a call's may be as long as an id can be."""
        messages = self._session["messages"]
        return is_id(message_id) and all(each.get("id") != message_id for each in messages)

    async def _perform(self, jobs: Iterable[Job], left: Left) -> AsyncGenerator[Event, None]:
        for batch in _batches(jobs):
            if self._executions.stopping:  # what was not begun is still to be done, elsewhere
                return
            match batch:
                case [Reply() as reply]:
                    for event in self._reply(reply):
                        yield event
                case [Given() | Send() as told]:
                    yield page.result(self._session, told, self._clock())
                case [Recover(call, attempt)]:
                    found = await self._executions.result(self._key(call, attempt))
                    if found is None:  # it was not kept: next_step decides anew, before the others
                        return
                    yield found
                case calls:
                    async with aclosing(self._execute(calls, left)) as source:
                        async for event in source:
                            yield event

    def recoverable(self) -> set[str]:
        """Calls that were started, lost their result on the way, and whose result is still here."""
        ledger = self._session["calls"]
        lost = {i for i, e in ledger.items() if e["state"] in ("started", "indeterminate")}
        return {
            call["id"]
            for call, _, _ in (unanswered(self._session) if lost else ())
            if call["id"] in lost
            and self._executions.knows(self._key(call, ledger[call["id"]].get("attempt", 0)))
        }

    def _reply(self, job: Reply) -> Iterator[Event]:
        if job.grant:
            yield state_delta(put("grants", "-", value=job.grant))
        status = job.status or job.state
        said: Any = {"type": status, "message": job.content} if job.is_error else job.content
        feedback = {"feedback": job.feedback} if job.feedback else {}
        yield events.tool_result(
            job.call["id"],
            job.call["function"]["name"],
            job.content,
            self._clock(),
            state=job.state,
            is_error=job.is_error,
            result={"status": status, "error" if job.is_error else "result": said, **feedback},
        )

    async def _execute(self, jobs: Iterable[Execute], left: Left) -> AsyncGenerator[Event, None]:
        """Claim, announce and run calls, as many at once as allowed. Closing this ends those that
        still run. Raises Unclaimed when those that run have ended."""
        waiting, unclaimed = deque(jobs), None
        with Batch(self._executions) as batch:
            while waiting or batch.running:
                if self._executions.stopping:
                    waiting.clear()
                while waiting and batch.running < self._executions.most:
                    job = waiting.popleft()
                    seconds = self._patience(job, left)
                    if takes_time(job) and seconds <= 0:  # next_step stops for it
                        continue
                    key = self._key(job.call, job.entry["attempt"])
                    try:
                        ours = job.repeatable or self._executions.claims.take(*key)
                    except OSError as error:  # a full disk
                        unclaimed = Unclaimed(_not_run(job, error))
                        waiting.clear()
                        # The client's copy may say `started` already; it was not.
                        known = self._session["calls"][job.call["id"]]
                        yield state_delta(put("calls", job.call["id"], value=known))
                        break
                    if not ours:
                        # Not run here again: next_step looks at it once more.
                        yield state_delta(put("calls", job.call["id"], value=job.entry))
                        continue
                    try:
                        yield self._announcement(job)
                    except BaseException:  # cut here it has not begun, whoever has heard of it
                        if not job.repeatable:
                            self._executions.claims.release(*key)
                        raise
                    source = self._toolbox.execute(
                        self._session, job.call, job.args, job.entry, job.repairs, seconds
                    )
                    batch.begin(key, source, lasting=not job.repeatable)
                if batch.running:
                    for event in await batch.next():
                        yield event
        if unclaimed:
            raise unclaimed

    def _announcement(self, job: Execute) -> Event:
        """The `tool.exec` of a call: with its ledger entry, and without what was asked about it."""
        call_id = job.call["id"]
        left = [i for i in self._session["interrupts"] if i.get("call_id") != call_id]
        changes = [put("calls", call_id, value=job.entry), put("interrupts", value=left)]
        if job.grant:
            changes.append(put("grants", "-", value=job.grant))
        return events.tool_exec(call_id, changes, self._clock())

    def _patience(self, job: Execute, left: Left) -> float:
        """Seconds that a call may take before the run is at its limit; none with nothing left. Then
        it is ended as it would be if the client hung up: one that may not run twice has a grace."""
        if (seconds := left()) is None:
            return math.inf
        return seconds if job.repeatable or seconds <= 0 else seconds + self._executions.grace_s

    def _key(self, call: dict[str, Any], attempt: int) -> Key:
        return self._session["id"], call["id"], attempt


def _not_run(job: Execute, error: OSError) -> str:
    return (
        f"{job.call['function']['name']} was not run: this server cannot write down that it runs"
        f" ({error.strerror}), and so could not keep it from running twice. POST the session again"
        " when there is room in the server's home folder, or to another server."
    )


def _batches(jobs: Iterable[Job]) -> Iterator[list[Any]]:
    """Neighbours that may run side by side, and each other job by itself."""
    for parallel, group in groupby(jobs, lambda j: isinstance(j, Execute) and j.parallel_safe):
        if parallel:
            yield list(group)
        else:
            yield from ([job] for job in group)
