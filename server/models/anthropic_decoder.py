"""Decode the events of a Messages answer into the events of one assistant message.

`stream_reader` passes every parsed event. The API sends a message as numbered blocks, each
started, filled and stopped; an unstreamed answer has the same blocks, whole. Thinking blocks are
kept with signature and place, since the API requires them back unchanged. Events, blocks and
deltas of other kinds, and those of the vendor's own tools, are ignored.
"""

from __future__ import annotations

from typing import Any

from ..session.events import Event
from ..strict_json import dumps
from .decoder import Answer, Delta, reason, string
from .failure import from_chunk
from .tool_call_assembler import Call, opaque

FIELD = "thinking_blocks"  # reasoning.field

REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}

Block = dict[str, Any]


class AnthropicDecoder(Answer):
    """Decoder of the Messages API. See Answer for the arguments."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._thoughts: dict[int | None, dict[str, str]] = {}
        self._made: dict[int | None, Call] = {}
        self._inputs: dict[
            int | None, str
        ] = {}  # input in the start of a block, unless deltas come

    def feed(self, chunk: Any) -> list[Event]:
        """See Answer."""
        self._out = []
        kind = chunk.get("type") if isinstance(chunk, dict) else None
        if not isinstance(kind, str) or kind == "error" or "error" in chunk:
            if failure := from_chunk(chunk, self._provider.name, self._provider.key):
                raise failure
        index = chunk.get("index")
        index = index if isinstance(index, int) else None
        if kind == "message_start":
            self._take_usage(_dict(chunk, "message").get("usage"))
        elif kind == "content_block_start":
            self._start(index, _dict(chunk, "content_block"))
        elif kind == "content_block_delta":
            self._add(index, _dict(chunk, "delta"))
        elif kind == "content_block_stop":
            self._stop(index)
        elif kind == "message_delta":
            self._take_usage(chunk.get("usage"))
            self._stopped(_dict(chunk, "delta"))
        elif kind == "message_stop":
            self.done()
        return self._timed()

    def whole(self, document: Any) -> list[Event] | None:
        """See Answer."""
        content = document.get("content") if isinstance(document, dict) else None
        if not isinstance(content, list):
            return None
        self._out = []
        for index, block in enumerate(content):
            if isinstance(block, dict):
                self._start(index, block)
                self._stop(index)
        self._take_usage(document.get("usage"))
        self._stopped(document)
        self.done()
        return self._timed()

    def only_text(self, chunk: dict[str, Any]) -> Delta | None:
        """See Answer."""
        delta = chunk.get("delta")
        if chunk.get("type") != "content_block_delta" or not isinstance(delta, dict):
            return None
        if delta.get("type") != "text_delta" or not isinstance(delta.get("text"), str):
            return None
        return Delta("text", delta["text"], self._scan)

    # -- blocks -----------------------------------------------------------------------------------

    def _start(self, index: int | None, block: Block) -> None:
        """Begin a block; compatible servers may send all of it at once."""
        kind = block.get("type")
        if kind == "text":
            self._scan(string(block.get("text")))
        elif kind == "thinking":
            item = {"type": "thinking", "thinking": "", "signature": ""}
            self._thoughts[index] = item
            self._keep(item)
            self._new_thought()
            self._add(index, {"type": "thinking_delta", "thinking": block.get("thinking")})
            self._add(index, {"type": "signature_delta", "signature": block.get("signature")})
        elif kind == "redacted_thinking":
            self._keep({"type": "redacted_thinking", "data": string(block.get("data"))})
        elif kind == "tool_use":
            call = self._begin_call(string(block.get("name")), string(block.get("id")))
            self._made[index] = call
            if given := block.get("input"):
                self._inputs[index] = dumps(opaque(given))

    def _add(self, index: int | None, delta: dict[str, Any]) -> None:
        kind = delta.get("type")
        if kind == "text_delta":
            self._scan(string(delta.get("text")))
        elif kind == "thinking_delta":
            text = string(delta.get("thinking"))
            if item := self._thoughts.get(index):
                item["thinking"] += text
            self._think(text, FIELD)  # gateways send it also in a block that began as text
        elif kind == "signature_delta" and (item := self._thoughts.get(index)):
            item["signature"] += string(delta.get("signature"))
        elif kind == "input_json_delta" and (call := self._made.get(index)):
            self._inputs.pop(index, None)
            self._out += self._calls.add(call, string(delta.get("partial_json")))

    def _stop(self, index: int | None) -> None:
        if call := self._made.pop(index, None):
            self._out += self._calls.add(call, self._inputs.pop(index, ""))
            self._out += self._calls.close(call)

    # -- the end ----------------------------------------------------------------------------------

    def _stopped(self, delta: dict[str, Any]) -> None:
        self._finish = reason(delta.get("stop_reason"), REASONS) or self._finish
        why = string(_dict(delta, "stop_details").get("explanation"))
        if self._finish == "content_filter" and why and not self._said.tell():
            self._scan(why)  # without a text a refusal would look like an error

    def _end_text(self, cut: bool) -> None:
        for index, given in self._inputs.items():  # a block that was never stopped
            self._out += self._calls.add(self._made[index], given)
        super()._end_text(cut)

    def _take_usage(self, raw: Any) -> None:
        """Merge usage: later counts replace earlier ones, absent and null ones do not."""
        if isinstance(raw, dict):
            known = {name: count for name, count in raw.items() if count is not None}
            self._usage = (self._usage or {}) | known


def _dict(value: dict[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}
