"""Derive the answer for a caller from the session after a run: calls, reason, tokens or failure.

For other systems' answers, once the last event of a run is folded. Streamed and whole answers
agree because both read the session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..json_types import Event, Interrupt, Json, Message, Session, ToolCall
from ..lib.json_schema.compile import inline
from ..lib.json_schema.convert import error_text
from ..lib.json_schema.objects import object_schema
from ..lib.json_schema.validate import validate
from ..lib.strict_json import JSONError, browser_safe, dumps, loads
from . import media
from .events import FILLED
from .json_patch import parse_pointer
from .modes import FINISH, turn_answers

# -- finish reason --------------------------------------------------------------------------------
# Classify how an answer ended: normally, or by its token limit, a filter or a fault.
#
# The document has the provider's own value (`meta.finish_reason`). Used by models/decoder before it
# closes an answer, before the last call of an answer is run, and to report that an answer is
# incomplete. client/js/core/session.js has the same table.

Ending = Literal["", "length", "filter", "broken"]

# Values of Chat Completions, Anthropic, Mistral, Z.ai, Gemini, DeepSeek and vLLM.
_WORDS: dict[Ending, tuple[str, ...]] = {
    "length": (
        *("length", "max_tokens", "model_length", "model_context_window_exceeded"),
        "pause_turn",  # Anthropic's own tools have run for long; asked again, it goes on
    ),
    "filter": ("content_filter", "sensitive", "refusal", "safety", "recitation"),
    "broken": ("error", "network_error", "insufficient_system_resource", "abort", "incomplete"),
}
_ENDINGS: dict[str | None, Ending] = {word: how for how, words in _WORDS.items() for word in words}


def ending_of(reason: str | None) -> Ending:
    """Return the ending for a provider's value, "" for a normal or unknown one."""
    return _ENDINGS.get(reason, "")


def ended_by(message: Mapping[str, Any]) -> Ending:
    """Return the ending of an assistant's message, "" for a normal or unknown one."""
    reason = (message.get("meta") or {}).get("finish_reason")
    return ending_of(reason if isinstance(reason, str) else None)


# -- structured output ----------------------------------------------------------------------------
# Structured output: an answer that is one JSON value of a given schema. Pure.
#
# The model sends it as the arguments of `finish`, so an invalid one gets an error result with every
# problem, as for any tool. If a model answers with text instead, the text is accepted if it is the
# value; otherwise the model gets the errors.

TRIES = 3  # consecutive answers that do not fit the schema; the last one fails the run
VALUE = "output"  # the argument for a value that is not an object

_FENCED = re.compile(r"\s*```[a-zA-Z]*\s*\n(.*)\n\s*```\s*", re.DOTALL)


def schema_of(session: Session) -> Json | None:
    """Return the schema of the session's answer: its own, else its agent's, else None."""
    own = session["config"]["yaa"].get("output_schema")
    agents = (session["config"].get("agent") or {}).get("output_schema")
    found: Json | None = agents if own is None else own
    return found


def parameters(schema: Json) -> Json:
    """Return the schema of `finish`'s arguments: the output's, wrapped unless it is an object."""
    if schema.get("type") == "object":
        return schema
    return object_schema({VALUE: inline(schema)}, None, closed=True)


def unwrap_output(schema: Json, args: Json) -> Any:
    """Return the output that arguments of `finish` contain."""
    return args if schema.get("type") == "object" else args[VALUE]


def read_output(text: Any, schema: Json) -> tuple[Any, str]:
    """Return (value of an answer in text, "" or the error); (None, error) if it is not JSON."""
    text = text if isinstance(text, str) else ""
    fenced = _FENCED.fullmatch(text)
    try:
        value = loads((fenced[1] if fenced else text).strip())
    except JSONError as error:
        return None, f"it is no JSON value: {error.message}"
    misfits = validate(value, schema)
    return value, error_text(misfits) if misfits else ""


def count_misses(session: Session) -> int:
    """Count the latest consecutive answers that should have ended the run and did not fit."""
    results = {
        m["tool_call_id"]: m.get("result") or {} for m in session["messages"] if m["role"] == "tool"
    }
    count = 0
    for message in turn_answers(session):
        calls = message.get("tool_calls") or ()
        ends = [call for call in calls if call["function"]["name"] == FINISH]
        said = [results.get(c["id"], {}).get("status") for c in ends]
        if calls and "invalid_arguments" not in said:
            break
        if message["id"] != session["run"].get("summary"):
            count += 1
    return count


# -- outcome --------------------------------------------------------------------------------------


# Code of RUN_ERROR -> HTTP status, type and code of the answer, if a retry may help.
FAILURES: dict[str, tuple[int, str, str]] = {
    "context_overflow": (400, "invalid_request_error", "context_length_exceeded"),
    "upstream_rate_limit": (429, "rate_limit_error", "upstream_rate_limit"),
    "upstream_timeout": (504, "server_error", "upstream_timeout"),
    "overloaded": (503, "server_error", "overloaded"),
    "output_invalid": (424, "server_error", "output_invalid"),  # the model failed, not the server
    "task_failed": (424, "server_error", "task_failed"),
}
# Most clients retry each 408, 409, 429 and 5xx, whatever the headers say; none retries a 424.
DEPENDENCY_FAILED = 424
OF_THE_REQUEST = (400, 413, 422)  # a provider's statuses for a request it rejects
REASONS = {  # a provider's reason for a refusal -> HTTP status and type of the answer
    "content_filter": (400, "invalid_request_error"),
    "insufficient_quota": (DEPENDENCY_FAILED, "server_error"),
}
RAN = ("started", "done", "failed", "indeterminate")  # states of a call that was started
# OpenAI has no finish_reason for a fault, and "stop" would be wrong.
ENDS = {"": "stop", "length": "length", "filter": "content_filter", "broken": "length"}
NOTHING = "done"  # the result of `finish` without a text
STOPPED = "The server is stopping; what was said so far is not the whole answer."


@dataclass(frozen=True)
class Failure:
    """Failure of a run: HTTP `status`, and `kind`, the `type` of OpenAI's error object."""

    message: str
    status: int
    kind: str
    code: str

    @classmethod
    def of(cls, message: str, code: str, details: Json | None = None, *, ran: bool) -> Failure:
        """Return the failure for an error code. `details` are those of RUN_ERROR.

        `ran`: a tool of the server was run. The status is then one that clients do not retry
        automatically.
        """
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
    """Return why the run that ended with `event` gave no answer, None if it did.

    The messages from index `first` on belong to the answer.
    """
    if event["type"] == "RUN_ERROR":
        details = event.get("metadata", {}).get("yaa")
        code = event.get("code", "internal")
        return Failure.of(event["message"], code, details, ran=has_run_calls(session, first))
    for interrupt in session["interrupts"]:
        if interrupt.get("limit") == "context_overflow":
            return Failure.of(
                interrupt["message"], "context_overflow", ran=has_run_calls(session, first)
            )
    return None


def stop_failure(session: Session, first: int) -> Failure:
    """Return the failure of a run that a stopping server cut off."""
    return Failure.of(STOPPED, "overloaded", ran=has_run_calls(session, first))


def has_run_calls(session: Session, first: int) -> bool:
    """Return whether a call in the messages from index `first` on was started by the server."""
    ledger = session.get("calls", {})
    return any(
        ledger.get(call["id"], {}).get("state") in RAN
        for message in session["messages"][first:]
        for call in message.get("tool_calls") or ()
    )


def calls(session: Session, names: Mapping[str, str], run: str) -> list[Json]:
    """Return `{id, name, arguments}` of the calls for the caller.

    `names`: our name of a tool -> the caller's. The ids are our own: some small providers repeat
    ids in every answer.
    """
    asked = _interrupt_calls(session)
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


def _exact(call: ToolCall | None, args: Any) -> str:
    """Return the arguments as JSON, with integers that `browser_safe` made strings restored."""
    try:
        wrote = loads(call["function"]["arguments"]) if call else args
    except JSONError:  # the model's arguments were invalid and have been repaired
        return dumps(args)
    return dumps(wrote if browser_safe(wrote) == args else args)


def _interrupt_calls(session: Session) -> list[Interrupt]:
    return [item for item in session["interrupts"] if item["reason"] == "client_tool"]


def reason(session: Session) -> str:
    """Return OpenAI's finish_reason: stop, length, content_filter or tool_calls."""
    if _interrupt_calls(session):
        return "tool_calls"
    if session.get("finish_reason") == "limit":
        return "length"
    for message in reversed(session["messages"]):
        if message["role"] == "assistant":
            return ENDS[ended_by(message)]
    return "stop"


def is_structured(session: Session) -> bool:
    """Return whether the answer is one JSON value.

    It is sent as a whole once it is valid: after other text of the model it would not be JSON.
    """
    return schema_of(session) is not None


def last_words(session: Session, *, said: bool) -> str:
    """Return the text to send at the end: the structured output, or `finish_text`."""
    if _interrupt_calls(session):
        return ""
    if is_structured(session):
        return dumps(session["output"]) if "output" in session else ""
    return finish_text(session["messages"], said=said)


def finish_text(messages: Sequence[Message], *, said: bool) -> str:
    """Return the text that the model gave to `finish` at the end, "" if it adds nothing.

    `said`: the caller has text of this run already. Then the text is left out if its message has
    other text, or if the model gave none.
    """
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


def pictures(session: Session, first: int) -> list[Json]:
    """Return the pictures that the model made in the messages from `first` on."""
    return [
        item
        for message in session["messages"][first:]
        for item in media.of_message(message)
        if message["role"] == "assistant" and item["media_type"] in media.PICTURES
    ]


def rewritten_texts(session: Session, event: Event) -> Iterator[tuple[str, str]]:
    """Yield (id, text) of the messages whose text a hook replaced, from a CUSTOM event."""
    for change in event["value"] if event["name"] == FILLED else ():
        if not change["path"].endswith("/content"):
            continue  # most are ids
        match parse_pointer(change["path"]):
            case [index, "content"]:
                message = session["messages"][int(index)]
                yield message["id"], message["content"]


def usage(session: Session) -> dict[str, int]:
    """Return the tokens of the run's model calls.

    prompt, completion, total, cached, cache_write and reasoning.
    """
    used: Mapping[str, Any] = session.get("usage", {})
    names = ("prompt", "completion", "total", "cached", "cache_write", "reasoning")
    return {name: used.get(f"{name}_tokens", 0) for name in names}


def carrier(session: Session, first_message: int, run: str) -> Json:
    """Return {id, calls, messages}: the run's messages that the caller's format cannot hold.

    They contain calls of the server's tools, results, and opaque provider data. Sent with the
    caller's calls, and sent back with their results. `calls`: id for the caller -> our id.
    """
    told = {f"call_{run}_{n}": item["call_id"] for n, item in enumerate(_interrupt_calls(session))}
    own = session["messages"][first_message:]
    messages = [each for each in own if each["role"] != "error" and not each.get("open")]
    return {"id": session["id"], "calls": told, "messages": messages}
