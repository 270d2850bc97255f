"""The events of a run: one constructor each, and how an event is named and spelled on the wire.

Events are AG-UI 1.0 objects (https://ag-ui.com/spec/1.0); what AG-UI has no field for rides in
`metadata.yaa`, which its clients carry along untouched. Models and tools only make events;
`fold` alone turns them into a session. Optional fields are left out, never null, because the
official client refuses null.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..strict_json import dumps as _dumps
from ..strict_json import quote

Event = dict[str, Any]
Patch = list[dict[str, Any]]

PROTOCOL_VERSION = "1.0"
OUTPUT = "yaa.tool.output"  # activityType of live output
FILLED = "yaa.messages"  # CUSTOM name: what intake filled in inside messages
SNAPSHOT = "yaa.snapshot"  # metadata of a snapshot's message: what of ours it has in AG-UI's place

# AG-UI type -> the dotted name in the frame's `event:` line (seed 001's where it has one).
ALIASES: dict[str, str] = {
    "RUN_STARTED": "run.start",
    "RUN_FINISHED": "run.end",
    "RUN_ERROR": "run.error",
    "STATE_SNAPSHOT": "session.snapshot",
    "STATE_DELTA": "session.delta",
    "MESSAGES_SNAPSHOT": "messages.snapshot",
    "STEP_STARTED": "step.start",
    "STEP_FINISHED": "step.end",
    "TEXT_MESSAGE_START": "text.start",
    "TEXT_MESSAGE_CONTENT": "text.delta",
    "TEXT_MESSAGE_END": "text.end",
    "REASONING_START": "think.begin",
    "REASONING_MESSAGE_START": "think.start",
    "REASONING_MESSAGE_CONTENT": "think.delta",
    "REASONING_MESSAGE_END": "think.end",
    "REASONING_END": "think.done",
    "TOOL_CALL_START": "tool.start",
    "TOOL_CALL_ARGS": "tool.args",
    "TOOL_CALL_END": "tool.end",
    "TOOL_CALL_RESULT": "tool.result",
    "ACTIVITY_SNAPSHOT": "tool.output",
    "ACTIVITY_DELTA": "tool.output",
    "CUSTOM": "custom",
}
EXEC = "tool.exec"  # a STATE_DELTA that sets a call to `started`
COMPRESS = "context.compress"  # a STATE_DELTA that makes the view of the session smaller
PLAN = "plan.update"  # a STATE_DELTA that sets the plan
_OWN = {"exec": EXEC, "compaction": COMPRESS, "plan": PLAN}  # by what metadata.yaa has


def alias(event: Event) -> str:
    """The dotted name of an event; some STATE_DELTAs have one of their own."""
    if event["type"] == "STATE_DELTA" and (ours := event.get("metadata", {}).get("yaa")):
        return next((name for key, name in _OWN.items() if key in ours), "session.delta")
    return ALIASES[event["type"]]


def dumps(event: Event) -> str:
    """The event as one line of JSON. Deltas, nearly all of a stream, skip the general encoder:
    1.3 µs becomes 0.4 µs an event on CPython 3.11."""
    if event["type"] == "TEXT_MESSAGE_CONTENT" and len(event) == 3:
        return (
            '{"type":"TEXT_MESSAGE_CONTENT","messageId":'
            + quote(event["messageId"])
            + ',"delta":'
            + quote(event["delta"])
            + "}"
        )
    return _dumps(event)


# -- run ------------------------------------------------------------------------------------------


def run_started(session_id: str, run: dict[str, Any], timestamp: int) -> Event:
    """Opens a run. `run` is the bookkeeping that the session carries (shape.Run)."""
    return {
        "type": "RUN_STARTED",
        "threadId": session_id,
        "runId": run["id"],
        "protocolVersion": PROTOCOL_VERSION,
        "timestamp": timestamp,
        "metadata": {"yaa": {"run": run}},
    }


def run_finished(
    session: dict[str, Any], status: str, reason: str, usage: list[Event], timestamp: int
) -> Event:
    """Ends a run that did not break. The digest is added by the loop, which folds first."""
    return {
        "type": "RUN_FINISHED",
        "threadId": session["id"],
        "runId": session["run"]["id"],
        "timestamp": timestamp,
        "outcome": outcome(session, reason),
        "result": {"status": status, "finish_reason": reason, "rev": session["rev"] + 1},
        **({"usage": usage} if usage else {}),
    }


def run_error(message: str, code: str, **details: Any) -> Event:
    """Ends a run that broke. `details` (message_id, rev, retryable, …) go under metadata.yaa."""
    event: Event = {"type": "RUN_ERROR", "message": message, "code": code}
    if details:
        event["metadata"] = {"yaa": details}
    return event


def step_started(number: int, timestamp: int) -> Event:
    return {"type": "STEP_STARTED", "stepName": f"step {number}", "timestamp": timestamp}


def step_finished(name: str, timestamp: int) -> Event:
    return {"type": "STEP_FINISHED", "stepName": name, "timestamp": timestamp}


# -- session --------------------------------------------------------------------------------------


def state_snapshot(session: dict[str, Any]) -> Event:
    """Everything that is not a message, whole."""
    state = {key: value for key, value in session.items() if key != "messages"}
    return {"type": "STATE_SNAPSHOT", "snapshot": {"yaa": state}}


def messages_snapshot(messages: list[dict[str, Any]]) -> Event:
    """Every message, whole, in AG-UI's shape (snapshot.py)."""
    return {"type": "MESSAGES_SNAPSHOT", "messages": messages}


def state_delta(*operations: dict[str, Any]) -> Event:
    """A change to anything but messages: RFC 6902 operations made by `put` and `drop`."""
    return {"type": "STATE_DELTA", "delta": list(operations)}


def plan_set(plan: dict[str, Any]) -> Event:
    return {**state_delta(put("plan", value=plan)), "metadata": {"yaa": {"plan": True}}}


def put(*path: str, value: Any) -> dict[str, Any]:
    """RFC 6902 `add`, which also replaces an object's member (section 4.1)."""
    return {"op": "add", "path": pointer("yaa", *path), "value": value}


def drop(*path: str) -> dict[str, Any]:
    return {"op": "remove", "path": pointer("yaa", *path)}


def pointer(*parts: str | int) -> str:
    """An RFC 6901 JSON pointer."""
    text = "/".join(map(str, parts))
    if "~" in text or text.count("/") >= len(parts):  # seldom
        text = "/".join(str(part).replace("~", "~0").replace("/", "~1") for part in parts)
    return f"/{text}" if parts else ""


def messages_filled(operations: Patch) -> Event:
    """What intake filled in inside messages: RFC 6902 operations on the messages array."""
    return {"type": "CUSTOM", "name": FILLED, "value": operations}


# -- the assistant's message ----------------------------------------------------------------------


def text_start(message_id: str, timestamp: int) -> Event:
    return {
        "type": "TEXT_MESSAGE_START",
        "messageId": message_id,
        "role": "assistant",
        "timestamp": timestamp,
    }


def text_delta(message_id: str, delta: str) -> Event:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": delta}


def text_end(
    message_id: str, meta: dict[str, Any], timestamp: int, details: Any | None = None
) -> Event:
    """Closes the message. `meta`: model, provider, usage, finish_reason, ms, first_ms.
    `details`: the provider's opaque reasoning items, sent back to it verbatim."""
    extra: dict[str, Any] = {"meta": meta}
    if details is not None:
        extra["reasoning_details"] = details
    return {
        "type": "TEXT_MESSAGE_END",
        "messageId": message_id,
        "timestamp": timestamp,
        "metadata": {"yaa": extra},
    }


def think_start(reasoning_id: str, message_id: str, field: str, timestamp: int) -> list[Event]:
    """Opens a span of reasoning, and with it the message it belongs to. `field` is the name the
    provider used, because some want it back under the same one."""
    return [
        {"type": "REASONING_START", "messageId": reasoning_id},
        {
            "type": "REASONING_MESSAGE_START",
            "messageId": reasoning_id,
            "role": "reasoning",
            "timestamp": timestamp,
            "metadata": {"yaa": {"message_id": message_id, "field": field}},
        },
    ]


def think_delta(reasoning_id: str, delta: str) -> Event:
    return {"type": "REASONING_MESSAGE_CONTENT", "messageId": reasoning_id, "delta": delta}


def think_end(reasoning_id: str) -> list[Event]:
    return [
        {"type": "REASONING_MESSAGE_END", "messageId": reasoning_id},
        {"type": "REASONING_END", "messageId": reasoning_id},
    ]


def encrypted_value(kind: str, entity_id: str, **marks: Any) -> Event:
    """A provider's opaque data at AG-UI's own place for it, which its clients bring back with the
    message or the call (`kind`: message, tool-call) that they belong to."""
    return {
        "type": "REASONING_ENCRYPTED_VALUE",
        "subtype": kind,
        "entityId": entity_id,
        "encryptedValue": sealed(**marks),
    }


def sealed(**marks: Any) -> str:
    """What rides in an `encryptedValue`: the same as in metadata, which older clients drop."""
    return _dumps({"yaa": marks})


# -- tool calls -----------------------------------------------------------------------------------


def tool_start(call_id: str, name: str, message_id: str) -> Event:
    return {
        "type": "TOOL_CALL_START",
        "toolCallId": call_id,
        "toolCallName": name,
        "parentMessageId": message_id,
    }


def tool_args(call_id: str, delta: str) -> Event:
    return {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": delta}


def tool_end(call_id: str, extra: Any | None = None) -> Event:
    """Closes a call's arguments. `extra`: opaque provider data that must be echoed with it."""
    event: Event = {"type": "TOOL_CALL_END", "toolCallId": call_id}
    if extra is not None:
        event["metadata"] = {"yaa": {"extra": extra}}
    return event


def tool_exec(call_id: str, operations: Iterable[dict[str, Any]], timestamp: int) -> Event:
    """Says that a call starts now. It reaches the socket before the tool gets the call."""
    return {
        "type": "STATE_DELTA",
        "timestamp": timestamp,
        "delta": list(operations),
        "metadata": {"yaa": {"exec": call_id}},
    }


def tool_output(call_id: str, text: str, *, first: bool) -> Event:
    """Live output, for eyes only: it is not folded and no model sees it."""
    event: Event = {"messageId": f"out-{call_id}", "activityType": OUTPUT}
    if first:
        return {
            "type": "ACTIVITY_SNAPSHOT",
            **event,
            "content": {"call_id": call_id, "chunks": [text]},
        }
    patch = [{"op": "add", "path": "/chunks/-", "value": text}]
    return {"type": "ACTIVITY_DELTA", **event, "patch": patch}


def tool_result(
    call_id: str,
    name: str,
    content: str,
    timestamp: int,
    *,
    state: str = "done",
    is_error: bool = False,
    result: dict[str, Any] | None = None,
) -> Event:
    """Answers a call. `content` is what the model reads, `result` the envelope for people;
    `state` is the ledger's: done, failed, denied, skipped."""
    extra: dict[str, Any] = {"name": name, "state": state}
    if is_error:
        extra["is_error"] = True
    if result is not None:
        extra["result"] = result
    return {
        "type": "TOOL_CALL_RESULT",
        "messageId": f"res-{call_id}",
        "toolCallId": call_id,
        "content": content,
        "role": "tool",
        "timestamp": timestamp,
        "metadata": {"yaa": extra},
    }


def outcome(session: dict[str, Any], reason: str) -> Event:
    """How a run ended, in AG-UI's words."""
    if reason == "cancelled":
        return {"type": "cancelled"}
    if not session.get("interrupts"):
        return {"type": "success"}
    return {"type": "interrupt", "interrupts": [_agui(item) for item in session["interrupts"]]}


_AGUI_NAMES = {
    "id": "id",
    "message": "message",
    "call_id": "toolCallId",
    "response_schema": "responseSchema",
}
_AGUI_REASONS = {"tool_call", "input_required"}


def _agui(interrupt: dict[str, Any]) -> Event:
    """An interrupt in AG-UI's spelling; its own reasons are bare, ours carry our name."""
    reason = interrupt["reason"]
    more = {k: v for k, v in interrupt.items() if k not in _AGUI_NAMES and k != "reason"}
    return {
        "reason": reason if reason in _AGUI_REASONS else f"yaa:{reason}",
        **{_AGUI_NAMES[k]: v for k, v in interrupt.items() if k in _AGUI_NAMES},
        **({"metadata": {"yaa": more}} if more else {}),
    }
