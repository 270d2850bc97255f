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

from . import log
from .config import Config
from .errors import Problem
from .jsontext import LARGEST_COUNT
from .llm import Options
from .llm.registry import Model, Models
from .session import events, intake, prompts
from .session.answers import ANSWERS
from .session.calls import Execute, Recover, Reply, unanswered
from .session.context.view import pairing_errors, view
from .session.decide import CallModel, NameSession, RunTools, Stop, capped, next_step
from .session.events import Event, put, state_delta
from .session.fold import Folder, digest
from .tools.claims import Claims
from .tools.executions import Executions, Key
from .tools.toolbox import Toolbox

Session = dict[str, Any]

logger = log.get("agent")
deltas = log.get("model")

TITLE_TIMEOUT_S = 30
TOKEN_COUNTS = (
    *("prompt_tokens", "completion_tokens", "total_tokens"),
    *("reasoning_tokens", "cached_tokens", "cost_micro"),
)


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
        clock: Callable[[], int] = now_ms,
        ids: Callable[[str], str] = new_id,
    ) -> None:
        limits = config.server["limits"]
        self.defaults = config.session
        self.ceilings: dict[str, Any] = limits["session"]
        self.models, self.toolbox = models, toolbox
        self.executions = Executions(claims, limits["disconnect_grace_s"])
        self.clock, self.ids = clock, ids
        self.tells_deltas: bool = config.server["log"]["model_deltas"]
        self.stopping = False
        self._active: WeakValueDictionary[str, Run] = WeakValueDictionary()

    def prepare(self, document: Any, key: str = "") -> Run:
        """A run of this document. Raises Problem, before any side effect, if there can be none.

        `key` is the name of the API key, for the log. The document becomes the run's own.
        """
        session = intake.accept(document)
        if session.get("id") in self._active:
            raise Problem(
                "run_active",
                "This session is running here already. Wait for that run, or close its stream.",
                headers={"Retry-After": "1", "x-should-retry": "false"},
            )
        wanted = session.get("config", {}).get("llm_api", {}).get("provider")
        model = self.models.resolve(wanted or self.defaults["config"]["llm_api"]["provider"])
        run_id = self.ids("run")
        opening = intake.opening(session, self.defaults, run_id, self.clock(), self.ids)
        run = Run(self, session, model, opening)
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
        self, agent: BaseAgent, session: Session, model: Model, opening: list[Event]
    ) -> None:
        self.id: str = opening[0]["runId"]
        self.session = session
        self.first_message = len(session.get("messages") or [])
        self._agent, self._model, self._opening = agent, model, opening
        self._folder = Folder(session)
        self._started_ms = agent.clock()
        self._step = ""  # the open step's name
        self._spent: dict[str, int] = {}  # this POST's tokens, for RUN_FINISHED

    async def events(self) -> AsyncGenerator[Event, None]:
        """Every event of the run, folded into `session` before it is given out.

        Exactly one terminal event ends the stream, unless the server stops in the middle of a
        message, or the consumer closes it: that cancels the model call at once and the running
        tool as executions.py says.
        """
        session_id = self._opening[0]["threadId"]
        try:
            async with aclosing(self._guarded()) as source:
                async for event in source:
                    self._folder.apply(event)
                    if event["type"] in ("RUN_FINISHED", "RUN_ERROR"):
                        ours = event.setdefault("metadata", {}).setdefault("yaa", {})
                        ours["digest"] = digest(self.session)
                    yield event
        finally:
            self._folder.flush()
            self._agent.forget(session_id)

    async def _guarded(self) -> AsyncGenerator[Event, None]:
        """The task guard: a mistake of ours still ends the run with its one terminal event."""
        try:
            async with aclosing(self._produce()) as source:
                async for event in source:
                    yield event
        except Exception:
            incident = secrets.token_hex(6)
            logger.exception("run %s broke (incident %s)", self.id, incident)
            text = f"The server made a mistake; its log has the details under {incident}."
            yield self._error(events.run_error(text, "internal", incident=incident))

    async def _produce(self) -> AsyncGenerator[Event, None]:
        for event in self._opening:
            yield event
        limits = capped(self.session["config"]["limits"], self._agent.ceilings)
        while True:
            match self._next_step(limits):
                case RunTools(jobs):
                    source = self._run_tools(jobs)
                case CallModel():
                    source = self._call_model(limits)
                case NameSession():
                    source = self._name_session()
                case Stop() as stop:
                    for event in self._finish(stop):
                        yield event
                    return
            async with aclosing(source) as performed:
                async for event in performed:
                    yield event
                    if event["type"] == "RUN_ERROR":
                        return
                    if self._agent.stopping and self.session["messages"][-1].get("open"):
                        return  # lost, not finished: the client goes on by itself, elsewhere

    def _next_step(self, limits: dict[str, Any]) -> RunTools | CallModel | NameSession | Stop:
        if self._agent.stopping:  # a safe point: every message is whole, no call is running
            return Stop("interrupted", "cancelled")
        return next_step(
            self.session,
            self._agent.toolbox,
            limits,
            elapsed_ms=self._elapsed_ms(),
            recoverable=self._recoverable(),
        )

    # -- the model --------------------------------------------------------------------------------

    async def _call_model(self, limits: dict[str, Any]) -> AsyncGenerator[Event, None]:
        session, agent = self.session, self._agent
        for event in self._close_step():
            yield event
        event = events.step_started(session["run"]["step"] + 1, agent.clock())
        self._step = event["stepName"]
        yield event
        messages = [{"role": "system", "content": prompts.system(session)}, *view(session)]
        if errors := pairing_errors(messages):  # ours: view() must never leave one
            raise AssertionError(f"the view is not well paired: {errors}")
        options = self._options(self._seconds_left(limits))
        tools = agent.toolbox.declared(session)
        async with aclosing(self._model.api.stream(messages, tools, options)) as source:
            async for event in source:
                if event["type"] == "RUN_ERROR":
                    yield state_delta(put("interrupts", value=[_model_error(event)]))
                    yield self._error(event)
                    return
                if agent.tells_deltas:
                    deltas.info("%s %s %s", self.id, self._step, events.dumps(event))
                yield event
        yield self._account(options.message_id)

    def _account(self, message_id: str) -> Event:
        """What the call cost, and a ledger entry for every tool call it asks for."""
        session = self.session
        message = next(m for m in reversed(session["messages"]) if m["id"] == message_id)
        usage = message["meta"].get("usage", {})
        run = {**session["run"], "step": session["run"]["step"] + 1}
        run["tokens"] += usage.get("total_tokens", 0)
        run["cost_micro"] += usage.get("cost_micro", 0)
        entries = [
            put("calls", call["id"], value=_proposed(call))
            for call in message.get("tool_calls") or ()
        ]
        return state_delta(put("run", value=run), self._add_usage(usage), *entries)

    def _add_usage(self, usage: dict[str, Any]) -> dict[str, Any]:
        total = {**self.session.get("usage", {})}
        for name in TOKEN_COUNTS:
            total[name] = min(total.get(name, 0) + usage.get(name, 0), LARGEST_COUNT)
            self._spent[name] = self._spent.get(name, 0) + usage.get(name, 0)
        total["calls"] = total.get("calls", 0) + 1
        if unit := usage.get("cost_unit"):
            total["cost_unit"] = unit
        return put("usage", value=total)

    def _options(self, seconds_left: float | None) -> Options:
        return Options.of(
            self.session,
            message_id=self._agent.ids("msg"),
            reasoning_id=self._agent.ids("think"),
            new_id=self._agent.ids,
            seconds_left=seconds_left,
        )

    async def _name_session(self) -> AsyncGenerator[Event, None]:
        """The one extra call of `auto_title`. Without an answer the first words must do."""
        messages = prompts.title_request(self.session, view(self.session))
        options = self._options(TITLE_TIMEOUT_S)
        text, usage = "", {}
        async with aclosing(self._model.api.stream(messages, [], options)) as source:
            async for event in source:
                if event["type"] == "TEXT_MESSAGE_CONTENT":
                    text += event["delta"]
                elif event["type"] == "TEXT_MESSAGE_END":
                    usage = event["metadata"]["yaa"]["meta"].get("usage", {})
        title = " ".join(text.split()).strip("\"'«»“”")[:80] or intake.title(
            self.session["messages"]
        )
        yield state_delta(put("title", value=title or "…"), self._add_usage(usage))

    # -- tools ------------------------------------------------------------------------------------

    async def _run_tools(
        self, jobs: tuple[Execute | Recover | Reply, ...]
    ) -> AsyncGenerator[Event, None]:
        for job in jobs:
            match job:
                case Reply():
                    for event in self._reply(job):
                        yield event
                case Recover(call, attempt):
                    key = self._key(call, attempt)
                    if found := await self._agent.executions.result(key):
                        yield found
                case Execute():
                    async with aclosing(self._execute(job)) as source:
                        async for event in source:
                            yield event

    def _reply(self, job: Reply) -> Iterator[Event]:
        if job.grant:
            yield state_delta(put("grants", "-", value=job.grant))
        status = job.status or job.state
        said: Any = {"type": status, "message": job.content} if job.is_error else job.content
        yield events.tool_result(
            job.call["id"],
            job.call["function"]["name"],
            job.content,
            self._agent.clock(),
            state=job.state,
            is_error=job.is_error,
            result={"status": status, "error" if job.is_error else "result": said},
        )

    async def _execute(self, job: Execute) -> AsyncGenerator[Event, None]:
        """Claim, announce, run. Whatever does not get the claim is not run here again."""
        agent, call_id = self._agent, job.call["id"]
        key = self._key(job.call, job.entry["attempt"])
        if not job.repeatable and not agent.executions.claims.take(*key):
            yield state_delta(put("calls", call_id, value=job.entry))  # next_step looks again
            return
        waiting = [i for i in self.session["interrupts"] if i.get("call_id") != call_id]
        changes = [put("calls", call_id, value=job.entry), put("interrupts", value=waiting)]
        if job.grant:
            changes.append(put("grants", "-", value=job.grant))
        yield events.tool_exec(call_id, changes, agent.clock())
        source = agent.toolbox.execute(self.session, job.call, job.args, job.entry)
        lasting = not job.repeatable
        async with aclosing(agent.executions.run(key, source, lasting=lasting)) as performed:
            async for event in performed:
                yield event

    def _key(self, call: dict[str, Any], attempt: int) -> Key:
        return self.session["id"], call["id"], attempt

    def _recoverable(self) -> set[str]:
        """Calls that were started, lost their result on the way, and whose result is still here."""
        ledger = self.session["calls"]
        lost = {i for i, e in ledger.items() if e["state"] in ("started", "indeterminate")}
        return {
            call["id"]
            for call, _, _ in (unanswered(self.session) if lost else ())
            if call["id"] in lost
            and self._agent.executions.knows(self._key(call, ledger[call["id"]].get("attempt", 0)))
        }

    # -- the end ----------------------------------------------------------------------------------

    def _finish(self, stop: Stop) -> Iterator[Event]:
        yield from self._close_step()
        asked = [ask.interrupt for ask in stop.asks] + list(stop.interrupts)
        run = {**self.session["run"]}
        run["wall_ms"] += self._elapsed_ms()
        yield state_delta(
            put("run", value=run),
            *(put("calls", ask.interrupt["call_id"], value=ask.entry) for ask in stop.asks),
            put("interrupts", value=asked),
        )
        usage = [_agui_usage(self._model.model, self._spent)] if self._spent else []
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


def _proposed(call: dict[str, Any]) -> dict[str, Any]:
    return {"name": call["function"]["name"], "state": "proposed", "attempt": 0}


def _model_error(event: Event) -> dict[str, Any]:
    return {
        "id": "int-model",
        "reason": "model_error",
        "message": event["message"],
        "code": event["code"],
        "response_schema": ANSWERS["model_error"],
    }


def _agui_usage(model: str, spent: dict[str, int]) -> dict[str, Any]:
    return {
        "model": model,
        "inputTokens": spent.get("prompt_tokens", 0),
        "outputTokens": spent.get("completion_tokens", 0),
        "totalTokens": spent.get("total_tokens", 0),
    }
