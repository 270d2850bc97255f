"""The six ways to make a view smaller, in the order in which they are tried.

Each walks over the work and proposes operations, the most useful first; compact.py applies one
after the other until the view is small enough. The names are seed 004's. None touches what is
protected: pins, the first and the last thing the user said, calls without a result, and results the
model has not seen yet, which are the cause of endless repetition when they go. Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ...jsontext import dumps
from .extract import extract
from .ops import Op, changed, folded, text_of
from .size import Measure
from .tokens import of_message

Message = dict[str, Any]

ARGUMENT = 160  # characters that stay of a long argument
LEAST = 40  # tokens below which one operation is not worth its placeholder


@dataclass
class Item:
    """A message of the view: its place in the session, what it looks like, what it costs."""

    place: int
    message: Message
    shown: Message
    tokens: int
    turn: int  # how many times the user had spoken
    safe: bool = False  # not to be touched
    gone: bool = False  # inside a fold; the first of a fold has the fold's tokens
    unseen: bool = False  # a result that no model has read
    brief: bool = False  # a result to be kept no longer than it must


class Work:
    """What there is to make smaller. `size` follows what is applied; `ops` are the result.

    options: `session.config.context`. expired: ids of results that may go first. room: characters
    that a fold may have.
    """

    def __init__(
        self,
        items: list[Item],
        measure: Measure,
        options: dict[str, Any],
        expired: set[str],
        room: int,
    ) -> None:
        self.items, self.size, self.options = items, measure.total, options
        self.expired, self.room = expired, room
        self.turns = items[-1].turn if items else 0
        self.ops: list[Op] = []
        self._ratio, self._costs = measure.ratio, measure.costs
        self._exempt = frozenset(options["exempt_tools"])
        self._by_id = {item.message.get("id"): item for item in items}

    def open_items(self) -> Iterator[Item]:
        return (i for i in self.items if not i.safe and not i.gone and i.message.get("id"))

    def exempt(self, item: Item) -> bool:
        return item.message.get("name") in self._exempt

    def shorten(self, op: Op) -> bool:
        """Apply an operation on one message, if it saves enough."""
        item = self._by_id[op["ids"][0] if "ids" in op else op["id"]]
        shown = changed(item.message, op, item.place)
        tokens = of_message(shown, self._costs)
        if item.tokens - tokens < LEAST:
            return False
        self._save(item.tokens - tokens, op)
        item.shown, item.tokens = shown, tokens
        return True

    def fold(self, items: list[Item]) -> bool:
        """Put one message in the place of several, if that is less. Not up to the middle of an
        earlier fold: of two that overlap the later one counts, and the rest would come back."""
        at = bisect_right(self.items, items[-1].place, key=lambda item: item.place)
        behind = self.items[at : at + 1]
        if behind and behind[0].gone and not behind[0].tokens:
            return False
        op = {
            "op": "fold",
            "from": items[0].message["id"],
            "to": items[-1].message["id"],
            "text": extract([(item.place, item.message) for item in items], self.room),
            "source": "extract",
        }
        tokens = of_message(folded(op), self._costs)
        before = sum(item.tokens for item in items)
        if before - tokens < LEAST:
            return False
        self._save(before - tokens, op)
        for item in items:
            item.gone, item.tokens = True, 0
        items[0].tokens = tokens
        return True

    def undo(self, count: int, size: int) -> None:
        """Forget the operations after the first `count`. The items are not to be used again."""
        del self.ops[count:]
        self.size = size

    def _save(self, tokens: int, op: Op) -> None:
        self.size -= round(tokens * self._ratio)
        self.ops.append(op)


Strategy = Callable[[Work], Iterator[None]]


def tool_invocation_compress(work: Work) -> Iterator[None]:
    """Results that have expired or were read again, then those of old turns, then the long
    arguments of old turns."""
    again = _read_again(work)
    for item in work.open_items():
        if item.message["role"] == "tool" and not work.exempt(item):
            id_ = item.message["id"]
            if id_ in work.expired or id_ in again:
                why = "expired" if id_ in work.expired else "read again later"
                if work.shorten({"op": "stub", "ids": [id_], "why": why}):
                    yield
    last = work.turns - work.options["keep_turns"]
    yield from _stubbed(work, lambda item: item.turn <= last)
    yield from _arguments(work, lambda item: item.turn <= last)


def large_message_offload_with_protection(work: Work) -> Iterator[None]:
    """Large messages before the last `keep_messages`, to a preview."""
    last = len(work.items) - work.options["keep_messages"]
    edge = work.items[last].place if 0 < last < len(work.items) else 0
    yield from _previewed(work, lambda item: item.place < edge and item.turn < work.turns)


def large_message_offload(work: Work) -> Iterator[None]:
    """Large messages of every turn before the current one."""
    yield from _previewed(work, lambda item: item.turn < work.turns)


def previous_round_conversation_summary(work: Work) -> Iterator[None]:
    """Whole turns to one message that sums them up: first all but the last few, then all but the
    current one."""
    for kept in sorted({max(work.options["keep_turns"], 1), 1}, reverse=True):
        for items in _foldable(work, work.turns - kept):
            if work.fold(items):
                yield


def current_round_large_message_summary(work: Work) -> Iterator[None]:
    """Large messages of the current turn."""
    yield from _previewed(work, lambda item: item.turn == work.turns)


def current_round_message_compress(work: Work) -> Iterator[None]:
    """Everything the current turn has done before its last step."""
    yield from _stubbed(work, lambda item: True)
    yield from _arguments(work, lambda item: True)
    yield from _previewed(work, lambda item: True, small=True)


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


def _stubbed(work: Work, wanted: Callable[[Item], bool]) -> Iterator[None]:
    for item in work.open_items():
        if item.message["role"] == "tool" and wanted(item) and not work.exempt(item):
            if work.shorten({"op": "stub", "ids": [item.message["id"]], "why": "old"}):
                yield


def _arguments(work: Work, wanted: Callable[[Item], bool]) -> Iterator[None]:
    for item in work.open_items():
        if item.message.get("tool_calls") and wanted(item):
            if work.shorten({"op": "args", "id": item.message["id"], "keep": ARGUMENT}):
                yield


def _previewed(
    work: Work, wanted: Callable[[Item], bool], *, small: bool = False
) -> Iterator[None]:
    shown = work.options["preview_chars"]
    large = shown * 2 if small else work.options["large_chars"]
    for item in work.open_items():
        content = item.shown.get("content")
        if len(text_of(content)) > large and wanted(item) and not work.exempt(item):
            op = {"op": "preview", "id": item.message["id"], "head": shown, "tail": shown}
            if work.shorten(op):
                yield


def _foldable(work: Work, last: int) -> Iterator[list[Item]]:
    """Runs of whole turns, up to the turn `last`, in which nothing is protected. What the user said
    at the beginning of a run stays before its fold, so that roles go on taking turns."""
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


def _read_again(work: Work) -> set[str]:
    """Ids of successful results whose very call was made again later: only the last one counts."""
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
