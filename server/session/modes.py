"""Modes: how many tools a model may use before it answers, as values that `decide` reads.

    free          any number of calls in a round, round after round: the default
    plain         one call at most, then the answer
    react         one call in each round: think, act, look
    plan_execute  a plan that is kept; any number of calls in a round, strictly one after another

Every call gets its one result: what a mode does not allow gets one that says so. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .call_actions import Call, Reply, Session

FINISH = "finish"  # the tool that ends a run by being called
PLANNING = ("plan_set", "plan_update")


@dataclass(frozen=True)
class Mode:
    name: str
    about: str  # for people who choose one
    per_round: int | None = None  # calls of one answer that are run
    per_run: int | None = None  # calls for one message of the user; then no tools are offered
    rounds: int | None = None  # model calls, where nobody says how many
    most_rounds: int | None = None  # model calls, whatever anybody says
    in_order: bool = False  # one call after another, also those that may go side by side
    plans: bool = False  # the tools of PLANNING are offered, and a failed task ends the run


FREE = Mode("free", "Any number of tools, round after round.")
PLAIN = "One tool at most, then the answer."
REACT = "One tool at a time: think, act, look."
PLAN_EXECUTE = "A plan that is kept; tools strictly one after another."
MODES: dict[str, Mode] = {
    mode.name: mode
    for mode in (
        FREE,
        Mode("plain", PLAIN, per_round=1, per_run=1, most_rounds=2),
        Mode("react", REACT, per_round=1, rounds=6),
        Mode("plan_execute", PLAN_EXECUTE, in_order=True, plans=True),
    )
}
# Seed 001's names, old and new, and those of its later versions; `-`, `_` and case do not matter.
ALIASES = {
    "": "free",
    "auto": "free",
    "oneshot": "plain",
    "plaincontent": "plain",
    "thinkingandcontent": "react",
    "planandexecute": "plan_execute",
    "thinkingandcontentwithdualtoolcalls": "plan_execute",
    **{name.replace("_", ""): name for name in MODES},
}


def catalog() -> list[dict[str, str]]:
    """For `/info`: `{name, description}` of each mode."""
    return [{"name": mode.name, "description": mode.about} for mode in MODES.values()]


def mode_named(text: str) -> Mode | None:
    """The mode of this name or alias, if there is one."""
    name = ALIASES.get(text)
    if name is None:
        name = ALIASES.get(text.strip().casefold().replace("-", "").replace("_", ""))
    return MODES[name] if name is not None else None


def mode_of(session: Session) -> Mode:
    """The session's own choice, else its agent's."""
    own = session["config"]["yaa"].get("mode") or ""
    agents = (session["config"].get("agent") or {}).get("mode") or ""
    return mode_named(own or agents) or FREE


def used(mode: Mode, session: Session) -> int:
    """How many calls the model has made since the user spoke, where this mode counts them."""
    if mode.per_run is None:
        return 0
    return sum(len(counted(message)) for message in answers(session))


def places(message: dict[str, Any]) -> dict[str, int]:
    """Call id -> its place among the calls of its message that a mode counts."""
    return {call["id"]: place for place, call in enumerate(counted(message))}


def beyond(
    mode: Mode,
    session: Session,
    call: Call,
    message: dict[str, Any],
    used: int,
    places: Mapping[str, int],
) -> Reply | None:
    """The result of a call that this mode does not run. A call that has been asked about, or was
    begun, is past this question, whatever the mode is by now. `used`: the calls of this run;
    `places`: those of this message."""
    if (session["calls"].get(call["id"]) or {}).get("state", "proposed") != "proposed":
        return None
    if message["id"] == session["run"].get("summary"):
        return _skipped(call, "Not run: the limit of this run is reached.")
    if mode.per_run is None and mode.per_round is None:
        return None
    place, earlier = places.get(call["id"], 0), used - len(places)
    if mode.per_run is not None and call["id"] in places and earlier + place >= mode.per_run:
        text = f"Skipped: in mode {mode.name} {_tools(mode.per_run)} may be used. Answer now."
        return _skipped(call, text)
    if mode.per_round is not None and place >= mode.per_round:
        return _skipped(
            call,
            f"Skipped: in mode {mode.name} {_tools(mode.per_round)} is used at a time. Call it"
            " again if you still need it.",
        )
    return None


def exhausted(mode: Mode, session: Session) -> bool:
    """Whether no more tools are to be offered for this message of the user."""
    return mode.per_run is not None and used(mode, session) >= mode.per_run


def answers(session: Session) -> Iterator[dict[str, Any]]:
    """What the model said since the user spoke, newest first; not what was cut."""
    for message in reversed(session["messages"]):
        if message["role"] == "user":
            return
        if message["role"] == "assistant" and not message.get("open"):
            yield message


def counted(message: dict[str, Any]) -> list[Call]:
    """The calls of an answer that a mode counts: `finish` uses nothing, it is the end."""
    calls = message.get("tool_calls") or ()
    return [call for call in calls if call["function"]["name"] != FINISH]


def _tools(number: int) -> str:
    return "one tool" if number == 1 else f"{number} tools"


def _skipped(call: Call, text: str) -> Reply:
    return Reply(call, text, "skipped", status="skipped")
