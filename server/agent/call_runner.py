"""Perform the jobs of a `RunTools` step: jobs in, events out.

A call is claimed, then announced by a `tool.exec` that has been sent before the call begins, then
run. Calls that are parallel_safe run side by side; results come in call order, whichever ends
first.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing, suppress
from functools import partial
from itertools import groupby
from typing import Any

from ..json_types import (
    Event,
    Session,
    ToolCall,
    ToolResult,
)
from ..session import events
from ..session.call_actions import ClientResult, Execute, Job, Recover, Reply, SendToClient
from ..session.events import add_warnings, drop, put, state_delta
from ..session.schema import is_id
from ..tools import client_tools, policy
from ..tools.running_calls import Batch, Execution, Executions, Key, SessionKey
from ..tools.toolbox import Toolbox
from .call_decisions import (
    MAYBE_EXECUTED,
    HostRecord,
    interrupts_by_call,
    unanswered_calls,
    with_args,
)
from .decide import takes_time
from .earlier_calls import BegunCalls, of_earlier
from .run_records import RecordWriter
from .run_workspace import RecordGroup, RunWorkspace

SecondsLeft = Callable[[], float | None]  # seconds that the run has left; None without a limit
UNCONFIRMED = "announcement_unconfirmed"  # a code of `run.warnings`
SUPERSEDED = "Stopped: superseded by a new user message."


class ClaimError(Exception):
    """A call cannot be claimed, so it was not run. The text is for the client."""


class CallRunner:
    """The calls of one run.

    `session` is the live document, folded between two events; `new_id("res")` makes an identifier.

        owner      whose session it is
        record     stores what the run did, before each call that may not run twice
        files      records what calls change
        keep       stores more, before the record; raises OSError
        arrived    waits until the client's machine has what was sent; False on a timeout
        stopped    no call is begun any more
    """

    def __init__(
        self,
        session: Session,
        toolbox: Toolbox,
        executions: Executions,
        clock: Callable[[], int],
        new_id: Callable[[str], str],
        files: RunWorkspace,
        owner: str = "",
    ) -> None:
        self._files = files
        self._session, self._toolbox = session, toolbox
        self._executions, self._clock, self._new_id = executions, clock, new_id
        self._owner, self.record = owner, RecordWriter()
        self.arrived: Callable[[], Awaitable[bool]] = _at_once
        self.keep: Callable[[Session], object] = bool
        self.stopped = False
        self.horizon_ms = 0  # calls up to this time may have run here: their claims expired
        self.forgotten: set[str] = set()  # fingerprints of calls that may have run here
        self._ran_before: set[str] = set()  # calls that an earlier run had begun already
        self._begun_calls = BegunCalls(session, executions.claims, owner, clock)

    async def perform(
        self, jobs: Iterable[Job], seconds_left: SecondsLeft
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of the jobs, in call order.

        Adjacent parallel_safe calls run side by side, everything else alone.
        """
        taken = {message.get("id") for message in self._session["messages"]}
        for batch in _batches(jobs):
            if self._ends:  # another server performs the rest
                return
            match batch:
                case [Recover() as job]:
                    source = self._recover_result(job)
                case [Execute(), *_]:
                    source = self._execute(batch, seconds_left)
                case [job]:
                    source = self._answer(job)
            answered = False
            async with aclosing(source) as events_of_job:
                async for event in events_of_job:
                    if event["type"] == "TOOL_CALL_RESULT":
                        answered = True
                        # Derived from the call id, the message id may be too long, or already in
                        # use in an edited session.
                        if (result_id := event["messageId"]) in taken or not is_id(result_id):
                            event = {**event, "messageId": self._new_id("res")}
                        taken.add(event["messageId"])
                    yield event
                    if warning := self._files.warning_of(event):
                        yield warning
            if not answered and isinstance(batch[0], Recover):
                return  # it is not kept: next_step decides again, before the other jobs

    @property
    def _ends(self) -> bool:
        return self.stopped or self._executions.stopping

    def look_at_claims(self) -> list[Event]:
        """Return what this host's claims tell of the calls without a result, when a run opens."""
        self.horizon_ms, changes = self._begun_calls.look(self.record.not_begun, self._ran_before)
        return [state_delta(*changes)] if changes else []

    def host_record(self) -> HostRecord:
        """Return what this host knows of the calls, for the decision on those without a result."""
        return HostRecord(self._recoverable(), self.horizon_ms, self.forgotten, self._has_begun)

    def _recoverable(self) -> set[str]:
        """Return the ids of begun calls whose result is missing in the session and available here.

        The result may also be of a call that still runs on this host.
        """
        ledger = self._session["calls"]
        maybe = (*MAYBE_EXECUTED, "indeterminate")
        lost_ids = {i for i, entry in ledger.items() if entry["state"] in maybe}
        return {
            call["id"]
            for call, _, _ in (unanswered_calls(self._session) if lost_ids else ())
            if call["id"] in lost_ids
            and self._executions.can_attach(
                self._key(call, ledger[call["id"]].get("attempt", 0)), self._fingerprint(call)
            )
        }

    async def _recover_result(self, job: Recover) -> AsyncGenerator[Event, None]:
        """Yield the rest of a call's output and its result. A superseded call is ended first."""
        call_id = job.call["id"]
        key, fingerprint = self._key(job.call, job.attempt), self._fingerprint(job.call)
        if job.superseded:
            self._executions.stop(self._session_key, SUPERSEDED, call_id)
        async with aclosing(self._executions.attach(key, fingerprint)) as source:
            async for event in source:
                if event["type"] == "TOOL_CALL_RESULT":
                    self._files.forget()
                    interrupt = interrupts_by_call(self._session).get(call_id)
                    event = of_earlier(event, interrupt, ran_before=call_id in self._ran_before)
                yield event

    def _fingerprint(self, call: ToolCall) -> str:
        """Return the fingerprint of a call as it would run, as in its claim and its kept result.

        If the tool is gone, it is that of the ledger entry.
        """
        entry = self._session["calls"].get(call["id"]) or {}
        args = entry.get("args")
        verdict = self._toolbox.verdict(
            self._session, call if args is None else with_args(call, args)
        )
        return verdict.fingerprint or str(entry.get("fingerprint", ""))

    def _has_begun(self, call_id: str, attempt: int, fingerprint: str) -> bool:
        """Return whether this host has begun that attempt at the call with these arguments."""
        claim = self._executions.claims.claimed_as(self._session_key, call_id, attempt)
        return bool(fingerprint) and claim == fingerprint

    async def _answer(
        self, job: Reply | ClientResult | SendToClient
    ) -> AsyncGenerator[Event, None]:
        """Yield the result of a call that does not run here."""
        if not isinstance(job, Reply):
            yield client_tools.result(self._session, job, self._clock())
            return
        refused, call_id = job.status in ("denied", "skipped"), job.call["id"]
        if refused and not self._begun_calls.claim_denial(call_id):
            entry = self._session["calls"].get(call_id) or {}
            begun = {"state": "started", "attempt": entry.get("attempt", 0) + 1}
            yield state_delta(put("calls", call_id, value={**entry, **begun}))
            return
        if job.grant:
            yield state_delta(put("grants", "-", value=job.grant))
        status = job.status or job.state
        result: ToolResult = {"status": status}
        if job.is_error:
            result["error"] = {"type": status, "message": job.content}
        else:
            result["result"] = job.content
        if job.feedback:
            result["feedback"] = job.feedback
        event = events.tool_result(
            *(job.call["id"], job.call["function"]["name"], job.content, self._clock()),
            state=job.state,
            is_error=job.is_error,
            result=result,
        )
        yield await self._files.record_lost(event, self._toolbox, job.call)

    async def _execute(
        self, jobs: Iterable[Execute], seconds_left: SecondsLeft
    ) -> AsyncGenerator[Event, None]:
        """Claim, announce and run calls, as many at once as allowed.

        Closing this generator ends calls that still run. Raises ClaimError once the running calls
        have ended.
        """
        waiting, unclaimed = deque(jobs), None
        recordings = RecordGroup(self._files)
        limit = self._executions.limit_of(self._owner)
        with Batch(self._executions) as batch:
            while waiting or batch.running_count:
                if self._ends:
                    waiting.clear()
                while waiting and batch.running_count < limit:
                    job = waiting.popleft()
                    seconds = self._seconds_allowed(job, seconds_left)
                    if takes_time(job) and seconds <= 0:  # next_step stops the run
                        continue
                    key = self._key(job.call, job.entry["attempt"])
                    try:
                        refused = self._claim(job, key)
                    except OSError as error:  # a full disk
                        unclaimed = ClaimError(_not_run(job, error))
                        waiting.clear()
                        # The client's copy may say `started` already, so correct it.
                        stored_entry = self._session["calls"][job.call["id"]]
                        yield state_delta(put("calls", job.call["id"], value=stored_entry))
                        break
                    if refused == "expired":  # next_step asks about it, by the new horizon
                        continue
                    if refused == "taken":  # it ran here before: next_step decides again
                        self._ran_before.add(job.call["id"])
                        yield state_delta(put("calls", job.call["id"], value=job.entry))
                        continue
                    try:
                        yield self._announcement(job)
                        if not job.repeatable and not await self.arrived():
                            yield self._unconfirmed_warning(job)
                    except BaseException:  # the call has not begun, even if it was announced
                        if not job.repeatable:
                            self._begun_calls.release(key, self.record)
                        raise
                    work = partial(
                        self._toolbox.execute,
                        *(self._session, job.call, job.args, job.entry),
                        repairs=job.repairs,
                        seconds=seconds,
                        owner=self._owner,
                    )
                    fingerprint = str(job.entry.get("fingerprint", ""))
                    name = job.call["function"]["name"]
                    record, lasting = recordings.join(job), not job.repeatable
                    batch.begin(Execution(key, name, fingerprint, lasting, record), work)
                if batch.running_count:
                    for event in await batch.next():
                        yield event
        if unclaimed:
            raise unclaimed

    def _claim(self, job: Execute, key: Key) -> str:
        """Claim a call that may not run twice. Return why that failed, "" if it is claimed.

        `taken`: there is a claim; `expired`: there may have been one. Raises OSError if the claim
        or the record cannot be written.

        The run's record is written first: without it, a client whose connection breaks now could
        not recover this call. The horizon is read last, since it is raised before any claim is
        removed.
        """
        claims = self._executions.claims
        fingerprint = str(job.entry.get("fingerprint", ""))
        if job.repeatable:
            if job.approved:  # the claim proves later that a person allowed it
                with suppress(OSError):
                    claims.take(*key, fingerprint, job.since_ms or 0)
            return ""
        self.keep(self._session)
        self.record.ran[key[1]] = fingerprint
        self.record.append(self._session)
        if not claims.take(*key, fingerprint, job.since_ms or 0):
            return "taken"
        horizon_ms = claims.horizon(self._owner)
        if horizon_ms and job.since_ms is not None and job.since_ms <= horizon_ms:
            claims.release(*key)
            self.horizon_ms = horizon_ms
            return "expired"
        return ""

    def _unconfirmed_warning(self, job: Execute) -> Event:
        """Return a warning that a call begins although the client may not have its announcement."""
        name = job.call["function"]["name"]
        warning = {
            "code": UNCONFIRMED,
            "message": f"{name} begins, but this client has not confirmed that it knows. If the"
            " connection is lost now, go on at this server: another one may run it again.",
            "call_id": job.call["id"],
        }
        return state_delta(add_warnings(self._session, warning))

    def _announcement(self, job: Execute) -> Event:
        """Return the `tool.exec` of a call: stores its ledger entry, removes its interrupts."""
        call_id = job.call["id"]
        interrupts = enumerate(self._session["interrupts"])
        places = [str(n) for n, interrupt in interrupts if interrupt.get("call_id") == call_id]
        changes = [put("calls", call_id, value=job.entry)]
        changes += [drop("interrupts", place) for place in reversed(places)]
        if job.grant:
            changes.append(put("grants", "-", value=job.grant))
        names = (job.call["function"]["name"], job.like)
        for place in policy.open_grants(self._session["grants"], names, used=not job.approved):
            if declaration := self._toolbox.declaration_digest(self._session, names[0]):
                changes.append(put("grants", str(place), "declaration", value=declaration))
        return events.tool_exec(call_id, changes, self._clock())

    def _seconds_allowed(self, job: Execute, seconds_left: SecondsLeft) -> float:
        """Return the seconds that a call may take before the run reaches its time limit.

        Infinity without a limit. A call that may not run twice also has the grace that it has after
        a disconnect, unless no time is left at all.
        """
        if (seconds := seconds_left()) is None:
            return math.inf
        return seconds if job.repeatable or seconds <= 0 else seconds + self._executions.grace_s

    @property
    def _session_key(self) -> SessionKey:
        return self._owner, self._session["id"]

    def _key(self, call: ToolCall, attempt: int) -> Key:
        return self._session_key, call["id"], attempt


def _not_run(job: Execute, error: OSError) -> str:
    return (
        f"{job.call['function']['name']} was not run: this server cannot write down that it runs"
        f" ({error.strerror}), and so could not keep it from running twice. POST the session again"
        " when the server can write to its home folder, or to another server."
    )


async def _at_once() -> bool:
    return True


def _batches(jobs: Iterable[Job]) -> Iterator[list[Any]]:
    """Yield adjacent parallel calls together, and each other job alone."""
    for parallel, group in groupby(jobs, lambda j: isinstance(j, Execute) and j.parallel_safe):
        if parallel:
            yield list(group)
        else:
            yield from ([job] for job in group)
