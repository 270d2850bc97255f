"""Fold events into the session document. During a run nothing else changes a session.

Laws, held by property tests and by vectors shared with client/js/core/fold.js:

- total: an event that is unknown, malformed or about a missing object does nothing;
- pure: no clock, no randomness; every id and time is in an event;
- every prefix of a run folds to a document that may be POSTed again.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Container, Mapping
from typing import Any

from ..json_types import (
    Event,
    Json,
    Message,
    Patch,
    Reasoning,
    Session,
    ToolCall,
    ToolFunction,
)
from ..lib.strict_json import canonical_pieces
from .events import FILLED, IDS, SNAPSHOT, id_at
from .json_patch import array_index, copy_json, parse_pointer, patch
from .result_places import Places, calls_of, is_object

# -- fold -----------------------------------------------------------------------------------------


GATHERED = 32  # deltas joined at a time: each short string costs 50 bytes of overhead
# Fields that AG-UI messages have too -> their AG-UI names.
LIFTED = {
    "id": "id",
    "role": "role",
    "content": "content",
    "tool_calls": "toolCalls",
    "tool_call_id": "toolCallId",
}


def fold(session: Session, event: Event) -> None:
    """Apply one event. For a stream of events, keep one `Folder`."""
    folder = Folder(session)
    folder.apply(event)
    folder.flush()


class Folder:
    """Apply a stream of events to `session`.

    Deltas of one field are gathered and joined once, so that a long answer costs linear time; any
    other event, or `flush`, writes them into the session.

    since   how many messages, from the first one on, no event has touched: neither themselves nor
            the log entries of their calls

    `shared`: so many first messages, and the log entries of all calls, belong to others too. They
    are copied before they change. `known`: the ids of these messages.
    """

    def __init__(self, session: Session, shared: int = 0, known: Container[str] = ()) -> None:
        self.session = session
        self.since = len(session["messages"]) if has_messages(session) else 0
        self.shared, self.known = shared, known
        self._target: Any = None  # the message, reasoning or function of the deltas
        self._field = ""
        self._pieces: list[str] = []
        self._texts: list[str] = []  # earlier pieces, joined GATHERED at a time
        self._source: tuple[Any, Any] = (None, None)  # type and id of the deltas being gathered
        self._places: Places | None = None

    def apply(self, event: Event) -> None:
        """Apply one event, or gather a delta. Never raises; ignores events that do not apply."""
        kind = event.get("type") if isinstance(event, dict) else None
        if not isinstance(kind, str):
            return
        if (entry := DELTAS.get(kind)) is None:
            self.flush()
            if kind in FOLDS and foldable(self.session, event):
                FOLDS[kind](self, event)
            return
        key, field, find = entry
        source = (kind, event.get(key))
        if source != self._source:
            self.flush()
            target = find(self, source[1]) if has_messages(self.session) else None
            if target is None or not isinstance(target.get(field) or "", str):
                return
            self._target, self._field, self._source = target, field, source
        if isinstance(delta := event.get("delta"), str):
            self._pieces.append(delta)
            if len(self._pieces) == GATHERED:
                self._texts.append("".join(self._pieces))
                self._pieces.clear()

    def flush(self) -> None:
        """Write gathered deltas into the session."""
        if self._pieces or self._texts:
            before = self._target.get(self._field) or ""
            self._target[self._field] = "".join((before, *self._texts, *self._pieces))
            self._pieces, self._texts = [], []
        self._source = (None, None)

    # What the functions below change, they reach through these methods.

    def touch(self, index: int) -> None:
        """Make the messages from `index` on free to be changed, and note that they may be."""
        if index < self.since:
            messages = self.session["messages"]
            for each in range(index, min(self.since, self.shared)):
                messages[each] = copy_json(messages[each])
            self.since = index

    def message(self, index: int | None) -> Message | None:
        """Return the message at this index, to be changed; None for None."""
        if index is None:
            return None
        self.touch(index)
        return self.session["messages"][index]

    def places(self) -> Places:
        """Return the places of the calls and results among the messages."""
        messages = self.session["messages"]
        if self._places is None or not self._places.of(messages):
            self._places = Places(messages)
        return self._places

    def forget_places(self) -> None:
        """Have them looked for again: which calls a message has may have changed."""
        self._places = None


def digest(session: Session, since: int = 0) -> str:
    """Return the CRC-32 (8 hex digits) of the canonical JSON of what a run may have changed.

    That is the messages from index `since` on, the log entries of their calls, and the interrupts.
    Numbers are spelled as a browser reads them. A client compares it to detect that its fold and
    the server's differ.
    """
    messages, ledger = session.get("messages"), session.get("calls")
    touched = messages[since:] if isinstance(messages, list) else []
    entries: Json = ledger if isinstance(ledger, dict) else {}
    ids = {call_id for m in touched for c in calls_of(m) if isinstance(call_id := c.get("id"), str)}
    calls = {call_id: entries[call_id] for call_id in ids if call_id in entries}
    part = {"messages": touched, "calls": calls, "interrupts": session.get("interrupts")}
    found = 0
    for text in canonical_pieces(part):
        found = zlib.crc32(text.encode(), found)
    return f"{found:08x}"


# -- run ------------------------------------------------------------------------------------------


def run_started(folder: Folder, event: Event) -> None:
    """Set the status to in_progress, create `messages` if missing, store the event's `run`."""
    session = folder.session
    session["status"] = "in_progress"
    session.pop("finish_reason", None)
    if not has_messages(session):
        session["messages"] = []
    if isinstance(run := yaa_metadata(event).get("run"), dict):
        session["run"] = copy_json(run)


def run_finished(folder: Folder, event: Event) -> None:
    """Copy status, finish_reason and rev of the event's result."""
    result = event.get("result")
    if isinstance(result, dict):
        document: Any = folder.session  # the keys are not literals
        document.update({k: result[k] for k in ("status", "finish_reason", "rev") if k in result})


def run_error(folder: Folder, event: Event) -> None:
    """Mark the run failed, and append a message of role `error`.

    Without the message if its id is missing or already used.
    """
    session = folder.session
    details = yaa_metadata(event)
    message_id = details.get("message_id")
    if isinstance(message_id, str) and find_message(session, message_id) is None:
        message: Message = {"id": message_id, "role": "error", "content": event["message"]}
        if isinstance(event.get("code"), str):
            message["code"] = event["code"]
        stamp(message, event)
        session["messages"].append(message)
    session["status"] = session["finish_reason"] = "failed"
    if "rev" in details:
        session["rev"] = details["rev"]


# -- session --------------------------------------------------------------------------------------


def state_snapshot(folder: Folder, event: Event) -> None:
    """Replace every key but `messages`."""
    snapshot = event["snapshot"].get("yaa")
    if isinstance(snapshot, dict):
        folder.touch(0)  # the log entries of all calls
        document: Any = folder.session  # the keys are not literals
        for key in [key for key in document if key != "messages"]:
            del document[key]
        document.update({k: copy_json(v) for k, v in snapshot.items() if k != "messages"})


def state_delta(folder: Folder, event: Event) -> None:
    """Apply RFC 6902 operations below /yaa, except those on messages."""
    for operation in event["delta"]:
        path = operation.get("path") if isinstance(operation, dict) else None
        parts = parse_pointer(path)
        if parts is not None and len(parts) > 1 and parts[0] == "yaa" and parts[1] != "messages":
            if parts[1] == "calls":
                touch_calls(folder, parts[2:], operation.get("value"))
            patch(folder.session, operation, parts[1:])


def touch_calls(folder: Folder, parts: list[str], value: Any) -> None:
    """Touch the messages of the calls whose log entries are to change.

    `parts` is the path below `calls`: of one entry, which is copied if only a part of it changes,
    or of none, for all that there are and those of `value`.
    """
    ledger = folder.session.get("calls")
    entries: Json = ledger if isinstance(ledger, dict) else {}
    for call_id in parts[:1] or {*entries, *(value if isinstance(value, dict) else ())}:
        if (owner := folder.places().owner(call_id)) is not None:
            folder.touch(owner)
    if len(parts) > 1 and parts[0] in entries:
        entries[parts[0]] = copy_json(entries[parts[0]])


def custom(folder: Folder, event: Event) -> None:
    """Apply a FILLED event, or an IDS event, which touches no message; ignore all others."""
    name, value = event["name"], event.get("value")
    if name == FILLED and isinstance(value, list):
        patch_messages(folder, value)
    elif name == IDS and isinstance(value, str):
        messages: list[Any] = folder.session["messages"]
        nameless = [n for n, each in enumerate(messages) if is_object(each) and "id" not in each]
        for index in nameless:
            if index < folder.shared:
                messages[index] = messages[index].copy()
            messages[index]["id"] = id_at(value, index)


def patch_messages(folder: Folder, operations: Patch) -> None:
    """Apply RFC 6902 operations to fields of messages, never to a whole message."""
    folder.forget_places()
    for operation in operations:
        path = operation.get("path") if isinstance(operation, dict) else None
        parts = parse_pointer(path)
        if parts is not None and len(parts) > 1:  # a field of a message, never a whole one
            if (index := array_index(parts[0])) is not None:
                folder.touch(index)
            patch(folder.session["messages"], operation, parts)


def messages_snapshot(folder: Folder, event: Event) -> None:
    """Restore the messages of a stored session from the AG-UI form that snapshot.py makes."""
    folder.forget_places()
    found = []
    for message in event["messages"]:
        metadata = message.get("metadata") if isinstance(message, dict) else None
        names = metadata.get(SNAPSHOT) if isinstance(metadata, dict) else None
        if isinstance(names, list):
            lifted = {n: LIFTED[n] for n in names if isinstance(n, str) and n in LIFTED}
            own_fields = {n: copy_json(message[at]) for n, at in lifted.items() if at in message}
            found.append(copy_json(yaa_metadata(message)) | own_fields)
    folder.session["messages"] = found
    folder.since = 0


# -- the assistant's message ----------------------------------------------------------------------


def text_start(folder: Folder, event: Event) -> None:
    """Append an open assistant message, unless there is one with this id."""
    open_message(folder, event["messageId"], event)


def text_end(folder: Folder, event: Event) -> None:
    """Close the message, and set its `meta`, `media` and reasoning `details` if given."""
    message = changed_message(folder, event["messageId"])
    if message is None:
        return
    message.pop("open", None)
    details = yaa_metadata(event)
    if isinstance(details.get("meta"), dict):
        message["meta"] = details["meta"]
    if isinstance(details.get("media"), list):
        message["media"] = details["media"]
    if "reasoning_details" in details:
        reasoning_of(message)["details"] = details["reasoning_details"]


def think_start(folder: Folder, event: Event) -> None:
    """Start the reasoning of a message, opening the message if it does not exist."""
    details = yaa_metadata(event)
    if not isinstance(message_id := details.get("message_id"), str):
        return
    reasoning = reasoning_of(open_message(folder, message_id, event))
    reasoning["id"] = event["messageId"]
    if isinstance(details.get("field"), str):
        reasoning["field"] = details["field"]


def reasoning_of(message: Message) -> Reasoning:
    """Return the message's reasoning object, created if missing."""
    if not isinstance(message.get("reasoning"), dict):
        message["reasoning"] = {"text": ""}
    return message["reasoning"]


def open_message(folder: Folder, message_id: str, event: Event) -> Message:
    """Return the message with this id, appended as an open assistant message if missing."""
    message = changed_message(folder, message_id)
    if message is None:
        message = {"id": message_id, "role": "assistant", "content": "", "open": True}
        stamp(message, event)
        folder.session["messages"].append(message)
    return message


# -- tool calls -----------------------------------------------------------------------------------


def tool_start(folder: Folder, event: Event) -> None:
    """Append a call without arguments to its message, unless the session has its id."""
    places = folder.places()
    if event["toolCallId"] in places:
        return
    message = changed_message(folder, event.get("parentMessageId"))
    if message is None:
        return
    call: ToolCall = {
        "id": event["toolCallId"],
        "type": "function",
        "function": {"name": event["toolCallName"], "arguments": ""},
    }
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        calls = message["tool_calls"] = []
    calls.append(call)
    places.add(call["id"], message)


def tool_end(folder: Folder, event: Event) -> None:
    """Store the provider's opaque `extra` with the call."""
    if "extra" in yaa_metadata(event):
        call = changed_call(folder, event["toolCallId"])
        if call is not None:
            call["extra"] = yaa_metadata(event)["extra"]


def tool_result(folder: Folder, event: Event) -> None:
    """Insert the result behind its call's message and that message's earlier results.

    The official AG-UI reducer puts it there too. The first result of a call wins; it also sets the
    state in the call log, removes the interrupts of the call, and sets the tree of files that the
    session stands at.
    """
    call_id, details = event["toolCallId"], yaa_metadata(event)
    message: Message = {
        "id": event["messageId"],
        "role": "tool",
        "tool_call_id": call_id,
        "name": details.get("name", ""),
        "content": event["content"],
    }
    stamp(message, event)
    if "is_error" in details:
        message["is_error"] = details["is_error"]
    if "result" in details:
        message["result"] = details["result"]
    places = folder.places()
    if (owner := places.owner(call_id)) is None:
        return
    folder.touch(owner)
    if not places.put(call_id, message):
        return
    session = folder.session
    ledger, waiting = session.get("calls"), session.get("interrupts")
    if isinstance(ledger, dict) and isinstance(entry := ledger.get(call_id), dict):
        ledger[call_id] = {**entry, "state": details.get("state", "done")}
    if isinstance(waiting, list):
        session["interrupts"] = [
            item
            for item in waiting
            if not (isinstance(item, dict) and item.get("call_id") == call_id)
        ]


# -- finding --------------------------------------------------------------------------------------


def find_message(session: Session, message_id: Any) -> Message | None:
    """Return the last message with this id, None if there is none."""
    index = message_index(session, message_id)
    return None if index is None else session["messages"][index]


def message_index(session: Session, message_id: Any, first: int = 0) -> int | None:
    """Return the index of the last message with this id, None if there is none from `first` on."""
    if not isinstance(message_id, str):
        return None
    messages = session["messages"]
    for index in range(len(messages) - 1, first - 1, -1):
        message = messages[index]
        if isinstance(message, dict) and message.get("id") == message_id:
            return index
    return None


def changed_message(folder: Folder, message_id: Any) -> Message | None:
    """Return the last message with this id, to be changed; None if there is none."""
    known = isinstance(message_id, str) and message_id in folder.known
    first = 0 if known else min(folder.since, folder.shared)
    return folder.message(message_index(folder.session, message_id, first))


def changed_call(folder: Folder, call_id: Any) -> ToolCall | None:
    """Return the call with this id, to be changed; None if there is none."""
    message = folder.message(owner_index(folder.session["messages"], call_id))
    return next((call for call in calls_of(message) if call.get("id") == call_id), None)


def changed_reasoning(folder: Folder, reasoning_id: Any) -> Reasoning | None:
    """Return the last reasoning object with this id, to be changed; None if there is none."""
    if not isinstance(reasoning_id, str):
        return None
    messages = folder.session["messages"]
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        reasoning = message.get("reasoning") if is_object(message) else None
        if reasoning and is_object(reasoning) and reasoning.get("id") == reasoning_id:
            folder.touch(index)
            return messages[index]["reasoning"]
    return None


def changed_function(folder: Folder, call_id: Any) -> ToolFunction | None:
    """Return the `function` object of a call, to be changed; None if there is none."""
    call = changed_call(folder, call_id)
    function = None if call is None else call.get("function")
    return function if isinstance(function, dict) else None


def owner_index(messages: list[Message], call_id: Any) -> int | None:
    """Return the index of the last message that has this call, None if there is none."""
    if not isinstance(call_id, str):
        return None
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, dict) and message.get("tool_calls"):  # few have any
            for call in calls_of(message):
                if call.get("id") == call_id:
                    return index
    return None


def yaa_metadata(event: Mapping[str, Any]) -> Json:
    """Return the event's `metadata.yaa`, {} if it has none."""
    metadata = event.get("metadata")
    own_fields = metadata.get("yaa") if isinstance(metadata, dict) else None
    return own_fields if isinstance(own_fields, dict) else {}


def stamp(message: Message, event: Event) -> None:
    """Set the time of a new message, if the event has one."""
    if "timestamp" in event:
        message["at"] = event["timestamp"]


# -- the tables -----------------------------------------------------------------------------------

# Fields and their types without which an event is ignored.
REQUIRED: dict[str, dict[str, type]] = {
    "RUN_ERROR": {"message": str},
    "STATE_SNAPSHOT": {"snapshot": dict},
    "STATE_DELTA": {"delta": list},
    "MESSAGES_SNAPSHOT": {"messages": list},
    "CUSTOM": {"name": str},
    "TEXT_MESSAGE_START": {"messageId": str},
    "TEXT_MESSAGE_END": {"messageId": str},
    "REASONING_MESSAGE_START": {"messageId": str},
    "TOOL_CALL_START": {"toolCallId": str, "toolCallName": str},
    "TOOL_CALL_END": {"toolCallId": str},
    "TOOL_CALL_RESULT": {"toolCallId": str, "messageId": str, "content": str},
}

FOLDS: dict[str, Callable[[Folder, Event], None]] = {
    "RUN_STARTED": run_started,
    "RUN_FINISHED": run_finished,
    "RUN_ERROR": run_error,
    "STATE_SNAPSHOT": state_snapshot,
    "STATE_DELTA": state_delta,
    "MESSAGES_SNAPSHOT": messages_snapshot,
    "CUSTOM": custom,
    "TEXT_MESSAGE_START": text_start,
    "TEXT_MESSAGE_END": text_end,
    "REASONING_MESSAGE_START": think_start,
    "TOOL_CALL_START": tool_start,
    "TOOL_CALL_END": tool_end,
    "TOOL_CALL_RESULT": tool_result,
}

# Delta events: their id key, the field they extend, the function that finds its object.
DELTAS: dict[str, tuple[str, str, Callable[[Folder, Any], Any]]] = {
    "TEXT_MESSAGE_CONTENT": ("messageId", "content", changed_message),
    "REASONING_MESSAGE_CONTENT": ("messageId", "text", changed_reasoning),
    "TOOL_CALL_ARGS": ("toolCallId", "arguments", changed_function),
}


def foldable(session: Session, event: Event) -> bool:
    """Return whether the event has its REQUIRED fields and the session a list of messages."""
    for key, kind in REQUIRED.get(event["type"], {}).items():
        if not isinstance(event.get(key), kind):
            return False
    return event["type"] == "RUN_STARTED" or has_messages(session)


def has_messages(session: Session) -> bool:
    """Return whether the session has a list of messages."""
    return isinstance(session.get("messages"), list)
