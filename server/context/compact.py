"""When and how the view is made smaller: `planned` answers with a compaction, or with nothing.

A step of the loop before a model call. At the high watermark of tokens or of messages the
strategies run one after the other until the view is under the low one, never just until one of them
did something; so that the next compaction is far away and the provider's cache of the prefix lasts.
What was decided is recorded in `context.events`, and the operations in `context.ops`. Pure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .budget import EXACT, Beside, Budget, Measure, budget_of, measured
from .ops import Op, changed, changes_of, folded, folded_ids, ids_of, ops_of, pinned, text_of
from .strategies import CHARS, STRATEGIES, Draft, Item, Work
from .tokens import Costs, estimate, of_message
from .view import view

Session = dict[str, Any]
Message = dict[str, Any]

PIN_SHARE = 4  # pins hold at most a quarter of the budget
LOOK_BACK = 24  # messages at the end that are looked at for results too large to come in whole
RETAIN = "context_retain"


@dataclass(frozen=True)
class Compaction:
    """Operations to append, and their record for `context.events`. `drafts`: which of them a model
    may write better, in requests of at most `bound` tokens, as long as the view has at most `most`
    then; reckoned as in `measure`."""

    ops: tuple[Op, ...]
    record: dict[str, Any]
    drafts: tuple[Draft, ...] = ()
    measure: Measure = Measure(0, 0, 1.0)
    bound: int | None = None
    most: int = 0


def room_for(
    session: Session, model: str, facts: Mapping[str, Any], beside: Beside, note: str = ""
) -> tuple[Compaction | None, list[dict[str, Any]], Measure]:
    """What to do before the next call of this model: a compaction, or nothing; the largest messages
    where nothing helps; and what the request then has, with the `note` behind its messages."""
    budget = budget_of(session, model, facts)
    measure = measured(session, model, budget, beside)
    if note and measure.total:
        of_note = estimate(note, measure.costs)
        measure = replace(measure, guessed=measure.guessed + of_note)
    if due(session, budget, measure):
        if not measure.total:  # it was too little to be counted
            measure = measured(session, model, EXACT, beside)
        if compaction := planned(session, budget, measure):
            return compaction, [], measure
    if not (largest := too_large(session, budget, measure)):
        return None, [], measure
    # What was reported may have been of something else: people shorten what does not fit.
    afresh = measured(session, model, EXACT, beside, anchored=False)
    return (None, largest, measure) if too_large(session, budget, afresh) else (None, [], afresh)


def planned(
    session: Session, budget: Budget, measure: Measure, *, target: float | None = None
) -> Compaction | None:
    """What to do before the next model call, or None. `target`: make it smaller now, to this share
    of the high watermark, whatever its size: the provider has refused it."""
    if not due(session, budget, measure, refused=target is not None):
        return None
    options = session["config"]["context"]
    low = budget.low if target is None else int(budget.high * target)
    work = _work(session, budget, measure, options, low)
    ingested(work, budget)
    trigger = "ingest" if work.ops else ""
    if target is None:
        retired(work)
        trigger = trigger or ("retention" if work.ops else "")
    bound = math.inf if budget.bound is None else budget.bound
    forced = target is not None or work.size > bound
    large = work.size >= budget.high
    helped: list[str] = []
    if forced or ((large or work.crowded) and not _just_done(session)):
        had, before, count = len(work.ops), work.size, work.count
        if not (forced or large):
            work.low = budget.high  # there are only too many of them
        helped = _until(work)
        if work.size > bound:
            work.show_less([item for item in work.items if item.unseen], int(bound))
        share = options["min_saving"]
        few = work.count > count - max(work.few * share, 1)
        if not forced and few and before - work.size < budget.high * share:
            work.undo(had, before)  # too little to break the prefix for
        elif len(work.ops) > had:
            trigger = "size" if large or forced else "messages"
            trigger = "overflow" if target is not None else trigger
    if not work.ops:
        return None
    record = _record(session, trigger, measure, work)
    if trigger in ("size", "messages", "overflow"):
        record["strategies"] = helped
    most = (work.low + budget.high) // 2
    return Compaction(tuple(work.ops), record, tuple(work.drafts), measure, budget.bound, most)


def due(session: Session, budget: Budget, measure: Measure, *, refused: bool = False) -> bool:
    """Whether it is worth a closer look. Cheap, since it is asked before every model call."""
    if not session["config"]["context"]["enabled"]:
        return False
    if refused or measure.total >= budget.high or _many(session):
        return True
    unseen = True
    for message in reversed(session["messages"][-LOOK_BACK:]):
        if message["role"] != "tool":
            unseen = unseen and not _answers(message)
        elif unseen and len(text_of(message.get("content"))) > budget.ingest:
            return True
    return _overdue(session)


def _many(session: Session) -> bool:
    """Whether a model would be sent as many messages as call for a compaction."""
    most = session["config"]["context"]["max_messages"]
    return bool(most) and len(session["messages"]) >= most and len(view(session)) >= most


def too_large(session: Session, budget: Budget, measure: Measure) -> list[dict[str, Any]]:
    """The largest messages of a view that fits no window, or nothing if it fits."""
    if budget.bound is None or measure.total <= budget.bound:
        return []
    items = sorted(_items(session, measure.costs), key=lambda item: -item.tokens)
    return [
        {"id": item.message.get("id"), "role": item.message["role"], "tokens": item.tokens}
        for item in items[:5]
    ]


def _until(work: Work) -> list[str]:
    """Run the strategies that are switched on until the view is small enough. The names of those
    that did something."""
    helped = []
    for name, strategy in STRATEGIES.items():
        if name in work.options["strategies"] and (work.large or work.crowded):
            had = len(work.ops)
            for _ in strategy(work):
                if not (work.large or work.crowded):
                    break
            if len(work.ops) > had:
                helped.append(name)
    return helped


def ingested(work: Work, budget: Budget) -> None:
    """Results that are too large to come in whole: decided once, before a model has seen them, so
    it breaks no prefix. The only thing that may be done to an unseen result."""
    for item in work.items:
        fresh = item.message["role"] == "tool" and item.unseen and item.message.get("id")
        if fresh and item.tokens > budget.ingest and item.shown is item.message:
            text = text_of(item.message.get("content"))
            kept = max(len(text) * budget.ingest // item.tokens, 200)
            op = {
                "op": "preview",
                "id": item.message["id"],
                "head": kept * 2 // 3,
                "tail": kept // 3,
            }
            work.shorten(op)


def retired(work: Work) -> None:
    """Results whose time is over by their tool's word or the model's: gone after so many model
    calls, pinned ones excepted. What stands behind one that goes is not cached for one call."""
    for item in work.items:
        if item.message.get("id") in work.expired and not (item.pinned or item.unseen or item.gone):
            if not work.exempt(item):
                work.retire(item)


# -- the work -------------------------------------------------------------------------------------


def _work(
    session: Session, budget: Budget, measure: Measure, options: dict[str, Any], low: int
) -> Work:
    items = _items(session, measure.costs)
    _protect(session, items, budget)
    room = max(budget.low * CHARS // 4, 800)
    most = options["max_messages"] or math.inf
    few = most * options["target_ratio"] if _many(session) else math.inf
    return Work(items, measure, options, _expired(session), room, low, few)


def _items(session: Session, costs: Costs) -> list[Item]:
    """The messages of the session that a model may see, as the operations so far have them."""
    ops = ops_of(session)
    changes = changes_of(ops)
    inside = folded_ids(session["messages"], ops)
    items: list[Item] = []
    turn = 0
    for place, message in enumerate(session["messages"]):
        turn += message["role"] == "user"
        if message["role"] == "error" or message.get("open"):
            continue
        fold = inside.get(message.get("id", ""))
        op = None if fold else changes.get(message.get("id", ""))
        seen = changed(message, op, place) if op else message
        item = Item(place, message, seen, 0, turn, gone=fold is not None)
        if fold is None:
            item.tokens = of_message(seen, costs)
        elif fold["from"] == message["id"]:
            item.tokens = of_message(folded(fold), costs)
        items.append(item)
    return items


def _protect(session: Session, items: list[Item], budget: Budget) -> None:
    """Mark what no strategy may touch."""
    spoken = [item for item in items if item.message["role"] == "user"]
    for item in (*spoken[:1], *spoken[-1:]):
        item.safe = True
    for item in reversed(items):  # results no model has seen, and the step that asked for them
        if _answers(item.message):
            item.safe = item.safe or bool(item.message.get("tool_calls"))
            break
        if item.message["role"] == "tool":  # also where the user has spoken since
            item.safe = item.unseen = True
    results = {item.message["tool_call_id"] for item in items if item.message["role"] == "tool"}
    room = budget.high // PIN_SHARE
    wanted = pinned(ops_of(session)) | _retained(session)[1]
    for item in items:
        calls = item.message.get("tool_calls") or ()
        if any(call["id"] not in results for call in calls) or item.message["role"] == "system":
            item.safe = True
        if item.message.get("id") in wanted:
            item.pinned = True
            if item.tokens <= room:
                item.safe = True
                room -= item.tokens


def _answers(message: Message) -> bool:
    """Whether a model has said this, and so has seen what is before it."""
    return message["role"] == "assistant" and not message.get("open")


def _overdue(session: Session) -> bool:
    """Whether a result is still in the view whose time is over."""
    if not (expired := _expired(session)):
        return False
    ops = ops_of(session)
    expired -= _retained(session)[1] | pinned(ops)
    expired -= {id_ for id_, op in changes_of(ops).items() if op["op"] == "stub"}
    return bool(expired) and not expired <= folded_ids(session["messages"], ops).keys()


def _expired(session: Session) -> set[str]:
    """Ids of results that have been seen as often as they were to be: by their tool's word, by the
    model's (`context_retain`), or by an `expire` operation."""
    wanted, _ = _retained(session)
    for op in ops_of(session):
        after = op.get("after")
        if op.get("op") == "expire" and isinstance(after, int):
            wanted.update(dict.fromkeys(ids_of(op), after))
    found: set[str] = set()
    seen = 0  # model calls since
    for message in reversed(session["messages"]):
        if _answers(message):
            seen += 1
        elif message["role"] == "tool" and seen > 0:
            if seen >= wanted.get(message.get("id", ""), _keep(message)):
                found.add(message.get("id", ""))
    return found - {""}


def _keep(message: Message) -> float:
    """How many model calls a result is to be kept for, by its tool's word; -1 is for ever."""
    keep = (message.get("result") or {}).get("keep")
    if not isinstance(keep, int) or isinstance(keep, bool) or keep < 0:
        return math.inf
    return keep


def _retained(session: Session) -> tuple[dict[str, float], set[str]]:
    """(result id → model calls to keep it for, ids that are pinned): what the model said with
    `context_retain`. Read off the calls themselves, so there is no second record of it."""
    messages = session["messages"]
    turns: dict[str, float] = {}
    pins: set[str] = set()
    for message in messages:
        result = message.get("result") or {}
        if (
            message["role"] != "tool"
            or message.get("name") != RETAIN
            or result.get("status") != "ok"
        ):
            continue
        about = result.get("result")
        if not isinstance(about, dict) or not isinstance(about.get("ids"), list):
            continue  # a person may have answered the call by hand
        action = about.get("action")
        for target in (each for each in about["ids"] if isinstance(each, str)):
            pins.discard(target)
            turns.pop(target, None)
            if action == "pin":
                pins.add(target)
            elif action == "drop":
                turns[target] = 0
            elif action == "keep" and isinstance(about.get("turns"), int):
                turns[target] = about["turns"]
    return turns, pins


def _just_done(session: Session) -> bool:
    """Whether there was no new answer since the last compaction, or hardly one twice in a row:
    making the same thing smaller again and again is the loop that agents die in."""
    records = [r for r in _records(session) if r.get("trigger") not in ("ingest", "retention")]
    if not records:
        return False
    steps = [_steps(session, record["at"]) for record in records[-2:]]
    return steps[-1] == 0 or (len(steps) == 2 and steps[0] < 4 and steps[-1] < 2)


def _steps(session: Session, at: int) -> int:
    """Answers of the model since the session had `at` messages."""
    return sum(message["role"] == "assistant" for message in session["messages"][at:])


def _records(session: Session) -> list[dict[str, Any]]:
    return list(session.get("context", {}).get("events") or ())


def _record(session: Session, trigger: str, measure: Measure, work: Work) -> dict[str, Any]:
    """The record of a compaction: `before` and `after` in tokens, `at`: how many messages the
    session had. It is the anchor of later measures (size.anchor)."""
    numbers = [
        int(m[1]) for r in _records(session) if (m := re.fullmatch(r"c(\d+)", str(r.get("id"))))
    ]
    return {
        "id": f"c{max(numbers, default=0) + 1}",
        "trigger": trigger,
        "before": measure.total,
        "after": max(work.size, 0),
        "at": len(session["messages"]),
        "ops": len(work.ops),
    }
