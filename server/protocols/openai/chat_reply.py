"""Convert the events of a run to Chat Completions: chunks of a stream, or one completion.

`protocols/openai/routes` passes every event to a `Reply` and sends `frame` or, without streaming,
`answer` at the end; both are made by the same functions. Calls of the caller's tools are sent when
the run has stopped for them: until then the server may still find that their arguments do not fit,
and ask the model again.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...http import sse
from ...session import outcome
from ...session.events import EXEC, Event, alias
from ...strict_json import dumps, quote
from .chat import Wish
from .common import CARRIER, error
from .fields import Json

DONE = sse.encode("[DONE]")
THOUGHT = ("reasoning_content", "reasoning")  # clients look for one or the other
LAST = ""  # not the id of any message: the key of text that is sent after the run
BREAK = "\n\n"  # between the texts before and after a call of the server's own tools


class Reply:
    """The answer of one run. `session` is the live document, `fingerprint` names this server."""

    def __init__(
        self, session: Json, wish: Wish, *, run_id: str, first_message: int, fingerprint: str
    ) -> None:
        self._session, self._wish, self._first = session, wish, first_message
        self._run = run_id.removeprefix("run_")
        self._id = f"chatcmpl-{self._run}"
        self._fingerprint = fingerprint
        self._created = 0
        self._prefix = ""  # of a chunk with one text
        self._texts: dict[str, list[str]] = {}  # pieces by message, in order
        self._thoughts: dict[str, list[str]] = {}  # by span
        self._structured: bool | None = None
        self._reason: str | None = None
        self._failure: outcome.Failure | None = None

    # -- a stream ---------------------------------------------------------------------------------

    def frame(self, event: Event) -> bytes:
        """Return the frames of an event, b"" for most kinds."""
        return b"".join(self._frames(event))

    def cut(self) -> bytes:
        """Return the end of the stream when the server stops."""
        return self._error(outcome.stopped(self._session, self._first)) + DONE

    def _frames(self, event: Event) -> Iterator[bytes]:
        kind = event["type"]
        if kind == "TEXT_MESSAGE_CONTENT":
            if text := self._said(event):
                yield self._delta(text, "content")
        elif kind == "REASONING_MESSAGE_CONTENT":
            yield self._delta(self._thought(event), *THOUGHT)
        elif kind == "RUN_STARTED":
            self.see(event)
            yield self._chunk({"role": "assistant", "content": ""})
        elif kind in ("RUN_FINISHED", "RUN_ERROR"):
            yield from self._end(event)
        elif self._wish.steps and (step := step_of(event)):
            yield self._chunk({}, more={CARRIER: step})

    def _end(self, event: Event) -> Iterator[bytes]:
        self.see(event)
        if self._failure:
            yield self._error(self._failure)
            yield DONE
            return
        for text in self._texts.get(LAST, ()):
            yield self._chunk({"content": BREAK + text if len(self._texts) > 1 else text})
        for index, call in enumerate(outcome.calls(self._session, self._wish.names, self._run)):
            function = {"name": call["name"], "arguments": ""}
            opened = {"index": index, "id": call["id"], "type": "function", "function": function}
            yield self._chunk({"tool_calls": [opened]})
            rest = {"index": index, "function": {"arguments": call["arguments"]}}
            yield self._chunk({"tool_calls": [rest]})
        brought = self._brought()
        yield self._chunk(brought, self._reason, self._extra())
        if self._wish.usage:
            yield sse.encode(dumps({**self._head(), "choices": [], "usage": self._usage()}))
        yield DONE

    def _delta(self, text: str, *names: str) -> bytes:
        """Return a chunk with one text.

        Formatted by hand, because nearly all chunks of a stream differ only in their text.
        """
        if not self._prefix:
            self._prefix = "data: " + dumps(self._head())[:-1]
        written = quote(text)
        delta = ",".join(f'"{name}":{written}' for name in names)
        return (
            f'{self._prefix},"choices":[{{"index":0,"delta":{{{delta}}},"finish_reason":null}}]}}\n\n'
        ).encode()

    def _chunk(
        self, delta: Json, finish_reason: str | None = None, more: Json | None = None
    ) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        return sse.encode(dumps({**self._head(), "choices": [choice], **(more or {})}))

    def _head(self, kind: str = "chat.completion.chunk") -> Json:
        return {
            "id": self._id,
            "object": kind,
            "created": self._created,
            "model": self._wish.model,
            "system_fingerprint": self._fingerprint,
        }

    def _error(self, found: outcome.Failure) -> bytes:
        return sse.encode(dumps(error(found.message, found.kind, found.code)))

    # -- a whole answer ---------------------------------------------------------------------------

    def see(self, event: Event) -> None:
        """Handle an event without sending it."""
        kind = event["type"]
        if kind == "TEXT_MESSAGE_CONTENT":
            self._said(event)
        elif kind == "REASONING_MESSAGE_CONTENT":
            self._thought(event)
        elif kind == "RUN_STARTED":
            self._created = event["timestamp"] // 1000
        elif kind in ("RUN_FINISHED", "RUN_ERROR"):
            self._failure = outcome.failure(self._session, event, self._first)
            self._reason = outcome.reason(self._session)
            if text := outcome.last_words(self._session, said=bool(self._texts)):
                self._texts[LAST] = [text]
        elif kind == "CUSTOM" and not outcome.is_structured(self._session):
            for message_id, text in outcome.rewritten(self._session, event):
                self._texts[message_id] = [text]

    def answer(self) -> tuple[int, Json]:
        """Return (status, body)."""
        if self._reason is None:
            self._failure = outcome.stopped(self._session, self._first)
        if found := self._failure:
            return found.status, error(found.message, found.kind, found.code)
        message: Json = {"role": "assistant", "content": _joined(self._texts) or None}
        message["refusal"] = None
        if self._thoughts:
            message |= dict.fromkeys(THOUGHT, _joined(self._thoughts))
        if made := outcome.calls(self._session, self._wish.names, self._run):
            message["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": call["arguments"]},
                }
                for call in made
            ]
        elif message["content"] is None:
            message["content"] = ""
        message |= self._brought()
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._reason}
        return 200, {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": self._usage(),
            **self._extra(),
        }

    # -- the pieces -------------------------------------------------------------------------------

    def _said(self, event: Event) -> str:
        """Return the text to send now; "" for a structured answer, sent after the run."""
        if self._structured is None:
            self._structured = outcome.is_structured(self._session)
        if self._structured:
            return ""
        return _added(self._texts, event)

    def _thought(self, event: Event) -> str:
        return _added(self._thoughts, event)

    def brought(self) -> Json | None:
        """Return the data that the caller sends back with its tool results; None without calls."""
        if self._reason != "tool_calls":
            return None
        return outcome.carrier(self._session, self._first, self._run)

    def lasting(self) -> tuple[str, Json] | None:
        """Return None: each request of Chat Completions has the whole conversation."""
        return None

    def _brought(self) -> Json:
        found = self.brought()
        return {CARRIER: found} if found else {}

    def _extra(self) -> Json:
        return {CARRIER: {"session": self._session}} if self._wish.session else {}

    def _usage(self) -> Json:
        used = outcome.usage(self._session)
        return {
            **{f"{name}_tokens": used[name] for name in ("prompt", "completion", "total")},
            "prompt_tokens_details": {"cached_tokens": used["cached"]},
            "completion_tokens_details": {"reasoning_tokens": used["reasoning"]},
        }


def _added(pieces: dict[str, list[str]], event: Event) -> str:
    """Add a delta to `pieces` and return it, after a break if it begins another message or span."""
    source, text = event["messageId"], str(event["delta"])
    if source in pieces:
        pieces[source].append(text)
        return text
    begun = bool(pieces)
    pieces[source] = [text]
    return BREAK + text if begun else text


def _joined(pieces: dict[str, list[str]]) -> str:
    return BREAK.join(filter(None, map("".join, pieces.values())))


def step_of(event: Event) -> Json | None:
    """Return the report of a call of the server's own tools, None for other events."""
    if alias(event) == EXEC:
        call_id = event["metadata"]["yaa"]["exec"]
        entries = [op["value"] for op in event["delta"] if isinstance(op.get("value"), dict)]
        name = entries[0].get("name", "") if entries else ""
        return {"tool": {"id": call_id, "name": name, "state": "started"}}
    if event["type"] == "TOOL_CALL_RESULT":
        ours = event["metadata"]["yaa"]
        return {"tool": {"id": event["toolCallId"], "name": ours["name"], "state": ours["state"]}}
    return None
