"""The circuit breaker: tools that keep failing are withheld for the rest of a run.

Computed from the session's messages since the last user message, without a counter of its own, so
that it is the same on every server and after every resume. Pure.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Any

from ..strict_json import JSONError, canonical, loads

Session = dict[str, Any]
Call = dict[str, Any]

MOST = 3  # failures in a row after which a tool is withheld for the rest of the run
LOOK_BACK = 40  # messages searched for earlier failures of the same call
FAILED = ("error", "timeout", "limit", "invalid_arguments")  # a denial is not a tool's failure


class Failures:
    """The failures of one run. The session must not change while this is used."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def withheld(self) -> set[str]:
        """Return the names of tools that failed MOST times in a row in this run."""
        return set(self._since)

    def is_withheld(self, call: Call) -> bool:
        """Return whether the tool was withheld before the message of this call.

        Failures in the call's own message do not count: the call was made before they were known,
        and may be approved or running already.
        """
        since = self._since.get(call["function"]["name"])
        if since is None:
            return False
        return call["id"] not in self._places or since < self._places[call["id"]]

    def note(self, call: Call) -> str:
        """Return a note for the model on a failure of `call`; "" for the first failure.

        The call's result is not in the session yet.
        """
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
        """Return tool → index in the run from which it is withheld."""
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
        """Return call id → index in the run of its message."""
        run = enumerate(self._run)
        return {call["id"]: place for place, message in run for call in _calls(message)}

    @cached_property
    def _in_a_row(self) -> tuple[Counter[str], Counter[str]]:
        """Return failures since the last success, counted by tool name and by call.

        Only the last LOOK_BACK messages count.
        """
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
    """Return the names of tools that failed MOST times in a row in this run."""
    return Failures(session).withheld()


def note(session: Session, call: Call) -> str:
    """Return a note for the model on a failure of `call`; see `Failures.note`."""
    return Failures(session).note(call)


def refusal(name: str) -> str:
    """Return the error text for a call of a withheld tool."""
    return (
        f"{name} failed {MOST} times in a row and is withheld for the rest of this run. Go on"
        " without it, or tell the user what went wrong."
    )


def _this_run(session: Session, most: int) -> list[dict[str, Any]]:
    """Return up to `most` messages since the last user message, the latest ones, in order."""
    messages: list[dict[str, Any]] = session["messages"]
    start, least = len(messages), max(len(messages) - most, 0)
    while start > least and messages[start - 1]["role"] != "user":
        start -= 1
    return messages[start:]


def _status(message: dict[str, Any]) -> str:
    """Return the status of a tool message; "" for other messages."""
    if message["role"] != "tool" or not message.get("name"):
        return ""
    envelope = message.get("result")
    status = envelope.get("status") if isinstance(envelope, dict) else None
    return str(status) if status else "error" if message.get("is_error") else "ok"


def _calls(message: dict[str, Any]) -> list[Call]:
    return [] if message.get("open") else message.get("tool_calls") or []


def _same(call: Call) -> str:
    """Return a key that is equal for calls of the same name and arguments, however written."""
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    try:
        value = loads(arguments) if isinstance(arguments, str) else arguments
        return f"{name}\n{canonical(value)}"
    except (JSONError, ValueError):
        return f"{name}\n{arguments}"
