"""Sum up tokens and cost of model calls, and make the session's changes after each. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..json_types import Change, Event, Interrupt, Json, Message, RunInfo, Session
from ..lib.strict_json import LARGEST_COUNT
from .answers import ANSWERS
from .events import put

TOKEN_COUNTS = (
    *("prompt_tokens", "completion_tokens", "total_tokens"),
    *("reasoning_tokens", "cached_tokens", "cost_micro"),
)


def usage_change(session: Session, usage: Mapping[str, Any]) -> Change:
    """Return the change that adds the usage of one call to the session's."""
    total: Json = {**session.get("usage", {})}
    for name in TOKEN_COUNTS:
        total[name] = min(total.get(name, 0) + usage.get(name, 0), LARGEST_COUNT)
    if written := usage.get("cache_write_tokens"):  # few providers say so
        sum_ = total.get("cache_write_tokens", 0) + written
        total["cache_write_tokens"] = min(sum_, LARGEST_COUNT)
    total["calls"] = total.get("calls", 0) + 1
    if unit := usage.get("cost_unit"):
        total["cost_unit"] = unit
    return put("usage", value=total)


def side_call_changes(session: Session, usage: Mapping[str, Any]) -> list[Change]:
    """Return the changes after a model call outside the conversation.

    Its tokens and cost count, but it is no step.
    """
    run: RunInfo = {**session["run"]}
    run["tokens"] += usage.get("total_tokens", 0)
    run["cost_micro"] += usage.get("cost_micro", 0)
    return [put("run", value=run), usage_change(session, usage)]


def failed_call_changes(session: Session, failure: Event) -> list[Change]:
    """Return the changes after a failed model call; [] if its provider reported no usage."""
    usage = failure.get("metadata", {}).get("yaa", {}).get("usage")
    return side_call_changes(session, usage) if usage else []


def model_call_changes(session: Session, message: Message, *, sums_up: bool) -> list[Change]:
    """Return the changes after a model call: the run's counters and new call log entries.

    `sums_up`: the message is the summary at a limit. It is marked as such, and is not a step.
    """
    usage = message["meta"].get("usage", {})
    run: RunInfo = {**session["run"]}
    if sums_up:
        run["summary"] = message["id"]
    else:
        run["step"] += 1
    run["tokens"] += usage.get("total_tokens", 0)
    run["cost_micro"] += usage.get("cost_micro", 0)
    before = run.get("warnings", [])
    if fresh := [each for each in message["meta"].get("warnings", ()) if each not in before]:
        run["warnings"] = [*before, *fresh]
    entries = [
        put(
            *("calls", call["id"]),
            value={"name": call["function"]["name"], "state": "proposed", "attempt": 0},
        )
        for call in message.get("tool_calls") or ()
    ]
    return [put("run", value=run), *entries]


def model_error(event: Event) -> Interrupt:
    """Return the interrupt that offers to repeat the model call."""
    return {
        "id": "int-model",
        "reason": "model_error",
        "message": event["message"],
        "code": event["code"],
        "response_schema": ANSWERS["model_error"],
    }


def log_fields(
    session: Session, before: Mapping[str, Any], first_message: int, results: int
) -> Json:
    """Return the fields of this run's log line: no text, no arguments.

    `before`: the session's usage before the run. `results`: the number of tool results it added; it
    cannot be counted from the messages at the end, since a result is inserted behind its call.
    """
    messages = session.get("messages") or []
    added = messages[first_message:] if isinstance(messages, list) else []
    usage: Mapping[str, Any] = session.get("usage", {})
    spent = {name: usage.get(name, 0) - before.get(name, 0) for name in (*TOKEN_COUNTS, "calls")}
    codes = [message["code"] for message in added[-1:] if "code" in message]
    return {
        "agent": session.get("agent", ""),
        "status": session.get("status", ""),
        "finish_reason": session.get("finish_reason", "cut"),
        **({"code": codes[0]} if codes else {}),
        "model_calls": spent.pop("calls"),
        "tool_calls": results,
        **spent,
    }


def agui(model: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Json]:
    """Return `usage` of RUN_FINISHED for this run; [] if no model was called."""
    if after.get("calls", 0) == before.get("calls", 0):
        return []

    def difference(name: str) -> int:
        """Return the difference of one counter."""
        return int(after.get(name, 0) - before.get(name, 0))

    return [
        {
            "model": model,
            "inputTokens": difference("prompt_tokens"),
            "outputTokens": difference("completion_tokens"),
            "totalTokens": difference("total_tokens"),
        }
    ]
