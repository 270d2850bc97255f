"""Record a run since the user's last message, for a client that did not receive all of it.

From the first call on that must not run twice, a host keeps a record of the run for as long as
claims (agent/run_records.py). A client whose connection broke POSTs what it has: the same messages
up to the user's last one, and fewer of those after it. It gets the missing ones as events and the
run continues after them, so that no model call and no tool call is made twice. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from operator import methodcaller
from typing import Any

from ..json_types import (
    Event,
    Json,
    LedgerEntry,
    Message,
    Patch,
    Session,
)
from ..lib.strict_json import canonical, pointer
from . import events, snapshot
from .events import messages_filled, put, state_delta
from .fold import Folder

COUNTERS = "step tokens cost_micro wall_ms forgiven extended summary".split()  # of `run`
STATE = ("context", "output", "plan", "title", "usage")  # keys besides messages, calls and `run`
STAND = ("tree", "message", "start")  # of `workspace`
_ROLE = methodcaller("get", "role")  # a document may have thousands of messages
AT_ITS_END = ("done", "failed", "denied", "skipped")
WINDOW = 8  # messages that `base_of` reads
AGAIN = "again"  # key of a session: names a wish for another answer
FROM_RECORD = "from_record"  # key of `run`: how many messages came from a record


@dataclass
class Record:
    """Record of the runs since the user's last message.

    base      a digest of the messages up to the user's last one
    root      the id of the run that began it: two answers to one message have one base
    again     the `again` of the session that it answered
    runs      the ids of the recorded runs
    ran       call id -> fingerprint of the calls that may have run, "" for those that did not
    messages  the complete messages after it, in order; none are left of one that has expired
    calls     the call log entries of their calls
    state     the other keys of the session that a run writes
    """

    base: str
    root: str = ""
    again: str = ""
    runs: list[str] = field(default_factory=list)
    ran: dict[str, str] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    calls: dict[str, LedgerEntry] = field(default_factory=dict)
    state: Json = field(default_factory=dict)

    def add(self, line: Mapping[str, Any]) -> None:
        """Add a value that `new_values` returned."""
        self.again = line.get(AGAIN, self.again)
        self.runs += line.get("runs", ())
        self.ran |= line.get("ran", {})
        for message in line.get("messages", ()):
            self.messages.insert(self._place(message), message)
        self.calls |= line.get("calls", {})
        self.state |= line.get("state", {})

    def _place(self, message: Message) -> int:
        """Return the index where the fold inserts a message: a result behind its call."""
        place = len(self.messages)
        if message["role"] != "tool":
            return place
        call_id = message["tool_call_id"]
        for index in range(len(self.messages) - 1, -1, -1):
            if any(call["id"] == call_id for call in self.messages[index].get("tool_calls") or ()):
                place = index + 1
                while place < len(self.messages) and self.messages[place]["role"] == "tool":
                    place += 1
                break
        return place


def catch_up(
    session: Session, find: Callable[[str], list[Record]], resumed: str = ""
) -> Generator[Event, None, tuple[Record | None, set[str]]]:
    """Yield what brings a document up to what earlier runs on this host have left of its session.

    These are events; each is folded into the session before the next is asked for.

    Return the record that the run continues, None to begin one, and the fingerprints of calls that
    may have run and that nothing else tells of. Linear in the messages.

    `find`: base -> the records of the answers, the newest first.
    """
    messages, users = session["messages"], count_users(session["messages"])
    for behind, later in ends_before(messages):
        end = len(messages) - behind
        for record in find(base_of(messages, users - later, end)):
            history: Session = {**session, "messages": messages[:end]}
            if lacking := missing_messages(history, record):
                yield from events_before(session, end, lacking, record)
                messages = session["messages"]
            if lacking is not None:
                break
    forgotten: set[str] = set()
    for record in find(base_of(messages, users)):
        lacking = missing_messages(session, record, resumed=resumed)
        if lacking:
            yield from catch_up_events(session, lacking, record)
        if lacking is not None or not record.messages:
            forgotten |= forgotten_calls(session, record)
        if lacking is not None:
            return record, forgotten
    return None, forgotten


def base_of(messages: list[Message], users: int, end: int | None = None) -> str:
    """Return a digest (SHA-256) of the user's last message before `end`, and its place.

    Its place is that it is number `users` of the user's. WINDOW messages up to it are read. Ids,
    times, results and opaque provider data are left out: a server fills them in or changes them.
    """
    rows: list[Any] = []
    for index in range(_after_user(messages, end) - 1, -1, -1):
        message = messages[index]
        if message["role"] not in ("tool", "error") and not message.get("open"):
            rows.append(_comparable(message))
            if len(rows) == WINDOW:
                break
    text = canonical([users, rows])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def count_users(messages: list[Message]) -> int:
    """Return how many messages are the user's."""
    return [*map(_ROLE, messages)].count("user")


def new_values(session: Session, known: set[str]) -> Json:
    """Return the messages that a record of this session lacks, and the state and calls of all.

    The ids of the messages are added to `known`.
    """
    ledger = session["calls"]
    found: list[Message] = []
    calls: dict[str, LedgerEntry] = {}
    messages = session["messages"]
    for message in messages[_after_user(messages) :]:
        if message.get("open") or message["role"] == "error":
            continue
        calls |= {each: ledger[each] for each in _call_ids(message) if each in ledger}
        if message["id"] not in known:
            known.add(message["id"])
            found.append(message)
    document: Mapping[str, Any] = session
    run: Mapping[str, Any] = session["run"]
    state: Json = {key: document[key] for key in STATE if key in session}
    state["run"] = {name: run[name] for name in COUNTERS if name in run}
    workspace: Mapping[str, Any] = session.get("workspace", {})
    state["workspace"] = {name: workspace[name] for name in STAND if name in workspace}
    return {"runs": [run["id"]], "messages": found, "calls": calls, "state": state}


def missing_messages(
    document: Session, record: Record, *, resumed: str = ""
) -> list[Message] | None:
    """Return the record's messages that this document lacks, None if it is no earlier state.

    `record` has the base of these messages. If the call log has a call of a missing message, or the
    final state of a call whose result is missing, the client had them and has removed them to get
    another answer: None. This is not checked if `resumed`, the id of the run that the client
    continues, is a recorded run. A document without any answer needs the record's `again`.
    """
    messages = document.get("messages") or []
    closed = (m for m in messages[_after_user(messages) :] if not m.get("open"))
    sent = [m for m in closed if m["role"] != "error"]
    answers = [_comparable(m) for m in sent if m["role"] != "tool"]
    results = {m["tool_call_id"]: m.get("content") for m in sent if m["role"] == "tool"}
    known = [m for m in record.messages if m["role"] != "tool"]
    recorded = {m["tool_call_id"]: m.get("content") for m in record.messages if m["role"] == "tool"}
    if not known or (not answers and record.again != document.get(AGAIN, "")):
        return None
    if answers != [*map(_comparable, known[: len(answers)])]:
        return None
    if not results.items() <= recorded.items():
        return None
    have = {m["id"] for m in known[: len(answers)]}
    lacking = [
        m for m in record.messages if m["id"] not in have and m.get("tool_call_id") not in results
    ]
    if resumed in record.runs:
        return lacking
    ledger = document.get("calls") or {}
    if any(call_id in ledger for message in lacking for call_id in _call_ids(message)):
        return None
    states = (
        ledger.get(m["tool_call_id"], {}).get("state") for m in lacking if m["role"] == "tool"
    )
    return None if any(state in AT_ITS_END for state in states) else lacking


def catch_up_events(session: Session, lacking: list[Message], record: Record) -> list[Event]:
    """Return the events that bring a session to the state of the record.

    `session` is as the opening of the run leaves it; it is not changed.
    """
    scratch: Session = {**session, "messages": deepcopy(session["messages"]), "calls": {}}
    return [*_add(scratch, lacking, record), _state_event(session, lacking, record)]


def events_before(
    session: Session, end: int, lacking: list[Message], record: Record
) -> list[Event]:
    """Return the events that put what a session lacks before its messages from `end` on.

    Results have events of their own, which settle the call log and the interrupts: a line that is
    cut between two events leaves a document that can be gone on with.
    """
    messages = session["messages"]
    scratch: Session = {**session, "messages": deepcopy(messages[:end]), "calls": {}}
    _add(scratch, [each for each in lacking if each["role"] != "tool"], record)
    scratch["messages"] += messages[end:]
    inserted = snapshot.messages(scratch)
    results = _add(scratch, [each for each in lacking if each["role"] == "tool"], record)
    state = _state_event(session, lacking, record)
    # What was spent on an earlier message is not spent on this one.
    changes = [each for each in state["delta"] if not each["path"].startswith("/yaa/run/")]
    changes += state_delta(put("run", FROM_RECORD, value=len(lacking)))["delta"]
    return [inserted, *results, {**state, "delta": changes}]


def _add(scratch: Session, lacking: Iterable[Message], record: Record) -> list[Event]:
    """Return the events that add messages or complete them, and apply them to `scratch`."""
    folder, found = Folder(scratch), list[Event]()
    for message in lacking:
        place = _index(scratch["messages"], message["id"])
        if place is None:  # else the client has the incomplete message
            for event in _message_events(message, record):
                folder.apply(event)
                found.append(event)
            folder.flush()
            place = _index(scratch["messages"], message["id"])
        if place is not None and scratch["messages"][place] != message:
            found.append(_fill_event(scratch["messages"][place], message, place))
            folder.apply(found[-1])
    return found


def _state_event(session: Session, lacking: list[Message], record: Record) -> Event:
    """Return the event that brings all but the messages of a session to the state of the record."""
    touched = [i for m in lacking for i in (*_call_ids(m), m.get("tool_call_id")) if i]
    changes = [
        put("calls", call_id, value=record.calls.get(call_id) or _proposed_entry(lacking, call_id))
        for call_id in dict.fromkeys(touched)
        if call_id in record.calls or call_id not in session.get("calls", {})
    ]
    run = record.state.get("run", {})
    changes += [put("run", name, value=value) for name, value in run.items()]
    changes.append(put("run", FROM_RECORD, value=len(lacking)))
    changes += [
        put(name, value=record.state[name])
        for name in STATE
        if name in record.state and record.state[name] != session.get(name)
    ]
    known, stand = session.get("workspace", {}), record.state.get("workspace", {})
    if {**known, **stand} != known:
        changes.append(put("workspace", value={**known, **stand}))
    return state_delta(*changes)


def ends_before(messages: list[Message]) -> list[tuple[int, int]]:
    """Return where an earlier answer may be missing, before the user's last message.

    From the first place on, as (messages behind it, messages of the user's among them). These are
    the places between messages of the user's at the end, which may have errors between them.
    """
    places: list[tuple[int, int]] = []
    behind = users = 0
    for message in reversed(messages):
        if (role := message["role"]) not in ("user", "error"):
            places.append((behind, users))
            break
        if role == "user":
            places.append((behind, users))
            users += 1
        behind += 1
    return [place for place in places[::-1] if place[0]]


def forgotten_calls(session: Session, record: Record) -> set[str]:
    """Return the fingerprints of calls that may have run and that this session does not know."""
    if record.again != session.get(AGAIN, ""):
        return set()
    known = session["calls"]
    return {each for call_id, each in record.ran.items() if each and call_id not in known}


def _message_events(message: Message, record: Record) -> Iterator[Event]:
    """Yield the events by which a run would send one complete message."""
    message_id, at = message["id"], message.get("at", 0)
    content = message.get("content")
    text = content if isinstance(content, str) else ""
    if message["role"] == "tool":
        state = record.calls.get(message["tool_call_id"], {}).get("state", "done")
        result = events.tool_result(
            *(message["tool_call_id"], message.get("name", ""), text, at),
            state=state if state in AT_ITS_END else "done",
            is_error=message.get("is_error", False),
            result=message.get("result"),
        )
        yield {**result, "messageId": message_id}
        return
    reasoning = message.get("reasoning") or {}
    if thought := reasoning.get("text"):
        thought_id = reasoning.get("id") or f"{message_id}-thought"
        yield from events.think_start(thought_id, message_id, reasoning.get("field", ""), at)
        yield events.think_delta(thought_id, thought)
        yield from events.think_end(thought_id)
    yield events.text_start(message_id, at)
    if text:
        yield events.text_delta(message_id, text)
    for call in message.get("tool_calls") or ():
        yield events.tool_start(call["id"], call["function"]["name"], message_id)
        if arguments := call["function"]["arguments"]:
            yield events.tool_args(call["id"], arguments)
        yield events.tool_end(call["id"], call.get("extra"))
    about = message.get("meta", {}), at, reasoning.get("details"), message.get("media")
    yield events.text_end(message_id, *about)


def _fill_event(there: Mapping[str, Any], wanted: Message, place: int) -> Event:
    """Return the event that changes the message at index `place` into `wanted`."""
    changes: Patch = [
        {"op": "add", "path": pointer(place, key), "value": value}
        for key, value in wanted.items()
        if key not in there or there[key] != value
    ]
    changes += [{"op": "remove", "path": pointer(place, key)} for key in there if key not in wanted]
    return messages_filled(changes)


def _proposed_entry(messages: Iterable[Message], call_id: str) -> LedgerEntry:
    calls = (call for message in messages for call in message.get("tool_calls") or ())
    name = next((call["function"]["name"] for call in calls if call["id"] == call_id), "")
    return {"name": name, "state": "proposed", "attempt": 0}


def _after_user(messages: list[Message], end: int | None = None) -> int:
    """Return the index behind the user's last message before `end`, 0 if there is none."""
    for index in range(len(messages) if end is None else end, 0, -1):
        if messages[index - 1]["role"] == "user":
            return index
    return 0


def _calls(message: Message) -> list[Any]:
    return [[call["id"], call["function"]] for call in message.get("tool_calls") or ()]


def _call_ids(message: Message) -> list[str]:
    return [call["id"] for call in message.get("tool_calls") or ()]


def _comparable(message: Message) -> Any:
    return [message["role"], message.get("content"), _calls(message)]


def _index(messages: list[Message], message_id: str) -> int | None:
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].get("id") == message_id:
            return index
    return None
