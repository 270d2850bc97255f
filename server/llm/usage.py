"""What a call used and cost.

In the walk: `decode` keeps the provider's last usage object; this file reads its dialects into the
session's names and prices it. Money is in millionths of the unit, as integers: floats of many
calls do not add up to what was paid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..jsontext import LARGEST_COUNT

_BYTES_PER_TOKEN = 4  # within 20-26 % for mixed text; estimates are marked as such


def read(raw: Mapping[str, Any] | None, sent: int, received: int) -> dict[str, Any]:
    """The session's usage object from a provider's; estimated from the bytes sent and received
    where it told nothing."""
    raw = raw or {}
    prompt = _count(raw, "prompt_tokens", "input_tokens")
    completion = _count(raw, "completion_tokens", "output_tokens")
    total = _count(raw, "total_tokens")
    if prompt is completion is total is None:
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
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": total if total is not None else prompt + completion,
    }
    reasoning = _count(_inner(raw, "completion_tokens_details"), "reasoning_tokens")
    cached = _count(_inner(raw, "prompt_tokens_details"), "cached_tokens")
    if cached is None:  # DeepSeek and Moonshot put it at the top
        cached = _count(raw, "prompt_cache_hit_tokens", "cached_tokens")
    if reasoning is not None:
        usage["reasoning_tokens"] = reasoning
    if cached is not None:
        usage["cached_tokens"] = cached
    return usage


def price(usage: Mapping[str, Any], costs: Mapping[str, float]) -> int | None:
    """Millionths of the currency unit, or None when no price is known.

    `costs` are per 1,000 tokens: `total`, or `input` and `output`, and `cached` for the part of
    the input that the provider had in its cache.
    """
    if "input" in costs or "output" in costs:
        cached = min(usage.get("cached_tokens", 0), usage["prompt_tokens"])
        fresh = costs.get("input", 0)
        cost = (usage["prompt_tokens"] - cached) * fresh + cached * costs.get("cached", fresh)
        cost += usage["completion_tokens"] * costs.get("output", 0)
    elif "total" in costs:
        cost = usage["total_tokens"] * costs["total"]
    else:
        return None
    return int(round(min(cost * 1000, LARGEST_COUNT)))


def _inner(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = raw.get(key)
    return value if isinstance(value, dict) else {}


def _count(raw: Mapping[str, Any], *names: str) -> int | None:
    """The first of these that is a number of tokens."""
    for name in names:
        value = raw.get(name)
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and 0 <= value <= LARGEST_COUNT
        ):
            return int(value)
    return None
