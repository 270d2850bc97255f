"""What became of a run, for both OpenAI fronts: the caller's calls, the reason, the tokens.

In the walk: `chat_reply` and `responses_reply` ask here when the run's last event has been folded.
The rule of the file: it reads the session after the run, so that a stream and a whole answer cannot
say different things.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..jsontext import JSONError, browser_safe, dumps, loads
from ..session import output
from ..session.ending import ended_by
from ..session.events import FILLED, Event
from ..session.fold import parse_pointer
from ..session.modes import FINISH

Json = dict[str, Any]
Session = dict[str, Any]

# RUN_ERROR's code -> status, type and code of the answer. A run began, so none is to be repeated;
# the server's own key being refused is no 401 of the caller's.
FAILURES: dict[str, tuple[int, str, str]] = {
    "context_overflow": (400, "invalid_request_error", "context_length_exceeded"),
    "upstream_rate_limit": (429, "rate_limit_error", "upstream_rate_limit"),
    "upstream_timeout": (504, "server_error", "upstream_timeout"),
    "overloaded": (503, "server_error", "overloaded"),
    "output_invalid": (502, "server_error", "output_invalid"),  # it is the model that failed
    "task_failed": (502, "server_error", "task_failed"),
}
# A client of OpenAI has no word for a fault, and "stop" would be a lie.
ENDS = {"": "stop", "length": "length", "filter": "content_filter", "broken": "length"}
NOTHING = "done"  # what `finish` gives where it was given nothing
STOPPED = "The server is stopping; what was said so far is not the whole answer."


@dataclass(frozen=True)
class Failure:
    """An answer that was not to be had."""

    message: str
    status: int
    kind: str
    code: str

    @classmethod
    def of(cls, message: str, code: str) -> Failure:
        status, kind, known = FAILURES.get(code, (_status(code), "server_error", code))
        return cls(message, status, kind, known)


def _status(code: str) -> int:
    return 502 if code.startswith("upstream_") else 500


def failure(session: Session, event: Event) -> Failure | None:
    """Why the run that ended with this event gave no answer; None if it did."""
    if event["type"] == "RUN_ERROR":
        return Failure.of(event["message"], event.get("code", "internal"))
    for interrupt in session["interrupts"]:
        if interrupt.get("limit") == "context_overflow":
            return Failure.of(interrupt["message"], "context_overflow")
    return None


def calls(session: Session, names: Mapping[str, str], run: str) -> list[Json]:
    """`{id, name, arguments}` of what the caller has to do, as the caller names it. The ids are
    ours: those of small providers come again in every answer."""
    return [
        {
            "id": f"call_{run}_{number}",
            "name": names.get(item["tool"], item["tool"]),
            "arguments": _exact(session, item),
        }
        for number, item in enumerate(_asked(session))
    ]


def _exact(session: Session, item: Json) -> str:
    """What the call is given, with the integers that no browser can count as integers again."""
    for message in reversed(session["messages"]):
        for call in message.get("tool_calls") or ():
            if call["id"] == item["call_id"]:
                try:
                    wrote = loads(call["function"]["arguments"])
                except JSONError:  # it was repaired
                    break
                return dumps(wrote if browser_safe(wrote) == item["args"] else item["args"])
    return dumps(item["args"])


def _asked(session: Session) -> list[Json]:
    return [item for item in session["interrupts"] if item["reason"] == "client_tool"]


def reason(session: Session) -> str:
    """stop, length, content_filter or tool_calls."""
    if _asked(session):
        return "tool_calls"
    if session.get("finish_reason") == "limit":
        return "length"
    for message in reversed(session["messages"]):
        if message["role"] == "assistant":
            return ENDS[ended_by(message)]
    return "stop"


def is_structured(session: Session) -> bool:
    """Whether the answer is one JSON value. It is sent whole, when it is known to fit: with words
    of the model before it, it would not be JSON."""
    return output.schema_of(session) is not None


def last_words(session: Session, *, said: bool) -> str:
    """What is still to be sent at the end: the structured output, or the text that the model gave
    to `finish` if it said nothing else."""
    if _asked(session):
        return ""
    if is_structured(session):
        return dumps(session["output"]) if "output" in session else ""
    return finished(session["messages"], said=said)


def finished(messages: Sequence[Json], *, said: bool) -> str:
    """What the model gave to `finish` at the end, unless it said something along with it. `said`:
    it did so earlier, and an empty reason adds nothing to that."""
    given = ""
    for message in reversed(messages):
        if message["role"] == "assistant":
            told = bool(message.get("content")) or given == NOTHING
            return "" if said and told else given
        if message["role"] != "tool":
            break
        if message.get("name") == FINISH and not message.get("is_error"):
            given = str(message["content"])
    return ""


def rewritten(session: Session, event: Event) -> Iterator[tuple[str, str]]:
    """(id, text) of the messages that a hook has just put other words into; a CUSTOM event."""
    for change in event["value"] if event["name"] == FILLED else ():
        match parse_pointer(change["path"]):
            case [index, "content"]:
                message = session["messages"][int(index)]
                yield message["id"], message["content"]


def usage(session: Session) -> dict[str, int]:
    """prompt, completion, total, cached and reasoning tokens of all model calls of the run."""
    used = session.get("usage", {})
    names = ("prompt", "completion", "total", "cached", "reasoning")
    return {name: used.get(f"{name}_tokens", 0) for name in names}


def carrier(session: Session, first_message: int, run: str) -> Json:
    """What the caller has no message for: the run's own messages as they are, with the calls of the
    server's tools, their results, and what the provider wants back. Given with the calls of the
    caller, who comes back with it. `calls`: our id of each by the one that the caller was told."""
    told = {f"call_{run}_{n}": item["call_id"] for n, item in enumerate(_asked(session))}
    own = session["messages"][first_message:]
    messages = [each for each in own if each["role"] != "error" and not each.get("open")]
    return {"id": session["id"], "calls": told, "messages": messages}
