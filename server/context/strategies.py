"""The six strategies that make a view smaller, in the order in which they are tried.

Each is a generator that applies operations to a `Work`, the most useful first; compact.py advances
it until the view is small enough. No strategy touches protected messages: pinned ones, the first
and the last user message, calls without a result, and results that the model has not seen yet,
without which it would repeat the calls.

Every operation is made without a model. With `summary: llm`, the texts that a model may write
better are also in `drafts`, with their room (agent/side_calls.py). Pure.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from ..json_types import Json, Message, Op, ToolCall
from ..lib.strict_json import JSONError, dumps, loads
from ..session import media
from .budget import Measure, of_message
from .pictures import has_media
from .view import RELOAD, apply_op, fold_message, text_of

# -- summarize ------------------------------------------------------------------------------------
# Summarize earlier turns without a model.
#
# The summary has, as far as they fit: user messages up to a length, the first words of answers,
# tool calls with short arguments and their status, lines of results that name errors, and the paths
# and addresses in results. It also stays if a model's summary fails. Pure.

MOST_OF_USER = 1_200  # characters of one user message
MOST_OF_ANSWER = 400
MOST_OF_ARGUMENT = 80
MOST_NAMES = 40  # paths, addresses and identifiers of the whole range
MOST_ERRORS = 12
READ = 20_000  # characters of one result that are searched

_ERROR = re.compile(r"error|exception|failed|fatal|denied|not found|traceback|refused", re.I)
_NAME = re.compile(
    r"https?://[^\s<>\"')\]]{3,200}"
    r"|(?<![\w/.])(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+-]+)*"  # /a/b, ./a, ~/a
    r"|(?<![\w/.])[\w@+-]+(?:/[\w.@+-]+)+"  # a/b.c
    r"|\b[\w-]{1,60}\.(?:py|js|ts|md|json|ya?ml|toml|txt|csv|html|css|c|h|rs|go|java|sh|sql|log)\b"
    r"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"  # RFC 9562
    r"|\b[A-Z][A-Z0-9]+-\d+\b"  # ABC-123
)


def extract(messages: list[tuple[int, Message]], room: int) -> str:
    """Return the text of a fold, about `room` characters.

    `messages`: (index in the session, message), oldest first.
    """
    first, last = messages[0][0], messages[-1][0]
    lines, looked_at = _newest(messages, room)
    errors, names = _errors(looked_at), _names(looked_at)
    if errors:
        lines += ["Errors on the way:", *(f"- {line}" for line in errors[-MOST_ERRORS:])]
    said = "\n".join(lines)
    newest = islice(reversed(names.items()), MOST_NAMES * 10)
    unsaid = (f"{name} (m{place})" for name, place in newest if name not in said)
    if fresh := list(islice(unsaid, MOST_NAMES)):
        lines.append(_cut("Also seen: " + ", ".join(fresh), room // 4))
    lines.append(f'All of it is kept: {RELOAD}(handle="m{first}") to {RELOAD}(handle="m{last}").')
    return "\n".join(lines)


def transcript(messages: list[tuple[int, Message]], most: int = 60_000) -> str:
    """Return a part of a conversation for a model to sum up, about `most` characters.

    Long messages are cut, and the oldest ones are left out if there are too many.
    """
    lines: list[str] = []
    for place, message in reversed(messages):
        if message["role"] == "error" or message.get("open"):
            continue
        said = _cut(text_of(message.get("content")), 2_000)
        calls = [
            f"{call['function']['name']}({_cut(str(call['function']['arguments']), 500)})"
            for call in message.get("tool_calls") or ()
        ]
        lines.append("\n".join([f"m{place} {message['role']}: {said}", *calls]))
        most -= len(lines[-1])
        if most < 0:
            break
    return "\n\n".join(reversed(lines))


def _newest(
    messages: list[tuple[int, Message]], room: int
) -> tuple[list[str], list[tuple[int, Message]]]:
    """Return the newest lines that fit, and the messages to search for errors and names.

    Half of the room is for user messages. The messages to search are limited, so that the cost does
    not grow with the session.
    """
    kept: list[str] = []
    looked_at: list[tuple[int, Message]] = []
    left = {True: room // 2, False: room // 2}
    for place, message in reversed(messages):
        user = message["role"] == "user"
        if left[user] > 0:
            for line in reversed(list(_lines(place, message))):
                kept.append(line)
                left[user] -= len(line) + 1
            if not user:
                looked_at.append((place, message))
        elif max(left.values()) <= 0:
            kept.append("[…]")
            break
    return kept[::-1], looked_at[::-1]


def _lines(place: int, message: Message) -> Iterator[str]:
    role, text = message["role"], text_of(message.get("content")).strip()
    if role == "user":
        yield f"m{place} user: {_cut(text, MOST_OF_USER)}"
    elif role == "assistant" and not message.get("open"):
        if text:
            yield f"m{place} assistant: {_cut(text, MOST_OF_ANSWER)}"
        for call in message.get("tool_calls") or ():
            yield f"m{place} called {call['function']['name']}({_call_arguments(call)})"
    elif role == "tool":
        status = (message.get("result") or {}).get("status")
        state = status or ("error" if message.get("is_error") else "ok")
        yield f"m{place} {message.get('name', 'tool')}: {state}, {len(text):,} characters"


def _call_arguments(call: ToolCall) -> str:
    try:
        value = loads(call["function"]["arguments"])
    except (JSONError, TypeError):
        return "…"
    if not isinstance(value, dict):
        return "…"
    return ", ".join(f"{key}={_cut(str(item), MOST_OF_ARGUMENT)}" for key, item in value.items())


def _errors(messages: list[tuple[int, Message]]) -> list[str]:
    found: dict[str, int] = {}
    for place, message in messages:
        if message["role"] == "tool":
            text = text_of(message.get("content"))[:READ]
            lines = [line.strip() for line in text.splitlines() if _ERROR.search(line)]
            if not lines and message.get("is_error"):
                lines = [text]
            for line in dict.fromkeys(_cut(line, 200) for line in lines[:3]):
                found.setdefault(line, place)
    return [f"m{place}: {line}" for line, place in found.items()]


def _names(messages: list[tuple[int, Message]]) -> dict[str, int]:
    """Map names to the index of the last message with them, least recent first."""
    names: dict[str, int] = {}
    for place, message in messages:
        if message["role"] == "tool":
            for name in _NAME.findall(text_of(message.get("content"))[:READ]):
                names.pop(name, None)
                names[name] = place
    return names


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rstrip()} […]"


# -- strategies -----------------------------------------------------------------------------------

ARGUMENT = 160  # characters that stay of a long argument
LEAST = 40  # tokens that one operation must save, at least
LEAST_ROOM = 120  # tokens of a model's summary, at least, with its header
CHARS = 3  # characters to a token, about
MOST_DRAFTS = 8  # summaries that a model is asked for in one compaction


@dataclass
class Item:
    """A message of the view: its index in the session, its shown form and its tokens."""

    place: int
    message: Message
    shown: Message
    tokens: int
    turn: int  # number of user messages so far
    safe: bool = False  # protected
    gone: bool = False  # inside a fold; the first item of a fold has the fold's tokens
    unseen: bool = False  # a result that no model has seen
    pinned: bool = False  # also if pins exceed their share and it is not safe


@dataclass(frozen=True)
class Draft:
    """A text that a model may write better.

    at    index of its operation in the compaction
    kind  `turns`, `calls`, `message` or `round`
    room  tokens that the message with the text may have
    made  tokens of the message that was made without a model
    id    the message, for `message`
    """

    at: int
    kind: str
    room: int
    made: int
    id: str = ""


def preview(item: Item, head: int, tail: int) -> Op:
    """Return the operation that shows so many characters at a message's beginning and end."""
    return {"op": "preview", "id": item.message["id"], "head": head, "tail": tail}


class Work:
    """The state of one compaction: items, operations made so far, and the size of the view.

    size, count  tokens and messages of the view, after the operations
    ops          the operations, in order
    options      `session.config.context`
    expired      ids of results that may go first
    room         characters of a fold, at most
    low, few     size and count at which the compaction is done
    """

    def __init__(
        self,
        items: list[Item],
        measure: Measure,
        options: Json,
        expired: set[str],
        room: int,
        low: int = 0,
        few: float = math.inf,
    ) -> None:
        self.items, self.size, self.options = items, measure.total, options
        self.count = sum(not item.gone or bool(item.tokens) for item in items)
        self.expired, self.room = expired, room
        self.low, self.few = low, few
        self.turns = items[-1].turn if items else 0
        self.by_model = options["summary"] == "llm"
        self.ops: list[Op] = []
        self.drafts: list[Draft] = []
        self._ratio, self._costs = measure.ratio, measure.costs
        self._exempt = frozenset(options["exempt_tools"])
        self._by_id = {item.message.get("id"): item for item in items}

    @property
    def is_too_large(self) -> bool:
        """Return whether there are still too many tokens."""
        return self.size > self.low

    @property
    def has_too_many(self) -> bool:
        """Return whether there are still too many messages."""
        return self.count > self.few

    @property
    def prefers_folds(self) -> bool:
        """Return whether to fold calls: if a model writes the text, or there are too many messages.

        Stubs leave as many messages, and need no model.
        """
        return self.by_model or self.has_too_many

    def open_items(self) -> Iterator[Item]:
        """Yield the items that may be cut, as long as the view is too large."""
        for item in self.items:
            if not self.is_too_large:
                return
            if not item.safe and not item.gone and item.message.get("id"):
                yield item

    def is_exempt(self, item: Item) -> bool:
        """Return whether the item's tool is exempt from compactions."""
        return item.message.get("name") in self._exempt

    def shorten(self, op: Op) -> bool:
        """Apply an operation on one message if it saves LEAST tokens. Return whether it did."""
        item = self._by_id[op["ids"][0] if "ids" in op else op["id"]]
        shown = apply_op(item.message, op, item.place)
        tokens = of_message(shown, self._costs)
        if item.tokens - tokens < LEAST:
            return False
        self._drop_drafts({item.message["id"]})
        self._save(item.tokens - tokens, op)
        item.shown, item.tokens = shown, tokens
        return True

    def retire(self, item: Item) -> None:
        """Replace one expired result by a stub, whatever that saves."""
        op: Op = {"op": "stub", "ids": [item.message["id"]], "why": "expired"}
        shown = apply_op(item.message, op, item.place)
        if shown != item.shown:
            tokens = of_message(shown, self._costs)
            self._save(item.tokens - tokens, op)
            item.shown, item.tokens = shown, tokens

    def show_less(self, items: list[Item], bound: int) -> None:
        """Preview the large ones of these items, so that the view fits `bound` tokens.

        The room is shared among them; small ones stay whole. This is the last resort before a run
        stops.
        """
        left = (bound - self.size) / self._ratio + sum(item.tokens for item in items)
        waiting = sorted(items, key=lambda item: item.tokens)
        while waiting and waiting[0].tokens <= left / len(waiting):
            left -= waiting.pop(0).tokens
        share = left / len(waiting) - LEAST_ROOM if waiting else 0
        if share < LEAST_ROOM:
            return  # after too short a preview a model would repeat the call
        for item in waiting:
            text = text_of(item.message.get("content"))
            kept = int(len(text) * min(share / max(of_message(item.message, self._costs), 1), 1))
            self.shorten(preview(item, kept * 2 // 3, kept // 3))

    def sum_up(self, item: Item) -> bool:
        """Preview one message and draft a summary of it. Return whether it became smaller."""
        shown = self.options["preview_chars"]
        before = item.tokens
        had = len(self.ops)
        if not self.shorten(preview(item, shown, shown)):
            return False
        room = min(max(int(before * self.options["summary_ratio"]), LEAST_ROOM), before - LEAST)
        self._add_draft(Draft(had, "message", room, item.tokens, item.message["id"]))
        return True

    def _add_draft(self, draft: Draft) -> None:
        if self.by_model and draft.room >= LEAST_ROOM and len(self.drafts) < MOST_DRAFTS:
            self.drafts.append(draft)

    def _drop_drafts(self, ids: set[str]) -> None:
        """Drop the drafts for messages that another operation now replaces."""
        self.drafts = [
            draft
            for draft in self.drafts
            if draft.id not in ids and self.ops[draft.at].get("from") not in ids
        ]

    def fold(self, items: list[Item], kind: str = "turns") -> bool:
        """Replace several messages by one, if that saves enough. Return whether it did.

        With too many messages it may even cost a few tokens. A fold must not end within an earlier
        one: only the later of two overlapping folds applies, so the rest of the earlier one would
        come back.
        """
        at = bisect_right(self.items, items[-1].place, key=lambda item: item.place)
        behind = self.items[at : at + 1]
        if behind and behind[0].gone and not behind[0].tokens:
            return False
        before = sum(item.tokens for item in items)
        wanted = max(int(before * self.options["summary_ratio"]), LEAST_ROOM)
        room = self.room if kind == "turns" else min(wanted * CHARS, self.room)
        saving = LEAST
        if self.has_too_many:
            room, saving = min(room, before * CHARS), -LEAST
        op, tokens = self._make_fold(items, room)
        while before - tokens < saving and self.has_too_many and room > LEAST_ROOM:
            room //= 2
            op, tokens = self._make_fold(items, room)
        if before - tokens < saving:
            return False
        self.count -= sum(not item.gone or bool(item.tokens) for item in items) - 1
        self._drop_drafts({item.message["id"] for item in items})
        self._save(before - tokens, op)
        for item in items:
            item.gone, item.tokens = True, 0
        items[0].tokens = tokens
        allowed = max(tokens * 2, LEAST_ROOM) if kind == "turns" else wanted
        self._add_draft(Draft(len(self.ops) - 1, kind, min(allowed, before - LEAST), tokens))
        return True

    def _make_fold(self, items: list[Item], room: int) -> tuple[Op, int]:
        """Return the fold of these items in about `room` characters, and its tokens."""
        op: Op = {
            "op": "fold",
            "from": items[0].message["id"],
            "to": items[-1].message["id"],
            "text": extract([(item.place, item.message) for item in items], room),
            "source": "extract",
        }
        return op, of_message(fold_message(op), self._costs)

    def undo(self, made: int, size: int) -> None:
        """Drop the operations after the first `made`. The items are invalid after that."""
        del self.ops[made:]
        self.drafts = [draft for draft in self.drafts if draft.at < made]
        self.size = size

    def _save(self, tokens: int, op: Op) -> None:
        self.size -= round(tokens * self._ratio)
        self.ops.append(op)


Strategy = Callable[[Work], Iterator[None]]


def tool_invocation_compress(work: Work) -> Iterator[None]:
    """Put words for seen pictures, stub expired and repeated results, then those of old turns.

    Calls of old turns may be folded, and their long arguments are cut.
    """
    yield from _pictures_in_words(work)
    again = _repeated_reads(work)
    for item in work.open_items():
        if item.message["role"] == "tool" and not work.is_exempt(item):
            id_ = item.message["id"]
            if id_ in work.expired or id_ in again:
                why = "expired" if id_ in work.expired else "read again later"
                if work.shorten({"op": "stub", "ids": [id_], "why": why}):
                    yield
    last = work.turns - work.options["keep_turns"]
    if work.prefers_folds:
        yield from _fold_calls(work, "calls", lambda item: item.turn <= last)
    yield from _stub_results(work, lambda item: item.turn <= last)
    yield from _arguments(work, lambda item: item.turn <= last)


def large_message_offload_with_protection(work: Work) -> Iterator[None]:
    """Preview large messages of earlier turns, except for the last `keep_messages`."""
    last = len(work.items) - work.options["keep_messages"]
    edge = work.items[last].place if 0 < last < len(work.items) else 0
    yield from _preview_messages(work, lambda item: item.place < edge and item.turn < work.turns)


def large_message_offload(work: Work) -> Iterator[None]:
    """Preview large messages of earlier turns."""
    yield from _preview_messages(work, lambda item: item.turn < work.turns)


def previous_round_conversation_summary(work: Work) -> Iterator[None]:
    """Fold whole turns: first all but the last `keep_turns`, then all but the current one."""
    for kept in sorted({max(work.options["keep_turns"], 1), 1}, reverse=True):
        for items in _foldable_turns(work, work.turns - kept):
            if work.fold(items):
                yield


def current_round_large_message_summary(work: Work) -> Iterator[None]:
    """Sum up or preview large messages of the current turn."""
    yield from _preview_messages(work, lambda item: item.turn == work.turns, sum_up=True)


def current_round_message_compress(work: Work) -> Iterator[None]:
    """Fold or stub the calls of the current turn before its last step.

    After that, all long arguments and messages that are left are cut.
    """
    if work.prefers_folds:
        yield from _fold_calls(work, "round", lambda item: item.turn == work.turns)
    yield from _stub_results(work, lambda item: True)
    yield from _arguments(work, lambda item: True)
    yield from _preview_messages(work, lambda item: True, small=True)


STRATEGIES: dict[str, Strategy] = {
    strategy.__name__: strategy
    for strategy in (
        tool_invocation_compress,
        large_message_offload_with_protection,
        large_message_offload,
        previous_round_conversation_summary,
        current_round_large_message_summary,
        current_round_message_compress,
    )
}


def _pictures_in_words(work: Work) -> Iterator[None]:
    """Put words for the pictures of results, the oldest first; the texts stay as they are."""
    for item in work.open_items():
        if media.of_message(item.shown) and not work.is_exempt(item):
            size = len(text_of(item.message.get("content")))
            if item.shown is not item.message:  # it is a preview with its pictures
                size = work.options["preview_chars"]
            if work.shorten(preview(item, size, 0)):
                yield


def _stub_results(work: Work, wanted: Callable[[Item], bool]) -> Iterator[None]:
    for item in work.open_items():
        if item.message["role"] == "tool" and wanted(item) and not work.is_exempt(item):
            if work.shorten({"op": "stub", "ids": [item.message["id"]], "why": "old"}):
                yield


def _arguments(work: Work, wanted: Callable[[Item], bool]) -> Iterator[None]:
    for item in work.open_items():
        if item.message.get("tool_calls") and wanted(item):
            if work.shorten({"op": "args", "id": item.message["id"], "keep": ARGUMENT}):
                yield


def _fold_calls(work: Work, kind: str, wanted: Callable[[Item], bool]) -> Iterator[None]:
    """Fold sequences of calls and their results, each into one message."""
    for run in _runs(work, wanted):
        if work.fold(run, kind):
            yield


def _runs(work: Work, wanted: Callable[[Item], bool]) -> list[list[Item]]:
    """Return sequences of steps that may be folded, longer than one call and its result."""
    found: list[list[Item]] = []
    run: list[Item] = []
    at = 0
    while at < len(work.items):
        if step := _step(work, at, wanted):
            run += step
        if (not step or at + len(step) >= len(work.items)) and run:
            found.append(run)
            run = []
        at += max(len(step), 1)
    return [run for run in found if len(run) > 2]


def _step(work: Work, at: int, wanted: Callable[[Item], bool]) -> list[Item]:
    """Return an assistant message with calls and all of their results.

    [] if the results do not follow directly, or if any of the messages is protected.
    """
    calls = {call["id"] for call in work.items[at].message.get("tool_calls") or ()}
    step = work.items[at : at + 1 + len(calls)]
    free = all(
        wanted(item)
        and bool(item.message.get("id"))
        and not (item.safe or item.gone or work.is_exempt(item))
        for item in step
    )
    answered = {item.message.get("tool_call_id") for item in step[1:]}
    return step if calls and free and answered == calls else []


def _preview_messages(
    work: Work, wanted: Callable[[Item], bool], *, small: bool = False, sum_up: bool = False
) -> Iterator[None]:
    shown = work.options["preview_chars"]
    large = shown * 2 if small else work.options["large_chars"]
    for item in work.open_items():
        long = len(text_of(item.shown.get("content"))) > large
        if (long or has_media(item.shown)) and wanted(item) and not work.is_exempt(item):
            if sum_up and long:
                if work.sum_up(item):
                    yield
                continue
            if work.shorten(preview(item, shown, shown)):
                yield


def _foldable_turns(work: Work, last: int) -> Iterator[list[Item]]:
    """Yield sequences of whole turns, up to turn `last`, without protected messages.

    The user message that begins a sequence stays before its fold, so that roles alternate.
    """
    run: list[Item] = []
    for _, group in groupby((i for i in work.items if 1 <= i.turn <= last), lambda i: i.turn):
        turn = list(group)
        begins = turn[0].message["role"] == "user"
        if run and not any(item.safe for item in turn):
            run += turn
            continue
        if len(run) > 1:
            yield run
        run = turn[1:] if begins else []
        if any(item.safe for item in run):
            run = []
    if len(run) > 1:
        yield run


def _repeated_reads(work: Work) -> set[str]:
    """Return the ids of successful results whose identical call was made again later."""
    calls = {
        call["id"]: (call["function"]["name"], dumps(call["function"]["arguments"]))
        for item in work.items
        for call in item.message.get("tool_calls") or ()
    }
    last: dict[Any, str] = {}
    found: set[str] = set()
    for item in work.items:
        if item.message["role"] != "tool" or item.message.get("is_error"):
            continue
        key = calls.get(item.message["tool_call_id"])
        if key in last:
            found.add(last[key])
        if key is not None:
            last[key] = item.message.get("id", "")
    return found - {""}
