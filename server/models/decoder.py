"""Common part of the decoders: turn one answer of a model into the events of one message.

The decoder of each API is a StreamDecoder: it reads its own wire format; reasoning, text, calls,
usage and the end are handled here. Each delta becomes an event at once, and no delta is dropped,
blank or not.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import StringIO
from typing import Any, ClassVar, NamedTuple, Protocol, cast

from ..json_types import Event, Json, MessageMeta, RunWarning, Usage
from ..lib.http.sse import Decoder as EventStream
from ..lib.http.sse import Event as ServerEvent
from ..lib.http.sse import EventTooLarge
from ..lib.strict_json import LARGEST_COUNT, as_text, browser_safe
from ..session import media
from ..session.events import text_delta, text_end, text_start, think_delta, think_end, think_start
from ..session.outcome import Ending, ending_of
from ..session.reminders import CALL_UNREAD
from . import Options
from .failure import MAX_ERROR_BODY, MISLED, Failure, from_chunk, quote, read_error
from .provider import Provider
from .provider_search import Citations
from .tool_call_assembler import (
    MAX_OPAQUE,
    PartialCall,
    SurrogateJoiner,
    ToolCallAssembler,
    opaque,
)

# -- usage ----------------------------------------------------------------------------------------
# Tokens and cost of a model call.
#
# Converts the provider's last usage object to the session's names and prices it. Money is in
# millionths of the currency unit, as integers: sums of floats drift from the amount paid.

_CACHED = ("cache_read_input_tokens", "prompt_cache_hit_tokens")
_BYTES_PER_TOKEN = 4  # off by 20-26 % for mixed text; estimates are marked as such


def read_usage(raw: Mapping[str, Any] | None, sent: int, received: int) -> Usage:
    """Return the session's usage object from a provider's, or an estimate if it reported nothing.

    `sent` and `received`: bytes of the request and of the answer, for the estimate. Token counts:
    `prompt_tokens`, `completion_tokens`, `total_tokens`; `reasoning_tokens`, `cached_tokens` and
    `cache_write_tokens` where reported; an estimate has `estimated`.
    """
    raw = raw or {}
    asked = inner(raw, "prompt_tokens_details", "input_tokens_details")
    answered = inner(raw, "completion_tokens_details", "output_tokens_details")
    prompt = _count(raw, "prompt_tokens", "input_tokens")
    completion = _count(raw, "completion_tokens", "output_tokens")
    total = _count(raw, "total_tokens")
    hit, written = (_count(raw, f"cache_{kind}_input_tokens") for kind in ("read", "creation"))
    if prompt is not None and total is None:  # Messages counts cached tokens beside the input
        prompt = min(prompt + (hit or 0) + (written or 0), LARGEST_COUNT)
    if not (prompt or completion or total):  # some providers report zeros instead of nothing
        prompt, completion = -(-sent // _BYTES_PER_TOKEN), -(-received // _BYTES_PER_TOKEN)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "estimated": True,
        }
    if completion is None:
        completion = max((total or 0) - prompt, 0) if prompt is not None else 0
    if prompt is None:
        prompt = max((total or 0) - completion, 0)
    reasoning = _count(answered, "reasoning_tokens", "thinking_tokens")
    missing = 0 if total is None else total - prompt - completion
    if missing > 0 and hit is written is None:
        heard = min(_count(asked, "audio_tokens") or 0, missing)  # Mistral counts sound apart
        prompt += heard
        # xAI and Gemini count reasoning, which is billed as output, beside the completion.
        completion += min(missing - heard, missing if reasoning is None else reasoning)
    # DeepSeek and Moonshot have their cached tokens at the top level.
    cached = _count({**raw, **asked}, "cached_tokens", *_CACHED)
    written = _count(asked, "cache_write_tokens") if written is None else written
    more = {"reasoning_tokens": reasoning, "cached_tokens": cached}
    more["cache_write_tokens"] = written or None
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": min(prompt + completion, LARGEST_COUNT) if total is None else total,
    }
    return cast(Usage, usage | {name: count for name, count in more.items() if count is not None})


def price(usage: Mapping[str, Any], costs: Mapping[str, float]) -> int | None:
    """Return the cost in millionths of the currency unit, None when no price is known.

    `costs` are per 1,000 tokens: `total`, or `input` and `output`, `cached` for input tokens
    read from the provider's cache, and `cache_write` for those written to it.
    """
    if "input" in costs or "output" in costs:
        cached = min(usage.get("cached_tokens", 0), usage["prompt_tokens"])
        fresh = costs.get("input", 0)
        written = min(usage.get("cache_write_tokens", 0), usage["prompt_tokens"] - cached)
        cost = (usage["prompt_tokens"] - cached - written) * fresh
        cost += cached * costs.get("cached", fresh) + written * costs.get("cache_write", fresh)
        cost += usage["completion_tokens"] * costs.get("output", 0)
    elif "total" in costs:
        cost = usage["total_tokens"] * costs["total"]
    else:
        return None
    return int(round(min(cost * 1000, LARGEST_COUNT)))


def inner(raw: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return the first of these members that is an object, {} if none is."""
    return next((raw[key] for key in keys if isinstance(raw.get(key), dict)), {})


def _count(raw: Mapping[str, Any], *names: str) -> int | None:
    """Return the first of these members that is a number of tokens, None if none is."""
    for name in names:
        value = raw.get(name)
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and 0 <= value <= LARGEST_COUNT
        ):
            return int(value)
    return None


# -- decoder --------------------------------------------------------------------------------------

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

# codes of `run.warnings`
ANSWER_UNREAD, ANSWER_EMPTY = "answer_unread", "answer_empty"
MOST_OF_NOTHING = 16  # tokens of an answer that is empty: its end mark, a blank line
MARKED = "marks"  # reasoning.field of reasoning that the model marked in its text

Piece = tuple[str, str]
Take = Callable[[str], object]
Rescue = Callable[[str], Iterable[tuple[str, str]]]  # names and arguments of calls, or a mark


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


class StreamDecoder(ABC):
    """One assistant message being received.

    `restore` maps a provider-safe tool name to the tool's own; `scanner` finds calls in the text
    while it streams, `rescue` in the whole text at the end.
    """

    reasons: ClassVar[Mapping[str, str]] = {}  # finish reasons as Chat Completions has them

    def __init__(
        self,
        provider: Provider,
        options: Options,
        restore: Callable[[str], str] = str,
        scanner: Scanner | None = None,
        rescue: Rescue = lambda text: (),
    ) -> None:
        self._provider, self._options = provider, options
        self._calls = ToolCallAssembler(options.message_id, options.new_id, restore)
        self._scanner, self._rescue = scanner, rescue
        self._call: PartialCall | None = None  # the call that the scanner is in
        self._out: list[Event] = []
        self._began_ms = options.now_ms()
        self._first_ms: int | None = None
        self._text_open = self._thinking = False
        self._spans = 0
        self._apart = False  # the next reasoning begins a new paragraph
        self._field = ""  # where reasoning came from
        self._details: list[dict[str, Any]] = []  # sent back to the provider unchanged
        self._halves = {"text": SurrogateJoiner(), "think": SurrogateJoiner()}
        self._received = 0  # bytes of reasoning and text, about
        self._said = StringIO()
        self._citations = Citations()
        self._untaken: set[str] = set()  # members with contents of a kind that is not read
        self._made: list[Json] = []  # {name, data} of pictures and sounds
        self._links: dict[str, None] = {}  # of those that have a web address alone, in order
        self._media: list[Json] = []  # those that are shown
        self._not_shown: list[str] = []  # why others are not
        self._unread = ""  # the beginning of a call in the text that is of no known form
        self._answer_id = ""  # the provider's own
        self._usage: dict[str, Any] | None = None
        self._finish: str | None = None
        self.ended = False  # True: later data is ignored

    # -- called by the stream reader --------------------------------------------------------------

    def feed(self, chunk: Any) -> list[Event]:
        """Return the events of one chunk. Raises Failure if the chunk announces one."""
        self._out = []
        kind = chunk.get("type") if isinstance(chunk, dict) else None
        if kind == "error" and "error" not in chunk:
            chunk = {"error": chunk}
        known = isinstance(chunk, dict) and (chunk.get("choices") or isinstance(kind, str))
        if not known or "error" in chunk:
            self._check(chunk)
        self._read(chunk)
        return self._timing_events()

    def feed_document(self, document: Any) -> list[Event] | None:
        """Return the events of an unstreamed answer, None if the document is none.

        Raises Failure.
        """
        self._out = []
        if not isinstance(document, dict) or not self._read_document(document):
            return None
        self.ended = True
        return self._timing_events()

    @abstractmethod
    def _read(self, chunk: dict[str, Any]) -> None:
        """Read a chunk of the API. Raises Failure."""

    @abstractmethod
    def _read_document(self, document: dict[str, Any]) -> bool:
        """Read an unstreamed answer; return False if the document is none. Raises Failure."""

    def only_text(self, chunk: dict[str, Any]) -> Delta | None:
        """Return the text of a chunk that carries nothing else, None for any other chunk."""
        return None

    def feed_text(self, take: Take, text: str) -> list[Event]:
        """Return the events of another text in a chunk for which `only_text` gave `take`."""
        self._out = []
        take(text)
        return self._timing_events()

    @property
    def is_finished(self) -> bool:
        """Return whether the answer is whole, even if the connection now breaks."""
        return self.ended or self._finish is not None

    def finish(self, sent: int) -> list[Event]:
        """Return the last events. `sent`: size of the request in bytes, to estimate usage.

        Raises Failure if the stream broke off or the answer is empty.
        """
        self._out = []
        if not self.is_finished:
            raise Failure("upstream_truncated", f"{self._provider.name} broke off in its answer")
        cut = bool(ending_of(self._finish))
        self._end_text(cut)
        self._end_media()
        promised = self._finish in _PROMISE and not (self._said.tell() or self._media)
        if not self._calls.all and (promised or not self._has_spoken()):
            raise self._empty_answer_failure(sent)
        self._open_text()
        self._out += self._calls.finish(cut=cut)
        now = self._options.now_ms()
        if self._first_ms is None:
            self._first_ms = now
        meta: MessageMeta = {
            "model": self._provider.model,
            "provider": self._provider.name,
            "usage": self._usage_with_price(sent),
            "finish_reason": self._reason(),
            "ms": max(now - self._began_ms, 0),
            "first_ms": max(self._first_ms - self._began_ms, 0),
        }
        if warnings := self._warnings():
            meta["warnings"] = browser_safe(warnings)  # they name what the provider sent
        if self._citations.all:
            meta["citations"] = self._citations.all
        details = [opaque(each) for each in self._details if each.get("item") != {}] or None
        self._out.append(text_end(self._options.message_id, meta, now, details, self._media))
        return self._out

    def _warnings(self) -> list[RunWarning]:
        """Return what a person must know of an answer that is not a failure."""
        warnings: list[RunWarning] = []
        if self._untaken:
            text = f"The answer has {', '.join(sorted(self._untaken))} beside its text, not shown"
            warnings.append({"code": ANSWER_UNREAD, "message": text})
        warnings += ({"code": ANSWER_UNREAD, "message": text} for text in self._not_shown)
        if large := sorted(self._calls.too_large):
            text = f"The answer has more than {MAX_OPAQUE} characters of {', '.join(large)}, which"
            text += f" are not kept, so {self._provider.name} may refuse the next request"
            warnings.append({"code": ANSWER_UNREAD, "message": text})
        if self._unread:
            text = f"The model wrote a call that its server did not read: {self._unread!r}."
            text += " Set the provider's tool_mode to text, or let its server parse calls"
            warnings.append({"code": CALL_UNREAD, "message": text})
        if not (self._calls.all or self._said.tell() or self._media):
            text = f"{self._provider.name} ended its answer without a text or a call"
            warnings.append({"code": ANSWER_EMPTY, "message": text})
        return warnings

    @property
    def is_empty(self) -> bool:
        """Return whether a finished answer has no text, thought, call or picture."""
        return not (self._received or self._calls.all or self._media)

    def _has_spoken(self) -> bool:
        """Return whether there is text, or the model ended its answer without any."""
        ended = self._finish is not None and self._finish in _OWN_WORD
        return bool(self._received or self._media) or (ended and not self._what_was_lost())

    def _empty_answer_failure(self, sent: int) -> Failure:
        """Return the failure of an empty answer, with the usage that the provider reported.

        Hidden reasoning is billed even then.
        """
        why = _SILENCE.get(ending_of(self._finish), self._finish or "nothing came but its end")
        if self._finish in _PROMISE:
            why = "it was to call a tool, and no call came"
        elif (lost := self._what_was_lost()) and self._finish in _OWN_WORD:
            why = lost
        text = f"{self._provider.name} ended its answer without a word: {browser_safe(why)}"
        details: dict[str, Any] = {"usage": self._usage_with_price(sent)} if self._usage else {}
        if ending_of(self._finish) == "filter":
            details["reason"] = "content_filter"
        final = ending_of(self._finish) in _SILENCE
        return Failure("upstream_error", text, retryable=not final, details=details)

    def _what_was_lost(self) -> str:
        """Return why an answer without text, thoughts and calls cannot have been empty, or ""."""
        if self._not_shown:
            return "; ".join(self._not_shown)
        if self._untaken:
            return f"it consists of {', '.join(sorted(self._untaken))}, which is not read"
        used = read_usage(self._usage, 0, 0) if self._usage else {}
        written = used.get("completion_tokens", 0) - used.get("reasoning_tokens", 0)
        if written > MOST_OF_NOTHING and not used.get("estimated"):
            return f"it has {written} tokens, and none of them can be read"
        return ""

    def _timing_events(self) -> list[Event]:
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

    def _check(self, chunk: Any) -> None:
        """Raise the Failure that a chunk announces, if it announces one."""
        if failure := from_chunk(chunk, self._provider.name, self._provider.key):
            raise failure

    def _check_same(self, answer: Mapping[str, Any]) -> None:
        """Raise Failure at the start of another answer in one stream: a gateway has begun anew."""
        name = as_text(answer.get("id"))
        self._answer_id = self._answer_id or name
        if name and name != self._answer_id:
            text = f"{self._provider.name} broke off in its answer and began another"
            raise Failure("upstream_truncated", text)

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
            self._emit_text(text)
        else:
            self._handle_pieces(self._scanner.feed(text))

    def _begin_call(self, name: str, theirs: str = "") -> PartialCall:
        self._open_text()
        call, opened = self._calls.begin(name, theirs)
        self._out += opened
        return call

    def _keep(self, item: dict[str, Any]) -> None:
        """Keep a provider's item to send back unchanged.

        `at` is its place in the message: [characters of text, calls] before it.
        """
        self._details.append({"at": [self._said.tell(), len(self._calls.all)], "item": item})

    def _take_media(self, kind: str, value: Any) -> bool:
        """Keep the pictures and sounds in a part of the answer, if there are any, each once.

        Of those that have a web address alone a link is kept: nobody fetches them unasked.
        """
        items = [{"name": kind, "data": data} for data in media.made_in(value)]
        self._made += (item for item in items if item not in self._made)
        named = f"{kind} {value.get('type')}" if isinstance(value, dict) else kind
        sort = next((each for each in ("image", "audio", "video") if each in named), "")
        mark = f"![{sort}]" if sort == "image" else f"[{sort}]"
        links = [f"{mark}({url})" for url in media.addresses_in(value)] if sort else []
        self._links |= dict.fromkeys(links)
        return bool(items or links)

    def _end_media(self) -> None:
        """Add the links, and check what the model has made. Slow: some 4 ms a megabyte."""
        if self._links:
            self._emit_text("\n\n" * bool(self._said.tell()) + "\n\n".join(self._links))
        self._media, self._not_shown = media.check_items(self._made, media.MAX_RESULT)
        for number, item in enumerate(self._media, 1):
            kind = item["media_type"]
            item["name"] = f"{item['name']}-{number}.{media.AUDIO.get(kind, kind.split('/')[1])}"

    def _take_usage(self, raw: Any) -> None:
        """Merge usage: later counts replace earlier ones, absent and null ones do not."""
        if isinstance(raw, dict):
            known = {name: count for name, count in raw.items() if count is not None}
            self._usage = (self._usage or {}) | known

    def _take_finish(self, raw: Any) -> None:
        """Keep a finish reason, in the words of Chat Completions where the API has others."""
        if isinstance(raw, str) and raw:
            # Gemini's own reasons in capitals, through gateways (qwen-code issue 9884)
            word = raw.lower() if raw.isupper() else raw
            self._finish = self.reasons.get(word) or str(browser_safe(word))

    # -- text -------------------------------------------------------------------------------------

    def _handle_pieces(self, pieces: Iterable[Piece]) -> None:
        for kind, value in pieces:
            if kind == "text":
                self._emit_text(value)
            elif kind == "think":
                self._think(value, MARKED)
            elif kind == "call":
                self._call = self._begin_call(value)
            elif self._call is not None and kind == "args":
                self._out += self._calls.add(self._call, value)
            elif self._call is not None:
                self._out += self._calls.close(self._call)

    def _emit_text(self, text: str) -> None:
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
            self._handle_pieces(self._scanner.end())
        if half := self._halves["text"].end():
            self._emit_text(half)
        if not self._calls.all and not cut:
            for name, arguments in self._rescue(self._said.getvalue()):
                if not name:
                    self._unread = arguments
                    return
                call, opened = self._calls.begin(name)
                self._out += [*opened, *self._calls.add(call, arguments)]

    def _end_thought(self) -> None:
        if half := self._halves["think"].end():
            self._think(half, self._field)

    def _reason(self) -> str:
        if self._calls.all and self._finish in _OWN_WORD:
            return "tool_calls"
        return self._finish or "stop"

    def _usage_with_price(self, sent: int) -> Usage:
        received = self._received + sum(call.size for call in self._calls.all)
        used = read_usage(self._usage, sent, received)
        if (cost := price(used, self._provider.costs)) is not None:
            used["cost_micro"] = cost
            if self._provider.cost_unit:
                used["cost_unit"] = self._provider.cost_unit
        return used


def _size(text: str) -> int:
    return len(text) if text.isascii() else 3 * len(text)


# -- stream reader --------------------------------------------------------------------------------
# Parse the bytes of an answer, an event stream or one JSON document, and yield events.
#
# Stands between the connection and the decoder. The first bytes decide the format: content types
# are unreliable, and some servers stream, or do not, whatever was requested. Nothing is parsed
# twice, and most chunks not at all (see `ChunkTemplate`).

_BOM = b"\xef\xbb\xbf"
_scan = json.JSONDecoder().raw_decode  # faster than json.loads, which matches whitespace twice


class StreamReader:
    """Parser of one answer, which feeds `decoder`. `provider` is named in failures."""

    def __init__(self, decoder: StreamDecoder, provider: Provider) -> None:
        self.decoder = decoder
        self._provider = provider
        self._stream = EventStream()
        self._document: bytearray | None = None
        self._start = b""  # blanks and a byte order mark, until the format is certain
        self._begun = False
        self._template = ChunkTemplate()

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yield the events that `data` completes. Raises Failure, after those before it."""
        if self._document is not None:
            self._document += data
            return
        if not self._begun:
            data = self._start + data
            start = data.removeprefix(_BOM).lstrip()
            if not start or _BOM.startswith(start):
                self._start = data
                return
            self._begun = True
            if start[:1] in b"{[<":
                self._document = bytearray(start)
                return
        try:
            found = self._stream.feed(data)
        except EventTooLarge:
            name = self._provider.name
            raise Failure("upstream_error", f"{name} sent an event that is too large") from None
        yield from self._read(found)

    def finish(self, sent: int) -> Iterator[Event]:
        """Yield the events of the end. `sent`: size of the request in bytes.

        Raises Failure if the answer is not whole.
        """
        if self._document is not None:
            yield from self._whole(bytes(self._document))
        elif not self.decoder.ended:
            # Some servers leave out the last blank line; an event that was cut off is ignored.
            yield from self._read([each for each in self._stream.end() if _is_whole(each.data)])
        yield from self.decoder.finish(sent)

    def _read(self, found: list[ServerEvent]) -> Iterator[Event]:
        for item in found:
            if text := self._template.text(item.data):
                yield from self.decoder.feed_text(self._template.take, text)
                continue
            data = item.data.strip()
            if data == "[DONE]":
                self.decoder.ended = True
            elif data:
                chunk = self._parse(data)
                if item.event == "error" and isinstance(chunk, dict) and "error" not in chunk:
                    chunk = {"error": chunk}
                events = self.decoder.feed(chunk)
                yield from events
                self._template.learn(item.data, chunk, events, self.decoder)
            if self.decoder.ended:
                break

    def _parse(self, data: str) -> Any:
        try:
            value, end = _scan(data)
            if end == len(data):
                return value
        except (ValueError, RecursionError):
            pass
        name, said = self._provider.name, quote(data, self._provider.key)
        raise Failure("upstream_error", f"{name} sent what is not JSON: {said}")

    def _whole(self, body: bytes) -> list[Event]:
        name, key = self._provider.name, self._provider.key
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            said = read_error(body[:MAX_ERROR_BODY], key) + (MISLED if body[:1] == b"<" else "")
            raise Failure("upstream_error", f"{name} sent what is not JSON: {said}") from None
        events = self.decoder.feed_document(value)
        if events is None:
            failure = from_chunk(value, name, key)
            said = read_error(body[:MAX_ERROR_BODY], key)
            raise failure or Failure("upstream_error", f"{name} sent no answer: {said}")
        return events


def _is_whole(data: str) -> bool:
    data = data.strip()
    try:
        return data == "[DONE]" or _scan(data)[1] == len(data)
    except (ValueError, RecursionError):
        return False


class ChunkTemplate:
    """The text around the delta in chunks that differ in nothing but the delta.

    Nearly every chunk of a stream equals the one before but for its delta. After one such chunk was
    parsed, the JSON around its text is kept: a chunk that starts and ends with the same characters,
    and has no quote, backslash or control character between them, is the same JSON with another
    string in that place, and is not parsed (0.5 µs instead of 4).
    """

    PATIENCE = 16  # chunks in a row that may differ before the template is given up

    def __init__(self) -> None:
        self.take: Take = str  # the decoder's function for the text
        self._before = self._after = ""
        self._around = 0
        self._patience = self.PATIENCE

    def text(self, data: str) -> str:
        """Return the text of a chunk like the last one, "" if the chunk must be parsed."""
        if not self._before or not data.startswith(self._before) or not data.endswith(self._after):
            return ""
        text = data[len(self._before) : len(data) - len(self._after)]
        if len(data) <= self._around or '"' in text or "\\" in text or not text.isprintable():
            return ""
        self._patience = self.PATIENCE
        return text

    def learn(self, data: str, chunk: Any, events: list[Event], decoder: StreamDecoder) -> None:
        """Remember a chunk that was nothing but one piece of text."""
        if not self._patience:
            return
        self._patience -= 1
        found = decoder.only_text(chunk) if events else None
        if found is None or events[-1].get("delta") != found.text:
            return
        text, name = found.text, f'"{found.member}":'
        if data.count(name) != 1:
            return
        rest = data[data.index(name) + len(name) :]
        start = len(data) - len(rest.lstrip())
        if data.startswith(f'"{text}"', start) and "\\" not in text:
            self.take, self._before = found.take, data[: start + 1]
            self._after = data[start + 1 + len(text) :]
            self._around = len(self._before) + len(self._after)
