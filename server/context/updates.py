"""Changes of `session.context` after compactions, usage reports and refusals, as events.

Used by the loop and by side_calls.py. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..session.events import Event, put, state_delta
from ..strict_json import LARGEST_COUNT
from .budget import (
    Beside,
    Measure,
    budget_of,
    calibration,
    guess,
    learned,
    ratio_of,
    reported,
    whole,
)
from .compact import Compaction, planned
from .ops import Op
from .tokens import costs_of

Session = dict[str, Any]
Change = dict[str, Any]
Request = tuple[list[dict[str, Any]], list[dict[str, Any]]]  # messages and tools

PROMPT_CUT = "prompt_cut"  # a code of `run.warnings`
CUT = (
    "The model counted {} tokens of the about {} that it was sent: what answers there seems to cut"
    " off what is too long, the rules and tools first. Give the model a larger context there"
    " (Ollama: OLLAMA_CONTEXT_LENGTH), or set max_context to what it has."
)
LEAST_CUT = 1000  # missing tokens, above which a report counts as one of a cut prompt
LEAST_WINDOW = 1000  # tokens; a smaller count is not one of the whole prompt

REFUSED_TARGET = 0.35  # of the high watermark, after a provider has refused a request


def compressed(session: Session, ops: list[Op], record: dict[str, Any], *others: Change) -> Event:
    """Return the STATE_DELTA of a compaction, which appends its operations and its record.

    It is sent under the alias `context.compress`.
    """
    event = state_delta(*_appended(session, "ops", ops), *_appended(session, "events", [record]))
    event["metadata"] = {"yaa": {"compaction": record}}
    return event


def _appended(session: Session, name: str, items: list[Any]) -> list[Change]:
    if name in session["context"]:
        return [put("context", name, "-", value=item) for item in items]
    return [put("context", name, value=items)]


def calibrated(
    session: Session, model: str, before: Measure, usage: Mapping[str, Any], sent: Request
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
    fresh = learned(calibration(session, model), before, usage["prompt_tokens"])
    if fresh is None:
        return []
    return [put("context", "calib", value={**session["context"].get("calib", {}), model: fresh})]


def _cut_to(session: Session, model: str, counted: int, sent: Request) -> int:
    """Return about how many tokens were sent, 0 unless the provider counted less than half.

    Ollama drops what exceeds its window, system prompt and tools first, without an error
    (https://github.com/ollama/ollama/issues/18107). The request is not measured if the count has
    grown since the previous report, as it does for a longer request that fits. Requests with
    pictures are skipped, because their cost differs tenfold between models.
    """
    if counted < LEAST_WINDOW or any(_has_pictures(message) for message in sent[0]):
        return 0
    earlier = (reported(message) for message in reversed(session["messages"][:-1]))
    before = next(filter(None, earlier), None)
    if before is not None and counted > before["prompt_tokens"]:
        return 0
    guessed = round(guess(*sent, costs_of(model)) * ratio_of(session, model))
    return guessed if guessed > 2 * counted and guessed - counted > LEAST_CUT else 0


def _has_pictures(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(part.get("type") != "text" for part in content)


def after_refusal(
    session: Session, model: str, facts: Mapping[str, Any], beside: Beside, told: int | None
) -> tuple[Change, Compaction | None]:
    """Return what follows from a request refused as too large: (the learned window, a compaction).

    `told`: the window that the provider named; else 90 % of the estimate counts. The compaction
    makes the next request fit; None if there is none.
    """
    sent = whole(session, model, beside)
    known = type(told) is int and 0 < told <= LARGEST_COUNT
    window = told if known else max(sent.total * 9 // 10, 1)
    windows = {**session["context"].get("windows", {}), model: window}
    wiser = {**session, "context": {**session["context"], "windows": windows}}
    compaction = planned(wiser, budget_of(wiser, model, facts), sent, target=REFUSED_TARGET)
    return put("context", "windows", value=windows), compaction
