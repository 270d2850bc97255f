"""The route `POST /agui/{agent}`: AG-UI's RunAgentInput in, its events out.

`request` makes a session of the body. The response is always a stream, of frames with `data:` only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...api.router import RequestContext, Route
from ...api.sessions import Runs
from ...errors import translate_problems
from ...json_types import Event, Json, Session
from ...lib.http import sse
from ...lib.json_schema.objects import object_schema
from ...lib.runtime.offload import offload
from ...session import snapshot
from ...session.events import FILLED, WAIT, dumps, encrypted_value, put, state_delta, state_snapshot
from ...session.fold import find_message, yaa_metadata
from ..parts import Parts
from . import request
from .request import ASKED_FIRST, EDITED, STATE_SET, AguiRequest, state_changes

# -- events ---------------------------------------------------------------------------------------
# Convert the events of a run for AG-UI clients.
#
# `agui_events` is called for every event, after it is folded into the session. The events are AG-
# UI's already; changes that this server's fold derives from an event are added as events, for the
# client's state. After any event, the client's messages and state are enough to continue on another
# server.


YES_OR_NO = object_schema(
    {"approved": {"type": "boolean"}, "reason": {"type": "string"}}, ("approved",)
)
AT_THE_END = ("status", "finish_reason", "rev")


def agui_events(event: Event, session: Session, given: AguiRequest) -> list[Event]:
    """Return the events to send for one that is folded into `session`."""
    handler = _TRANSLATORS.get(event["type"])
    return [event] if handler is None else handler(event, session, given)


def cut_event() -> Event:
    """Return the error that ends the stream when the server stops.

    Without it, AG-UI clients take the end of the stream for success.
    """
    return {
        "type": "RUN_ERROR",
        "code": "overloaded",
        "message": "This server is stopping. Send the thread again as it is now: it goes on.",
    }


def _start_events(event: Event, session: Session, given: AguiRequest) -> list[Event]:
    """Return the event with the client's run id, and the whole state for later deltas."""
    state = state_snapshot(session)
    state["snapshot"] = {**given.state, **state["snapshot"]}
    return [{**event, "runId": given.run_id}, state]


def _open_message_events(event: Event, session: Session, given: AguiRequest) -> list[Event]:
    """Return the event with a mark that the message is incomplete; the message's end removes it."""
    return [_with_marks(event, {"open": True, **_begin_time(event, session)})]


def _thinking_events(event: Event, session: Session, given: AguiRequest) -> list[Event]:
    """Return the event with its time.

    A message that is interrupted before its first text gets its time from here.
    """
    return [_with_marks(event, _time(event))]


def _end_message_events(event: Event, session: Session, given: AguiRequest) -> list[Event]:
    """Return the end of a message, preceded by the provider's opaque data, if there is any.

    In this order, because a message counts as complete after its end.
    """
    told = _with_marks(event, _begin_time(event, session))
    if told["metadata"]["yaa"].pop("reasoning_details", None) is None:
        return [told]
    message = find_message(session, event["messageId"])
    marks = {} if message is None else snapshot.opaque(message)
    return [encrypted_value("message", event["messageId"], **marks), told]


def _call_end_events(event: Event, session: Session, given: AguiRequest) -> list[Event]:
    if "extra" not in yaa_metadata(event):
        return [event]
    sealed = encrypted_value("tool-call", event["toolCallId"], extra=yaa_metadata(event)["extra"])
    told = event.copy()
    told.pop("metadata", None)
    return [sealed, told]


def _begin_time(event: Event, session: Session) -> Json:
    """Return when the message began, {} if unknown; it may have begun with reasoning."""
    message = find_message(session, event["messageId"])
    return {"at": message["at"]} if message and "at" in message else {}


def _result(event: Event, session: Session, given: AguiRequest) -> list[Event]:
    call_id = event["toolCallId"]
    changes = [put("interrupts", value=session.get("interrupts", []))]
    if call_id in session.get("calls", {}):
        changes.append(put("calls", call_id, value=session["calls"][call_id]))
    told = yaa_metadata(event)
    if given.shares and told["name"] == STATE_SET and told.get("result", {}).get("args"):
        changes += state_changes(given.state, told["result"]["args"]["changes"])
    return [_with_marks(event, _time(event)), state_delta(*changes)]


def _finish_events(event: Event, session: Session, given: AguiRequest) -> list[Event]:
    """Return the end of the run in AG-UI's form, preceded by the session's final state.

    Calls of client tools are not interrupts in AG-UI. They come first, because the client cannot
    answer both at once; the next run asks for the rest. Clients before 1.0 find pending calls
    themselves, and refuse an event that lists them (0.0.54 to 0.0.59).
    """
    outcome = event["outcome"]
    mine = [
        item["call_id"]
        for item in session["interrupts"]
        if item["reason"] == "client_tool" and ASKED_FIRST not in item
    ]
    if mine:
        outcome = {"type": "success"} | ({} if given.older else {"pendingToolCallIds": mine})
    elif outcome["type"] == "interrupt":
        outcome = {
            **outcome,
            "interrupts": [_agui_interrupt(item) for item in outcome["interrupts"]],
        }
    return [_final_state_event(session), {**event, "runId": given.run_id, "outcome": outcome}]


def _failure_events(event: Event, session: Session, given: AguiRequest) -> list[Event]:
    return [_final_state_event(session), event]


def _filled_events(event: Event, session: Session, given: AguiRequest) -> list[Event]:
    """Return all messages after a change inside them, such as the rest of a cut one.

    Places in the client's list differ from ours. Ids that `accept` fills in are of ours only. A
    wait passes as it is.
    """
    if event["name"] == WAIT:
        return [event]
    return [snapshot.messages(session)] if event["name"] == FILLED else []


def _final_state_event(session: Session) -> Event:
    document: Mapping[str, Any] = session
    return state_delta(*(put(key, value=document[key]) for key in AT_THE_END if key in document))


def _agui_interrupt(interrupt: Json) -> Json:
    """Return an interrupt in AG-UI's form.

    Clients recognize editable arguments by the name of a property of the answer. A question before
    a client tool runs is an approval like any other.
    """
    theirs, ours = EDITED
    if (why := yaa_metadata(interrupt).get(ASKED_FIRST)) is not None:
        name = yaa_metadata(interrupt).get("tool", "this")
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


def _time(event: Event) -> Json:
    return {"at": event["timestamp"]} if "timestamp" in event else {}


def _with_marks(event: Event, marks: Json) -> Event:
    metadata = event.get("metadata", {})
    return {**event, "metadata": {**metadata, "yaa": {**yaa_metadata(event), **marks}}}


_TRANSLATORS: dict[str, Callable[[Event, Session, AguiRequest], list[Event]]] = {
    "RUN_STARTED": _start_events,
    "RUN_FINISHED": _finish_events,
    "RUN_ERROR": _failure_events,
    "TEXT_MESSAGE_START": _open_message_events,
    "TEXT_MESSAGE_END": _end_message_events,
    "REASONING_MESSAGE_START": _thinking_events,
    "TOOL_CALL_END": _call_end_events,
    "TOOL_CALL_RESULT": _result,
    "CUSTOM": _filled_events,
}


# -- routes ---------------------------------------------------------------------------------------


class AguiParts(Parts):
    """What AG-UI has: its route."""

    def session_routes(self, runs: Runs) -> Mapping[tuple[str, str], Route]:
        """Return AG-UI's only route."""
        return {("POST", "/agui/{agent}"): Route(AguiHandler(runs).post, refusal=request.refusal)}


class AguiHandler:
    """The handler of AG-UI's only route."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    async def post(self, call: RequestContext) -> None:
        """Run a RunAgentInput and send its events.

        Raises Problem for errors before the run begins.
        """
        body = await self._runs.read(call, "request_invalid")
        given = await offload(call.size, request.read, body, call.at["agent"])
        with translate_problems(lambda problem: request.problem_in_input(problem, given)):
            async with self._runs.begin(call, given.session) as run:

                def frame(event: Event, name: str, number: int) -> bytes:
                    """Return the frames of an event."""
                    return b"".join(
                        sse.encode(dumps(each)) for each in agui_events(event, run.session, given)
                    )

                await self._runs.stream(call, run, frame, _cut)


def _cut() -> bytes:
    return sse.encode(dumps(cut_event()))
