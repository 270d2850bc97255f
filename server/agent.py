"""The agent: a session goes in, steps are decided and performed, events come out.

    prepare   document → checked session, resolved model, opening events   (nothing has happened)
    events    opening → next_step ⇄ perform → RUN_FINISHED | RUN_ERROR      (each folded, then sent)

`next_step` decides (session/decide.py), models and tools make events, `fold` alone writes. The
consumer of `events` must have handed each event to the socket before it asks for the next: that
is what makes `tool.exec` a write-ahead mark (resume rule 5).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import Any
from weakref import WeakValueDictionary

from . import log, tracing
from .agents.registry import Agents
from .beside import Beside
from .config import Config
from .errors import Problem
from .hooks import HookFailed, Hooks
from .llm import Options
from .llm.registry import Model, Models
from .points import Points
from .session import account, definition, events, intake, prompts
from .session.context import changes as context
from .session.context.view import pairing_errors, view
from .session.decide import (
    CallModel,
    Compact,
    Fail,
    NameSession,
    RunTools,
    Step,
    Stop,
    capped,
    next_step,
)
from .session.decide import Model as Facts
from .session.events import Event, put, state_delta
from .session.fold import Folder, digest
from .session.notes import with_notes
from .tools.claims import Claims
from .tools.executions import Executions
from .tools.jobs import Jobs
from .tools.toolbox import Toolbox
from .witness import Witness

Session = dict[str, Any]

logger = log.get("agent")


def new_id(kind: str) -> str:
    """A fresh identifier, 96 random bits: msg_…, call_…, run_…, ses_…"""
    return f"{kind}_{secrets.token_hex(12)}"


def now_ms() -> int:
    return time.time_ns() // 1_000_000


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
        clock: Callable[[], int] = now_ms,
        ids: Callable[[str], str] = new_id,
        sink: tracing.Sink | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        limits = config.server["limits"]
        self.defaults = config.session
        self.ceilings: dict[str, Any] = limits["session"]
        self.models, self.toolbox = models, toolbox
        self.agents = agents or Agents()
        grace_s, most = limits["disconnect_grace_s"], limits["max_parallel_calls"]
        self.executions = Executions(claims, grace_s, most)
        self.clock, self.ids, self.sink = clock, ids, sink
        self.hooks = hooks or Hooks()
        self.tells_deltas: bool = config.server["log"]["model_deltas"]
        self.stopping = False
        self._active: WeakValueDictionary[str, Run] = WeakValueDictionary()

    def prepare(self, document: Any, key: str = "") -> Run:
        """A run of this document. Raises Problem, before any side effect, if there can be none.

        `key` is the name of the API key, for the log. The document becomes the run's own.
        """
        session = intake.accept(document)
        self.toolbox.admit(session)
        if session.get("id") in self._active:
            raise Problem(
                "run_active",
                "This session is running here already. Wait for that run, or close its stream.",
                headers={"Retry-After": "1", "x-should-retry": "false"},
            )
        agent = self.agents.resolve(session)
        own = session.get("config", {}).get("llm_api", {}).get("provider")
        default = self.defaults["config"]["llm_api"]["provider"]
        model = self.models.resolve(definition.provider(agent, own, default))
        run_id = self.ids("run")
        opening = intake.opening(session, self.defaults, agent, run_id, self.clock(), self.ids)
        run = Run(self, session, model, opening, key)
        self._active[opening[0]["threadId"]] = run
        logger.info("run %s of session %s for %s", run_id, opening[0]["threadId"], key or "-")
        return run

    async def close(self) -> None:
        """End runs at their next safe point, then kill tools that still run."""
        self.stopping = True
        await self.executions.close()

    def forget(self, session_id: str) -> None:
        self._active.pop(session_id, None)


class Run:
    """One POST: the session as it is now, and the events that make it what it becomes.

    id             the run's
    session        the live document; whole whenever no event is being made
    first_message  how many messages the document brought
    """

    def __init__(
        self,
        agent: BaseAgent,
        session: Session,
        model: Model,
        opening: list[Event],
        key: str = "",
    ) -> None:
        self.id: str = opening[0]["runId"]
        self.session = session
        self.first_message = len(session.get("messages") or [])
        self._agent, self._model, self._opening = agent, model, opening
        self._folder = Folder(session)
        self._jobs = Jobs(session, agent.toolbox, agent.executions, agent.clock)
        self._started_ms = agent.clock()
        self._step = ""  # the open step's name
        self._used: dict[str, int] = dict(session.get("usage", {}))  # before this POST
        self._facts = Facts(model.model, model.facts)
        tells_deltas = agent.tells_deltas
        self._witness = Witness(session, model, key, agent.sink, tells_deltas=tells_deltas)
        about = {"run": self.id, "model": model.model, "key_name": key}
        self._points = Points(agent.hooks, session, agent.toolbox, about)
        self._beside = Beside(
            session, model.api, agent.ids, agent.clock, self._witness, self._points
        )
        self._refused = False  # the provider has found the last request too large

    async def events(self) -> AsyncGenerator[Event, None]:
        """Every event of the run, folded into `session` before it is given out.

        Exactly one terminal event ends the stream, unless the server stops in the middle of a
        message, or the consumer closes it: that cancels the model call at once and running tools
        as executions.py says.
        """
        session_id = self._opening[0]["threadId"]
        try:
            async with aclosing(self._guarded()) as source:
                async for event in source:
                    self._folder.apply(event)
                    if event["type"] in ("RUN_FINISHED", "RUN_ERROR"):
                        ours = event.setdefault("metadata", {}).setdefault("yaa", {})
                        ours["digest"] = digest(self.session)
                    self._witness.see(event)
                    yield event
        finally:
            self._folder.flush()
            self._agent.forget(session_id)
            self._witness.end(self.id, session_id, self._elapsed_ms())

    async def _guarded(self) -> AsyncGenerator[Event, None]:
        """The task guard: a mistake of ours still ends the run with its one terminal event."""
        try:
            async with aclosing(self._produce()) as source:
                async for event in source:
                    if event["type"] in self._points.watched:
                        event = await self._points.passing(event)
                    yield event
        except HookFailed as error:
            yield self._error(events.run_error(str(error), "hook_failed"))
        except Exception:
            incident = secrets.token_hex(6)
            logger.exception("run %s broke (incident %s)", self.id, incident)
            text = f"The server made a mistake; its log has the details under {incident}."
            yield self._error(events.run_error(text, "internal", incident=incident))

    async def _produce(self) -> AsyncGenerator[Event, None]:
        for event in self._opening:
            yield event
        await self._points.opened()
        limits = capped(
            self.session["config"]["limits"],
            definition.of(self.session).get("limits", {}),
            self._agent.ceilings,
        )
        while True:
            match self._next_step(limits):
                case RunTools(jobs):
                    source = self._jobs.perform(await self._points.acting(jobs))
                case CallModel() as call:
                    source = self._call_model(call, self._seconds_left(limits))
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
                    async for event in self._end(stop):
                        yield event
                    return
            async with aclosing(source) as performed:
                async for event in performed:
                    yield event
                    if event["type"] == "RUN_ERROR":
                        return
                    if self._agent.stopping and self.session["messages"][-1].get("open"):
                        return  # lost, not finished: the client goes on by itself, elsewhere

    def _next_step(self, limits: dict[str, Any]) -> Step:
        if self._agent.stopping:  # a safe point: every message is whole, no call is running
            return Stop("interrupted", "cancelled")
        return next_step(
            self.session,
            self._agent.toolbox,
            limits,
            self._facts,
            elapsed_ms=self._elapsed_ms(),
            recoverable=self._jobs.recoverable(),
        )

    # -- the model --------------------------------------------------------------------------------

    async def _call_model(
        self, call: CallModel, seconds_left: float | None
    ) -> AsyncGenerator[Event, None]:
        session, agent = self.session, self._agent
        for event in self._close_step():
            yield event
        event = events.step_started(session["run"]["step"] + 1, agent.clock())
        self._step = event["stepName"]
        yield event
        messages = [{"role": "system", "content": prompts.system(session)}, *view(session)]
        if errors := pairing_errors(messages):  # ours: view() must never leave one
            raise AssertionError(f"the view is not well paired: {errors}")
        messages = with_notes(session, messages, call.note)
        options = Options.of(session, agent.ids, seconds_left=seconds_left, tool_choice=call.choice)
        tools = list(call.tools)
        messages = await self._points.asking(messages)
        self._witness.asks(messages, tools)
        async with aclosing(self._model.api.stream(messages, tools, options)) as source:
            async for event in source:
                if event["type"] == "RUN_ERROR":
                    if event["code"] == "context_overflow" and not self._refused:
                        self._refused = True
                        async for each in self._after_refusal(event):
                            yield each
                        return  # next_step decides anew
                    yield state_delta(put("interrupts", value=[account.model_error(event)]))
                    yield self._error(event)
                    return
                yield event
        self._refused = False
        async for event in self._points.answered(options.message_id):
            yield event
        yield self._account(options.message_id, call)

    def _account(self, message_id: str, call: CallModel) -> Event:
        session = self.session
        message = next(m for m in reversed(session["messages"]) if m["id"] == message_id)
        usage = message["meta"].get("usage", {})
        return state_delta(
            *account.answered(session, message, sums_up=call.sums_up),
            account.used(session, usage),
            *context.calibrated(session, self._facts.name, call.measure, usage),
        )

    async def _after_refusal(self, refusal: Event) -> AsyncGenerator[Event, None]:
        """The provider finds the request too large: learn its window and make the view smaller,
        once for a model call. If it cannot be, next_step stops for it."""
        told = refusal.get("metadata", {}).get("yaa", {}).get("n_ctx")
        toolbox, session = self._agent.toolbox, self.session
        learned, compaction = context.after_refusal(
            session,
            self._facts.name,
            self._facts.facts,
            lambda: (prompts.system(session), toolbox.declared(session)),
            told,
        )
        yield state_delta(learned)
        if compaction:
            async with aclosing(self._beside.compact(compaction)) as source:
                async for event in source:
                    yield event

    # -- the end ----------------------------------------------------------------------------------

    async def _end(self, stop: Stop) -> AsyncGenerator[Event, None]:
        asked = [ask.interrupt for ask in stop.asks] + list(stop.interrupts)
        async for event in self._points.stopping(stop.status, asked):
            yield event
        for event in self._finish(stop):
            yield event

    def _finish(self, stop: Stop) -> Iterator[Event]:
        yield from self._close_step()
        asked = [ask.interrupt for ask in stop.asks] + list(stop.interrupts)
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
        return self._agent.clock() - self._started_ms

    def _seconds_left(self, limits: dict[str, Any]) -> float | None:
        allowed = limits.get("max_wall_s")
        if allowed is None:
            return None
        spent_ms: int = self.session["run"]["wall_ms"] + self._elapsed_ms()
        return max(1.0, float(allowed) - spent_ms / 1000)
