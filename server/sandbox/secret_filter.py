"""Secrets that a call was given, out of what it says: whole values, and text as it comes.

The rule of the file: exact values only. Whoever writes one in another form (reversed, as base64)
is not stopped; that is the author's part.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..telemetry import redact

SHORTEST_PART = 4  # characters of the beginning of a secret that a cut text may end with


class Veil:
    """`secrets`: the longest first."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(secrets)
        self._held = ""

    def passing(self, text: str) -> str:
        """What of a stream may be shown: its end is held back while it may begin a secret."""
        if not self._secrets:
            return text
        text = redact.cleared(self._held + text, self._secrets)
        keep = max((_begun(text, secret) for secret in self._secrets), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def rest(self) -> str:
        """What was held back, at the end of the stream."""
        held, self._held = self._held, ""
        return str(self.whole(held))

    def whole(self, value: Any) -> Any:
        """A JSON-shaped value without them; a text that was cut in one loses the part."""
        if not self._secrets:
            return value
        if isinstance(value, str):
            text: str = redact.cleared(value, self._secrets)
            part = max(_begun(text, secret) for secret in self._secrets)
            return text[: len(text) - part] + redact.MASK if part >= SHORTEST_PART else text
        if isinstance(value, dict):
            return {self.whole(key): self.whole(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.whole(item) for item in value)
        return value


def _begun(text: str, secret: str) -> int:
    """How many characters at the end of a text are the beginning of a secret, but not all of it."""
    most = min(len(text), len(secret) - 1)
    return next((n for n in range(most, 0, -1) if text.endswith(secret[:n])), 0)
