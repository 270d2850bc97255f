"""The headers of the current request, for calls that are made as whoever asks.

They are there as long as the request: nothing writes them, and what runs longer finds them gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar


class RequestOver(Exception):
    """The request has ended, and its headers are gone. Its text is for a model."""


class RequestHeaders:
    """The headers of one request. `is_key`: whether a value contains a key of this server."""

    __slots__ = ("_sent", "is_key")

    def __init__(self, sent: Mapping[str, str], is_key: Callable[[str], bool]) -> None:
        """`sent`: by names in lower case."""
        self._sent: Mapping[str, str] | None = sent
        self.is_key = is_key

    def get(self, name: str) -> str:
        """Return a header, "" if it was not sent. Raises RequestOver."""
        if self._sent is None:
            raise RequestOver("the request that says who is asking is over; ask once more")
        return self._sent.get(name.lower(), "")

    def forget(self) -> None:
        """Drop all values: the request has ended, but its tasks may still hold this object."""
        self._sent = None


current: ContextVar[RequestHeaders | None] = ContextVar("yaa_request_headers", default=None)
