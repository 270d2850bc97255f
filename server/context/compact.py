"""Plan compactions: decide when and how the view is made smaller.

Used by the loop before each model call. At the high watermark of tokens or of messages the
strategies run in order until the view is under the low watermark, so that compactions are rare and
the provider's cache of the prefix stays valid. The record goes into `context.events`, the
operations into `context.ops`. Pure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..json_types import (
    Change,
    CompactionRecord,
    Event,
    Interrupt,
    Json,
    Message,
    Op,
    Session,
)
from ..lib.strict_json import LARGEST_COUNT
from ..session.answers import ANSWERS
from ..session.events import drop, put, state_delta
from .budget import (
    EXACT,
    Budget,
    Costs,
    Measure,
    Request,
    budget_of,
    calibration,
    costs_of,
    estimate,
    estimate_request,
    measure_request,
    media_tokens,
    of_messages,
    of_tools,
    ratio_of,
    refused_size,
    reported_usage,
    updated_calibration,
)
from .pictures import has_media
from .strategies import CHARS, STRATEGIES, Draft, Item, Work, preview
from .view import (
    apply_op,
    changes_of,
    fold_message,
    folded_ids,
    ids_of,
    ops_of,
    pinned_ids,
    stopped_answer,
    text_of,
    view,
)

PIN_SHARE = 4  # pins hold at most a quarter of the budget
LOOK_BACK = 24  # messages at the end that are searched for results larger than `ingest`
RETAIN = "context_retain"


@dataclass(frozen=True)
class Compaction:
    """Operations to append, and their record for `context.events`.

    drafts   texts that a model may write better
    measure  the request before the compaction
    bound    tokens of a request for such a text, at most; None: no limit
    most     tokens of the view, at most, after a model's texts are put in
    """

    ops: tuple[Op, ...]
    record: CompactionRecord
    drafts: tuple[Draft, ...] = ()
    measure: Measure = Measure(0, 0, 1.0)
    bound: int | None = None
    most: int = 0


def room_for(
    request: Request, model: str, facts: Mapping[str, Any], note: str = ""
) -> tuple[Compaction | None, list[Json], Measure]:
    """Return what the next call of this model needs: (compaction, largest messages, measure).

    The compaction is None if none is needed or none helps. The messages are [] unless the request
    is too large to be sent. The measure includes the `note` that is added after the messages.
    """
    session = request.session
    budget = budget_of(session, model, facts)
    measure = measure_request(request, model, budget)
    if note and measure.total:
        of_note = estimate(note, measure.costs)
        measure = replace(measure, guessed=measure.guessed + of_note)
    if may_be_due(session, budget, measure):
        if not measure.total:  # a small request was not counted
            measure = measure_request(request, model, EXACT)
        if compaction := plan_compaction(session, budget, measure):
            return compaction, [], measure
    if not (largest := too_large(session, budget, measure)):
        return None, [], measure
    # The report may be outdated: people shorten messages of a request that does not fit.
    afresh = measure_request(request, model, EXACT, anchored=False)
    return (None, largest, measure) if too_large(session, budget, afresh) else (None, [], afresh)


def plan_compaction(
    session: Session, budget: Budget, measure: Measure, *, target: float | None = None
) -> Compaction | None:
    """Return the compaction before the next model call, or None.

    `target`: after a refusal, shrink now, to this share of the high watermark, whatever the size.
    """
    if not may_be_due(session, budget, measure, refused=target is not None):
        return None
    options = session["config"]["context"]
    low = budget.low if target is None else int(budget.high * target)
    work = _work(session, budget, measure, options, low)
    preview_new_results(work, budget)
    trigger = "ingest" if work.ops else ""
    if target is None:
        drop_expired_results(work)
        trigger = trigger or ("retention" if work.ops else "")
    bound = math.inf if budget.bound is None else budget.bound
    forced = target is not None or work.size > bound
    large = work.size >= budget.high
    helped: list[str] = []
    if forced or ((large or work.has_too_many) and not _just_done(session)):
        had, before, count = len(work.ops), work.size, work.count
        if not (forced or large):
            work.low = budget.high  # only the count of messages is too high
        helped = _until(work)
        if work.size > bound:
            work.show_less([item for item in work.items if item.unseen], int(bound))
        share = options["min_saving"]
        few = work.count > count - max(work.few * share, 1)
        if not forced and few and before - work.size < budget.high * share:
            work.undo(had, before)  # saves too little to invalidate the cached prefix
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


def asked_compaction(request: Request, model: str, facts: Mapping[str, Any]) -> Compaction:
    """Return the compaction that a person asked for (`context.compact`), whatever the size.

    It ends at the low watermark, of a smaller view at `target_ratio` of its size. The last answer
    stays, since what a person says next is about it. There are no operations if nothing can go.
    """
    session = request.session
    budget = budget_of(session, model, facts)
    measure = refused_size(request, model)  # a report that is too small would end it too early
    options = session["config"]["context"]
    low = min(budget.low, int(measure.total * options["target_ratio"]))
    work = _work(session, replace(budget, low=low), measure, options, low)
    if work.items and _is_answer(work.items[-1].message):
        work.items[-1].safe = True
    drop_expired_results(work)
    helped = _until(work)
    record = _record(session, "asked", measure, work)
    record["strategies"] = helped
    most = (low + measure.total) // 2
    return Compaction(tuple(work.ops), record, tuple(work.drafts), measure, budget.bound, most)


def may_be_due(
    session: Session, budget: Budget, measure: Measure, *, refused: bool = False
) -> bool:
    """Return whether a compaction may be needed. Cheap: called before every model call."""
    if not session["config"]["context"]["enabled"]:
        return False
    if refused or measure.total >= budget.high or _many(session):
        return True
    for message in reversed(session["messages"][-LOOK_BACK:]):
        if _is_answer(message):
            break  # a model has seen all before it
        if message["role"] == "tool" and len(text_of(message.get("content"))) > budget.ingest:
            return True
    return _overdue(session)


def _many(session: Session) -> bool:
    """Return whether the view has at least `max_messages` messages."""
    most = session["config"]["context"]["max_messages"]
    return bool(most and len(session["messages"]) >= most and len(view(session)) >= most)


def too_large(session: Session, budget: Budget, measure: Measure) -> list[Json]:
    """Return the five largest messages of a view over the bound, [] if it fits.

    Each is {id, role, tokens}.
    """
    if budget.bound is None or measure.total <= budget.bound:
        return []
    items = sorted(_items(session, measure.costs), key=lambda item: -item.tokens)
    return [
        {"id": item.message.get("id"), "role": item.message["role"], "tokens": item.tokens}
        for item in items[:5]
    ]


def _until(work: Work) -> list[str]:
    """Run the enabled strategies until the view is small enough.

    Returns the names of those that changed something.
    """
    helped = []
    for name, strategy in STRATEGIES.items():
        if name in work.options["strategies"] and (work.is_too_large or work.has_too_many):
            had = len(work.ops)
            for _ in strategy(work):
                if not (work.is_too_large or work.has_too_many):
                    break
            if len(work.ops) > had:
                helped.append(name)
    return helped


def preview_new_results(work: Work, budget: Budget) -> None:
    """Preview results larger than `budget.ingest`, before a model has seen them.

    That does not invalidate the cached prefix. Nothing else may be done to an unseen result, except
    `show_less`.
    """
    for item in work.items:
        fresh = item.message["role"] == "tool" and item.unseen and item.message.get("id")
        large = item.tokens > budget.ingest
        large = large and item.tokens - media_tokens(item.message) > budget.ingest
        if fresh and large and item.shown is item.message:
            text = text_of(item.message.get("content"))
            kept = max(len(text) * budget.ingest // item.tokens, 200)
            op = preview(item, kept * 2 // 3, kept // 3)
            if has_media(item.message):
                op["pictures"] = True
            work.shorten(op)


def drop_expired_results(work: Work) -> None:
    """Leave out the expired results (see `_expired`).

    Pinned, unseen and exempt ones stay. The messages after a removed one lose their cache once.
    """
    for item in work.items:
        if item.message.get("id") in work.expired and not (item.pinned or item.unseen or item.gone):
            if not work.is_exempt(item):
                work.retire(item)


# -- the work -------------------------------------------------------------------------------------


def _work(session: Session, budget: Budget, measure: Measure, options: Json, low: int) -> Work:
    items = _items(session, measure.costs)
    _protect(session, items, budget)
    room = max(budget.low * CHARS // 4, 800)
    most = options["max_messages"] or math.inf
    few = most * options["target_ratio"] if _many(session) else math.inf
    return Work(items, measure, options, _expired(session), room, low, few)


def _items(session: Session, costs: Costs) -> list[Item]:
    """Return the messages that a model may see, with the operations so far applied."""
    ops = ops_of(session)
    changes = changes_of(ops)
    inside = folded_ids(session["messages"], ops)
    items: list[Item] = []
    shown: list[tuple[Item, Message]] = []
    turn = 0
    for place, each in enumerate(session["messages"]):
        turn += each["role"] == "user"
        message = stopped_answer(session["messages"], place) if each.get("open") else each
        if message is None or message["role"] == "error":
            continue
        fold = inside.get(message.get("id", ""))
        op = None if fold else changes.get(message.get("id", ""))
        seen = apply_op(message, op, place) if op else message
        items.append(Item(place, message, seen, 0, turn, gone=fold is not None))
        if fold is None:
            shown.append((items[-1], seen))
        elif fold["from"] == message["id"]:
            shown.append((items[-1], fold_message(fold)))
    sizes = of_messages([message for _, message in shown], costs)
    for (item, _), tokens in zip(shown, sizes, strict=True):
        item.tokens = tokens
    return items


def _protect(session: Session, items: list[Item], budget: Budget) -> None:
    """Mark the items that no strategy may change."""
    spoken = [item for item in items if item.message["role"] == "user"]
    for item in (*spoken[:1], *spoken[-1:]):
        item.safe = True
    for item in reversed(items):  # unseen results, and the message with their calls
        if _is_answer(item.message):
            item.safe = item.safe or bool(item.message.get("tool_calls"))
            break
        if item.message["role"] == "tool":  # even before a newer user message
            item.safe = item.unseen = True
    results = {item.message["tool_call_id"] for item in items if item.message["role"] == "tool"}
    room = budget.high // PIN_SHARE
    wanted = pinned_ids(ops_of(session)) | _retain_settings(session)[1]
    for item in items:
        calls = item.message.get("tool_calls") or ()
        if any(call["id"] not in results for call in calls) or item.message["role"] == "system":
            item.safe = True
        if item.message.get("id") in wanted:
            item.pinned = True
            if item.tokens <= room:
                item.safe = True
                room -= item.tokens


def _is_answer(message: Message) -> bool:
    """Return whether this is a complete answer of a model, which has thus seen all before it."""
    return message["role"] == "assistant" and not message.get("open")


def _overdue(session: Session) -> bool:
    """Return whether the view still has an expired result."""
    if not (expired := _expired(session)):
        return False
    ops = ops_of(session)
    expired -= _retain_settings(session)[1] | pinned_ids(ops)
    expired -= {id_ for id_, op in changes_of(ops).items() if op["op"] == "stub"}
    return bool(expired) and not expired <= folded_ids(session["messages"], ops).keys()


def _expired(session: Session) -> set[str]:
    """Return the ids of results that models have seen as often as they should.

    That number is set by the tool, by the model (`context_retain`) or by an `expire` operation.
    """
    if "tool" not in {message["role"] for message in session["messages"]}:
        return set()
    wanted, _ = _retain_settings(session)
    for op in ops_of(session):
        after = op.get("after")
        if op.get("op") == "expire" and isinstance(after, int):
            wanted.update(dict.fromkeys(ids_of(op), after))
    found: set[str] = set()
    seen = 0  # model calls after the message
    for message in reversed(session["messages"]):
        if _is_answer(message):
            seen += 1
        elif message["role"] == "tool" and seen > 0:
            if seen >= wanted.get(message.get("id", ""), _keep(message)):
                found.add(message.get("id", ""))
    return found - {""}


def _keep(message: Message) -> float:
    """Return for how many model calls a tool wants its result kept, infinity by default."""
    keep = (message.get("result") or {}).get("keep")
    if not isinstance(keep, int) or isinstance(keep, bool) or keep < 0:
        return math.inf
    return keep


def _retain_settings(session: Session) -> tuple[dict[str, float], set[str]]:
    """Return what `context_retain` has set: (result id → model calls to keep it, pinned ids).

    Read from the results of the calls, which are its only record.
    """
    turns: dict[str, float] = {}
    pins: set[str] = set()
    answers = 0  # so far
    before: dict[str, int] = {}  # result id -> how many answers came before it
    names = [message.get("name") for message in session["messages"]]
    for message in session["messages"] if RETAIN in names else ():
        answers += _is_answer(message)
        before[message.get("id", "")] = answers
        if message["role"] != "tool" or message.get("name") != RETAIN:
            continue
        result = message.get("result") or {}
        if result.get("status") != "ok":
            continue
        about = result.get("result")
        if not isinstance(about, dict) or not isinstance(about.get("ids"), list):
            continue  # a person may have written the result
        action = about.get("action")
        for target in (each for each in about["ids"] if isinstance(each, str)):
            pins.discard(target)
            turns.pop(target, None)
            if action == "pin":
                pins.add(target)
            elif action == "drop":
                turns[target] = 0
            elif action == "keep" and isinstance(about.get("turns"), int):
                # The model speaks of its next answers, `_expired` of all since the result.
                turns[target] = answers - before.get(target, answers) + about["turns"]
    return turns, pins


def _just_done(session: Session) -> bool:
    """Return whether it is too early for another compaction.

    That is so if there was no answer since the last one, or hardly any since the last two: an agent
    that compacts the same messages again and again makes no progress.
    """
    others = ("ingest", "retention", "asked")
    records = [r for r in _records(session) if r.get("trigger") not in others]
    if not records:
        return False
    steps = [_steps(session, record["at"]) for record in records[-2:]]
    return steps[-1] == 0 or (len(steps) == 2 and steps[0] < 4 and steps[-1] < 2)


def _steps(session: Session, at: int) -> int:
    """Count the answers of the model since the session had `at` messages."""
    return sum(message["role"] == "assistant" for message in session["messages"][at:])


def _records(session: Session) -> list[CompactionRecord]:
    return list(session.get("context", {}).get("events") or ())


def _record(session: Session, trigger: str, measure: Measure, work: Work) -> CompactionRecord:
    """Return the record of a compaction.

    `before` and `after` are in tokens, `at` is the number of messages in the session. It is the
    anchor of later measures (budget.anchor).
    """
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


# -- updates --------------------------------------------------------------------------------------
# Changes of `session.context` after compactions, usage reports and refusals, as events.
#
# Used by the loop and by side_calls.py. Pure.

Sent = tuple[list[Message], list[Json]]  # messages and tools

PROMPT_CUT = "prompt_cut"  # a code of `run.warnings`
CUT = (
    "The model counted {} tokens of the about {} that it was sent: what answers there seems to cut"
    " off what is too long, the rules and tools first. Give the model a larger context there"
    " (Ollama: OLLAMA_CONTEXT_LENGTH), or set max_context to what it has."
)
LEAST_CUT = 1000  # missing tokens, above which a report counts as one of a cut prompt
LEAST_WINDOW = 1000  # tokens; a smaller count is not one of the whole prompt

REFUSED_TARGET = 0.35  # of the high watermark, after a provider has refused a request


def compaction_event(session: Session, ops: list[Op], record: CompactionRecord) -> Event:
    """Return the STATE_DELTA of a compaction, which appends its operations and its record.

    It also takes back `context.compact`, so that what was asked for is done once. It is sent under
    the alias `context.compress`.
    """
    event = state_delta(
        *_append_changes(session, "ops", ops),
        *_append_changes(session, "events", [record]),
        *([drop("context", "compact")] if "compact" in session["context"] else []),
    )
    event["metadata"] = {"yaa": {"compaction": record}}
    return event


def _append_changes(session: Session, name: str, items: list[Any]) -> list[Change]:
    if name in session["context"]:
        return [put("context", name, "-", value=item) for item in items]
    return [put("context", name, value=items)]


def calibration_changes(
    session: Session, model: str, before: Measure, usage: Mapping[str, Any], sent: Sent
) -> list[Change]:
    """Return the changes after a provider's report: a new calibration for this model, or none.

    If most of what was `sent` is missing in the report, it is a warning instead, once.
    """
    if usage.get("estimated") or not usage.get("prompt_tokens"):
        return []
    counted = usage["prompt_tokens"] + usage.get("cached_tokens", 0)  # some providers exclude them
    if guessed := _cut_to(session, model, counted, sent):
        said = session["run"].get("warnings")
        said = said if isinstance(said, list) else []
        known = any(isinstance(each, dict) and each.get("code") == PROMPT_CUT for each in said)
        facts = {"counted": counted, "sent": guessed}
        warning = {"code": PROMPT_CUT, "message": CUT.format(counted, guessed), **facts}
        return [] if known else [put("run", "warnings", value=[*said, warning])]
    fresh = updated_calibration(calibration(session, model), before, usage["prompt_tokens"])
    if fresh is None:
        return []
    return [put("context", "calib", value={**session["context"].get("calib", {}), model: fresh})]


def _cut_to(session: Session, model: str, counted: int, sent: Sent) -> int:
    """Return about how many tokens were sent, 0 unless the provider counted less than half.

    Ollama drops what exceeds its window, system prompt and tools first, without an error
    (https://github.com/ollama/ollama/issues/18107). The request is not measured if the count has
    grown since the previous report, as it does for a longer request that fits. Requests with
    pictures are skipped, because their cost differs tenfold between models.
    """
    if counted < LEAST_WINDOW:
        return 0
    earlier = (reported_usage(message) for message in reversed(session["messages"][:-1]))
    before = next(filter(None, earlier), None)
    if before is not None and counted > before["prompt_tokens"]:
        return 0
    if any(_has_pictures(message) for message in sent[0]):
        return 0
    ratio = ratio_of(session, model)
    guessed = round(estimate_request(*sent, costs_of(model), 2 * counted / ratio) * ratio)
    return guessed if guessed > 2 * counted and guessed - counted > LEAST_CUT else 0


def _has_pictures(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(part.get("type") != "text" for part in content)


def after_refusal(
    request: Request, model: str, facts: Mapping[str, Any], reported_window: int | None
) -> tuple[Change, Compaction | None]:
    """Return what follows from a request refused as too large: (the learned window, a compaction).

    `reported_window`: the window that the provider named; else 90 % of the estimate counts. The
    compaction makes the next request fit; None if there is none.
    """
    session, sent = request.session, refused_size(request, model)
    window = max(sent.total * 9 // 10, 1)
    if type(reported_window) is int and 0 < reported_window <= LARGEST_COUNT:
        window = reported_window
    windows: dict[str, float] = {**session["context"].get("windows", {}), model: window}
    updated: Session = {**session, "context": {**session["context"], "windows": windows}}
    compaction = plan_compaction(
        updated, budget_of(updated, model, facts), sent, target=REFUSED_TARGET
    )
    return put("context", "windows", value=windows), compaction


# -- overflow -------------------------------------------------------------------------------------
# The interrupt for a request over the budget or the window, with nothing left to leave out.
#
# It lists the largest messages and the possible remedies. Pure.


_WORDS = {
    "offer_fewer_tools": (
        "offer fewer tools: the {count} there are take about {tokens} tokens"
        " (config.tools, operations of an OpenAPI document, or config.yaa.tool_detail)"
    ),
    "raise_budget": "set config.context.budget to {value} or more",
    "raise_max_context": "set config.yaa.max_context to {value} or more",
    "enable_context": "set config.context.enabled to true",
    "enable_strategies": "add {names} to config.context.strategies",
    "unpin": "unpin messages that are not needed",
    "clear_exempt_tools": "take tools out of config.context.exempt_tools",
    "shorten": "shorten the largest messages",
    "choose_model": "choose a model with a larger window",
}


def interrupt(
    session: Session, budget: Budget, largest: list[Json], observed: int, tools: list[Json]
) -> Interrupt:
    """Return the interrupt: {limit: context_overflow, bound, allowed, observed, largest, remedies}.

    `bound`: `budget` or `window`. `allowed` and `observed` are in tokens. `remedies`: what could be
    done, as {action, …}.
    """
    of_budget = budget.window is None or (budget.bound or 0) < budget.window
    remedies = _remedies(session, budget, largest, observed)
    if (size := of_tools(tools)) * 2 > observed:  # no message is the cause
        remedies.insert(0, {"action": "offer_fewer_tools", "count": len(tools), "tokens": size})
    what = "config.context.budget" if of_budget else "the window of the model"
    could = ", or ".join(_WORDS[each["action"]].format(**_remedy_fields(each)) for each in remedies)
    return {
        "id": "int-context_overflow",
        "reason": "limit",
        "limit": "context_overflow",
        "bound": "budget" if of_budget else "window",
        "allowed": budget.bound,
        "observed": observed,
        "largest": largest,
        "remedies": remedies,
        "message": (
            f"The next request would have about {observed} tokens, more than {what} allows"
            f" ({budget.bound}), and nothing more can be left out. What could be done: {could}."
        ),
        "response_schema": ANSWERS["limit"],
    }


def _remedies(session: Session, budget: Budget, largest: list[Json], observed: int) -> list[Json]:
    """Return the remedies that apply, as {action, …}."""
    wanted = session["config"]["context"]
    found: list[Json] = []
    fits = budget.window is None or observed <= budget.window
    if fits:
        found.append({"action": "raise_budget", "value": observed})
    if not wanted["enabled"]:
        found.append({"action": "enable_context"})
    if names := [name for name in STRATEGIES if name not in wanted["strategies"]]:
        found.append({"action": "enable_strategies", "names": names})
    there = {message.get("id") for message in session["messages"]}
    if ids := sorted(pinned_ids(ops_of(session)) & there):
        found.append({"action": "unpin", "ids": ids})
    if wanted["exempt_tools"]:
        found.append({"action": "clear_exempt_tools"})
    found.append({"action": "shorten", "ids": [each["id"] for each in largest]})
    if not fits:
        own = session["config"]["yaa"].get("max_context")
        if own and own == budget.window:
            found.append({"action": "raise_max_context", "value": observed})
        found.append({"action": "choose_model"})
    return found


def _remedy_fields(remedy: Json) -> Json:
    return {**remedy, "names": ", ".join(remedy.get("names", ()))}
