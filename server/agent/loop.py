"""The agent: a session goes in, steps are decided and performed, events come out.

    prepare   document → checked session, resolved model, opening events   (nothing has happened)
    events    opening → next_step ⇄ perform → RUN_FINISHED | RUN_ERROR      (each folded, then sent)

`next_step` decides (agent/decide.py), models and tools make events, `fold` alone writes. The
consumer of `events` must have handed each event to the socket before it asks for the next: that
is what makes `tool.exec` a write-ahead mark (resume rule 5).
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, suppress
from copy import deepcopy
from typing import Any
from weakref import WeakValueDictionary, finalize

from ..agents.registry import Agents
from ..config import Config
from ..context import updates as context
from ..context.view import pairing_errors, view
from ..errors import Problem
from ..models import Options
from ..models.registry import Model, Models
from ..models.text_tools import history
from ..runtime.offload import offload
from ..session import accept, agent_definition, events, prompts, run_record, unknown_keys
from ..session import usage as account
from ..session.events import Event, put, state_delta
from ..session.fold import Folder, digest, find_message, fold
from ..session.limits import Ceilings, capped
from ..session.reminders import with_notes
from ..telemetry import log, trace
from ..telemetry.metrics import Metrics, Row
from ..tools.execution_claims import Claims
from ..tools.execution_locks import Locks
from ..tools.executions import Executions, SessionKey, session_lock
from ..tools.toolbox import Toolbox
from .call_runner import Jobs, Unclaimed
from .decide import CallModel, Compact, Fail, NameSession, RunTools, Step, Stop, next_step
from .decide import Model as Facts
from .hook_points import Points
from .hooks import HookFailed, Hooks
from .observer import Witness
from .run_records import RunRecords, Writer
from .side_calls import Beside
from .stop_signals import StopSignals

Session = dict[str, Any]

SLACK_S = 0.05  # between the clock of a run and that of a timeout
REST_S = 0.005  # a run that is not waited for lets others go on after so long
WATCH_S = 0.25  # between two looks for sessions that are to stop, while anything runs
STOP_S = 5.0  # how long a request to stop waits until nothing of the session runs any more
STOPPED = "Stopped by the user."

logger = log.get("agent")


def new_id(kind: str) -> str:
    """A fresh identifier, 96 random bits: msg_…, call_…, run_…, ses_…"""
    return f"{kind}_{secrets.token_hex(12)}"


def now_ms() -> int:
    """Return the time of day, which may be set or jump: for what people read, not for durations."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """Return a time for durations. It does not pass while the machine sleeps."""
    return time.monotonic_ns() // 1_000_000


class BaseAgent:
    """Everything a run needs. Holds no session: what it keeps between runs can be lost."""

    def __init__(
        self,
        config: Config,
        models: Models,
        toolbox: Toolbox,
        claims: Claims,
        *,
        agents: Agents | None = None,
        ceilings: Ceilings | None = None,
        locks: Locks | None = None,
        metrics: Row | None = None,
        clock: Callable[[], int] = now_ms,
        ids: Callable[[str], str] = new_id,
        sink: trace.Sink | None = None,
        hooks: Hooks | None = None,
        records: RunRecords | None = None,
        signals: StopSignals | None = None,
        stopwatch: Callable[[], int] | None = None,
    ) -> None:
        limits = config.server["limits"]
        self.defaults = config.session
        self.ceilings = ceilings or Ceilings(limits, {})
        self.models, self.toolbox = models, toolbox
        self.agents = agents or Agents(limits=config.session["config"]["limits"])
        grace_s = limits["disconnect_grace_s"]
        self.executions = Executions(claims, grace_s, self.ceilings, locks or Locks())
        self.clock, self.ids, self.sink = clock, ids, sink
        self.stopwatch = stopwatch or monotonic_ms
        self.records = records or RunRecords()
        self._signals = signals or StopSignals()
        self._watch: asyncio.TimerHandle | None = None  # the next look for sessions to stop
        self.hooks = hooks or Hooks()
        self.tells_deltas: bool = config.server["log"]["model_deltas"]
        self.tells_calls: bool = config.server["log"]["model_calls"]
        self.metrics = metrics or Metrics().row(0)
        self._active: WeakValueDictionary[SessionKey, Run] = WeakValueDictionary()

    def prepare(
        self,
        document: Any,
        key: str = "",
        owner: str = "",
        resumed: str = "",
        checked_size: int = 0,
    ) -> Run:
        """Return a run of this document. Raises Problem, before any side effect, if there can be
        none.

        `key` is the name of the API key, for the log. `owner` says whose workspaces, claims and
        kept results it reaches (api.auth.Key). `resumed` is the id of a run that the client says
        it goes on with (`Last-Event-ID`). `checked_size` says that `intake.accept` has been called,
        and how many bytes of JSON the document has: what takes long over a large one is done
        beside the event loop. The document becomes the run's own.
        """
        if self.executions.stopping:
            text = "This server is stopping. Ask again in a moment, or another one."
            raise Problem("overloaded", text, headers={"Retry-After": "1"})
        session: Session = document if checked_size else accept.accept(document)
        told = accept.converted(session)
        self.toolbox.admit(session)
        agent, remarks = self.agents.resolved(session, owner)
        remarks = [*remarks, *unknown_keys.remarks(session, self.toolbox.names())]
        remarks += history.remarks(prompts.custom({**session.get("config", {}), "agent": agent}))
        own = session.get("config", {}).get("llm_api", {}).get("provider")
        default = self.defaults["config"]["llm_api"]["provider"]
        model = self.models.resolve(agent_definition.provider(agent, own, default), owner)
        run_id = self.ids("run")
        now, ids, host = self.clock(), self.ids, self.toolbox.host
        opening = accept.opening(session, self.defaults, agent, run_id, now, ids, host, remarks)
        opening[1:1] = told
        run = Run(self, session, model, opening, key, owner)
        run.size = checked_size
        self._begin(run)
        run.catch_up(resumed)
        logger.info("run %s of session %s for %s", run_id, run.session_key[1], key or "-")
        return run

    def _begin(self, run: Run) -> None:
        """While a run exists, there is no other run of its session on this host."""
        session = run.session_key
        if session in self._active or not self.executions.locks.take(session_lock(session)):
            raise Problem(
                "run_active",
                "This session is running here already. Wait for that run, or close its stream.",
                headers={"Retry-After": "1", "x-should-retry": "false"},
            )
        self._look()  # requests to stop that came before this run are not for it
        self._active[session] = run
        run.release = finalize(run, self._forget, session)  # at the latest when it is dropped

    async def stop_session(self, owner: str, session_id: str) -> bool:
        """End what runs of a session on this host: its model call, and its tool calls, whose result
        says that they were stopped. Returns whether nothing runs any more, after STOP_S at most.
        """
        session = (owner, session_id)
        ran = self._stop(session)
        with suppress(OSError):  # a full disk: what runs in this process has been stopped
            self._signals.send(session)
        for _ in range(round(STOP_S / WATCH_S)):
            if not self._runs(session):
                return True
            await asyncio.sleep(WATCH_S / 5 if ran else WATCH_S)
        return not self._runs(session)

    def _stop(self, session: SessionKey) -> bool:
        run = self._active.get(session)
        if run is not None:
            run.stop()
        return bool(self.executions.stop(session, STOPPED)) or run is not None

    def _runs(self, session: SessionKey) -> bool:
        here = session in self._active or self.executions.runs(session)
        return here or self.executions.locks.held(session_lock(session))

    def _look(self) -> None:
        """Stop the sessions that another process was asked to stop."""
        received = self._signals.received()
        for session in {*self._active, *self.executions.sessions}:
            if received and self._signals.name(session) in received:
                self._stop(session)

    def watch(self) -> None:
        """Look for requests to stop now and then, as long as anything runs."""

        def look() -> None:
            self._watch = None
            if self._active or self.executions.sessions:
                self._look()
                self.watch()

        if self._watch is None:
            self._watch = asyncio.get_running_loop().call_later(WATCH_S, look)

    def stop(self) -> None:
        """Let runs end at a safe point: no step and no call begins any more, and a model call is
        ended at once, since it can be made again. Runs end without a terminal event, so their
        clients know that there is more to do, and go on elsewhere."""
        self.executions.stopping = True
        for run in list(self._active.values()):
            run.interrupt()

    async def close(self) -> None:
        """`stop`, then kill tools that still run."""
        self.stop()
        await self.executions.close()

    def _forget(self, session: SessionKey) -> None:
        self._active.pop(session, None)
        self.executions.locks.free(session_lock(session))


class Run:
    """One POST: the session as it is now, and the events that make it what it becomes.

    id             the run's
    session        the live document; whole whenever no event is being made
    first_message  how many messages the document brought
    session_key    the owner of the API key, and the session's id
    """

    def __init__(
        self,
        agent: BaseAgent,
        session: Session,
        model: Model,
        opening: list[Event],
        key: str = "",
        owner: str = "",
    ) -> None:
        self.id: str = opening[0]["runId"]
        self.session = session
        self.first_message = len(session.get("messages") or [])
        self.session_key: SessionKey = (owner, opening[0]["threadId"])
        self._thread: str = opening[0]["threadId"]
        self._agent, self._model, self._opening = agent, model, opening
        self._folder = Folder(session)
        self._record = agent.records.writer(self.session_key)
        self._jobs = Jobs(
            *(session, agent.toolbox, agent.executions, agent.clock, agent.ids),
            owner=owner,
            record=self._record,
        )
        self._started_ms = agent.stopwatch()
        self._step = ""  # the open step's name
        self._limits: dict[str, Any] = {}  # as soon as the session is filled in
        self._used: dict[str, int] = dict(session.get("usage", {}))  # before this POST
        self._facts = Facts(model.model, model.facts)
        tells = {"tells_deltas": agent.tells_deltas, "tells_calls": agent.tells_calls}
        self._witness = Witness(session, model, key, agent.sink, **tells)
        about = {"run": self.id, "model": model.model, "key_name": key, "owner": owner}
        self._points = Points(agent.hooks, session, agent.toolbox, about)
        self._beside = Beside(
            session, model.api, agent.ids, agent.clock, self._witness, self._points
        )
        self._stopped = False
        self.size = 0  # bytes of JSON that the document has, where it is large
        self._refused = False  # the provider has found the last request too large
        self._waits: asyncio.Task[Any] | None = None  # the consumer, while a model is called
        self.release: Callable[[], object] = lambda: None  # lets another run of this session begin

    async def events(self) -> AsyncGenerator[Event, None]:
        """Every event of the run, folded into `session` before it is given out.

        Exactly one terminal event ends the stream, unless the server stops, or the consumer closes
        it: that cancels the model call at once and running tools as executions.py says. A server
        that stops cancels the consumer where it waits for a model (`BaseAgent.stop`).
        """
        metrics = self._agent.metrics
        metrics.run_began()
        self._agent.watch()
        rested = time.monotonic()
        try:
            async with aclosing(self._produce()) as source:
                async for event in source:
                    if event["type"] in self._points.watched:
                        event = await self._points.passing(event)
                    await self._take(event)
                    yield event
                    if time.monotonic() > rested + REST_S:  # others get their turn
                        await asyncio.sleep(0)
                        rested = time.monotonic()
        except Exception as error:  # our own mistakes, too, end the run with a terminal event
            event = self._error(self._broken(error))
            await self._take(event)
            yield event
        finally:
            self._folder.flush()
            if self._record.begun:
                with suppress(OSError):
                    self._record.append(self.session)
            self.release()
            self._witness.end(self.id, self._thread, self._elapsed_ms())
            seconds = self._elapsed_ms() / 1000
            metrics.run_ended(self.session, self._witness.results, self._used, seconds)

    def catch_up(self, resumed: str = "") -> None:
        """Begin with what an earlier run of this host did and the document lacks, if there is a
        record of it (session/run_record.py)."""
        records = self._agent.records
        if (record := records.find(self.session_key)) is None:
            return
        lacking = run_record.missing(self.session, record, resumed=resumed)
        if lacking is not None:
            self._record = self._jobs.record = records.writer(self.session_key, record)
        if lacking:
            opened = deepcopy(self.session)
            for event in self._opening:
                fold(opened, event)
            self._opening += run_record.catching_up(opened, lacking, record)

    @property
    def record(self) -> Writer | None:
        """What is kept of this run until its client has the answer; None if nothing is."""
        return self._record if self._record.begun else None

    def announces(self, arrived: Callable[[], Awaitable[bool]]) -> None:
        """Have calls that may not run twice wait for `arrived`, once they are announced."""
        self._jobs.arrived = arrived

    def stop(self) -> None:
        """End the run at its next safe point, without a terminal event: a person wants that."""
        self._stopped = self._jobs.stopped = True
        self.interrupt()

    def interrupt(self) -> None:
        """Leave a model call. A tool that runs is waited for."""
        if self._waits is not None:
            self._waits.cancel()

    async def _take(self, event: Event) -> None:
        """Fold the event into the session, and show it to the log and the trace."""
        self._folder.apply(event)
        if event["type"] in ("RUN_FINISHED", "RUN_ERROR"):
            ours = event.setdefault("metadata", {}).setdefault("yaa", {})
            ours["digest"] = await offload(self.size, digest, self.session)
        self._witness.see(event)

    def _broken(self, error: Exception) -> Event:
        if isinstance(error, HookFailed):
            return events.run_error(str(error), "hook_failed")
        if isinstance(error, Unclaimed):
            return events.run_error(str(error), "claim_failed")
        incident = secrets.token_hex(6)
        logger.exception("run %s broke (incident %s)", self.id, incident)
        text = f"The server made a mistake; its log has the details under {incident}."
        return events.run_error(text, "internal", incident=incident)

    async def _produce(self) -> AsyncGenerator[Event, None]:
        for event in self._opening:
            yield event
        self._opening.clear()  # they hold the whole configuration, for as long as the run takes
        await self._points.opened()
        self._limits = capped(
            self.session["config"]["limits"],
            agent_definition.of(self.session).get("limits", {}),
            self._agent.ceilings.of(self.session_key[0])["session"],
        )
        while True:
            step = await offload(self.size, self._next_step)
            if (self._agent.executions.stopping or self._stopped) and not isinstance(step, Stop):
                return  # every message is whole and no call runs: the client goes on from here
            calls_model = isinstance(step, (CallModel, Compact, NameSession))
            self._waits = asyncio.current_task() if calls_model else None
            match step:
                case RunTools(jobs):
                    ready = await self._points.acting(jobs)
                    source = self._jobs.perform(ready, self._seconds_left)
                case CallModel() as call:
                    source = self._call_model(call)
                case Compact(compaction):
                    source = self._beside.compact(compaction)
                case NameSession():
                    source = self._beside.name_session()
                case Fail(code, message):
                    for event in self._close_step():
                        yield event
                    yield self._error(events.run_error(message, code))
                    return
                case Stop() as stop:
                    asked = [ask.interrupt for ask in stop.asks] + list(stop.interrupts)
                    for event in await self._points.stopping(stop.status, asked):
                        yield event
                    for event in self._finish(stop, asked):
                        yield event
                    return
            async with aclosing(source) as performed:
                async for event in performed:
                    if event["type"] == "TEXT_MESSAGE_END":
                        self._waits = None  # the message is whole: a safe point is near
                    yield event
                    if event["type"] == "RUN_ERROR":
                        return

    def _next_step(self) -> Step:
        return next_step(
            self.session,
            self._agent.toolbox.judge(self.session),
            self._limits,
            self._facts,
            elapsed_ms=self._elapsed_ms(),
            recoverable=self._jobs.recoverable(),
            horizon_ms=self._jobs.horizon_ms,
            begun=self._jobs.begun,
        )

    # -- the model --------------------------------------------------------------------------------

    async def _call_model(self, call: CallModel) -> AsyncGenerator[Event, None]:
        session, agent = self.session, self._agent
        for event in self._close_step():
            yield event
        event = events.step_started(session["run"]["step"] + 1, agent.clock())
        self._step = event["stepName"]
        yield event
        messages = [{"role": "system", "content": prompts.system(session)}, *view(session)]
        if errors := pairing_errors(messages):  # a mistake in view()
            raise AssertionError(f"the view is not well paired: {errors}")
        messages = with_notes(session, messages, call.note)
        left = self._seconds_left()
        options = Options.of(session, agent.ids, seconds_left=left, tool_choice=call.choice)
        tools = list(call.tools)
        messages = await self._points.asking(messages)
        self._witness.asks(messages, tools)
        async with aclosing(self._model.api.stream(messages, tools, options)) as source:
            async for event in source:
                if event["type"] == "RUN_ERROR":
                    self._witness.not_answered(event)
                    began = find_message(session, options.message_id) is not None
                    async for each in self._not_answered(event, began=began):
                        yield each
                    return
                yield event
        self._refused = False
        for event in await self._points.answered(options.message_id):
            yield event
        yield self._account(options.message_id, call, (messages, tools))

    def _account(self, message_id: str, call: CallModel, sent: context.Request) -> Event:
        session = self.session
        message = next(m for m in reversed(session["messages"]) if m["id"] == message_id)
        usage = message["meta"].get("usage", {})
        return state_delta(
            *account.answered(session, message, sums_up=call.sums_up),
            account.used(session, usage),
            *context.calibrated(session, self._facts.name, call.measure, usage, sent),
        )

    async def _not_answered(self, error: Event, *, began: bool) -> AsyncGenerator[Event, None]:
        """What follows from a failed model call. If it began no message, `next_step` may decide
        anew: on a smaller request, or to stop for the limit that has cut the call short."""
        if error["code"] == "context_overflow" and not self._refused:
            self._refused = True
            toolbox = self._agent.toolbox
            async with aclosing(self._beside.after_refusal(error, self._facts, toolbox)) as source:
                async for event in source:
                    yield event
            if not began:
                return
        left = self._seconds_left()
        if error["code"] == "upstream_timeout" and left is not None and left <= SLACK_S:
            if not began:
                return
            error["message"] += "; the run has used up its limit max_wall_s"
        asked = put("interrupts", value=[account.model_error(error)])
        yield state_delta(asked, *account.wasted(self.session, error))
        yield self._error(error)

    # -- the end ----------------------------------------------------------------------------------

    def _finish(self, stop: Stop, asked: list[dict[str, Any]]) -> Iterator[Event]:
        yield from self._close_step()
        run = {**self.session["run"]}
        run["wall_ms"] += self._elapsed_ms()
        yield state_delta(
            put("run", value=run),
            *(put("calls", ask.interrupt["call_id"], value=ask.entry) for ask in stop.asks),
            put("interrupts", value=asked),
            *(put("output", value=value) for value in stop.output),
        )
        usage = account.agui(self._facts.name, self._used, self.session.get("usage", {}))
        now = self._agent.clock()
        yield events.run_finished(self.session, stop.status, stop.reason, usage, now)

    def _close_step(self) -> Iterator[Event]:
        if self._step:
            yield events.step_finished(self._step, self._agent.clock())
            self._step = ""

    def _error(self, event: Event) -> Event:
        """A RUN_ERROR with what its fold needs: the error message's id and the next rev."""
        ours = event.setdefault("metadata", {}).setdefault("yaa", {})
        ours |= {"message_id": self._agent.ids("err"), "rev": self.session.get("rev", 0) + 1}
        return {**event, "timestamp": self._agent.clock()}

    def _elapsed_ms(self) -> int:
        return self._agent.stopwatch() - self._started_ms

    def _seconds_left(self) -> float | None:
        allowed = self._limits.get("max_wall_s")
        spent_ms: int = self.session["run"]["wall_ms"] + self._elapsed_ms()
        return None if allowed is None else float(allowed) - spent_ms / 1000
