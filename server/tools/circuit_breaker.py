"""Tools that keep failing: when a run goes on without one, and what the model is told before that.

Everything is read off the session's messages since the user last spoke, so it is the same on every
server and after every resume, and there is no counter that could disagree with what is there. Pure.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Any

from ..strict_json import JSONError, canonical, loads

Session = dict[str, Any]
Call = dict[str, Any]

MOST = 3  # failures in a row after which a tool is withheld for the rest of the run
LOOK_BACK = 40  # messages that are looked through for earlier failures of the same call
FAILED = ("error", "timeout", "limit", "invalid_arguments")  # denials are no fault of the tool's


class Failures:
    """The failures of one run, read once from a session that does not change meanwhile."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def withheld(self) -> set[str]:
        """Names of tools that failed MOST times in a row in this run."""
        return set(self._since)

    def is_withheld(self, call: Call) -> bool:
        """Whether the tool was withheld when the call was made. What its own message brought does
        not count: it was made before that was known, and may be approved or running already."""
        since = self._since.get(call["function"]["name"])
        if since is None:
            return False
        return call["id"] not in self._places or since < self._places[call["id"]]

    def note(self, call: Call) -> str:
        """What to tell the model beside a failure of `call`, whose result is not in the session
        yet: nothing the first time."""
        name = call["function"]["name"]
        streaks, repeats = self._in_a_row
        streak, again = streaks[name] + 1, repeats[_same(call)] + 1
        lines = []
        if again > 1:
            lines.append(
                f"This same call has failed {again} times now. Do not repeat it unchanged: change"
                " the arguments, or try another way."
            )
        if streak >= MOST:
            lines.append(f"{name} has failed {streak} times in a row and is withheld from here on.")
        return "\n".join(lines)

    @cached_property
    def _run(self) -> list[dict[str, Any]]:
        return _this_run(self._session, len(self._session["messages"]))

    @cached_property
    def _since(self) -> dict[str, int]:
        """Tool -> place in the run from which it is withheld."""
        found: dict[str, int] = {}
        streaks: Counter[str] = Counter()
        for place, message in enumerate(self._run):
            if (status := _status(message)) == "ok":
                streaks[message["name"]] = 0
            elif status in FAILED:
                streaks[message["name"]] += 1
                if streaks[message["name"]] >= MOST:
                    found.setdefault(message["name"], place)
        return found

    @cached_property
    def _places(self) -> dict[str, int]:
        """Call id -> place in the run of its message."""
        run = enumerate(self._run)
        return {call["id"]: place for place, message in run for call in _calls(message)}

    @cached_property
    def _in_a_row(self) -> tuple[Counter[str], Counter[str]]:
        """Failures since the last success, by the name of the tool and by the call, among the last
        LOOK_BACK messages."""
        streaks: Counter[str] = Counter()
        repeats: Counter[str] = Counter()
        made: dict[str, Call] = {}
        for message in _this_run(self._session, LOOK_BACK):
            made |= {each["id"]: each for each in _calls(message)}
            status = _status(message)
            if status != "ok" and status not in FAILED:
                continue
            call = made.get(message["tool_call_id"])
            same = _same(call) if call else ""
            streaks[message["name"]] += 1
            repeats[same] += 1
            if status == "ok":
                streaks[message["name"]] = repeats[same] = 0
        return streaks, repeats


def withheld(session: Session) -> set[str]:
    """Names of tools that failed MOST times in a row in this run."""
    return Failures(session).withheld()


def note(session: Session, call: Call) -> str:
    """What to tell the model beside a failure of `call`; see Failures."""
    return Failures(session).note(call)


def refusal(name: str) -> str:
    return (
        f"{name} failed {MOST} times in a row and is withheld for the rest of this run. Go on"
        " without it, or tell the user what went wrong."
    )


def _this_run(session: Session, most: int) -> list[dict[str, Any]]:
    """The messages since the user last spoke, in order; the last of them, where there are more."""
    messages: list[dict[str, Any]] = session["messages"]
    start, least = len(messages), max(len(messages) - most, 0)
    while start > least and messages[start - 1]["role"] != "user":
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
