"""Headers and cookies of the current request that are forwarded to the owner's HTTP APIs.

operations.py asks for what `forward` of `server.rest` names when a call is made. The values are
never shown, never written anywhere, and gone after the request. Keys of this server stay here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from urllib.parse import unquote

from ...api import request_headers
from ...telemetry.redact import MIN_SECRET
from .extension import COOKIE


def headers_to_forward(names: Collection[str]) -> dict[str, str]:
    """Return the headers of the current request for an API that gets `names`.

    {} outside of a request, as on the command line. Raises RequestOver.
    """
    held = request_headers.current.get()
    if held is None or not names:
        return {}
    headers = {name.lower(): held.get(name) for name in header_names(names)}
    known, sent = cookie_names(names), _cookies(held.get("cookie"))
    pairs = [f"{name}={value}" for name, value in sent if name in known and not held.is_key(value)]
    headers["cookie"] = "; ".join(pairs)
    return {name: value for name, value in headers.items() if value and not held.is_key(value)}


def header_names(names: Iterable[str]) -> set[str]:
    """Return the headers among the names of `forward`."""
    return {name for name in names if not name.lower().startswith(COOKIE)}


def cookie_names(names: Collection[str]) -> set[str]:
    """Return the cookies among the names of `forward`."""
    return {name[len(COOKIE) :] for name in {*names} - header_names(names)}


def secrets(headers: Mapping[str, str]) -> list[str]:
    """Return every form in which a response may repeat the forwarded values, the longest first.

    Forms shorter than MIN_SECRET are left out: they are parts of ordinary words.
    """
    found: set[str] = set()
    for name, value in headers.items():
        values = [v for _, v in _cookies(value)] if name == "cookie" else []
        for text in (value, value.partition(" ")[2].strip(), *values):
            as_utf8 = text.encode("latin-1", "replace").decode("utf-8", "replace")
            found |= {text, text.strip('"'), unquote(text), as_utf8}  # most servers read UTF-8
    return sorted((text for text in found if len(text) >= MIN_SECRET), key=len, reverse=True)


def _cookies(header: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a `Cookie` header.

    Repeated headers are joined by a comma, which no name contains.
    """
    for pair in re.split(r";|, (?=[^\s;=,]+=)", header):
        name, equals, value = pair.strip().partition("=")
        if equals:
            yield name.strip(), value.strip()
