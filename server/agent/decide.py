"""What happens next: `next_step` reads a session and answers; the loop in agent.py performs it.

Pure. Resuming on another server, approvals, browser tools and limits are not features of the loop
but consequences of this decision and of agent/call_decisions.py.

    next_step ─┬─ RunTools    calls that can be settled now: executed, recovered or answered
               ├─ Stop        awaiting people, over a limit, or done
               ├─ Fail        the run cannot reach its goal: a planned task failed, no valid output
               ├─ NameSession the answer is there, the title is not (config.yaa.auto_title)
               ├─ Compact     the request would be too large: make the view of the session smaller
               └─ CallModel
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..context import overflow
from ..context.budget import Measure, budget_of
from ..context.compact import Compaction, room_for
from ..session import prompts
from ..session import structured_output as output
from ..session.agent_definition import wants_finish
from ..session.call_actions import (
    Ask,
    Call,
    Execute,
    Job,
    Reply,
    Session,
    Toolbox,
    Wait,
    unattended,
)
from ..session.interrupt_answers import ANSWERS
from ..session.limits import capped
from ..session.modes import FINISH, Mode, answers, beyond, exhausted, mode_of, places, used
from ..session.plan import failed_task
from ..session.reminders import SUM_UP, progress
from .call_decisions import FORGOTTEN, LOST, Begun, approval, asked_about, never, plan, unanswered

MOST_WAITS = 2


@dataclass(frozen=True)
class RunTools:
    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class Model:
    """What deciding needs to know of the model: its name, and facts such as max_context."""

    name: str
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class CallModel:
    """Ask the model. `measure`: how large the request is, as far as that is known. `tools`: what it
    is offered, and `choice` the one it must use. `note` is added behind the last message, for this
    call only. `sums_up`: its answer says how far the run came, and does not end the run."""

    measure: Measure
    tools: tuple[dict[str, Any], ...] = ()
    choice: str | None = None
    note: str = ""
    sums_up: bool = False


@dataclass(frozen=True)
class Compact:
    compaction: Compaction


@dataclass(frozen=True)
class NameSession:
    pass


@dataclass(frozen=True)
class Stop:
    status: str
    reason: str
    asks: tuple[Ask, ...] = ()
    interrupts: tuple[dict[str, Any], ...] = ()
    output: tuple[Any, ...] = ()  # the structured output, where there is one


@dataclass(frozen=True)
class Fail:
    code: str
    message: str


Step = RunTools | CallModel | NameSession | Compact | Stop | Fail


def next_step(
    session: Session,
    toolbox: Toolbox,
    limits: Mapping[str, Any],
    model: Model,
    *,
    elapsed_ms: int = 0,
    recoverable: Container[str] = (),
    horizon_ms: int = 0,
    begun: Begun = never,
) -> Step:
    """What must happen next. Reads the session and changes nothing.

    `limits` are the session's, already capped by the server's. `elapsed_ms`: how long this POST
    has run. `recoverable`: ids of calls whose lost result this host can still give. `begun` says
    which attempts at a call this host has begun (agent/call_decisions.py).
    `horizon_ms`: a call that was asked about or made until then may have run on this host, whose
    claim of it has expired.
    """
    mode = mode_of(session)
    plans = _planned(mode, session, toolbox, recoverable, begun, horizon_ms)
    jobs = tuple(item for item in plans if not isinstance(item, Ask | Wait))
    if late := out_of_time(session, limits, elapsed_ms, jobs):
        jobs = tuple(job for job in jobs if not takes_time(job))
        if not jobs:
            return late
    if jobs:
        return RunTools(jobs)
    if asks := tuple(item for item in plans if isinstance(item, Ask)):
        return Stop("interrupted", "awaiting", asks)
    if declined := session["run"].get("declined"):
        return Stop("failed" if declined == "failed" else "interrupted", declined)
    if over := answered(session, toolbox):
        if over.status == "completed" and wants_title(session):
            return NameSession()
        return over
    if lost := hopeless(session, mode):
        return lost
    limits = limits if mode.most_rounds is None else capped(limits, {"max_steps": mode.most_rounds})
    if limit := over_limit(session, limits, elapsed_ms):  # after answers: one is never withheld
        if limit["limit"] == "max_steps" and sums_up(session, limits):
            return with_room(session, (), model, note=SUM_UP, sums_up=True)
        return Stop("interrupted", "limit", interrupts=(limit,))
    tools, note = offered(session, toolbox, mode), progress(session, limits)
    return with_room(session, tools, model, note=note, choice=forced(session))


def _planned(
    mode: Mode,
    session: Session,
    toolbox: Toolbox,
    recoverable: Container[str],
    begun: Begun,
    horizon_ms: int,
) -> list[Job | Ask | Wait]:
    """What to do about each call that has no result, in this mode. Where something can be done, no
    further than MOST_WAITS calls that wait for it: they are looked at again after each result."""
    if not (left := unanswered(session)):
        return []
    asked, before = asked_about(session), used(mode, session)
    plans: list[Job | Ask | Wait] = []
    jobs = waits = 0
    last, beside = None, {}
    for call, message, moved_on in left:
        if jobs and waits > MOST_WAITS:
            break
        if message is not last:
            last, beside = message, places(message)
        if not moved_on and (reply := beyond(mode, session, call, message, before, beside)):
            plans.append(reply)
            jobs += 1
            continue
        item = (call, message, moved_on)
        found = plan(session, toolbox, recoverable, *item, begun, asked)
        if mode.in_order and isinstance(found, Execute):
            found = replace(found, parallel_safe=False)
        found = dated(session, toolbox, horizon_ms, begun, found, item, asked.get(call["id"]))
        plans.append(found)
        jobs += not isinstance(found, Ask | Wait)
        waits += isinstance(found, Wait)
    return plans


def dated(
    session: Session,
    toolbox: Toolbox,
    horizon_ms: int,
    begun: Begun,
    found: Job | Ask | Wait,
    item: tuple[Call, dict[str, Any], bool],
    asked: dict[str, Any] | None,
) -> Job | Ask | Wait:
    """Note when a call was asked about. One that may not run twice, and was asked about or made
    before the horizon, is asked about anew."""
    call, message, _ = item
    if isinstance(found, Ask):
        now_ms = max(session["run"].get("started_at", 0), horizon_ms + 1)
        return replace(found, interrupt={**found.interrupt, "asked_at": now_ms})
    if not isinstance(found, Execute) or found.repeatable:
        return found
    since_ms = message.get("at") if asked is None else asked.get("asked_at", 0)
    if not horizon_ms or not isinstance(since_ms, int) or since_ms > horizon_ms:
        return replace(found, since_ms=since_ms if isinstance(since_ms, int) else None)
    again = plan(session, toolbox, (), *item, begun, {})
    if unattended(session):
        return Reply(call, LOST, "skipped", status="indeterminate")
    if not isinstance(again, Ask):  # it would run without being asked about
        entry = session["calls"].get(call["id"]) or {}
        again = approval(call, toolbox.verdict(session, call), entry)
    if again.interrupt["reason"] == "tool_call":
        text = f"{again.interrupt['message']} {FORGOTTEN}"
        again = replace(again, interrupt={**again.interrupt, "message": text})
    return dated(session, toolbox, horizon_ms, begun, again, item, None)


def offered(session: Session, toolbox: Toolbox, mode: Mode) -> tuple[dict[str, Any], ...]:
    """The tools of the next model call; once the mode allows no more, only what ends the run."""
    tools = toolbox.declared(session)
    if exhausted(mode, session):
        ends = wants_finish(session) or output.schema_of(session) is not None
        tools = [tool for tool in tools if ends and tool["function"]["name"] == FINISH]
    return tuple(tools)


def forced(session: Session) -> str | None:
    """The tool that must be called: `finish`, once an answer in words has missed its schema; else
    what the session asks for, a tool's name or `required`."""
    if output.schema_of(session) is not None and output.misses(session):
        return FINISH
    return session["config"].get("llm_api", {}).get("tool_choice") or None


def with_room(
    session: Session, tools: tuple[dict[str, Any], ...], model: Model, **more: Any
) -> CallModel | Compact | Stop:
    """The model call, or what has to be done so that it fits the model's window."""

    def beside() -> tuple[str, list[dict[str, Any]]]:
        return prompts.system(session), list(tools)

    facts = (model.name, model.facts, beside)
    compaction, too_large, measure = room_for(session, *facts, more.get("note", ""))
    if compaction:
        return Compact(compaction)
    if too_large:
        budget = budget_of(session, model.name, model.facts)
        over = overflow.interrupt(session, budget, too_large, measure.total)
        return Stop("interrupted", "limit", interrupts=(over,))
    return CallModel(measure, tools, **more)


# -- the end --------------------------------------------------------------------------------------


def answered(session: Session, toolbox: Toolbox) -> Stop | None:
    """The stop that the last message asks for, if it does."""
    last = None
    for message in heard(session):
        if message["role"] == "system":
            continue  # a rule neither asks nor answers, wherever it stands
        if message["role"] == "user":
            return None
        if last is None:
            last = message
        if message["role"] == "assistant":  # results follow the one whose calls they answer
            if call := finishing(session, message):
                return Stop("completed", "completed", output=given(session, toolbox, call))
            return in_words(session, message) if message is last else None
    return Stop("completed", "completed")  # nothing was asked


def in_words(session: Session, message: dict[str, Any]) -> Stop | None:
    """An answer without calls: the end, unless it is only the sum at a limit, or must have another
    form."""
    if message["id"] == session["run"].get("summary"):
        return None
    if (schema := output.schema_of(session)) is not None:
        value, wrong = output.read(message.get("content"), schema)
        return None if wrong else Stop("completed", "completed", output=(value,))
    if wants_finish(session):
        return Stop("interrupted", "awaiting")
    return Stop("completed", "completed")


def finishing(session: Session, message: dict[str, Any]) -> Call | None:
    """The call that ended the run, if one of this message's did."""
    for call in message.get("tool_calls") or ():
        state = session["calls"].get(call["id"], {}).get("state")
        if call["function"]["name"] == FINISH and state == "done":
            return dict(call)
    return None


def given(session: Session, toolbox: Toolbox, call: Call) -> tuple[Any, ...]:
    """The structured output that a call of `finish` gave, as it was checked and mended."""
    schema = output.schema_of(session)
    args = None if schema is None else toolbox.verdict(session, call).args
    return () if schema is None or args is None else (output.unwrapped(schema, args),)


def hopeless(session: Session, mode: Mode) -> Fail | None:
    """Why going on is of no use."""
    if mode.plans and (task := failed_task(session)):
        return Fail("task_failed", f"The plan cannot be carried out: {task}")
    if output.schema_of(session) is not None and output.misses(session) >= output.TRIES:
        text = f"The model gave no answer that fits the wanted schema in {output.TRIES} tries."
        return Fail("output_invalid", text)
    return None


def heard(session: Session) -> Iterator[dict[str, Any]]:
    """Messages that count, newest first: not errors, not what was cut while it was written."""
    for message in reversed(session["messages"]):
        if message["role"] != "error" and not message.get("open"):
            yield message


def wants_title(session: Session) -> bool:
    return bool(session["config"]["yaa"].get("auto_title")) and not session.get("title")


# -- limits ---------------------------------------------------------------------------------------


def sums_up(session: Session, limits: Mapping[str, Any]) -> bool:
    """Whether the model is to say how far it came, has come anywhere, and has not done so since it
    last went on."""
    last = next(answers(session), None)
    done = last is None or last["id"] == session["run"].get("summary")
    return not done and limits.get("on_limit") != "stop"


def over_limit(
    session: Session, limits: Mapping[str, Any], elapsed_ms: int
) -> dict[str, Any] | None:
    """The interrupt for the first budget that is used up, or None."""
    run = session["run"]
    used = {
        "max_tokens": run["tokens"],
        "max_cost_micro": run["cost_micro"],
        "max_wall_s": (run["wall_ms"] + elapsed_ms) / 1000,
        "max_steps": run["step"],  # the last: what is said at it may exceed none of the others
    }
    for name, observed in used.items():
        if (allowed := limits.get(name)) is not None and observed >= allowed:
            return limit_interrupt(name, allowed, observed)
    errors = consecutive_errors(session) - run.get("forgiven", 0)
    allowed = limits.get("max_consecutive_errors")
    if allowed is not None and errors > allowed:
        return limit_interrupt("max_consecutive_errors", allowed, errors)
    return None


def out_of_time(
    session: Session, limits: Mapping[str, Any], elapsed_ms: int, jobs: tuple[Job, ...]
) -> Stop | None:
    """The stop at the limit of time, if calls would begin behind it. Whatever people have been
    asked, and have answered, stays for when there is time again; and the ledger says so to a client
    who has marked as begun what he allowed (rule 5)."""
    time = {"max_wall_s": limits.get("max_wall_s")}
    limit = over_limit(session, time, elapsed_ms)
    if limit is None or not any(map(takes_time, jobs)):
        return None
    asks = tuple(Ask(each, session["calls"][each["call_id"]]) for each in session["interrupts"])
    return Stop("interrupted", "limit", asks, () if session["run"].get("declined") else (limit,))


def takes_time(job: Job) -> bool:
    """Whether a job is a call that runs; `finish` is an answer, and those are never withheld."""
    return isinstance(job, Execute) and job.call["function"]["name"] != FINISH


def consecutive_errors(session: Session) -> int:
    """Calls in a row, since the user last spoke, that named no tool or had bad arguments."""
    count = 0
    for message in heard(session):
        role = message["role"]
        if role == "tool":
            status = (message.get("result") or {}).get("status")
            if status not in ("invalid_arguments", "not_found"):
                break
            count += 1
        elif role != "assistant":
            break
    return count


def limit_interrupt(name: str, allowed: float, observed: float) -> dict[str, Any]:
    return {
        "id": f"int-{name}",
        "reason": "limit",
        "limit": name,
        "allowed": allowed,
        "observed": round(observed, 3),
        "message": f"Stopped at the limit {name}: {round(observed, 3)} of {allowed} used.",
        "response_schema": ANSWERS["limit"],
    }
