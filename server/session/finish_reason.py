"""Classify how an answer ended: normally, or by its token limit, a filter or a fault.

The document has the provider's own value (`meta.finish_reason`). Used by models/decoder before it
closes an answer, before the last call of an answer is run, and to report that an answer is
incomplete. client/js/core/session.js has the same table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Ending = Literal["", "length", "filter", "broken"]

# Values of Chat Completions, Anthropic, Mistral, Z.ai, Gemini, DeepSeek and vLLM.
_WORDS: dict[Ending, tuple[str, ...]] = {
    "length": ("length", "max_tokens", "model_length", "model_context_window_exceeded"),
    "filter": ("content_filter", "sensitive", "refusal", "safety", "recitation"),
    "broken": ("error", "network_error", "insufficient_system_resource", "abort", "incomplete"),
}
_ENDINGS: dict[str | None, Ending] = {word: how for how, words in _WORDS.items() for word in words}


def ending(reason: str | None) -> Ending:
    """Return the ending for a provider's value, "" for a normal or unknown one."""
    return _ENDINGS.get(reason, "")


def ended_by(message: Mapping[str, Any]) -> Ending:
    """Return the ending of an assistant's message, "" for a normal or unknown one."""
    reason = (message.get("meta") or {}).get("finish_reason")
    return ending(reason if isinstance(reason, str) else None)
