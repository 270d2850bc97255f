"""Chunks of a Chat Completions stream in, the events of one assistant message out.

In the walk: `openai` feeds every parsed chunk, and gives what comes out to the agent. A whole
reply (no streaming) is one chunk with `message` where others have `delta`. The rule of the file:
one delta makes its event at once; nothing is held back but the start of a tag that may be one,
and no delta is dropped, blank or not. What vendors do differently is told in the tests' vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from ..jsontext import browser_safe
from ..session.events import (
    Event,
    text_delta,
    text_end,
    text_start,
    think_delta,
    think_end,
    think_start,
)
from . import Options, usage
from .calls import Call, Calls, Halves, opaque
from .failure import Failure, from_chunk
from .presets import Provider
from .think import ThinkTags

TAGS = "think_tags"  # reasoning.field of what came as <think>…</think>
PARTS = "thinking"  # … and as content parts (Mistral)
DETAILS = "reasoning_details"
FIELDS = ("reasoning_content", "reasoning")

_AFTER_CALLS = {None, "stop", "tool_use", "function_call", "end_turn", "tool_calls"}
CUT = {"length", "max_tokens", "model_length", "model_context_window_exceeded"}

Piece = tuple[str, str]


class Scanner(Protocol):
    """Finds tool calls in text. Pieces: ("text", …), ("call", name), ("args", …), ("end", "")."""

    def feed(self, text: str) -> list[Piece]: ...
    def end(self) -> list[Piece]: ...


class Decoder:
    """`restore` turns a tool name that was made safe for the provider into the tool's own;
    `scanner` looks for calls in the text; `rescue` reads a whole text as a call, if it is one."""

    def __init__(
        self,
        provider: Provider,
        options: Options,
        restore: Callable[[str], str] = str,
        scanner: Scanner | None = None,
        rescue: Callable[[str], tuple[str, str] | None] | None = None,
    ) -> None:
        self._provider, self._options = provider, options
        self._calls = Calls(options.message_id, options.new_id, options.taken, restore)
        self._tags = ThinkTags(provider.preset.implicit_think) if _has_tags(provider) else None
        self._scanner, self._rescue = scanner, rescue
        self._call: Call | None = None  # the one the scanner is in
        self._out: list[Event] = []
        self._began_ms = options.now_ms()
        self._first_ms: int | None = None
        self._text_open = self._thinking = False
        self._spans = 0
        self._field = ""  # where reasoning came from
        self._thoughts: list[str] = []  # kept only where they may turn out to be the answer
        self._snapshot = ""  # reasoning_details so far, where they may repeat themselves
        self._details: list[dict[str, Any]] = []
        self._candidate: list[str] | None = [] if rescue else None
        self._halves = {"text": Halves(), "think": Halves()}
        self._received = 0
        self._usage: dict[str, Any] | None = None
        self._choice: Any = None
        self._finish: str | None = None
        self._done = False

    def feed(self, chunk: Any) -> list[Event]:
        """The events of one chunk. Raises Failure if the chunk announces one."""
        self._out = []
        if not isinstance(chunk, dict) or not chunk.get("choices") or "error" in chunk:
            if failure := from_chunk(chunk, self._provider.name, self._provider.key):
                raise failure
        elif "base_resp" in chunk and (
            failure := from_chunk(chunk, self._provider.name, self._provider.key)
        ):
            raise failure
        if raw := chunk.get("usage"):
            self._take_usage(raw)
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                self._read_choice(choice)
        return self._timed()

    def again(self, key: str, text: str) -> list[Event]:
        """The events of a chunk like an earlier one, whose only news is this text of its delta."""
        self._out = []
        if key == "content":
            self._content(text)
        else:
            self._think(text, key)
        return self._timed()

    def done(self) -> None:
        """The provider said that nothing follows."""
        self._done = True

    @property
    def finished(self) -> bool:
        """Whether the answer is whole, even if the connection now breaks."""
        return self._done or self._finish is not None

    def finish(self, sent: int) -> list[Event]:
        """The last events; `sent` is the size of the request in bytes. Raises Failure if the
        stream broke off."""
        self._out = []
        if not self.finished:
            raise Failure("upstream_truncated", f"{self._provider.name} broke off in its answer")
        cut = self._finish in CUT
        self._end_text(cut)
        self._open_text()
        self._out += self._calls.finish(cut=cut)
        now = self._options.now_ms()
        if self._first_ms is None:
            self._first_ms = now
        meta = {
            "model": self._provider.model,
            "provider": self._provider.name,
            "usage": self._priced(sent),
            "finish_reason": self._reason(),
            "ms": max(now - self._began_ms, 0),
            "first_ms": max(self._first_ms - self._began_ms, 0),
        }
        details = [opaque(item) for item in self._details] or None
        self._out.append(text_end(self._options.message_id, meta, now, details))
        return self._out

    def _timed(self) -> list[Event]:
        if self._first_ms is None and self._out:
            self._first_ms = self._options.now_ms()
        return self._out

    def _read_choice(self, choice: dict[str, Any]) -> None:
        index = choice.get("index")
        if self._choice is None:
            self._choice = index
        elif index is not None and index != self._choice:
            return  # another answer to the same question: nobody asked for it
        delta = choice.get("delta")
        if not delta and not self._received and not self._calls.all:
            # MiniMax repeats the whole answer in its last chunk's `message`.
            delta = choice.get("message")
        if isinstance(delta, dict):
            self._read_delta(delta)
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self._finish = str(browser_safe(reason))
        if raw := choice.get("usage"):  # Moonshot
            self._take_usage(raw)

    def _read_delta(self, delta: dict[str, Any]) -> None:
        if len(delta) > 1 or "content" not in delta:
            self._read_reasoning(delta)
        content = delta.get("content")
        if isinstance(content, str):
            if content:
                self._content(content)
        elif isinstance(content, list):
            self._read_parts(content)
        if len(delta) > 1 or content is None:
            self._read_rarer(delta)

    def _read_rarer(self, delta: dict[str, Any]) -> None:
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            self._content(refusal)
        calls = delta.get("tool_calls")
        if isinstance(legacy := delta.get("function_call"), dict):
            calls = [legacy]
        for fragment in calls if isinstance(calls, list) else ():
            self._open_text()
            self._out += self._calls.feed(fragment)

    # -- reasoning --------------------------------------------------------------------------------

    def _read_reasoning(self, delta: dict[str, Any]) -> None:
        fresh = self._take_details(delta.get(DETAILS))
        for name in FIELDS:
            if isinstance(text := delta.get(name), str) and text:
                return self._think(text, name)
        if fresh:
            self._think(fresh, DETAILS)
        return None

    def _take_details(self, details: Any) -> str:
        """Keep reasoning_details as they must go back; returns their readable text."""
        fresh = ""
        for item in details if isinstance(details, list) else ():
            if not isinstance(item, dict):
                continue
            item = dict(item)
            for key in ("text", "summary"):
                if isinstance(text := item.get(key), str) and text:
                    item[key] = self._only_new(text)
                    fresh += item[key]
            last = self._details[-1] if self._details else {}
            if all(last.get(key) == item.get(key) for key in ("type", "index")) and last:
                for key, value in item.items():
                    grows = key in ("text", "summary") and isinstance(last.get(key), str)
                    last[key] = last[key] + value if grows else value or last.get(key)
            else:
                self._details.append(item)
        return fresh

    def _only_new(self, text: str) -> str:
        """The new part of a fragment that may repeat everything before it."""
        if not self._provider.preset.cumulative:
            return text
        before = self._snapshot
        if before and len(text) >= len(before) and text.startswith(before):
            text = text[len(before) :]
        self._snapshot = before + text
        return text

    def _think(self, text: str, name: str) -> None:
        text = self._halves["think"].join(text)
        if not text or (name == TAGS and self._field not in ("", TAGS)):
            return  # the same thoughts a second time: MiniMax M3 sends both
        if not self._thinking:
            self._field = self._field or name
            self._thinking = True
            self._spans += 1
            ids = self._span_id(), self._options.message_id
            self._out += think_start(*ids, self._field)
        self._received += _size(text)
        if self._provider.preset.implicit_think:
            self._thoughts.append(text)
        self._out.append(think_delta(self._span_id(), text))

    def _span_id(self) -> str:
        """A second span, after some text, is a message of its own to AG-UI clients."""
        first = self._options.reasoning_id
        return first if self._spans < 2 else f"{first}-{self._spans}"

    # -- text -------------------------------------------------------------------------------------

    def _read_parts(self, parts: Iterable[Any]) -> None:
        for part in parts:
            if isinstance(part, str):
                self._content(part)
            elif isinstance(part, dict):
                inner = part.get("thinking")
                if inner is not None:
                    for piece in inner if isinstance(inner, list) else [{"text": inner}]:
                        if isinstance(piece, dict) and isinstance(piece.get("text"), str):
                            self._think(piece["text"], PARTS)
                elif isinstance(text := part.get("text"), str):
                    self._content(text)

    def _content(self, content: str) -> None:
        if self._tags is None or self._tags.after:
            self._scan(content)
            return
        for is_thought, piece in self._tags.feed(content):
            self._think(piece, TAGS) if is_thought else self._scan(piece)

    def _scan(self, text: str) -> None:
        if self._scanner is None:
            self._say(text)
        else:
            self._act(self._scanner.feed(text))

    def _act(self, pieces: Iterable[Piece]) -> None:
        for kind, value in pieces:
            if kind == "text":
                self._say(value)
            elif kind == "call":
                self._open_text()
                self._call, opened = self._calls.begin(value)
                self._out += opened
            elif self._call is not None and kind == "args":
                self._out += self._calls.add(self._call, value)
            elif self._call is not None:
                self._out += self._calls.close(self._call)

    def _say(self, text: str) -> None:
        text = self._halves["text"].join(text)
        if not text:
            return
        if not self._text_open or self._thinking:
            self._open_text()
        self._received += _size(text)
        if self._candidate is not None:
            self._consider(text)
        self._out.append(text_delta(self._options.message_id, text))

    def _open_text(self) -> None:
        if self._thinking:
            self._thinking = False
            self._out += think_end(self._span_id())
        if not self._text_open:
            self._text_open = True
            self._out.append(text_start(self._options.message_id, self._options.now_ms()))

    def _consider(self, text: str) -> None:
        """Keep a text that may turn out to be nothing but a tool call."""
        assert self._candidate is not None
        self._candidate.append(text)
        start = "".join(self._candidate).lstrip() if len(self._candidate) < 4 else "{"
        if (start and start[0] not in "{`<[") or self._received > 65536:
            self._candidate = None

    # -- the end ----------------------------------------------------------------------------------

    def _end_text(self, cut: bool) -> None:
        """Let go of what was held back, and read a text that is nothing but a call as one."""
        if half := self._halves["think"].end():
            self._think(half, self._field)
        if self._tags is not None:
            for is_thought, piece in self._tags.end():
                self._think(piece, TAGS) if is_thought else self._scan(piece)
            if self._tags.never_closed and not cut and not self._calls.all:
                self._scan("".join(self._thoughts))  # it did not think: that was the answer
        if self._scanner is not None:
            self._act(self._scanner.end())
        if half := self._halves["text"].end():
            self._say(half)
        if self._candidate and self._rescue and not self._calls.all and not cut:
            found = self._rescue("".join(self._candidate))
            if found is not None:
                call, opened = self._calls.begin(found[0])
                self._out += [*opened, *self._calls.add(call, found[1])]

    def _reason(self) -> str:
        if self._calls.all and self._finish in _AFTER_CALLS:
            return "tool_calls"
        return self._finish or "stop"

    def _take_usage(self, raw: Any) -> None:
        if isinstance(raw, dict):
            self._usage = raw

    def _priced(self, sent: int) -> dict[str, Any]:
        received = self._received + sum(call.size for call in self._calls.all)
        used = usage.read(self._usage, sent, received)
        cost = usage.price(used, self._provider.costs)
        if cost is not None:
            used["cost_micro"] = cost
        if cost is not None and self._provider.cost_unit:
            used["cost_unit"] = self._provider.cost_unit
        return used


def _has_tags(provider: Provider) -> bool:
    return provider.preset.think_tags or provider.preset.implicit_think


def _size(text: str) -> int:
    return len(text) if text.isascii() else 3 * len(text)
