"""How many tokens a text is, without a tokenizer.

Runs of characters are told apart by class and each class has its measured cost, a blend over five
current vocabularies (o200k, Qwen 3, Llama 3.1, DeepSeek V3, Gemma 3). On prose, code and data in
ten languages the mean error is near 5 %, where a quarter of the characters is off by 27-31 %.
What providers report corrects the rest (size.py). Pure.
"""

from __future__ import annotations

import re
from typing import Any

# Runs, first match wins. The look-aheads are bounded: without that, 40 kB of "aAaA" takes 14 s.
_RUN = re.compile(
    r"(?P<blob>(?=[A-Za-z+/=_-]{0,40}[0-9])(?=[0-9+/=_-]{0,40}[A-Za-z])[A-Za-z0-9+/=_-]{20,})"
    r"|(?P<word>[A-Z]?[a-z]+|[A-Z]+)"
    r"|(?P<number>[0-9]+)"
    r"|(?P<line>[ \t]*[\r\n]\s*)"
    r"|(?P<indent>[ \t]{2,})"
    r"|(?P<space>[ \t])"
    r"|(?P<han>[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+)"
    r"|(?P<kana>[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f]+)"
    r"|(?P<hangul>[\uac00-\ud7af\u1100-\u11ff]+)"
    r"|(?P<cyrillic>[\u0370-\u052f]+)"  # and Greek
    r"|(?P<accented>[\u00c0-\u024f\u1e00-\u1eff]+)"
    r"|(?P<mark>[!-/:-@\[-`{-~]+)"
    r"|(?P<wide>[\u3000-\u303f\uff00-\uff65\u2010-\u2027\u2030-\u205e]+)"
    r"|(?P<other>.)",
    re.DOTALL,
)
# Class -> (tokens for a run, tokens for each of its characters).
_COST: dict[str | None, tuple[float, float]] = {
    "blob": (0, 0.61),
    "number": (0.6, 0.53),
    "line": (1.31, 0),
    "indent": (1.09, 0),
    "space": (0, 0),
    "han": (0, 0.74),
    "kana": (0, 0.64),
    "hangul": (0, 0.81),
    "cyrillic": (0, 0.31),
    "accented": (0, 1.25),
    "mark": (0.81, 0.07),
    "wide": (0, 0.69),
    "other": (0, 0.42),
}
_WORD, _LONG_WORD, _LONG = 0.87, 0.34, 7  # a word is one token; beyond 7 letters it costs more

SAMPLED = 8_000  # characters from which on a text is judged by samples of it
SAMPLE = 1_000
MESSAGE = 4  # tokens around each message: role and separators
CALL = 8  # around each tool call
MEDIA = 1_000  # an image or a file, whatever its size: providers scale it to about this


def estimate(text: str) -> int:
    """Tokens of a text. A long one is judged by four samples, so the cost is bounded (2 ms)."""
    if len(text) <= SAMPLED:
        return round(_cost(text))
    starts = range(0, len(text) - SAMPLE + 1, (len(text) - SAMPLE) // 3)
    sampled = sum(_cost(text[start : start + SAMPLE]) for start in starts)
    return round(sampled / (len(starts) * SAMPLE) * len(text))


def _cost(text: str) -> float:
    total = 0.0
    for match in _RUN.finditer(text):
        length = match.end() - match.start()
        if match.lastgroup == "word":
            total += _WORD + (_LONG_WORD * (length - _LONG) if length > _LONG else 0)
        else:
            run, each = _COST[match.lastgroup]
            total += run + each * length
    return total


def of_message(message: dict[str, Any]) -> int:
    """Tokens of one message of a view: its content and its calls."""
    total = MESSAGE + of_content(message.get("content"))
    for call in message.get("tool_calls") or ():
        function = call["function"]
        arguments = function["arguments"]
        text = arguments if isinstance(arguments, str) else str(arguments)
        total += CALL + estimate(function["name"]) + estimate(text)
    return total


def of_content(content: Any) -> int:
    if isinstance(content, str):
        return estimate(content)
    return sum(
        estimate(part["text"]) if isinstance(part.get("text"), str) else MEDIA
        for part in content or ()
        if isinstance(part, dict)
    )
