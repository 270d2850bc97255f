"""Tools that keep failing: when a run goes on without one, and what the model is told before that.

Everything is read off the session's messages since the user last spoke, so it is the same on every
server and after every resume, and there is no counter that could disagree with what is there. Pure.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..jsontext import JSONError, canonical, loads

Session = dict[str, Any]
Call = dict[str, Any]

MOST = 3  # failures in a row after which a tool is withheld for the rest of the run
FAILED = ("error", "timeout", "limit", "invalid_arguments")  # denials are no fault of the tool's


def withheld(session: Session, call: Call | None = None) -> set[str]:
    """Names of tools that failed MOST times in a row in this run.

    For a `call`, what its own message brought does not count: it was made before that was known,
    and may be approved or running already.
    """
    found: set[str] = set()
    streaks: Counter[str] = Counter()
    for message in _this_run(session):
        if call is not None and any(each["id"] == call["id"] for each in _calls(message)):
            break
        if (status := _status(message)) == "ok":
            streaks[message["name"]] = 0
        elif status in FAILED:
            streaks[message["name"]] += 1
            if streaks[message["name"]] >= MOST:
                found.add(message["name"])
    return found


def note(session: Session, call: Call) -> str:
    """What to tell the model beside a failure of `call`, whose result is not in the session yet:
    nothing the first time."""
    name, same = call["function"]["name"], _same(call)
    made: dict[str, str] = {}
    streak = repeats = 1
    for message in _this_run(session):
        made |= {each["id"]: _same(each) for each in _calls(message)}
        if message["role"] != "tool" or message.get("name") != name:
            continue
        again = made.get(message["tool_call_id"]) == same
        if (status := _status(message)) == "ok":
            streak, repeats = 1, 1 if again else repeats
        elif status in FAILED:
            streak, repeats = streak + 1, repeats + again
    lines = []
    if repeats > 1:
        lines.append(
            f"This same call has failed {repeats} times now. Do not repeat it unchanged: change the"
            " arguments, or try another way."
        )
    if streak >= MOST:
        lines.append(f"{name} has failed {streak} times in a row and is withheld from here on.")
    return "\n".join(lines)


def refusal(name: str) -> str:
    return (
        f"{name} failed {MOST} times in a row and is withheld for the rest of this run. Go on"
        " without it, or tell the user what went wrong."
    )


def _this_run(session: Session) -> list[dict[str, Any]]:
    """The messages since the user last spoke, in order."""
    messages: list[dict[str, Any]] = session["messages"]
    start = len(messages)
    while start and messages[start - 1]["role"] != "user":
        start -= 1
    return messages[start:]


def _status(message: dict[str, Any]) -> str:
    """How a call ended, by its tool message; nothing for other messages."""
    if message["role"] != "tool" or not message.get("name"):
        return ""
    envelope = message.get("result")
    status = envelope.get("status") if isinstance(envelope, dict) else None
    return str(status) if status else "error" if message.get("is_error") else "ok"


def _calls(message: dict[str, Any]) -> list[Call]:
    return [] if message.get("open") else message.get("tool_calls") or []


def _same(call: Call) -> str:
    """Equal for calls that ask for the same: the name and the arguments, however written."""
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    try:
        value = loads(arguments) if isinstance(arguments, str) else arguments
        return f"{name}\n{canonical(value)}"
    except (JSONError, ValueError):
        return f"{name}\n{arguments}"
