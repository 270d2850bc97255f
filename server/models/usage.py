"""Tokens and cost of a model call.

Converts the provider's last usage object to the session's names and prices it. Money is in
millionths of the currency unit, as integers: sums of floats drift from the amount paid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..strict_json import LARGEST_COUNT

_BYTES_PER_TOKEN = 4  # off by 20-26 % for mixed text; estimates are marked as such


def read(raw: Mapping[str, Any] | None, sent: int, received: int) -> dict[str, Any]:
    """Return the session's usage object from a provider's, or an estimate if it reported nothing.

    `sent` and `received`: bytes of the request and of the answer, for the estimate. Token counts:
    `prompt_tokens`, `completion_tokens`, `total_tokens`; `reasoning_tokens`, `cached_tokens` and
    `cache_write_tokens` where reported; an estimate has `estimated`.
    """
    raw = raw or {}
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
    if total is not None and hit is written is None:
        completion += _beside(raw, total - prompt - completion)
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": min(prompt + completion, LARGEST_COUNT) if total is None else total,
    }
    inside = _inner(raw, "prompt_tokens_details", "input_tokens_details")
    reasoning = _thought(raw)
    cached = _count(inside, "cached_tokens")
    if cached is None:  # DeepSeek and Moonshot have it at the top level
        cached = hit if hit is not None else _count(raw, "prompt_cache_hit_tokens", "cached_tokens")
    if written is None:
        written = _count(inside, "cache_write_tokens")
    if reasoning is not None:
        usage["reasoning_tokens"] = reasoning
    if cached is not None:
        usage["cached_tokens"] = cached
    if written:
        usage["cache_write_tokens"] = written
    return usage


def _thought(raw: Mapping[str, Any]) -> int | None:
    answer = _inner(raw, "completion_tokens_details", "output_tokens_details")
    return _count(answer, "reasoning_tokens", "thinking_tokens")


def _beside(raw: Mapping[str, Any], missing: int) -> int:
    """Return the output tokens that are in the total, but not in prompt or completion.

    xAI and Gemini count reasoning, which is billed as output, beside the completion.
    """
    thought = _thought(raw)
    return max(missing if thought is None else min(missing, thought), 0)


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


def _inner(raw: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
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
