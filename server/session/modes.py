"""Modes: how many tool calls a model may make before it answers. Pure.

    free          any number of calls in a round, any number of rounds: the default
    plain         one call at most, then the answer
    react         one call in each round: think, act, look
    plan_execute  a plan; any number of calls in a round, strictly one after another

Every call gets one result; a call that the mode does not allow gets one that says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..json_types import Message, Session, ToolCall
from .call_actions import Reply

FINISH = "finish"  # the tool that ends a run by being called
PLANNING = ("plan_set", "plan_update")


@dataclass(frozen=True)
class Mode:
    """Limits of one mode; None is no limit."""

    name: str
    about: str  # description for people
    per_round: int | None = None  # calls run of one answer
    per_run: int | None = None  # calls per user message; after that no tools are offered
    rounds: int | None = None  # model calls, unless set elsewhere
    most_rounds: int | None = None  # model calls, whatever is set elsewhere
    in_order: bool = False  # run calls one after another, even parallel-safe ones
    plans: bool = False  # offer the PLANNING tools; a failed task ends the run


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
# Other names of modes, of earlier projects; `-`, `_` and case are ignored.
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
    """Return `{name, description}` of each mode, for `/info`."""
    return [{"name": mode.name, "description": mode.about} for mode in MODES.values()]


def mode_named(text: str) -> Mode | None:
    """Return the mode with this name or alias, None if there is none."""
    name = ALIASES.get(text)
    if name is None:
        name = ALIASES.get(text.strip().casefold().replace("-", "").replace("_", ""))
    return MODES[name] if name is not None else None


def mode_of(session: Session) -> Mode:
    """Return the session's own mode, else its agent's, else FREE."""
    own = session["config"]["yaa"].get("mode") or ""
    agents = (session["config"].get("agent") or {}).get("mode") or ""
    return mode_named(own or agents) or FREE


def calls_used(mode: Mode, session: Session) -> int:
    """Count the calls since the user's last message; 0 if the mode does not limit them."""
    if mode.per_run is None:
        return 0
    return sum(len(counted_calls(message)) for message in turn_answers(session))


def call_places(message: Message) -> dict[str, int]:
    """Return call id -> index among the counted calls of its message."""
    return {call["id"]: place for place, call in enumerate(counted_calls(message))}


def refuse_beyond(
    mode: Mode,
    session: Session,
    call: ToolCall,
    message: Message,
    calls_before: int,
    call_places: Mapping[str, int],
) -> Reply | None:
    """Return the result of a call that this mode does not allow, None if it may run.

    A call that was already asked about or started is never refused, even if the mode has changed.
    `calls_before` and `call_places` are what the functions of these names return.
    """
    if (session["calls"].get(call["id"]) or {}).get("state", "proposed") != "proposed":
        return None
    if message["id"] == session["run"].get("summary"):
        return _skip_reply(call, "Not run: the limit of this run is reached.")
    if mode.per_run is None and mode.per_round is None:
        return None
    place, earlier = call_places.get(call["id"], 0), calls_before - len(call_places)
    if mode.per_run is not None and call["id"] in call_places and earlier + place >= mode.per_run:
        text = f"Skipped: in mode {mode.name} {_tools(mode.per_run)} may be used. Answer now."
        return _skip_reply(call, text)
    if mode.per_round is not None and place >= mode.per_round:
        return _skip_reply(
            call,
            f"Skipped: in mode {mode.name} {_tools(mode.per_round)} is used at a time. Call it"
            " again if you still need it.",
        )
    return None


def is_exhausted(mode: Mode, session: Session) -> bool:
    """Return whether no more tools are offered for this user message."""
    return mode.per_run is not None and calls_used(mode, session) >= mode.per_run


def turn_answers(session: Session) -> Iterator[Message]:
    """Yield the model's complete messages since the user's last message, newest first."""
    for message in reversed(session["messages"]):
        if message["role"] == "user":
            return
        if message["role"] == "assistant" and not message.get("open"):
            yield message


def counted_calls(message: Message) -> list[ToolCall]:
    """Return the calls of an answer that a mode counts: all but `finish`, which ends the run."""
    calls = message.get("tool_calls") or ()
    return [call for call in calls if call["function"]["name"] != FINISH]


def _tools(number: int) -> str:
    return "one tool" if number == 1 else f"{number} tools"


def _skip_reply(call: ToolCall, text: str) -> Reply:
    return Reply(call, text, "skipped", status="skipped")
