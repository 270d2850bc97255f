"""AG-UI's way out: each event of a run as clients of the protocol expect it.

In the walk: `protocols/agui/routes` asks here for every event, which is in the session already. The
events are AG-UI as they are; what our own fold knows without being told, the client's state has to
be told. The rule of the file: after any event, messages and state are enough to go on elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...session.events import Event, encrypted_value, put, state_delta, state_snapshot
from ...session.fold import at, extra, find_message
from ...session.snapshot import opaque
from .request import ASKED_FIRST, EDITED, Given

Session = dict[str, Any]

YES_OR_NO = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["approved"],
}
AT_THE_END = ("status", "finish_reason", "rev")


def told(event: Event, session: Session, given: Given) -> list[Event]:
    """The events to send for one that is folded into `session`."""
    handler = _TOLD.get(event["type"])
    return [event] if handler is None else handler(event, session, given)


def cut() -> Event:
    """What ends the stream of a server that stops: this client takes silence for success."""
    return {
        "type": "RUN_ERROR",
        "code": "overloaded",
        "message": "This server is stopping. Send the thread again as it is now: it goes on.",
    }


def _started(event: Event, session: Session, given: Given) -> list[Event]:
    """The run under the client's own name for it, and the whole state for the deltas to work on."""
    snapshot = state_snapshot(session)
    snapshot["snapshot"] = {**given.state, **snapshot["snapshot"]}
    return [{**event, "runId": given.run_id}, snapshot]


def _opened(event: Event, session: Session, given: Given) -> list[Event]:
    """A message that is cut says so by this mark, which its end takes away."""
    return [_marked(event, {"open": True, **_begun(event, session)})]


def _thinking(event: Event, session: Session, given: Given) -> list[Event]:
    """A message that is cut before its first word has its time from its thought."""
    return [_marked(event, at(event))]


def _closed(event: Event, session: Session, given: Given) -> list[Event]:
    """Before the end comes what its provider wants back: a message that is whole has it."""
    told = _marked(event, _begun(event, session))
    if told["metadata"]["yaa"].pop("reasoning_details", None) is None:
        return [told]
    marks = opaque(find_message(session, event["messageId"]) or {})
    return [encrypted_value("message", event["messageId"], **marks), told]


def _called(event: Event, session: Session, given: Given) -> list[Event]:
    if "extra" not in extra(event):
        return [event]
    sealed = encrypted_value("tool-call", event["toolCallId"], extra=extra(event)["extra"])
    return [sealed, {key: value for key, value in event.items() if key != "metadata"}]


def _begun(event: Event, session: Session) -> dict[str, Any]:
    """When the message was begun, which may be by a thought."""
    message = find_message(session, event["messageId"]) or {}
    return {"at": message["at"]} if "at" in message else {}


def _result(event: Event, session: Session, given: Given) -> list[Event]:
    call_id = event["toolCallId"]
    changes = [put("interrupts", value=session.get("interrupts", []))]
    if call_id in session.get("calls", {}):
        changes.append(put("calls", call_id, value=session["calls"][call_id]))
    return [_marked(event, at(event)), state_delta(*changes)]


def _finished(event: Event, session: Session, given: Given) -> list[Event]:
    """The end as AG-UI has it: calls of the application's tools are no interrupts. They come first,
    because its client cannot answer both at once; the next run asks for the rest. Clients before
    1.0 find them by themselves, and refuse the whole event for their list (0.0.54 to 0.0.59)."""
    outcome = event["outcome"]
    mine = [
        item["call_id"]
        for item in session["interrupts"]
        if item["reason"] == "client_tool" and ASKED_FIRST not in item
    ]
    if mine:
        outcome = {"type": "success"} | ({} if given.older else {"pendingToolCallIds": mine})
    elif outcome["type"] == "interrupt":
        outcome = {**outcome, "interrupts": [_spelled(item) for item in outcome["interrupts"]]}
    return [_settled(session), {**event, "runId": given.run_id, "outcome": outcome}]


def _failed(event: Event, session: Session, given: Given) -> list[Event]:
    return [_settled(session), event]


def _untold(event: Event, session: Session, given: Given) -> list[Event]:
    """What intake filled in inside messages is about ours, not about the client's list of them."""
    return []


def _settled(session: Session) -> Event:
    return state_delta(*(put(key, value=session[key]) for key in AT_THE_END if key in session))


def _spelled(interrupt: Event) -> Event:
    """That arguments may be edited is known by the name of the answer's property; and what people
    are asked before a tool of the application's runs is an approval like any other."""
    theirs, ours = EDITED
    if (why := extra(interrupt).get(ASKED_FIRST)) is not None:
        name = extra(interrupt).get("tool", "this")
        asks = {
            "reason": "tool_call",
            "message": f"Allow {name}? {why}",
            "responseSchema": YES_OR_NO,
        }
        return {**interrupt, **asks}
    schema = interrupt.get("responseSchema", {})
    properties = schema.get("properties")
    if interrupt["reason"] != "tool_call" or not isinstance(properties, dict):
        return interrupt
    renamed = {theirs if key == ours else key: value for key, value in properties.items()}
    return {**interrupt, "responseSchema": {**schema, "properties": renamed}}


def _marked(event: Event, marks: dict[str, Any]) -> Event:
    metadata = event.get("metadata", {})
    return {**event, "metadata": {**metadata, "yaa": {**extra(event), **marks}}}


_TOLD: dict[str, Callable[[Event, Session, Given], list[Event]]] = {
    "RUN_STARTED": _started,
    "RUN_FINISHED": _finished,
    "RUN_ERROR": _failed,
    "TEXT_MESSAGE_START": _opened,
    "TEXT_MESSAGE_END": _closed,
    "REASONING_MESSAGE_START": _thinking,
    "TOOL_CALL_END": _called,
    "TOOL_CALL_RESULT": _result,
    "CUSTOM": _untold,
}
