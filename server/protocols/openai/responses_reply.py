"""Convert the events of a run to a Responses answer: its events, or the response at the end.

`protocols/openai/routes` passes every event to a `Reply`. One output item is open at a time; parts
open and close in the order of the API reference, and every event has the next `sequence_number`.
The response at the end is built from the same events, and from texts that hooks have rewritten.
Calls of the caller's tools are sent when the run has stopped for them (the reason is in
protocols/openai/chat_reply.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...http import sse
from ...session import outcome
from ...session.events import Event
from ...strict_json import dumps, quote
from . import previous_responses
from .chat_reply import BREAK
from .common import CARRIER, error
from .fields import Json
from .responses import Wish

DELTA = "response.output_text.delta"


class Parts(NamedTuple):
    """The names of an item's part: its member, and in the names of its events."""

    member: str
    name: str
    text: str
    number: str


# Reasoning is sent as summaries, where SDKs expect it: OpenAI's own models send nothing else.
PARTS = {
    "message": Parts("content", "content_part", "output_text", "content_index"),
    "reasoning": Parts(
        "summary", "reasoning_summary_part", "reasoning_summary_text", "summary_index"
    ),
}
REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}


class Reply:
    """The answer of one run. `session` is the live document."""

    def __init__(self, session: Json, wish: Wish, *, run_id: str, first_message: int) -> None:
        self._session, self._wish, self._first = session, wish, first_message
        self._run = run_id.removeprefix("run_")
        self._number = 0
        self._created = 0
        self._output: list[Json] = []
        self._item: Json | None = None  # the open one, the last of `_output`
        self._pieces: list[str] = []  # of its text
        self._speaker = ""
        self._told: dict[str, list[Json]] = {}  # the items of each message
        self._structured: bool | None = None
        self._failure: outcome.Failure | None = None
        self._status = "in_progress"
        self._carrier: Json | None = None
        self._incomplete: Json | None = None

    # -- the two forms ----------------------------------------------------------------------------

    def frame(self, event: Event) -> bytes:
        """Return the frames of an event, b"" for most kinds."""
        if event["type"] == "TEXT_MESSAGE_CONTENT" and event["messageId"] == self._speaker:
            return self._more(event["delta"])
        return b"".join(_framed(each) for each in self._events(event))

    def _more(self, text: str) -> bytes:
        """Return the frame of a further delta of the open text.

        Formatted by hand, because nearly all events of a stream differ only in number and text: 0.9
        µs, where the general encoder takes 7.8 µs.
        """
        assert self._item is not None
        self._pieces.append(text)
        number, self._number = self._number, self._number + 1
        return (
            f'event: {DELTA}\ndata: {{"type":"{DELTA}","sequence_number":{number},'
            f'"item_id":"{self._item["id"]}","output_index":{len(self._output) - 1},'
            f'"content_index":0,"delta":{quote(text)},"logprobs":[]}}\n\n'
        ).encode()

    def cut(self) -> bytes:
        """Return the end of the stream when the server stops."""
        self._failed(outcome.stopped(self._session, self._first))
        return _framed(self._event("response.failed", response=self.response()))

    def see(self, event: Event) -> None:
        """Handle an event without sending it."""
        for _ in self._events(event):
            pass

    def answer(self) -> tuple[int, Json]:
        """Return (status, body)."""
        if self._status == "in_progress":
            self._failed(outcome.stopped(self._session, self._first))
        if found := self._failure:
            return found.status, error(found.message, found.kind, found.code)
        return 200, self.response()

    def brought(self) -> Json | None:
        """Return the data that the caller sends back with its tool results; None without calls."""
        return self._carrier

    def lasting(self) -> tuple[str, Json] | None:
        """Return (id, value to keep for later requests); None if nothing may be kept."""
        if self._wish.body is None or self._status not in ("completed", "incomplete"):
            return None
        return previous_responses.response_id(self._run), previous_responses.kept(
            self._wish.body, self._output
        )

    def response(self) -> Json:
        """Return the response in its current state."""
        found = self._failure
        return {
            "id": previous_responses.response_id(self._run),
            "object": "response",
            "created_at": self._created,
            "status": self._status,
            "error": {"code": "server_error", "message": found.message} if found else None,
            "incomplete_details": self._incomplete,
            "model": self._wish.model,
            "output": self._output,
            **self._wish.echo,
            "usage": None if self._status == "in_progress" else self._usage(),
            **({CARRIER: {"session": self._session}} if self._tells_session() else {}),
        }

    # -- events -----------------------------------------------------------------------------------

    def _events(self, event: Event) -> Iterator[Json]:
        kind = event["type"]
        if kind == "TEXT_MESSAGE_CONTENT":
            yield from self._text(event)
        elif kind == "REASONING_MESSAGE_CONTENT":
            yield from self._opened("reasoning", event["messageId"])
            yield self._delta(event["delta"])
        elif kind in ("TEXT_MESSAGE_END", "REASONING_MESSAGE_END"):
            yield from self._closed()
        elif kind == "RUN_STARTED":
            self._created = event["timestamp"] // 1000
            yield self._event("response.created", response=self.response())
            yield self._event("response.in_progress", response=self.response())
        elif kind == "CUSTOM":
            self._rewrite(event)
        elif kind in ("RUN_FINISHED", "RUN_ERROR"):
            yield from self._end(event)

    def _text(self, event: Event) -> Iterator[Json]:
        if self._structured is None:
            self._structured = outcome.is_structured(self._session)
        if not self._structured:
            begins = self._begins(event["messageId"])
            yield from self._opened("message", event["messageId"])
            yield self._delta(begins + event["delta"])

    def _end(self, event: Event) -> Iterator[Json]:
        yield from self._closed()
        if found := outcome.failure(self._session, event, self._first):
            self._failed(found)
            yield self._event("response.failed", response=self.response())
            return
        if text := outcome.last_words(self._session, said=bool(self._told)):
            begins = self._begins("last")
            yield from self._opened("message", "last")
            yield self._delta(begins + text)
            yield from self._closed()
        for number, call in enumerate(outcome.calls(self._session, self._wish.names, self._run)):
            yield from self._call(call, brings=number == 0)
        reason = outcome.reason(self._session)
        self._status = "incomplete" if reason in REASONS else "completed"
        self._incomplete = {"reason": REASONS[reason]} if reason in REASONS else None
        yield self._event(f"response.{self._status}", response=self.response())

    def _failed(self, found: outcome.Failure) -> None:
        self._failure, self._status = found, "failed"

    # -- items ------------------------------------------------------------------------------------

    def _opened(self, kind: str, source: str) -> Iterator[Json]:
        """Yield the events that open an item for a message or thought; none if it is open."""
        if self._item and (self._item["type"], self._speaker) == (kind, source):
            return
        yield from self._closed()
        self._speaker, self._pieces = source, []
        prefix = "msg" if kind == "message" else "rs"
        item: Json = {"id": self._id(prefix), "type": kind, "status": "in_progress"}
        item |= {"role": "assistant", "content": []} if kind == "message" else {"summary": []}
        self._item = item
        self._output.append(item)
        if kind == "message":
            self._told.setdefault(source, []).append(item)
        added = {**item, PARTS[kind].member: []}
        yield self._event(
            "response.output_item.added", output_index=len(self._output) - 1, item=added
        )
        yield self._of_part(f"response.{PARTS[kind].name}.added", part=self._part(""))

    def _closed(self) -> Iterator[Json]:
        """Yield the events that close the open item and its part, if there is one."""
        if self._item is None:
            return
        text = "".join(self._pieces)
        part, kinds = self._part(text), PARTS[self._item["type"]]
        more: Json = {"logprobs": []} if part["type"] == "output_text" else {}
        yield self._of_part(f"response.{kinds.text}.done", text=text, **more)
        yield self._of_part(f"response.{kinds.name}.done", part=part)
        self._item[kinds.member], self._item["status"] = [part], "completed"
        self._speaker = ""
        index = len(self._output) - 1
        done, self._item = self._item, None
        yield self._event("response.output_item.done", output_index=index, item=done)

    def _rewrite(self, event: Event) -> None:
        """Replace the texts of closed items, for the response at the end."""
        for message_id, text in outcome.rewritten(self._session, event):
            begins = "" if message_id == next(iter(self._told), "") else BREAK
            for item in self._told.get(message_id, ()):
                item["content"] = [{**item["content"][0], "text": begins + text}]
                begins = text = ""  # a message interrupted by reasoning has several items

    def _begins(self, source: str) -> str:
        """Return the separator before a message: the SDKs' `output_text` joins all messages."""
        return BREAK if self._told and source not in self._told else ""

    def _delta(self, text: str) -> Json:
        assert self._item is not None
        self._pieces.append(text)
        kind: str = self._item["type"]
        more: Json = {"logprobs": []} if kind == "message" else {}
        return self._of_part(f"response.{PARTS[kind].text}.delta", delta=text, **more)

    def _part(self, text: str) -> Json:
        assert self._item is not None
        if self._item["type"] == "message":
            return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        return {"type": "summary_text", "text": text}

    def _call(self, call: Json, *, brings: bool) -> Iterator[Json]:
        """Yield the events of a caller's call; `brings`: with the run's hidden messages."""
        item: Json = {"id": self._id("fc"), "type": "function_call", "status": "in_progress"}
        item |= {"call_id": call["id"], "name": call["name"], "arguments": ""}
        at = {"item_id": item["id"], "output_index": len(self._output)}
        yield self._event(
            "response.output_item.added", output_index=at["output_index"], item=dict(item)
        )
        arguments = call["arguments"]
        yield self._event("response.function_call_arguments.delta", **at, delta=arguments)
        yield self._event(
            "response.function_call_arguments.done", **at, name=call["name"], arguments=arguments
        )
        item |= {"status": "completed", "arguments": arguments}
        if brings:
            item[CARRIER] = self._carrier = outcome.carrier(self._session, self._first, self._run)
        self._output.append(item)
        yield self._event("response.output_item.done", output_index=at["output_index"], item=item)

    # -- spelling ---------------------------------------------------------------------------------

    def _of_part(self, kind: str, **fields: Any) -> Json:
        assert self._item is not None
        place = {"output_index": len(self._output) - 1, PARTS[self._item["type"]].number: 0}
        return self._event(kind, item_id=self._item["id"], **place, **fields)

    def _event(self, kind: str, **fields: Any) -> Json:
        number, self._number = self._number, self._number + 1
        return {"type": kind, "sequence_number": number, **fields}

    def _id(self, prefix: str) -> str:
        return previous_responses.item_id(prefix, self._run, len(self._output))

    def _tells_session(self) -> bool:
        return self._wish.session and self._status != "in_progress"

    def _usage(self) -> Json:
        used = outcome.usage(self._session)
        return {
            "input_tokens": used["prompt"],
            "input_tokens_details": {"cached_tokens": used["cached"]},
            "output_tokens": used["completion"],
            "output_tokens_details": {"reasoning_tokens": used["reasoning"]},
            "total_tokens": used["total"],
        }


def _framed(event: Json) -> bytes:
    return sse.encode(dumps(event), event["type"])
