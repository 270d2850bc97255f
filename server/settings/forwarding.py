"""Headers and cookies of the current request that are forwarded to the owner's HTTP APIs.

The router stores what `forward` of `server.rest` names for the duration of the request;
tools/http_api.py reads it when a tool call is made. The values are never shown, never written
anywhere, and gone after the request. Keys of this server are not stored at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextvars import ContextVar
from urllib.parse import unquote

from ..telemetry.redact import MIN_SECRET

COOKIE = "cookie:"  # prefix of the name of a cookie in `forward`

# Headers of the message and of its transport, and those that authenticate to this server.
NEVER = (
    "host|connection|content-[a-z-]+|transfer-encoding|te|trailer|upgrade|expect|keep-alive|cookie"
    "|origin|referer|forwarded|x-forwarded-[a-z-]+|proxy-[a-z-]+|accept-encoding|yaa-api-key"
    "|last-event-id|idempotency-key|traceparent|tracestate|baggage|sec-[a-z-]+"
    "|access-control-[a-z-]+"
)
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
NAME = rf"(?i:(?!(?:{NEVER})\Z){_TOKEN}|{COOKIE}{_TOKEN})"  # what may be forwarded


class RequestOver(Exception):
    """The request has ended, and its values are gone."""


class ForwardedValues:
    """The headers and cookies of one request that may be forwarded.

    `sent`: the request's headers, names in lower case. `wanted`: names of headers, and of cookies
    prefixed with COOKIE. `is_key`: whether a text is a key of this server; such values are left
    out.
    """

    __slots__ = ("_cookies", "_headers", "_over")

    def __init__(
        self, sent: Mapping[str, str], wanted: Collection[str], is_key: Callable[[str], bool]
    ) -> None:
        self._over = False
        names = [name for name in wanted if not is_cookie(name)]
        self._headers = {
            name.lower(): value
            for name in names
            if (value := sent.get(name.lower())) and not is_key(value)
        }
        known = {name[len(COOKIE) :] for name in wanted if is_cookie(name)}
        pairs = _cookies(sent.get("cookie", "")) if known else ()
        self._cookies = [(n, v) for n, v in pairs if n in known and not is_key(v)]

    def select_headers(self, names: Collection[str]) -> dict[str, str]:
        """Return the headers of these names, and one `cookie` of them. Raises RequestOver."""
        if self._over:
            raise RequestOver
        found = {low: self._headers[low] for n in names if (low := n.lower()) in self._headers}
        known = {name[len(COOKIE) :] for name in names if is_cookie(name)}
        if cookies := "; ".join(f"{n}={v}" for n, v in self._cookies if n in known):
            found["cookie"] = cookies
        return found

    def forget(self) -> None:
        """Drop all values: the request has ended, but its tasks may still hold this object."""
        self._over = True
        self._headers, self._cookies = {}, []

    def __repr__(self) -> str:
        return "Caller(…)"


current: ContextVar[ForwardedValues | None] = ContextVar("yaa_caller", default=None)


def headers_to_forward(names: Collection[str]) -> dict[str, str]:
    """Return the headers of the current request for an API that gets `names`.

    {} outside of a request, as on the command line. Raises RequestOver.
    """
    held = current.get() if names else None
    return held.select_headers(names) if held else {}


def is_cookie(name: str) -> bool:
    """Return whether a name in a list of `forward` is that of a cookie."""
    return name.lower().startswith(COOKIE)


def secrets(headers: Mapping[str, str]) -> list[str]:
    """Return every form in which a response may repeat the forwarded values, the longest first.

    Forms shorter than MIN_SECRET are left out: they are parts of ordinary words.
    """
    found: set[str] = set()
    for name, value in headers.items():
        values = [v for _, v in _cookies(value)] if name == "cookie" else []
        for text in (value, value.partition(" ")[2].strip(), *values):
            found |= {text, text.strip('"'), unquote(text), _as_utf8(text)}
    return sorted((text for text in found if len(text) >= MIN_SECRET), key=len, reverse=True)


def _cookies(header: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a `Cookie` header.

    Repeated headers are joined by a comma, which no name contains.
    """
    for pair in re.split(r";|, (?=[^\s;=,]+=)", header):
        name, equals, value = pair.strip().partition("=")
        if equals:
            yield name.strip(), value.strip()


def _as_utf8(text: str) -> str:
    """Return a header's bytes decoded as UTF-8, as most servers do."""
    return text.encode("latin-1", "replace").decode("utf-8", "replace")
