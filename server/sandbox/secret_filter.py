"""Mask the secrets of a call in its output, both in whole values and in a stream of text.

Only exact values are found. A secret in another form (reversed, as base64) is not masked; the
tool's author has to prevent that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..telemetry import redact

SHORTEST_PART = 4  # characters of a secret at the end of a text that are masked


class Veil:
    """A filter for these secrets, given the longest first."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(secrets)
        self._held = ""

    def passing(self, text: str) -> str:
        """Return the part of a stream that may be shown.

        Its end is held back while it could be the beginning of a secret.
        """
        if not self._secrets:
            return text
        text = redact.cleared(self._held + text, self._secrets)
        keep = max((_begun(text, secret) for secret in self._secrets), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def rest(self) -> str:
        """Return what was held back, at the end of the stream."""
        held, self._held = self._held, ""
        return str(self.whole(held))

    def whole(self, value: Any) -> Any:
        """Return a copy of a JSON-shaped value with the secrets masked.

        Of a text that was cut within a secret, the part of the secret is masked too.
        """
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
    """Return the length of the longest proper prefix of the secret that ends the text."""
    most = min(len(text), len(secret) - 1)
    return next((n for n in range(most, 0, -1) if text.endswith(secret[:n])), 0)
