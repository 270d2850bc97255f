"""The agent loop: a session goes in, steps are decided and performed, events come out.

    accept    document → checked session, opening events                    (no side effects yet)
    begin     → run with a resolved model, the only one of its session
    events    opening → next_step ⇄ perform → RUN_FINISHED | RUN_ERROR      (each folded, then sent)

`next_step` (decide.py) decides, models and tools make events, and only `fold` changes the session.
The consumer of `events` must have written each event to the socket before it asks for the next:
that makes `tool.exec` a write-ahead mark (docs/reference/session.md, "Resume rules", rule 5).
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, suppress
from contextvars import Context
from dataclasses import KW_ONLY, InitVar, dataclass, field
from functools import partial
from itertools import islice
from typing import Any
from weakref import WeakValueDictionary, finalize

from ..config import Config
from ..context import compact as context
from ..errors import Problem
from ..json_types import AgentDefinition, Event, Interrupt, Json, RunInfo, Session
from ..lib.runtime.offload import offload
from ..models import Options
from ..models.registry import Model, Models
from ..session import (
    accept,
    agent_definition,
    config_schema,
    costs,
    events,
    old_pictures,
    skills,
)
from ..session.agents import Agents
from ..session.events import IDS, put, state_delta
from ..session.fold import Folder, digest, find_message, yaa_metadata
from ..session.kept_sessions import KeptSession
from ..session.limits import LimitCeilings, cap_limits, extend_limits
from ..session.modes import mode_of
from ..session.run_record import catch_up
from ..telemetry import log
from ..telemetry.monthly_usage import MonthlyUsage
from ..tools.execution_claims import Claims, Locks
from ..tools.running_calls import Executions, SessionKey, session_lock
from ..tools.session_files import Workspaces
from ..tools.toolbox import Toolbox
from .call_runner import CallRunner, ClaimError
from .decide import CallModel, Compact, Fail, NameSession, RunTools, Step, Stop, next_step
from .decide import Model as Facts
from .home_name import remarks_on
from .hooks import HookError, Hooks, RunHooks
from .key_in_answer import key_refuser
from .observer import RunObserver
from .run_parts import MakePart, RunParts
from .run_records import RunRecords, StopSignals
from .run_workspace import RunWorkspace
from .side_calls import SideCalls
from .workspace_steps import AlignWorkspace

SLACK_S = 0.05  # how far the clock of a run and that of a timeout may differ
REST_S = 0.005  # a run yields to the event loop after this long without a wait
# Planning a call and folding a change take as long as so many bytes of JSON. A call that asks takes
# as long as 4,000, but most are done.
PER_CALL = PER_CHANGE = 500
FEW = 100  # changes of one event that are folded on the event loop
CHANGES = {"STATE_DELTA": "delta", "CUSTOM": "value", "MESSAGES_SNAPSHOT": "messages"}
WATCH_S = 0.25  # interval of looking for stop requests, while anything runs
STOP_S = 5.0  # how long a stop request waits for the session's run and calls to end
STOPPED = "Stopped by the user."
STOP_REASONS = {  # code of the error -> its message
    "stopped": "A request with a key of the same person stopped this run: send it again to go on.",
    "stopped_by_owner": "An owner of this server ended this run: what was written is kept.",
}

logger = log.get("agent")


def new_id(kind: str) -> str:
    """Return a fresh identifier with 96 random bits: msg_…, call_…, run_…, ses_…"""
    return f"{kind}_{os.urandom(12).hex()}"


def now_ms() -> int:
    """Return the wall clock time, for display only: it may jump."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """Return a time for durations. It does not advance while the machine sleeps."""
    return time.monotonic_ns() // 1_000_000


@dataclass(frozen=True)
class AcceptedSession:
    """A session that may run, the definition of its agent, and the opening events of its run.

    `base`: the messages that the session begins with and an earlier run left; None if unknown.
    """

    session: Session
    agent: AgentDefinition
    opening: list[Event]
    base: KeptSession | None = None


@dataclass(eq=False)
class BaseAgent:
    """Everything a run needs, shared by all runs of a process.

    Holds no session: all state between runs may be lost. `former`: the agent of an earlier
    configuration of this process; its runs, calls and stop requests are known here too.
    """

    config: InitVar[Config]
    models: Models
    toolbox: Toolbox
    claims: InitVar[Claims]
    _: KW_ONLY
    agents: Agents
    ceilings: LimitCeilings
    workspaces: Workspaces
    locks: InitVar[Locks]
    clock: Callable[[], int] = now_ms
    ids: Callable[[str], str] = new_id
    stopwatch: Callable[[], int] = monotonic_ms
    hooks: Hooks = field(default_factory=Hooks)
    records: RunRecords = field(default_factory=RunRecords)
    signals: StopSignals = field(default_factory=StopSignals)
    usage: MonthlyUsage = field(default_factory=MonthlyUsage)
    former: InitVar[BaseAgent | None] = None
    parts: Sequence[MakePart] = ()

    def __post_init__(
        self, config: Config, claims: Claims, locks: Locks, former: BaseAgent | None
    ) -> None:
        server, self.defaults = config.server, config.session
        self.refuse_keys = key_refuser(config)
        self.log: Json = server["log"]
        earlier = former.executions if former else None
        grace_s = server["limits"]["disconnect_grace_s"]
        self.executions: Executions = Executions(claims, grace_s, self.ceilings, locks, earlier)
        self._watch: asyncio.TimerHandle | None = None  # the next look for stop requests
        self._active: WeakValueDictionary[SessionKey, Run] = WeakValueDictionary()
        if former:
            self.signals, self._active = former.signals, former._active

    def prepare(self, document: Any, key: str = "", owner: str = "", resumed: str = "") -> Run:
        """Return a run of this document. Raises Problem if it is refused."""
        return self.begin(self.accept(document, owner), key, owner, resumed)

    def accept(
        self, document: Any, owner: str = "", base: KeptSession | None = None
    ) -> AcceptedSession:
        """Return a checked document, which belongs to the run from now on. Raises Problem.

        Without other side effects, and slow for a large document: may run in a thread. `owner` as
        for `begin`. `base`: the messages that come before those of the document.
        """
        session, told = accept.accept_for_run(document, base)
        self.refuse_keys(session)
        self.toolbox.admit(session)
        agent, remarks = self.agents.resolve_with_warnings(session, owner)
        remarks = [*remarks, *config_schema.remarks(session, self.toolbox.names())]
        remarks += self.toolbox.permissions.remarks(session, self.defaults)
        remarks += self.models.check_session({**session.get("config", {}), "agent": agent})
        remarks += remarks_on(session, self.records.home)
        run_id, now, place = self.ids("run"), self.clock(), (self.toolbox.host, self.records.home)
        known, ceilings = len(base.messages) if base else 0, self.ceilings.of(owner)["session"]
        opening = accept.opening_events(
            session, self.defaults, agent, run_id, now, self.ids, *place, remarks, known, ceilings
        )
        opening[1:1] = told
        return AcceptedSession(session, agent, opening, base)

    def begin(
        self,
        accepted: AcceptedSession,
        key: str = "",
        owner: str = "",
        resumed: str = "",
        size: int = 0,
    ) -> Run:
        """Return the run of an accepted document. Raises Problem.

        `key` is the name of the API key, for the log. `owner` selects the workspaces, claims and
        kept results (api.auth.Key). `resumed` is the id of the run that the client resumes
        (`Last-Event-ID`). `size` is that of the document, in bytes of JSON: slow work on a large
        one is done outside of the event loop.
        """
        if self.executions.stopping:
            text = "This server is stopping. Ask again in a moment, or another one."
            raise Problem("overloaded", text, headers={"Retry-After": "1"})
        self.toolbox.look_again()
        session, agent = accepted.session, accepted.agent
        wanted = session.get("config", {}).get("llm_api", {}).get("provider")
        default = self.defaults["config"]["llm_api"]["provider"]
        provider = agent_definition.provider(agent, wanted, default)
        model = self.models.resolve(provider, owner)
        run = Run(self, accepted, model, key, owner, size)
        run.spends = not provider.get("api_key")
        self._register(run)
        run.resumed = resumed
        logger.info("run %s of session %s for %s", run.id, run.session_key[1], key or "-")
        return run

    def _register(self, run: Run) -> None:
        """Register the only run of its session. Raises Problem if this host has another one."""
        session = run.session_key
        if session in self._active or not self.executions.locks.take(session_lock(session)):
            raise Problem(
                "run_active",
                "This session is running here already. Wait for that run, or close its stream.",
                headers={"Retry-After": "1", "x-should-retry": "false"},
            )
        self.signals.begin(session)
        self._active[session] = run
        run.release = finalize(run, self._forget, session)  # at the latest on garbage collection

    async def stop_session(self, owner: str, session_id: str, code: str = "stopped") -> bool | None:
        """Stop the model call and the tool calls of a session on this host.

        `code`: of STOP_REASONS, the error in which its run in this process ends. The results of its
        tool calls say that they were stopped. Returns whether what ran has ended, after STOP_S at
        most, or None if nothing ran. Where locks do not work, that is of this process only, and the
        others are asked in any case.
        """
        session = (owner, session_id)
        if not (ran := self._has_runs(session) or None) and self.executions.locks.work:
            return None
        here = self._stop(session, code)
        with suppress(OSError):  # a full disk: only other processes miss the request
            self.signals.send(session)
        for _ in range(round(STOP_S / WATCH_S)):
            if not self._has_runs(session):
                return ran
            await asyncio.sleep(WATCH_S / 5 if here else WATCH_S)
        return not self._has_runs(session)

    def _stop(self, session: SessionKey, code: str = "stopped") -> bool:
        run = self._active.get(session)
        if run is not None:
            run.stop(code)
        return bool(self.executions.stop(session, STOPPED)) or run is not None

    def active_runs(self) -> list[tuple[SessionKey, str]]:
        """Return the sessions with a run or calls in this process, and the ids of their runs."""
        sessions = {*self._active, *self.executions.sessions}
        return [(each, run.id if (run := self._active.get(each)) else "") for each in sessions]

    def end(self, test: Callable[[str, str], bool]) -> None:
        """Stop each session for which `test(owner, id of its run)` is true."""
        for session, run in self.active_runs():
            if test(session[0], run):
                self._stop(session)

    def running_calls(self, owner: str, session_id: str) -> list[asyncio.Task[None]]:
        """Return the tool calls of a session that still run in this process."""
        return self.executions.tasks((owner, session_id))

    def _has_runs(self, session: SessionKey) -> bool:
        if session in self._active or self.executions.tasks(session):
            return True
        elsewhere = self.executions.locks.is_held(session_lock(session))
        return elsewhere or self.executions.runs_elsewhere(session)

    def _obey_stop_requests(self) -> None:
        """Stop the sessions for which another process has received a stop request."""
        for session in self.signals.new_requests({*self._active, *self.executions.sessions}):
            self._stop(session)

    def watch(self) -> None:
        """Look for stop requests every WATCH_S, as long as anything runs."""

        def look() -> None:
            """Look once, and again later if anything runs."""
            self._watch = None
            if self._active or self.executions.sessions:
                self._obey_stop_requests()
                self.watch()

        if self._watch is None:
            # Not in the context of the run that began it, which refers to its session.
            loop = asyncio.get_running_loop()
            self._watch = loop.call_later(WATCH_S, look, context=Context())

    @property
    def busy(self) -> bool:
        """Return whether a run or a call that began here still goes on."""
        return self.executions.busy or any(run.agent is self for run in self._active.values())

    def stop(self) -> None:
        """End all runs that began here at a safe point: no step and no call begins any more.

        Model calls are cancelled at once, since they can be repeated. Runs end without a terminal
        event, so their clients continue on another server.
        """
        self.executions.stopping = True
        for run in list(self._active.values()):
            if run.agent is self:
                run.interrupt()

    async def close(self) -> None:
        """Call `stop`, then kill tools that still run."""
        self.stop()
        if self._watch is not None:
            self._watch.cancel()
        await self.executions.close()

    def _forget(self, session: SessionKey) -> None:
        self._active.pop(session, None)
        self.executions.locks.free(session_lock(session))


class Run:
    """One POST: a session document and the events that change it.

    id             the run's
    session        the live document; consistent between two events
    first_message  how many messages the document brought
    session_key    the owner of the API key, and the session's id
    base           the messages that it began with and an earlier run left, perhaps none
    """

    def __init__(
        self,
        agent: BaseAgent,
        accepted: AcceptedSession,
        model: Model,
        key: str,
        owner: str,
        size: int,
    ) -> None:
        session, opening = accepted.session, accepted.opening
        self.id: str = opening[0]["runId"]
        self.session = session
        self.base = accepted.base or KeptSession(owner, opening[0]["threadId"], [], {})
        self.first_message = len(session.get("messages") or [])
        self.session_key: SessionKey = (owner, opening[0]["threadId"])
        self.agent, self._model, self._opening = agent, model, opening
        self._folder = Folder(session, len(self.base.messages), self.base.known_ids.messages)
        self.resumed = ""  # the id of the run that the client resumes
        self._files = RunWorkspace.of(session, agent.workspaces, owner, opening)
        self._call_runner = CallRunner(
            *(session, agent.toolbox, agent.executions, agent.clock, agent.ids),
            owner=owner,
            files=self._files,
        )
        self._started_ms = agent.stopwatch()
        self._step = ""  # the open step's name
        self._limits: Json = {}  # set once the opening events are folded
        self._used = session.get("usage", {}).copy()  # usage before this POST
        self._facts = Facts(model.model, model.facts)
        about = {"run": self.id, "model": model.model, "key_name": key, "owner": owner}
        self._hooks = RunHooks(agent.hooks, session, agent.toolbox, about)
        self._observer = RunObserver(session, about, agent.log)
        facts = about | model.provider_facts()
        added = (make(session, facts) for make in agent.parts)
        self._parts = RunParts([self._observer, *added])
        self._side_calls = SideCalls(
            session, model.api, agent.ids, agent.clock, self._parts, self._hooks
        )
        self.spends = True  # with a key of this server, not with the session's own
        self._stop_code = ""  # of STOP_REASONS, once it was stopped
        self._size = size  # bytes of JSON of the document
        self._alone_since = 0.0  # since when no other task has run; 0: others run
        # Not kept in the first call of a session, which may be the only one
        self._texts = self.base.texts if self.base.messages else None
        self._refused = False  # the provider refused the last request as too large
        # The consumer, while a model is called
        self._consumer_task: asyncio.Task[Any] | None = None
        self.release: Callable[[], object] = lambda: None  # allows another run of this session

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield every event of the run, after folding it into `session`.

        Exactly one terminal event ends the stream, unless the server stops or the consumer closes
        the stream. Closing cancels the model call at once, and running tools as
        tools/running_calls.py describes. A stopping server cancels the consumer while it waits for
        a model (`BaseAgent.stop`). The terminal event comes once the session may run again.
        """
        self._parts.start()
        self.agent.watch()
        end: Event | None = None
        try:
            async with aclosing(self._produce()) as source:
                async for event in source:
                    if event["type"] in self._hooks.watched:
                        event = await self._hooks.on_event(event)
                    await self._record_event(event)
                    if event["type"] in ("RUN_FINISHED", "RUN_ERROR"):
                        end = event
                        continue
                    yield event
                    if self._has_worked_long():
                        await asyncio.sleep(0)
        except (Exception, asyncio.CancelledError) as error:  # bugs must end the run, too
            if isinstance(error, asyncio.CancelledError) and not self._stop_code:
                raise
            end = self._error(self._failure_event(error))
            await self._record_event(end)
        finally:
            self._consumer_task = None  # its context refers to this run
            self._folder.flush()
            if (record := self._call_runner.record).begun:
                with suppress(OSError):
                    record.append(self.session)
            self.release()
            self._parts.end(self._elapsed_ms() / 1000)
            if self.spends and (usages := self._observer.usages):
                self.agent.usage.add(self.session_key[0], usages)
        if end is not None:
            yield end

    def left(self) -> KeptSession | None:
        """Return what the run has left of its session; None if it did not begin."""
        if self._opening:
            return None
        return self.base.after(self.session, self._folder.since, self.first_message, self._size)

    def _has_worked_long(self) -> bool:
        """Return whether no other task has run for REST_S."""
        now = time.monotonic()
        if not self._alone_since:
            self._alone_since = now
            asyncio.get_running_loop().call_soon(setattr, self, "_alone_since", 0.0)
        return now > self._alone_since + REST_S

    def confirm_announcements(self, arrived: Callable[[], Awaitable[bool]]) -> None:
        """Make calls that may not run twice wait for `arrived`, once they are announced."""
        self._call_runner.arrived = arrived

    def keep_before_calls(self, keep: Callable[[Session], object]) -> None:
        """Call `keep` before each call that may not run twice; an OSError keeps it from running."""
        self._call_runner.keep = keep

    def stop(self, code: str) -> None:
        """End the run at its next safe point in an error of STOP_REASONS: no client goes on."""
        self._stop_code = code
        self._call_runner.stopped = True
        self.interrupt()

    def interrupt(self) -> None:
        """Cancel a model call. A running tool call is not cancelled."""
        if self._consumer_task is not None:
            self._consumer_task.cancel()

    async def _record_event(self, event: Event) -> None:
        """Fold the event into the session, then show it to the parts of the run."""
        kind = event["type"]
        changes = event.get(CHANGES[kind]) if kind in CHANGES else ()
        count = len(changes) if isinstance(changes, list) else 0
        if count > FEW or (kind == "CUSTOM" and event.get("name") == IDS):
            await offload(self._size + PER_CHANGE * count, self._folder.apply, event)
        else:
            self._folder.apply(event)
        if kind in ("RUN_FINISHED", "RUN_ERROR"):
            metadata = event.setdefault("metadata", {}).setdefault("yaa", {})
            since = self._folder.since
            touched = self._size if since < self.first_message else 0
            metadata["digest"] = await offload(touched, digest, self.session, since)
            metadata["since"] = since
        self._parts.see(event)

    def _must_end(self, step: Step) -> bool:
        """Return whether the server stops. Raises CancelledError if the run was stopped."""
        if self._stop_code and not isinstance(step, Stop):
            raise asyncio.CancelledError
        return self.agent.executions.stopping and not isinstance(step, Stop)

    def _failure_event(self, error: BaseException) -> Event:
        """Return the event that ends a run in an exception."""
        if isinstance(error, asyncio.CancelledError):
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
            return events.run_error(STOP_REASONS[self._stop_code], self._stop_code)
        if isinstance(error, HookError | ClaimError):
            code = "hook_failed" if isinstance(error, HookError) else "claim_failed"
            return events.run_error(str(error), code)
        incident = secrets.token_hex(6)
        logger.exception("run %s broke (incident %s)", self.id, incident)
        text = f"The server made a mistake; its log has the details under {incident}."
        return events.run_error(text, "internal", incident=incident)

    async def _produce(self) -> AsyncGenerator[Event, None]:
        for event in self._opening:
            yield event
        self._opening.clear()  # frees the configuration that they contain
        recorded = self.agent.records.has(self.session_key)
        earlier = self._events_of_earlier_runs(recorded)
        work = self._size // (1 if recorded else 32) + PER_CALL * len(self.session["calls"])
        while next_events := await offload(work, list, islice(earlier, 1)):
            yield next_events[0]
        async for event in self._parts.opening():
            yield event
        for change in skills.leave_out(self.session, self.agent.toolbox.names):
            yield state_delta(change)
        await self._hooks.pre_call()
        limits = cap_limits(
            self.session["config"]["limits"],
            agent_definition.definition_of(self.session).get("limits", {}),
            ceilings := self.agent.ceilings.of(self.session_key[0])["session"],
            {"max_steps": mode_of(self.session).most_rounds},
        )
        self._limits = extend_limits(limits, self.session["run"], ceilings)
        while True:
            work = self._size + PER_CALL * len(self.session["calls"])
            step = await offload(work, self._next_step)
            if self._must_end(step):
                return  # every message is complete and no call runs: the client can resume here
            calls_model = isinstance(step, (CallModel, Compact, NameSession))
            self._consumer_task = asyncio.current_task() if calls_model else None
            match step:
                case RunTools(jobs):
                    ready = await self._hooks.pre_acting(jobs)
                    source = self._call_runner.perform(ready, self._seconds_left)
                case CallModel() as call:
                    source = self._call_model(call)
                case Compact(compaction):
                    source = self._side_calls.compact(compaction)
                case AlignWorkspace() as alignment:
                    source = self._align_workspace(alignment)
                case NameSession():
                    source = self._side_calls.name_session()
                case Fail(code, message):
                    for event in self._close_step():
                        yield event
                    yield self._error(events.run_error(message, code))
                    return
                case Stop() as stop:
                    interrupts = [ask.interrupt for ask in stop.asks] + list(stop.interrupts)
                    for event in await self._hooks.on_end(stop.status, interrupts):
                        yield event
                    for event in self._end_events(stop, interrupts):
                        yield event
                    return
            async with aclosing(source) as performed:
                async for event in performed:
                    if event["type"] == "TEXT_MESSAGE_END":
                        # The message is complete: do not cancel any more
                        self._consumer_task = None
                    yield event
                    if event["type"] == "RUN_ERROR":
                        return

    def _events_of_earlier_runs(self, recorded: bool) -> Iterator[Event]:
        """Yield what earlier runs on this host did and the document does not know.

        `recorded`: there may be a record of the session.
        """
        records, key, calls, record = self.agent.records, self.session_key, self._call_runner, None
        if recorded:
            find = partial(records.find, key)
            record, calls.forgotten = yield from catch_up(self.session, find, self.resumed)
        calls.record = records.writer(key, self.id, record)
        yield from calls.look_at_claims()

    def _next_step(self) -> Step:
        return next_step(
            self.session,
            self.agent.toolbox.judge(self.session),
            self._limits,
            self._facts,
            elapsed_ms=self._elapsed_ms(),
            host=self._call_runner.host_record(),
            files=self._files.state,
        )

    async def _align_workspace(self, step: AlignWorkspace) -> AsyncGenerator[Event, None]:
        async with aclosing(self._files.align(step)) as source:
            async for event in source:
                yield self._error(event) if event["type"] == "RUN_ERROR" else event

    # -- the model --------------------------------------------------------------------------------

    async def _call_model(self, call: CallModel) -> AsyncGenerator[Event, None]:
        session, agent = self.session, self.agent
        for event in self._close_step():
            yield event
        event = events.step_started(session["run"]["step"] + 1, agent.clock())
        self._step = event["stepName"]
        yield event
        options = Options.of(
            *(session, agent.ids),
            seconds_left=self._seconds_left(),
            tool_choice=call.choice,
            size=self._size,
            texts=self._texts,
        )
        self._texts = self.base.texts  # what this call writes for the next one
        tools = call.tools
        messages = await self._hooks.pre_reasoning(call.messages)
        self._parts.request(self._step, messages, tools)
        async with aclosing(self._model.api.stream(messages, tools, options)) as source:
            async for event in source:
                if event["type"] == "RUN_ERROR":
                    self._parts.model_error(event)
                    began = find_message(session, options.message_id) is not None
                    async for follow_up in self._model_failure_events(event, began=began):
                        yield follow_up
                    return
                if event["type"] == "TEXT_MESSAGE_END":
                    for change in self._room_for_media(event):
                        yield change
                yield event
        self._refused = False
        for event in await self._hooks.post_reasoning(options.message_id):
            yield event
        yield self._account(options.message_id, call, (messages, tools))

    def _room_for_media(self, event: Event) -> Iterator[Event]:
        """Yield what puts words for older pictures, if those of an answer need their room."""
        items = yaa_metadata(event).get("media")
        if items and (changes := old_pictures.room_for(self.session["messages"], items)):
            yield events.messages_filled(changes)

    def _account(self, message_id: str, call: CallModel, sent: context.Sent) -> Event:
        session = self.session
        message = next(m for m in reversed(session["messages"]) if m["id"] == message_id)
        usage = message["meta"].get("usage", {})
        return state_delta(
            *costs.model_call_changes(session, message, sums_up=call.sums_up),
            costs.usage_change(session, usage),
            *context.calibration_changes(session, self._facts.name, call.measure, usage, sent),
        )

    async def _model_failure_events(
        self, error: Event, *, began: bool
    ) -> AsyncGenerator[Event, None]:
        """Yield what follows from a failed model call.

        If it began no message, `next_step` may decide again: to call with a smaller request, or to
        stop at the time limit that cut the call short.
        """
        if error["code"] == "context_overflow" and not self._refused:
            self._refused = True
            toolbox = self.agent.toolbox
            async with aclosing(
                self._side_calls.after_refusal(error, self._facts, toolbox)
            ) as source:
                async for event in source:
                    yield event
            if not began:
                return
        seconds_left = self._seconds_left()
        if (
            error["code"] == "upstream_timeout"
            and seconds_left is not None
            and seconds_left <= SLACK_S
        ):
            if not began:
                return
            error["message"] += "; the run has used up its limit max_wall_s"
        repeat_offer = put("interrupts", value=[costs.model_error(error)])
        yield state_delta(repeat_offer, *costs.failed_call_changes(self.session, error))
        yield self._error(error)

    # -- the end ----------------------------------------------------------------------------------

    def _end_events(self, stop: Stop, interrupts: list[Interrupt]) -> Iterator[Event]:
        yield from self._close_step()
        run: RunInfo = {**self.session["run"]}
        run["wall_ms"] += self._elapsed_ms()
        yield state_delta(
            put("run", value=run),
            *(put("calls", ask.interrupt["call_id"], value=ask.entry) for ask in stop.asks),
            put("interrupts", value=interrupts),
            *(put("output", value=value) for value in stop.output),
        )
        usage = costs.agui(self._facts.name, self._used, self.session.get("usage", {}))
        yield events.run_finished(self.session, stop.status, stop.reason, usage, self.agent.clock())

    def _close_step(self) -> Iterator[Event]:
        if self._step:
            yield events.step_finished(self._step, self.agent.clock())
            self._step = ""

    def _error(self, event: Event) -> Event:
        """Return the RUN_ERROR with the message id and the next `rev`, which its fold needs."""
        metadata = event.setdefault("metadata", {}).setdefault("yaa", {})
        metadata |= {"message_id": self.agent.ids("err"), "rev": events.next_rev(self.session)}
        return {**event, "timestamp": self.agent.clock()}

    def _elapsed_ms(self) -> int:
        return self.agent.stopwatch() - self._started_ms

    def _seconds_left(self) -> float | None:
        allowed = self._limits.get("max_wall_s")
        spent_ms: int = self.session["run"]["wall_ms"] + self._elapsed_ms()
        return None if allowed is None else float(allowed) - spent_ms / 1000
