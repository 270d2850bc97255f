"""What an API of the owner's is told of whoever asks: headers and cookies of the request at hand.

In the walk: the router holds what `forward` of `server.rest` names, for as long as the request
lasts, and tools/http_api.py takes it when a call is made. The rule of the file: nothing that is
held is shown, copied into anything that is written, or there after its request; and no key of this
server is held at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextvars import ContextVar
from urllib.parse import unquote

from ..telemetry.redact import MIN_SECRET

COOKIE = "cookie:"  # begins the name of a cookie, in a list of what is forwarded

# Headers of the message and of its way here, and those that say who may use this server.
NEVER = (
    "host|connection|content-[a-z-]+|transfer-encoding|te|trailer|upgrade|expect|keep-alive|cookie"
    "|origin|referer|forwarded|x-forwarded-[a-z-]+|proxy-[a-z-]+|accept-encoding|yaa-api-key"
    "|last-event-id|idempotency-key|traceparent|tracestate|baggage|sec-[a-z-]+"
    "|access-control-[a-z-]+"
)
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
NAME = rf"(?i:(?!(?:{NEVER})\Z){_TOKEN}|{COOKIE}{_TOKEN})"  # what may be forwarded


class Over(Exception):
    """The request is over, and what it brought is gone."""


class Caller:
    """Of one request what may be forwarded. `wanted`: names of headers, and of cookies behind
    COOKIE. `is_key`: whether a text is a key of this server, which goes nowhere."""

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

    def forwarded(self, names: Collection[str]) -> dict[str, str]:
        """The headers of these names, and one `cookie` of these cookies. Raises Over."""
        if self._over:
            raise Over
        found = {low: self._headers[low] for n in names if (low := n.lower()) in self._headers}
        known = {name[len(COOKIE) :] for name in names if is_cookie(name)}
        if cookies := "; ".join(f"{n}={v}" for n, v in self._cookies if n in known):
            found["cookie"] = cookies
        return found

    def forget(self) -> None:
        """Let go of everything: the request is over. Tasks that it began may still hold this."""
        self._over = True
        self._headers, self._cookies = {}, []

    def __repr__(self) -> str:
        return "Caller(…)"


current: ContextVar[Caller | None] = ContextVar("yaa_caller", default=None)


def forwarded(names: Collection[str]) -> dict[str, str]:
    """What of the current request goes to an API that is to get `names`; nothing where there is no
    request, as on the command line. Raises Over."""
    held = current.get() if names else None
    return held.forwarded(names) if held else {}


def is_cookie(name: str) -> bool:
    return name.lower().startswith(COOKIE)


def secrets(headers: Mapping[str, str]) -> list[str]:
    """Every form in which an answer may repeat what was forwarded, the longest first. Shorter ones
    than MIN_SECRET are parts of words."""
    found: set[str] = set()
    for name, value in headers.items():
        values = [v for _, v in _cookies(value)] if name == "cookie" else []
        for text in (value, value.partition(" ")[2].strip(), *values):
            found |= {text, text.strip('"'), unquote(text), _as_utf8(text)}
    return sorted((text for text in found if len(text) >= MIN_SECRET), key=len, reverse=True)


def _cookies(header: str) -> Iterator[tuple[str, str]]:
    """The pairs of a `Cookie` header; repeated headers come joined by a comma, which is in no
    name."""
    for pair in re.split(r";|, (?=[^\s;=,]+=)", header):
        name, equals, value = pair.strip().partition("=")
        if equals:
            yield name.strip(), value.strip()


def _as_utf8(text: str) -> str:
    """A header's bytes as most servers read them."""
    return text.encode("latin-1", "replace").decode("utf-8", "replace")
