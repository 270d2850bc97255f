"""How an answer ended, if not by the model's own word: by its limit of tokens, a filter or a fault.

In the walk: `models/decoder` asks before it closes an answer, `calls` before the last call of one
is run, and what tells people and programs of an answer says that it is not whole. In the document
is the provider's own word (`meta.finish_reason`); client/js/core/session.js reads it alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Ending = Literal["", "length", "filter", "broken"]

# The words of Chat Completions, and of Anthropic, Mistral, Z.ai, Gemini, DeepSeek and vLLM.
_WORDS: dict[Ending, tuple[str, ...]] = {
    "length": ("length", "max_tokens", "model_length", "model_context_window_exceeded"),
    "filter": ("content_filter", "sensitive", "refusal", "safety", "recitation"),
    "broken": ("error", "network_error", "insufficient_system_resource", "abort", "incomplete"),
}
_ENDINGS: dict[str | None, Ending] = {word: how for how, words in _WORDS.items() for word in words}


def ending(reason: str | None) -> Ending:
    """By a provider's word for it; empty where that is the model's own."""
    return _ENDINGS.get(reason, "")


def ended_by(message: Mapping[str, Any]) -> Ending:
    """Of a message of the model."""
    reason = (message.get("meta") or {}).get("finish_reason")
    return ending(reason if isinstance(reason, str) else None)
