"""Common part of the decoders: turn one answer of a model into the events of one message.

The decoders of the three APIs (`chat_decoder`, `responses_decoder`, `anthropic_decoder`) are
Answers: each reads its own wire format; reasoning, text, calls, usage and the end are handled
here. Each delta becomes an event at once, and no delta is dropped, blank or not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from io import StringIO
from typing import Any, NamedTuple, Protocol

from ..session.events import (
    Event,
    text_delta,
    text_end,
    text_start,
    think_delta,
    think_end,
    think_start,
)
from ..session.finish_reason import Ending, ending
from ..strict_json import browser_safe
from . import Options, usage
from .failure import Failure
from .tool_call_assembler import Call, Calls, Halves, opaque
from .vendors import Provider

# Finish reasons with which the model itself ends an answer.
_OWN_WORD = {None, "stop", "tool_use", "function_call", "end_turn", "tool_calls"}
_OWN_WORD |= {"eos", "eos_token", "stop_sequence"}  # Together, TGI
# Finish reasons of a tool call: without one the provider has lost it (vllm issue 53255).
_PROMISE = {"tool_use", "function_call", "tool_calls"}
# Causes of an empty answer that another attempt would not change.
_SILENCE: dict[Ending, str] = {
    "length": "its limit of tokens was used up before",
    "filter": "a filter of the provider's stopped it",
}

MARKED = "marks"  # reasoning.field of reasoning that the model marked in its text

Piece = tuple[str, str]
Take = Callable[[str], object]
Rescue = Callable[[str], Iterable[tuple[str, str]]]  # names and arguments of calls


class Delta(NamedTuple):
    """A piece of text, the member of the chunk it came in, and the function that takes it."""

    member: str
    text: str
    take: Take


class Scanner(Protocol):
    """Finds tool calls in text.

    Pieces: ("text", str), ("call", name), ("args", str), ("end", "") and ("think", str) for
    reasoning that is marked in the text.
    """

    def feed(self, text: str) -> list[Piece]:
        """Return the pieces that are certain after `text`."""
        ...

    def end(self) -> list[Piece]:
        """Return the pieces held back, at the end of the text."""
        ...


class Answer(ABC):
    """One assistant message being received.

    `restore` maps a provider-safe tool name to the tool's own; `scanner` finds calls in the text
    while it streams, `rescue` in the whole text at the end.
    """

    def __init__(
        self,
        provider: Provider,
        options: Options,
        restore: Callable[[str], str] = str,
        scanner: Scanner | None = None,
        rescue: Rescue = lambda text: (),
    ) -> None:
        self._provider, self._options = provider, options
        self._calls = Calls(options.message_id, options.new_id, restore)
        self._scanner, self._rescue = scanner, rescue
        self._call: Call | None = None  # the call that the scanner is in
        self._out: list[Event] = []
        self._began_ms = options.now_ms()
        self._first_ms: int | None = None
        self._text_open = self._thinking = False
        self._spans = 0
        self._apart = False  # the next reasoning begins a new paragraph
        self._field = ""  # where reasoning came from
        self._details: list[dict[str, Any]] = []  # sent back to the provider unchanged
        self._halves = {"text": Halves(), "think": Halves()}
        self._received = 0  # bytes of reasoning and text, about
        self._said = StringIO()
        self._usage: dict[str, Any] | None = None
        self._finish: str | None = None
        self.ended = False  # True: later data is ignored

    # -- called by the stream reader --------------------------------------------------------------

    @abstractmethod
    def feed(self, chunk: Any) -> list[Event]:
        """Return the events of one chunk. Raises Failure if the chunk announces one."""

    @abstractmethod
    def whole(self, document: Any) -> list[Event] | None:
        """Return the events of an unstreamed answer, None if the document is none.

        Raises Failure.
        """

    def only_text(self, chunk: dict[str, Any]) -> Delta | None:
        """Return the text of a chunk that carries nothing else, None for any other chunk."""
        return None

    def more(self, take: Take, text: str) -> list[Event]:
        """Return the events of another text in a chunk for which `only_text` gave `take`."""
        self._out = []
        take(text)
        return self._timed()

    def done(self) -> None:
        """End the answer: nothing follows."""
        self.ended = True

    @property
    def finished(self) -> bool:
        """Return whether the answer is whole, even if the connection now breaks."""
        return self.ended or self._finish is not None

    def finish(self, sent: int) -> list[Event]:
        """Return the last events. `sent`: size of the request in bytes, to estimate usage.

        Raises Failure if the stream broke off or the answer is empty.
        """
        self._out = []
        if not self.finished:
            raise Failure("upstream_truncated", f"{self._provider.name} broke off in its answer")
        cut = bool(ending(self._finish))
        self._end_text(cut)
        promised = self._finish in _PROMISE and not self._said.tell()
        spoke = self._received or (self._finish and self._finish in _OWN_WORD)
        if not self._calls.all and (promised or not spoke):
            raise self._silence(sent)
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
        details = [opaque(each) for each in self._details if each.get("item") != {}] or None
        self._out.append(text_end(self._options.message_id, meta, now, details))
        return self._out

    def _silence(self, sent: int) -> Failure:
        """Return the failure of an empty answer, with the usage that the provider reported.

        Hidden reasoning is billed even then.
        """
        why = _SILENCE.get(ending(self._finish), self._finish or "nothing came but its end")
        if self._finish in _PROMISE:
            why = "it was to call a tool, and no call came"
        text = f"{self._provider.name} ended its answer without a word: {why}"
        details: dict[str, Any] = {"usage": self._priced(sent)} if self._usage else {}
        if ending(self._finish) == "filter":
            details["reason"] = "content_filter"
        final = ending(self._finish) in _SILENCE
        return Failure("upstream_error", text, retryable=not final, details=details)

    def _timed(self) -> list[Event]:
        if self._first_ms is None and self._out:
            self._first_ms = self._options.now_ms()
        return self._out

    # -- called by the decoders -------------------------------------------------------------------

    def _think(self, text: str, name: str) -> None:
        """Add a piece of reasoning; `name` is the member it came in."""
        text = self._halves["think"].join(text)
        if not text:
            return
        if self._apart:
            text, self._apart = f"\n\n{text}", False
        if not self._thinking:
            self._field = self._field or name
            self._thinking = True
            self._spans += 1
            ids = self._span_id(), self._options.message_id
            self._out += think_start(*ids, self._field, self._options.now_ms())
        self._received += _size(text)
        self._out.append(think_delta(self._span_id(), text))

    def _new_thought(self) -> None:
        """Begin a new paragraph of reasoning, if there was any before."""
        self._apart = self._spans > 0

    def _span_id(self) -> str:
        """Return the id of the current span of reasoning. Each one after the first has its own."""
        first = self._options.reasoning_id
        return first if self._spans < 2 else f"{first}-{self._spans}"

    def _scan(self, text: str) -> None:
        """Add a piece of text that may contain calls."""
        if self._scanner is None:
            self._say(text)
        else:
            self._act(self._scanner.feed(text))

    def _begin_call(self, name: str, theirs: str = "") -> Call:
        self._open_text()
        call, opened = self._calls.begin(name, theirs)
        self._out += opened
        return call

    def _keep(self, item: dict[str, Any]) -> None:
        """Keep a provider's item to send back unchanged.

        `at` is its place in the message: [characters of text, calls] before it.
        """
        self._details.append({"at": [self._said.tell(), len(self._calls.all)], "item": item})

    def _take_usage(self, raw: Any) -> None:
        if isinstance(raw, dict):
            self._usage = raw

    # -- text -------------------------------------------------------------------------------------

    def _act(self, pieces: Iterable[Piece]) -> None:
        for kind, value in pieces:
            if kind == "text":
                self._say(value)
            elif kind == "think":
                self._think(value, MARKED)
            elif kind == "call":
                self._call = self._begin_call(value)
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
        self._said.write(text)
        self._out.append(text_delta(self._options.message_id, text))

    def _open_text(self) -> None:
        if self._thinking:
            self._thinking = False
            self._out += think_end(self._span_id())
        if not self._text_open:
            self._text_open = True
            self._out.append(text_start(self._options.message_id, self._options.now_ms()))

    # -- the end ----------------------------------------------------------------------------------

    def _end_text(self, cut: bool) -> None:
        """Flush text that was held back; without a call so far, look for calls in the text."""
        self._end_thought()
        if self._scanner is not None:
            self._act(self._scanner.end())
        if half := self._halves["text"].end():
            self._say(half)
        if not self._calls.all and not cut:
            for name, arguments in self._rescue(self._said.getvalue()):
                call, opened = self._calls.begin(name)
                self._out += [*opened, *self._calls.add(call, arguments)]

    def _end_thought(self) -> None:
        if half := self._halves["think"].end():
            self._think(half, self._field)

    def _reason(self) -> str:
        if self._calls.all and self._finish in _OWN_WORD:
            return "tool_calls"
        return self._finish or "stop"

    def _priced(self, sent: int) -> dict[str, Any]:
        received = self._received + sum(call.size for call in self._calls.all)
        used = usage.read(self._usage, sent, received)
        cost = usage.price(used, self._provider.costs)
        if cost is not None:
            used["cost_micro"] = cost
        if cost is not None and self._provider.cost_unit:
            used["cost_unit"] = self._provider.cost_unit
        return used


def reason(raw: Any, names: Mapping[str, str]) -> str | None:
    """Return the finish reason as `names` maps it, else as it came; None if absent."""
    return names.get(raw) or str(browser_safe(raw)) if isinstance(raw, str) and raw else None


def string(raw: Any) -> str:
    """Return `raw` if it is a string, else ""."""
    return raw if isinstance(raw, str) else ""


def _size(text: str) -> int:
    return len(text) if text.isascii() else 3 * len(text)
