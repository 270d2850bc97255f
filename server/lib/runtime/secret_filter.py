"""Mask exact secrets in texts, in JSON-shaped values and in streams of text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, AnyStr

MASK = "***"
SHORTEST_PART = 4  # characters of a secret at the end of a text that are masked


def remove_texts(value: Any, secrets: Iterable[str]) -> Any:
    """Return a copy of JSON-shaped `value` with these exact texts masked and nothing else changed.

    For results that people and models go on working with.
    """
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, MASK)
        return value
    if isinstance(value, dict):
        return {
            remove_texts(key, secrets): remove_texts(item, secrets) for key, item in value.items()
        }
    return [remove_texts(item, secrets) for item in value] if isinstance(value, list) else value


class SecretFilter:
    """A filter for exact values, longest first, in whole values and in a stream of text.

    A secret in another form (reversed, as base64) is not masked; the tool's author has to prevent
    that.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(secrets)
        self._rest = ""

    def pass_on(self, text: str) -> str:
        """Return the part of a stream that may be shown.

        Its end is held back while it could be the beginning of a secret.
        """
        if not self._secrets:
            return text
        text = remove_texts(self._rest + text, self._secrets)
        keep = max((prefix_at_end(text, secret) for secret in self._secrets), default=0)
        self._rest = text[len(text) - keep :]
        return text[: len(text) - keep]

    def end(self) -> str:
        """Return what was held back, at the end of the stream."""
        held, self._rest = self._rest, ""
        return str(self.mask(held))

    def mask(self, value: Any) -> Any:
        """Return a copy of a JSON-shaped value with the secrets masked.

        Of a text that was cut within a secret, the part of the secret is masked too.
        """
        if not self._secrets:
            return value
        if isinstance(value, str):
            text: str = remove_texts(value, self._secrets)
            part = max(prefix_at_end(text, secret) for secret in self._secrets)
            return text[: len(text) - part] + MASK if part >= SHORTEST_PART else text
        if isinstance(value, dict):
            return {self.mask(key): self.mask(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.mask(item) for item in value)
        return value


def prefix_at_end(text: AnyStr, mark: AnyStr) -> int:
    """Return the length of the longest proper prefix of the mark that ends the text."""
    most = min(len(text), len(mark) - 1)
    return next((n for n in range(most, 0, -1) if text.endswith(mark[:n])), 0)
