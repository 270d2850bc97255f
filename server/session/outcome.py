"""What became of a run, for both OpenAI fronts: the caller's calls, the reason, the tokens.

In the walk: `chat_reply` and `responses_reply` ask here when the run's last event has been folded.
The rule of the file: it reads the session after the run, so that a stream and a whole answer cannot
say different things.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..strict_json import JSONError, browser_safe, dumps, loads
from . import structured_output
from .events import FILLED, Event
from .finish_reason import ended_by
from .fold import parse_pointer
from .modes import FINISH

Json = dict[str, Any]
Session = dict[str, Any]

# RUN_ERROR's code -> status, type and code of the answer, as long as asking again may help.
FAILURES: dict[str, tuple[int, str, str]] = {
    "context_overflow": (400, "invalid_request_error", "context_length_exceeded"),
    "upstream_rate_limit": (429, "rate_limit_error", "upstream_rate_limit"),
    "upstream_timeout": (504, "server_error", "upstream_timeout"),
    "overloaded": (503, "server_error", "overloaded"),
    "output_invalid": (424, "server_error", "output_invalid"),  # it is the model that failed
    "task_failed": (424, "server_error", "task_failed"),
}
# Most clients repeat every 408, 409, 429 and 5xx, whatever a header says; none repeats a 424.
DEPENDENCY_FAILED = 424
OF_THE_REQUEST = (400, 413, 422)  # a provider's statuses for a request that it does not take
REASONS = {  # why a provider refused, where that is known -> status and type of the answer
    "content_filter": (400, "invalid_request_error"),
    "insufficient_quota": (DEPENDENCY_FAILED, "server_error"),
}
RAN = ("started", "done", "failed", "indeterminate")  # the states of a call that has begun
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
    def of(cls, message: str, code: str, details: Json | None = None, *, ran: bool) -> Failure:
        """`details` are a RUN_ERROR's own. `ran`: a tool of the server's has, so the request must
        not be sent again by a client that does not know that."""
        told = details or {}
        if (why := told.get("reason")) in REASONS:
            status, kind = REASONS[why]
            return cls(message, status, kind, why)
        status, kind, known = FAILURES.get(code, (_status(code), "server_error", code))
        if code.startswith("upstream_") and not told.get("retryable", True):
            status, kind = DEPENDENCY_FAILED, "server_error"
            if told.get("status") in OF_THE_REQUEST:
                status, kind = 400, "invalid_request_error"
        if ran and status >= 429:
            status = DEPENDENCY_FAILED
        return cls(message, status, kind, known)


def _status(code: str) -> int:
    return 502 if code.startswith("upstream_") else 500


def failure(session: Session, event: Event, first: int) -> Failure | None:
    """Why the run that ended with this event gave no answer; None if it did. The session's messages
    from `first` on are the answer's."""
    if event["type"] == "RUN_ERROR":
        details = event.get("metadata", {}).get("yaa")
        code = event.get("code", "internal")
        return Failure.of(event["message"], code, details, ran=ran(session, first))
    for interrupt in session["interrupts"]:
        if interrupt.get("limit") == "context_overflow":
            return Failure.of(interrupt["message"], "context_overflow", ran=ran(session, first))
    return None


def stopped(session: Session, first: int) -> Failure:
    """What is told of a run that a stopping server has left."""
    return Failure.of(STOPPED, "overloaded", ran=ran(session, first))


def ran(session: Session, first: int) -> bool:
    """Whether a tool of the server's has been run for the messages from `first` on."""
    ledger = session.get("calls", {})
    return any(
        ledger.get(call["id"], {}).get("state") in RAN
        for message in session["messages"][first:]
        for call in message.get("tool_calls") or ()
    )


def calls(session: Session, names: Mapping[str, str], run: str) -> list[Json]:
    """`{id, name, arguments}` of what the caller has to do, as the caller names it. The ids are
    ours: those of small providers come again in every answer."""
    asked = _asked(session)
    messages = session["messages"] if asked else ()
    made = {call["id"]: call for each in messages for call in each.get("tool_calls") or ()}
    return [
        {
            "id": f"call_{run}_{number}",
            "name": names.get(item["tool"], item["tool"]),
            "arguments": _exact(made.get(item["call_id"]), item["args"]),
        }
        for number, item in enumerate(asked)
    ]


def _exact(call: Json | None, args: Any) -> str:
    """What the call is given, with the integers that no browser can count as integers again."""
    try:
        wrote = loads(call["function"]["arguments"]) if call else args
    except JSONError:  # it was repaired
        return dumps(args)
    return dumps(wrote if browser_safe(wrote) == args else args)


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
    return structured_output.schema_of(session) is not None


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
