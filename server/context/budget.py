"""Measure the next request, and compute how large it may be.

The anchor is the size that a provider reported for the last request, or the result of a later
compaction. Only what came since is estimated, with a ratio learned from earlier reports: the error
falls from 4-45 % to 1-6 % at the 95th percentile, and the cost of measuring does not grow with the
session. All state is in the session, so every server computes the same. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..strict_json import LARGEST_COUNT, dumps
from .ops import changed, changes_of, ops_of, text_of
from .tokens import ANY, MEDIA, Costs, costs_of, estimate, of_message
from .view import view

Session = dict[str, Any]

UNREPORTED = 1.15  # ratio without any report: a safety margin
LEAST_NEW = 50  # estimated tokens below which a report does not change the ratio
MOST_OF_CHARACTER = 1.7  # tokens of one character, at most: a digit by itself
KEPT = 1 << 16  # longest text, in characters, that the cache of estimates keeps
RATIO = (0.5, 2.5)  # range of a ratio; a value outside is a mistake in the report


# Returns the system prompt and the tools of a request.
Beside = Callable[[], tuple[str, list[dict[str, Any]]]]


@dataclass(frozen=True)
class Budget:
    """Limits of a request, in tokens.

    high    from this size on, the view is made smaller
    low     size at which a compaction ends
    bound   a larger request is never sent; None: no limit
    ingest  the largest tool result that enters the view whole
    window  the model's, None if unknown
    """

    high: int
    low: int
    bound: int | None
    ingest: int
    window: int | None = None


EXACT = Budget(0, 0, None, 0)  # makes `measured` count even a small request


def budget_of(session: Session, model: str, facts: Mapping[str, Any]) -> Budget:
    """Return the budget of a session with one model.

    `facts`: of the model (`max_context`, `max_tokens`). The smallest known window counts, including
    one learned from a refusal. With `config.context.enabled: false`, only the window is a bound.
    """
    wanted = session["config"]["context"]
    known = (
        facts.get("max_context"),
        session["config"]["yaa"].get("max_context"),
        session.get("context", {}).get("windows", {}).get(model),
    )
    window = min((int(each) for each in known if each), default=None)
    bound = min(filter(None, (window, wanted["enabled"] and wanted["budget"])), default=None)
    high = int(wanted["budget"] * wanted["trigger_ratio"])
    if window is not None:
        answer = min(facts.get("max_tokens") or 0, window // 4)
        high = min(high, int(window * wanted["trigger_ratio"]) - answer)
    high = max(high, 1)
    ingest = wanted["ingest_tokens"] or max(high // 10, 500)
    return Budget(high, int(high * wanted["target_ratio"]), bound, ingest, window)


@dataclass(frozen=True)
class Measure:
    """Size of the next request, in tokens.

    `known` tokens are reported, `guessed` ones estimated by the model's `costs`, before the
    `ratio`.
    """

    known: int
    guessed: int
    ratio: float
    costs: Costs = ANY

    @property
    def total(self) -> int:
        """Return the estimate of all tokens."""
        return self.known + round(self.guessed * self.ratio)


def measured(
    session: Session, model: str, budget: Budget, beside: Beside, *, anchored: bool = True
) -> Measure:
    """Return the size of the request that would be sent now.

    Without an anchor everything is estimated, unless the request is certainly smaller than
    `budget.high`: its measure is then 0.
    """
    known, since = anchor(session) if anchored else (0, 0)
    ratio, costs = ratio_of(session, model), costs_of(model)
    if not since:
        messages = view(session)
        system, tools = beside()
        fixed = _estimated(system, costs) + (_estimated(dumps(tools), costs) if tools else 0)
        most = MOST_OF_CHARACTER * sum(map(_characters, messages)) + fixed
        if most * ratio < budget.high:
            return Measure(0, 0, ratio, costs)
        guessed = fixed + sum(of_message(message, costs) for message in messages)
        return Measure(0, guessed, ratio, costs)
    changes = changes_of(ops_of(session))
    guessed = 0
    for place in range(since, len(session["messages"])):
        message = session["messages"][place]
        if message["role"] != "error" and not message.get("open"):
            op = changes.get(message.get("id", ""))
            guessed += of_message(changed(message, op, place) if op else message, costs)
    return Measure(known, guessed, ratio, costs)


def whole(session: Session, model: str, beside: Beside) -> Measure:
    """Return the size of a refused request: the larger of the anchored and the full estimate.

    The anchor may be too small: a message was edited since the report, or the prompt has changed.
    """
    measures = [measured(session, model, EXACT, beside, anchored=each) for each in (True, False)]
    return max(measures, key=lambda measure: measure.total)


def guess(messages: list[dict[str, Any]], tools: list[dict[str, Any]], costs: Costs) -> int:
    """Return the estimated tokens of a request, by the model's `costs` and without reports."""
    fixed = _estimated(dumps(tools), costs) if tools else 0
    return fixed + sum(of_message(message, costs) for message in messages)


def _characters(message: dict[str, Any]) -> int:
    calls = message.get("tool_calls") or ()
    arguments = sum(len(str(call["function"]["arguments"])) + 50 for call in calls)
    content = message.get("content")
    text = (
        len(content)
        if isinstance(content, str)
        else len(text_of(content)) + MEDIA * len(content or ())
    )
    return text + arguments + 20


def _estimated(text: str, costs: Costs) -> int:
    """Return the estimated tokens of a prompt or of tools, cached unless it is long.

    Prompts and tools are the same for many requests. A text longer than KEPT is specific to a
    session and may be as large as a request can be.
    """
    return remembered(text, costs) if len(text) <= KEPT else estimate(text, costs)


remembered = lru_cache(maxsize=64)(estimate)


def anchor(session: Session) -> tuple[int, int]:
    """Return (tokens, messages that they cover) of the last report or compaction.

    The tokens are those of the request and its answer. (0, 0) without a report or a compaction.
    """
    records = session.get("context", {}).get("events")
    at, after = (records[-1]["at"], records[-1]["after"]) if records else (0, 0)
    for place in range(len(session["messages"]) - 1, -1, -1):
        if place < at:
            return after, at
        usage = reported(session["messages"][place])
        if usage:
            answer = usage.get("completion_tokens", 0) - usage.get("reasoning_tokens", 0)
            return usage["prompt_tokens"] + max(answer, 0), place + 1
    return 0, 0


def reported(message: dict[str, Any]) -> dict[str, Any] | None:
    """Return the usage that a provider reported for this message, None if it did not."""
    if message["role"] != "assistant" or message.get("open"):
        return None
    usage = (message.get("meta") or {}).get("usage") or {}
    return usage if usage.get("prompt_tokens") and not usage.get("estimated") else None


def ratio_of(session: Session, model: str) -> float:
    """Return the factor from estimated to real tokens of a model in this session."""
    return _bounded(calibration(session, model).get("ratio", UNREPORTED))


def calibration(session: Session, model: str) -> dict[str, Any]:
    """Return the `{ratio, n}` of a model in this session; {} before its first report."""
    found: dict[str, Any] = session.get("context", {}).get("calib", {}).get(model, {})
    return found


def learned(known: Mapping[str, Any], before: Measure, prompt_tokens: int) -> dict[str, Any] | None:
    """Return the calibration `{ratio, n}` after a report; None if it stays as it is.

    `known`: the calibration so far. `before`: the measure of the request. `prompt_tokens`: as
    reported for it. The ratio is the mean of the first reports, then of about the last seven.
    """
    if before.guessed < LEAST_NEW:
        return None
    seen = _bounded((prompt_tokens - before.known) / before.guessed)
    count = known.get("n", 0)
    weight = max(0.15, 1 / (count + 1))
    mean = (1 - weight) * _bounded(known["ratio"]) + weight * seen if count else seen
    return {"ratio": round(mean, 4), "n": min(count + 1, LARGEST_COUNT)}


def _bounded(ratio: float) -> float:
    return min(max(float(ratio), RATIO[0]), RATIO[1])
