"""Decide what happens next: `next_step` reads a session, the loop (loop.py) performs the step.

Pure. Resuming on another server, approvals, tools of the page and limits all follow from this
decision and from call_decisions.py; the loop has no code for them.

    next_step ─┬─ RunTools    calls that can be settled now: executed, recovered or answered
               ├─ Stop        waiting for people, over a limit, or done
               ├─ Fail        the run cannot reach its goal: a planned task failed, no valid output
               ├─ NameSession answered, but the session has no title (config.yaa.auto_title)
               ├─ AlignWorkspace  the files have to be brought to the tree of the document
               ├─ Compact     the request would be too large, or a person asks: a smaller view
               └─ CallModel
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..context import compact
from ..context.budget import Measure, Request, budget_of
from ..context.compact import Compaction, asked_compaction, room_for
from ..json_types import Interrupt, Json, Message, Session, ToolCall
from ..session import outcome as output
from ..session import prompts
from ..session.agent_definition import wants_finish
from ..session.answers import ANSWERS
from ..session.call_actions import Ask, Execute, Job, Reply, Toolbox, Wait, is_unattended
from ..session.modes import (
    FINISH,
    Mode,
    call_places,
    calls_used,
    is_exhausted,
    mode_of,
    refuse_beyond,
    turn_answers,
)
from ..session.plan import failed_task
from ..session.reminders import SUM_UP, asks_again, progress
from ..session.skills import origin_of, refresh_note
from ..session.workspace_run import outside_changes
from . import workspace_steps
from .call_decisions import (
    FORGOTTEN,
    LOST,
    NO_RECORD,
    HostRecord,
    PendingCall,
    ask_approval,
    pending_calls,
    plan_call,
)
from .earlier_calls import without_claim
from .workspace_steps import NO_WORKSPACE, AlignWorkspace, WorkspaceState

MOST_WAITS = 2  # calls waiting for other calls that are planned ahead


@dataclass(frozen=True)
class RunTools:
    """Perform these jobs: execute, recover or answer calls."""

    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class Model:
    """The model's name, and facts about it such as `max_context`."""

    name: str
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class CallModel:
    """Call the model.

    measure   size of the request, as far as it is known
    messages  as they are sent
    tools     the tools offered
    choice    the tool that must be called, if any
    sums_up   the answer reports progress at a limit and does not end the run
    """

    measure: Measure
    messages: list[Message]
    tools: list[Json]
    choice: str | None = None
    sums_up: bool = False


@dataclass(frozen=True)
class Compact:
    """Make the view of the session smaller."""

    compaction: Compaction


@dataclass(frozen=True)
class NameSession:
    """Ask the model for a title of the session."""


@dataclass(frozen=True)
class Stop:
    """End the POST with RUN_FINISHED: completed, or interrupted by asks or a limit."""

    status: str
    reason: str
    asks: tuple[Ask, ...] = ()
    interrupts: tuple[Interrupt, ...] = ()
    output: tuple[Any, ...] = ()  # the structured output, if there is one


@dataclass(frozen=True)
class Fail:
    """End the run with RUN_ERROR."""

    code: str
    message: str


Step = RunTools | CallModel | NameSession | Compact | Stop | Fail | AlignWorkspace


def next_step(
    session: Session,
    toolbox: Toolbox,
    limits: Mapping[str, Any],
    model: Model,
    *,
    elapsed_ms: int = 0,
    host: HostRecord = NO_RECORD,
    files: WorkspaceState = NO_WORKSPACE,
) -> Step:
    """Return the next step of the run. Reads the session and changes nothing.

    limits        of this run: the session's, capped by the server's and the mode's, extended
    elapsed_ms    how long this POST has run
    host          what this host knows of calls that it has begun
    files         what is known of the workspace
    """
    mode = mode_of(session)
    plans = _planned(mode, session, toolbox, host)
    jobs = tuple(item for item in plans if not isinstance(item, Ask | Wait))
    if time_stop := out_of_time(session, limits, elapsed_ms, jobs):
        jobs = tuple(job for job in jobs if not takes_time(job))
        if not jobs:
            return time_stop
    if jobs:
        ready, before = workspace_steps.jobs_first(session, files, jobs)
        return RunTools(ready) if before is None else align_or_ask(before, open_asks(session))
    asks = tuple(item for item in plans if isinstance(item, Ask))
    if alignment := workspace_steps.next_alignment(session, files):
        return align_or_ask(alignment, asks)
    if asks:
        return Stop("interrupted", "awaiting", asks)
    if declined := session["run"].get("declined"):
        return Stop("failed" if declined == "failed" else "interrupted", declined)
    if session["context"].get("compact"):
        return asked_pass(session, offered_tools(session, toolbox, mode), model, limits, elapsed_ms)
    if final_stop := stop_after_answer(session, toolbox):
        if final_stop.status == "completed" and wants_title(session):
            return NameSession()
        return final_stop
    if failure := goal_failure(session, mode):
        return failure
    # After `stop_after_answer`: a final answer is kept
    if exceeded_limit := over_limit(session, limits, elapsed_ms):
        if exceeded_limit["limit"] == "max_steps" and sums_up(session, limits):
            return fit_to_window(session, [], model, SUM_UP, sums_up=True)
        return Stop("interrupted", "limit", interrupts=(exceeded_limit,))
    tools = offered_tools(session, toolbox, mode)
    notes = outside_changes(session), refresh_note(session), progress(session, limits)
    note = "\n".join(filter(None, notes))
    return fit_to_window(session, tools, model, note, choice=forced_tool(session))


def align_or_ask(
    before: AlignWorkspace | Interrupt, asks: tuple[Ask, ...]
) -> AlignWorkspace | Stop:
    """Return the step that brings files and document together, or the stop that asks how."""
    if isinstance(before, AlignWorkspace):
        return before
    return Stop("interrupted", "awaiting", asks, (before,))


def _planned(
    mode: Mode, session: Session, toolbox: Toolbox, host: HostRecord
) -> list[Job | Ask | Wait]:
    """Return what to do about each call without a result, in this mode.

    If there are jobs, planning ends after more than MOST_WAITS calls that wait for them: these are
    planned again after each result.
    """
    plans: list[Job | Ask | Wait] = []
    calls_before = calls_used(mode, session)
    jobs = waits = 0
    last, places_in_message = None, {}
    for pending in pending_calls(session, toolbox, host):
        if jobs and waits > MOST_WAITS:
            break
        call, message = pending.call, pending.message
        if message is not last:
            last, places_in_message = message, call_places(message)
        if not pending.moved_on and (
            reply := refuse_beyond(mode, session, call, message, calls_before, places_in_message)
        ):
            plans.append(reply)
            jobs += 1
            continue
        planned = plan_call(pending)
        if mode.in_order and isinstance(planned, Execute):
            planned = replace(planned, parallel_safe=False)
        planned = with_asked_time(pending, planned)
        plans.append(planned)
        jobs += not isinstance(planned, Ask | Wait)
        waits += isinstance(planned, Wait)
    return plans


def with_asked_time(pending: PendingCall, planned: Job | Ask | Wait) -> Job | Ask | Wait:
    """Return the decision with the time at which the call was asked about.

    A call that may not run twice, and was asked about or made before the horizon, is asked about
    again. A denial of such a call does not say that it did not run.
    """
    session, host, call, interrupt = pending.session, pending.host, pending.call, pending.interrupt
    if isinstance(planned, Ask):
        now_ms = max(session["run"].get("started_at", 0), host.horizon_ms + 1)
        about: Interrupt = {**planned.interrupt, "asked_at": now_ms}
        is_forgotten = planned.entry.get("fingerprint") in host.forgotten
        if about["reason"] == "tool_call" and is_forgotten and FORGOTTEN not in about["message"]:
            about["message"] = f"{about['message']} {FORGOTTEN}"
        if about["reason"] == "tool_call" and (names := origin_of(session, about["args"])):
            about["skills"] = names
        return replace(planned, interrupt=about)
    since_ms = interrupt.get("asked_at", 0) if interrupt else pending.message.get("at")
    is_old = bool(host.horizon_ms) and isinstance(since_ms, int) and since_ms <= host.horizon_ms
    if isinstance(planned, Reply):
        return without_claim(planned, interrupt, pending.moved_on, is_old=is_old)
    if not isinstance(planned, Execute) or planned.repeatable:
        return planned
    is_old |= not interrupt and planned.entry.get("fingerprint") in host.forgotten
    if not is_old:
        return replace(planned, since_ms=since_ms if isinstance(since_ms, int) else None)
    unasked = replace(pending, interrupt={})
    new_plan = plan_call(unasked)
    if is_unattended(session):
        return Reply(call, LOST, "skipped", status="indeterminate")
    if not isinstance(new_plan, Ask):  # the policy would run it without asking
        verdict = pending.toolbox.verdict(session, call)
        new_plan = ask_approval(call, verdict, pending.entry)
    if new_plan.interrupt["reason"] == "tool_call":
        text = f"{new_plan.interrupt['message']} {FORGOTTEN}"
        new_plan = replace(new_plan, interrupt={**new_plan.interrupt, "message": text})
    return with_asked_time(unasked, new_plan)


def offered_tools(session: Session, toolbox: Toolbox, mode: Mode) -> list[Json]:
    """Return the tools of the next model call.

    Once the mode allows no more calls: `finish` if the run must end by it, else none.
    """
    tools = toolbox.declarations(session)
    if is_exhausted(mode, session):
        ends = wants_finish(session) or output.schema_of(session) is not None
        tools = [tool for tool in tools if ends and tool["function"]["name"] == FINISH]
    return tools


def forced_tool(session: Session) -> str | None:
    """Return the tool that must be called, a tool's name or `required`; None for a free choice.

    It is `finish` once a text answer has missed its schema, else what the session asks for.
    """
    if output.schema_of(session) is not None and output.count_misses(session):
        return FINISH
    return session["config"].get("llm_api", {}).get("tool_choice") or None


def fit_to_window(
    session: Session, tools: list[Json], model: Model, note: str, **options: Any
) -> CallModel | Compact | Stop:
    """Return the model call, or a compaction or a stop if it does not fit the model's window."""

    request = Request(session, prompts.system(session), tools)
    compaction, too_large, measure = room_for(request, model.name, model.facts, note)
    if compaction:
        return Compact(compaction)
    if too_large:
        budget = budget_of(session, model.name, model.facts)
        overflow = compact.interrupt(session, budget, too_large, measure.total, tools)
        return Stop("interrupted", "limit", interrupts=(overflow,))
    return CallModel(measure, request.messages(note), request.tools, **options)


def asked_pass(
    session: Session, tools: list[Json], model: Model, limits: Mapping[str, Any], elapsed_ms: int
) -> Compact:
    """Return the compaction that a person asked for; over a limit no model writes its texts."""
    request = Request(session, prompts.system(session), tools)
    compaction = asked_compaction(request, model.name, model.facts)
    if over_limit(session, limits, elapsed_ms):
        compaction = replace(compaction, drafts=())
    return Compact(compaction)


# -- the end --------------------------------------------------------------------------------------


def stop_after_answer(session: Session, toolbox: Toolbox) -> Stop | None:
    """Return the stop that follows from the last message, or None if the run goes on."""
    last = None
    for message in complete_messages(session):
        if message["role"] == "system":
            continue  # system messages neither ask nor answer
        if message["role"] == "user":
            return None
        if last is None:
            last = message
        if message["role"] == "assistant":  # tool results come after their assistant message
            if call := ending_finish_call(session, message):
                return Stop("completed", "completed", output=finish_output(session, toolbox, call))
            return stop_after_text(session, message) if message is last else None
    return Stop("completed", "completed")  # no user message at all


def stop_after_text(session: Session, message: Message) -> Stop | None:
    """Return the stop after an answer without calls, or None if the run goes on.

    It goes on after a progress report at a limit, an answer that misses the output schema, and once
    after an unread call. An agent that must call `finish` waits for the user instead.
    """
    if message["id"] == session["run"].get("summary") or asks_again(session, message):
        return None
    if (schema := output.schema_of(session)) is not None:
        value, wrong = output.read_output(message.get("content"), schema)
        return None if wrong else Stop("completed", "completed", output=(value,))
    if wants_finish(session):
        return Stop("interrupted", "awaiting")
    return Stop("completed", "completed")


def ending_finish_call(session: Session, message: Message) -> ToolCall | None:
    """Return the `finish` call of this message that ended the run, or None."""
    for call in message.get("tool_calls") or ():
        state = session["calls"].get(call["id"], {}).get("state")
        if call["function"]["name"] == FINISH and state == "done":
            return call
    return None


def finish_output(session: Session, toolbox: Toolbox, call: ToolCall) -> tuple[Any, ...]:
    """Return the checked and repaired output of a `finish` call; () if there is no schema."""
    schema = output.schema_of(session)
    args = None if schema is None else toolbox.verdict(session, call).args
    return () if schema is None or args is None else (output.unwrap_output(schema, args),)


def goal_failure(session: Session, mode: Mode) -> Fail | None:
    """Return why the run cannot reach its goal, or None."""
    if mode.plans and (task := failed_task(session)):
        return Fail("task_failed", f"The plan cannot be carried out: {task}")
    if output.schema_of(session) is not None and output.count_misses(session) >= output.TRIES:
        text = f"The model gave no answer that fits the wanted schema in {output.TRIES} tries."
        return Fail("output_invalid", text)
    return None


def complete_messages(session: Session) -> Iterator[Message]:
    """Yield the messages that count, newest first: no errors and no incomplete ones."""
    for message in reversed(session["messages"]):
        if message["role"] != "error" and not message.get("open"):
            yield message


def wants_title(session: Session) -> bool:
    """Return whether a title is to be generated."""
    return bool(session["config"]["yaa"].get("auto_title")) and not session.get("title")


# -- limits ---------------------------------------------------------------------------------------


def sums_up(session: Session, limits: Mapping[str, Any]) -> bool:
    """Return whether the model is to report its progress at the limit of steps.

    Not if `on_limit` is `stop`, nor before its first answer to the user's last message, nor if its
    last answer is such a report.
    """
    last = next(turn_answers(session), None)
    done = last is None or last["id"] == session["run"].get("summary")
    return not done and limits.get("on_limit") != "stop"


def over_limit(session: Session, limits: Mapping[str, Any], elapsed_ms: int) -> Interrupt | None:
    """Return the interrupt for the first budget that is used up, or None."""
    run = session["run"]
    used = {
        "max_tokens": run["tokens"],
        "max_cost_micro": run["cost_micro"],
        "max_wall_s": (run["wall_ms"] + elapsed_ms) / 1000,
        "max_steps": run["step"],  # last: its progress report may not exceed the other limits
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
    """Return the stop at the time limit, if tool calls would begin after it, else None.

    Open questions and their answers are kept for the next POST. The ledger entries are sent again,
    because a client that approved a call has marked it `started` in its own copy
    (docs/reference/session.md, "Resume rules", rule 5).
    """
    time = {"max_wall_s": limits.get("max_wall_s")}
    if not any(map(takes_time, jobs)) or (limit := over_limit(session, time, elapsed_ms)) is None:
        return None
    return Stop(
        "interrupted",
        "limit",
        open_asks(session),
        () if session["run"].get("declined") else (limit,),
    )


def open_asks(session: Session) -> tuple[Ask, ...]:
    """Return the open questions about calls as they are, with their answers."""
    return tuple(Ask(each, session["calls"][each["call_id"]]) for each in session["interrupts"])


def takes_time(job: Job) -> bool:
    """Return whether a job executes a call other than `finish`, which is allowed at any time."""
    return isinstance(job, Execute) and job.call["function"]["name"] != FINISH


def consecutive_errors(session: Session) -> int:
    """Count the latest calls in a row that failed: unknown tool or invalid arguments.

    A user message or any other result ends the row.
    """
    count = 0
    for message in complete_messages(session):
        role = message["role"]
        if role == "tool":
            status = (message.get("result") or {}).get("status")
            if status not in ("invalid_arguments", "not_found"):
                break
            count += 1
        elif role != "assistant":
            break
    return count


def limit_interrupt(name: str, allowed: float, observed: float) -> Interrupt:
    """Return the interrupt for a limit: `allowed` and `observed` in the unit of the limit."""
    return {
        "id": f"int-{name}",
        "reason": "limit",
        "limit": name,
        "allowed": allowed,
        "observed": round(observed, 3),
        "message": f"Stopped at the limit {name}: {round(observed, 3)} of {allowed} used.",
        "response_schema": ANSWERS["limit"],
    }
