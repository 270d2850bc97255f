"""Convert the events of a run to an agent gateway's (`/api/*`), and sessions to its chats. Pure.

`routes` passes in every event of a run and sends the numbered results. Each
delta gives one delta, at once. Events without a counterpart are left out: the session in the last
event contains their effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...json_types import Event, Json, Message, Session, ToolCall
from ...lib.strict_json import JSONError, loads
from ...session import outcome
from ...session.events import run_error
from ...session.fold import yaa_metadata
from ...session.media import plain_text
from ...session.schema import role_of

STOPPING = "This server is stopping. Send the session again without a message: it goes on."
STOPPED = "stopped"  # finishReason of a run that the server's stop ended; it can be continued
_FINISH = {"completed": "end_turn"}  # the other reasons have no name in the gateway's protocol


class QueryTranslator:
    """The events of one query.

    `session` is the live document, `told` the event that repeats the request, `new` whether the
    chat begins with it. `holds`: the end of a run with open interrupts is held back, so that the
    run can continue with submitted answers.

    ended    whether the last event of a run was sent, or is held back
    """

    def __init__(self, session: Session, told: Json, *, new: bool, holds: bool = False) -> None:
        self._session, self._told, self._new, self._holds = session, [told], new, holds
        self._held = False  # whether the end of the run is held back
        self.ended = False
        self._run = ""
        self._seq = 0
        self._content = ""  # the open block of text
        self._blocks: dict[str, int] = {}  # by message: how many blocks of text it has had
        self._chunks: dict[str, int] = {}  # by call: how many pieces of arguments

    def translate(self, event: Event, name: str, now_ms: int) -> list[Json]:
        """Return the events to send for one whose alias is `name`.

        Each has seq, type and timestamp (Unix milliseconds).
        """
        return self._number_events(self._translate(event, name), event.get("timestamp", now_ms))

    def _number_events(self, found: list[Json], stamp_ms: int) -> list[Json]:
        out = []
        for each in found:
            self._seq += 1
            stamp = {"timestamp": stamp_ms}
            out.append({"seq": self._seq, "type": each.pop("type"), **each, **stamp})
        return out

    def cut(self, now_ms: int) -> list[Json]:
        """Return the end of the stream when the server stops, with the session.

        The client keeps only the session that it is sent, so finished work must be in it.
        """
        return self.translate(
            run_error(STOPPING, "overloaded", retryable=True), "run.error", now_ms
        )

    @property
    def holds_end(self) -> bool:
        """Return whether an end is held back."""
        return self._held

    def continue_with(self, told: list[Json]) -> None:
        """Continue the stream with another run of the session; `told` are the submitted answers."""
        self._held, self._told, self.ended = False, told, False

    def last(self, now_ms: int) -> list[Json]:
        """Return the events that end the stream, [] if the end was sent.

        These are the end that is held back, or else the error of a server that stops.
        """
        if self._held:
            self._held = False
            return self._number_events([self._end()], now_ms)
        return [] if self.ended else self.cut(now_ms)

    def _translate(self, event: Event, name: str) -> list[Json]:
        self.ended = self.ended or name in ("run.end", "run.error")
        method = _METHODS.get(name)
        return method(self, event) if method else []

    # -- the run ----------------------------------------------------------------------------------

    def _start(self, event: Event) -> list[Json]:
        chat, goes_on = {"chatId": event["threadId"]}, bool(self._run)
        self._run = self._run or event["runId"]
        found = [{**told, **self._request(told), **chat} for told in self._told]
        if goes_on:  # the client sees one run
            return found
        request = self._request(self._told[0])
        if self._new:
            found.append({"type": "chat.start", **chat})
        agent = self._session.get("agent")
        named = {"agentKey": agent} if agent else {}
        return [*found, {"type": "run.start", "runId": self._run, **request, **chat, **named}]

    def _request(self, told: Json) -> Json:
        return {"requestId": told.get("requestId") or self._run}

    def _finish(self, event: Event) -> list[Json]:
        waits = awaiting_events(self._session)
        if self._holds and waits:
            self._held = True
            return waits
        return [*waits, self._end()]

    def _end(self) -> Json:
        reason = self._session.get("finish_reason") or ""
        end = {"finishReason": _FINISH.get(reason, reason), **self._document()}
        return {"type": "run.complete", "runId": self._run, **end}

    def _error(self, event: Event) -> list[Json]:
        """Return the failure with the session, which may be sent again as it is."""
        details = {"code": event.get("code", "internal"), "message": event["message"]}
        retriable = {"retriable": yaa_metadata(event).get("retryable") is True}
        error = {"type": "run.error", "runId": self._run, **details, **retriable}
        return [
            *self._end_text(event),
            *awaiting_events(self._session),
            {**error, **self._document()},
        ]

    def _document(self) -> Json:
        return {"chatName": self._session.get("title") or "", "session": self._session}

    # -- text, thoughts, calls, the plan ----------------------------------------------------------

    def _text(self, event: Event) -> list[Json]:
        found = []
        if not self._content:
            message = event["messageId"]
            number = self._blocks[message] = self._blocks.get(message, 0) + 1
            self._content = message if number == 1 else f"{message}-{number}"
            start = {"type": "content.start", "contentId": self._content, "runId": self._run}
            found.append(start)
        delta = {"contentId": self._content, "delta": event["delta"]}
        return [*found, {"type": "content.delta", **delta}]

    def _end_text(self, event: Event) -> list[Json]:
        """Return the end of the open block of text: at a call, or with its message."""
        content, self._content = self._content, ""
        return [{"type": "content.end", "contentId": content}] if content else []

    def _begin_thought(self, event: Event) -> list[Json]:
        return [{"type": "reasoning.start", "reasoningId": event["messageId"]}]

    def _thought(self, event: Event) -> list[Json]:
        thought = {"reasoningId": event["messageId"], "delta": event["delta"]}
        return [{"type": "reasoning.delta", **thought}]

    def _end_thought(self, event: Event) -> list[Json]:
        return [{"type": "reasoning.end", "reasoningId": event["messageId"]}]

    def _call(self, event: Event) -> list[Json]:
        call = {"toolId": event["toolCallId"], "toolName": event["toolCallName"]}
        kind = tool_type(self._session, event["toolCallName"])
        start = {"type": "tool.start", **call, "toolType": kind, "runId": self._run}
        return [*self._end_text(event), start]

    def _arguments(self, event: Event) -> list[Json]:
        call = event["toolCallId"]
        index = self._chunks[call] = self._chunks.get(call, -1) + 1
        piece = {"delta": event["delta"], "chunkIndex": index}
        return [{"type": "tool.args", "toolId": call, **piece}]

    def _end_arguments(self, event: Event) -> list[Json]:
        return [{"type": "tool.end", "toolId": event["toolCallId"]}]

    def _execution(self, event: Event) -> list[Json]:
        return [{"type": "tool.exec", "toolId": yaa_metadata(event)["exec"]}]

    def _output(self, event: Event) -> list[Json]:
        """Return the event for live output, which is not sent to a model."""
        first = event["type"] == "ACTIVITY_SNAPSHOT"
        chunks = event["content"]["chunks"] if first else [each["value"] for each in event["patch"]]
        call = event["messageId"].removeprefix("out-")
        return [{"type": "tool.output", "toolId": call, "delta": "".join(chunks)}]

    def _result(self, event: Event) -> list[Json]:
        found = {"toolId": event["toolCallId"], "result": _parse_result(event["content"])}
        failed = {"isError": True} if yaa_metadata(event).get("is_error") else {}
        return [{"type": "tool.result", **found, **failed}]

    def _plan(self, event: Event) -> list[Json]:
        return [{"type": "plan.update", "plan": self._session.get("plan", {})}]


_METHODS: dict[str, Callable[[QueryTranslator, Event], list[Json]]] = {
    "run.start": QueryTranslator._start,
    "think.start": QueryTranslator._begin_thought,
    "think.delta": QueryTranslator._thought,
    "think.end": QueryTranslator._end_thought,
    "text.delta": QueryTranslator._text,
    "text.end": QueryTranslator._end_text,
    "tool.start": QueryTranslator._call,
    "tool.args": QueryTranslator._arguments,
    "tool.end": QueryTranslator._end_arguments,
    "tool.exec": QueryTranslator._execution,
    "tool.output": QueryTranslator._output,
    "tool.result": QueryTranslator._result,
    "plan.update": QueryTranslator._plan,
    "run.end": QueryTranslator._finish,
    "run.error": QueryTranslator._error,
}


def awaiting_events(session: Session) -> list[Json]:
    """Return one `awaiting.ask` per interrupt of the session; `POST /api/submit` answers one."""
    interrupts: Iterable[Mapping[str, Any]] = session.get("interrupts", ())
    return [
        {
            "type": "awaiting.ask",
            "awaitingId": item["id"],
            "toolId": item.get("call_id", item["id"]),
            "mode": _MODES.get(item["reason"], item["reason"]),
            **{theirs: item[ours] for ours, theirs in _AWAITED.items() if ours in item},
        }
        for item in interrupts
    ]


_MODES = {"tool_call": "approval", "input_required": "question", "client_tool": "frontend"}
_AWAITED = {
    "tool": "toolName",
    "args": "toolParams",
    "message": "message",
    "suggestions": "suggestions",
    "response_schema": "payloadSchema",
}


def reply(session: Session, run_id: str, first: int = 0) -> Json:
    """Return the run as one answer, for `stream: false` and for a submit.

    `first` is the index of the first message that may be the run's own.
    """
    own = session["messages"][first:]
    said: Mapping[str, Any] = next((m for m in reversed(own) if m["role"] == "assistant"), {})
    reason = session.get("finish_reason") or STOPPED
    return {
        "chatId": session["id"],
        "chatName": session.get("title") or "",
        "runId": run_id,
        "finishReason": _FINISH.get(reason, reason),
        "content": plain_text(said.get("content")) or outcome.last_words(session, said=False),
        "awaiting": [
            {key: value for key, value in item.items() if key != "type"}
            for item in awaiting_events(session)
        ],
        **_failure(own),
        "session": session,
    }


def _failure(messages: list[Message]) -> Json:
    """Return the error that ended the run, {} if none did."""
    if not messages or messages[-1]["role"] != "error":
        return {}
    last = messages[-1]
    text = plain_text(last.get("content"))
    return {"error": {"code": last.get("code", "internal"), "message": text}}


# -- chats ----------------------------------------------------------------------------------------


def chat(session: Session, *, with_events: bool) -> Json:
    """Return the details of a chat, as a gateway's `GET /api/chat` returns them."""
    session = {"messages": [], **session}
    messages = session["messages"]
    told = [
        {key: value for key, value in message.items() if key in ("role", "content", "tool_calls")}
        | ({"ts": message["at"]} if "at" in message else {})
        for message in messages
    ]
    return {
        "chatId": session.get("id", ""),
        "chatName": session.get("title") or "",
        "messages": told,
        "events": snapshots(session) if with_events else [],
        "references": [],
    }


def snapshots(session: Session) -> list[Json]:
    """Return a `message.snapshot` per message and a `tool.snapshot` per call, in order."""
    results = {m.get("tool_call_id"): m for m in session["messages"] if role_of(m) == "tool"}
    found: list[Json] = []
    for index, message in enumerate(session["messages"]):
        stamp = {"timestamp": message["at"]} if "at" in message else {}
        message_id = message.get("id") or f"message-{index}"
        text = plain_text(message.get("content"))
        if role_of(message) != "tool" and (text or not message.get("tool_calls")):
            about = {"messageId": message_id, "role": role_of(message), "text": text}
            found.append({"type": "message.snapshot", **about, **stamp})
        for call in message.get("tool_calls") or ():
            snapshot = _snapshot(session, call, message_id, results.get(call["id"]))
            found.append({**snapshot, **stamp})
    return [{"seq": number, **each} for number, each in enumerate(found, 1)]


def _snapshot(session: Session, call: ToolCall, message_id: str, result: Message | None) -> Json:
    name = call["function"]["name"]
    found = {"type": "tool.snapshot", "toolId": call["id"], "toolName": name}
    found |= {"contentId": message_id, "toolType": tool_type(session, name)}
    found["arguments"] = call["function"]["arguments"]
    return (
        found
        if result is None
        else {**found, "result": _parse_result(plain_text(result.get("content")))}
    )


def tool_type(session: Session, name: str) -> str:
    """Return "frontend" for a tool of the page, "function" for one of the server."""
    page = any(tool.get("name") == name for tool in session.get("tools", ()))
    return "frontend" if page else "function"


def _parse_result(text: str) -> Any:
    """Return a result that is a JSON object or array as such, any other as text."""
    if not text.startswith(("{", "[")):
        return text
    try:
        return loads(text)
    except JSONError:
        return text
