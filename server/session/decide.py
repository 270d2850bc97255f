"""What happens next: `next_step` reads a session and answers; the loop in agent.py performs it.

Pure. Resuming on another server, approvals, browser tools and limits are not features of the loop
but consequences of this decision and of calls.py.

    next_step ─┬─ RunTools    calls that can be settled now: executed, recovered or answered
               ├─ Stop        awaiting people, over a limit, or done
               ├─ NameSession the answer is there, the title is not (config.yaa.auto_title)
               ├─ Compact     the request would be too large: make the view of the session smaller
               └─ CallModel
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from . import prompts
from .answers import ANSWERS
from .calls import plan, unanswered
from .context.compact import Compaction, room_for
from .context.size import Measure
from .jobs import Ask, Job, Session, Toolbox, Wait

FINISH = "finish"  # the tool that ends a run by being called


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
    """Ask the model. `measure`: how large the request is, as far as that is known."""

    measure: Measure


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


Step = RunTools | CallModel | NameSession | Compact | Stop


def next_step(
    session: Session,
    toolbox: Toolbox,
    limits: Mapping[str, Any],
    model: Model,
    *,
    elapsed_ms: int = 0,
    recoverable: Container[str] = (),
) -> Step:
    """What must happen next. Reads the session and changes nothing.

    `limits` are the session's, already capped by the server's. `elapsed_ms`: how long this POST
    has run. `recoverable`: ids of calls whose lost result this host can still give.
    """
    plans = [plan(session, toolbox, recoverable, *item) for item in unanswered(session)]
    if jobs := tuple(item for item in plans if not isinstance(item, Ask | Wait)):
        return RunTools(jobs)
    if asks := tuple(item for item in plans if isinstance(item, Ask)):
        return Stop("interrupted", "awaiting", asks)
    if declined := session["run"].get("declined"):
        return Stop("failed" if declined == "failed" else "interrupted", declined)
    if over := answered(session):
        if over.status == "completed" and wants_title(session):
            return NameSession()
        return over
    if limit := over_limit(session, limits, elapsed_ms):  # after answers: one is never withheld
        return Stop("interrupted", "limit", interrupts=(limit,))
    return with_room(session, toolbox, model)


def with_room(session: Session, toolbox: Toolbox, model: Model) -> CallModel | Compact | Stop:
    """The model call, or what has to be done so that it fits the model's window."""

    def beside() -> tuple[str, list[dict[str, Any]]]:
        return prompts.system(session), toolbox.declared(session)

    compaction, too_large, measure = room_for(session, model.name, model.facts, beside)
    if compaction:
        return Compact(compaction)
    if too_large:
        return Stop("interrupted", "limit", interrupts=(overflow_interrupt(too_large, measure),))
    return CallModel(measure)


# -- the end --------------------------------------------------------------------------------------


def answered(session: Session) -> Stop | None:
    """The stop that the last message asks for, if it does."""
    last = None
    for message in heard(session):
        if last is None:
            last = message
        if message["role"] == "tool":
            continue  # results follow the message whose calls they answer
        if message["role"] == "assistant":
            if finished(session, message):
                return Stop("completed", "completed")
            if message is last:
                strict = session["config"]["yaa"].get("require_finish_tool")
                return Stop("interrupted", "awaiting") if strict else Stop("completed", "completed")
            return None
        return None if message["role"] == "user" else Stop("completed", "completed")
    return Stop("completed", "completed")  # nothing was asked


def finished(session: Session, message: dict[str, Any]) -> bool:
    return any(
        call["function"]["name"] == FINISH
        and session["calls"].get(call["id"], {}).get("state") == "done"
        for call in message.get("tool_calls") or ()
    )


def heard(session: Session) -> Iterator[dict[str, Any]]:
    """Messages that count, newest first: not errors, not what was cut while it was written."""
    for message in reversed(session["messages"]):
        if message["role"] != "error" and not message.get("open"):
            yield message


def wants_title(session: Session) -> bool:
    return bool(session["config"]["yaa"].get("auto_title")) and not session.get("title")


# -- limits ---------------------------------------------------------------------------------------


def over_limit(
    session: Session, limits: Mapping[str, Any], elapsed_ms: int
) -> dict[str, Any] | None:
    """The interrupt for the first budget that is used up, or None."""
    run = session["run"]
    used = {
        "max_steps": run["step"],
        "max_tokens": run["tokens"],
        "max_cost_micro": run["cost_micro"],
        "max_wall_s": (run["wall_ms"] + elapsed_ms) / 1000,
    }
    for name, observed in used.items():
        if (allowed := limits.get(name)) is not None and observed >= allowed:
            return limit_interrupt(name, allowed, observed)
    errors = consecutive_errors(session) - run.get("forgiven", 0)
    allowed = limits.get("max_consecutive_errors")
    if allowed is not None and errors > allowed:
        return limit_interrupt("max_consecutive_errors", allowed, errors)
    return None


def capped(wanted: Mapping[str, Any], ceilings: Mapping[str, Any]) -> dict[str, Any]:
    """Session limits under the server's: a session may only narrow. None means no limit."""
    limits = dict(wanted)
    for name, ceiling in ceilings.items():
        if ceiling is not None:
            own = limits.get(name)
            limits[name] = ceiling if own is None else min(own, ceiling)
    return limits


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


def overflow_interrupt(largest: list[dict[str, Any]], measure: Measure) -> dict[str, Any]:
    return {
        "id": "int-context_overflow",
        "reason": "limit",
        "limit": "context_overflow",
        "observed": measure.total,
        "largest": largest,
        "message": (
            f"The next request would have about {measure.total} tokens, more than the model takes,"
            " and nothing more can be left out. Unpin or shorten the largest messages, or choose a"
            " model with a larger window."
        ),
        "response_schema": ANSWERS["limit"],
    }


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
