"""CORS headers, and the origin check of a server that needs no key.

A foreign page has no key, so any origin is allowed by default where a key is needed. Without keys
only the origin separates the server's own page from any other page in the owner's browser.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..problem import Problem

EXPOSE_HEADERS = (
    "accept-ranges, allow, content-disposition, content-range, etag, retry-after, x-heartbeat, "
    "x-request-id, x-should-retry"
)
_ANY = "*"
_NO_ORIGIN = "null"  # sent by pages from disk and by sandboxed frames of any page


class Origins:
    """The origins whose pages may use the server.

    `allowed` is `server.cors_origins`. If `key_needed` is false, `*` in it has no effect, and the
    server's own page needs no entry.
    """

    def __init__(self, allowed: Collection[str] = (_ANY,), *, key_needed: bool = True) -> None:
        self._allowed = frozenset(allowed) - {_ANY}
        self._any = key_needed and _ANY in allowed
        self._key_needed = key_needed

    @classmethod
    def of(cls, server: Mapping[str, Any]) -> Origins:
        """Return the origins of the `server` section of the configuration."""
        return cls(server["cors_origins"], key_needed=server["auth_required"])

    def headers(self, asked: Mapping[str, str]) -> dict[str, str]:
        """Return the CORS headers of an answer.

        `asked`: headers of the request, empty if it could not be read.
        """
        headers = {}
        if self._any:  # without Allow-Credentials, so foreign pages send no cookies
            headers["Access-Control-Allow-Origin"] = _ANY
        else:
            headers["Vary"] = "Origin"
            origin = asked.get("origin", "")
            if origin in self._allowed:  # equal to a configured string, so safe in a header
                headers["Access-Control-Allow-Origin"] = origin
        if "Access-Control-Allow-Origin" in headers:
            headers["Access-Control-Expose-Headers"] = EXPOSE_HEADERS
        return headers

    def check(self, asked: Mapping[str, str]) -> None:
        """Refuse requests of foreign pages to a server that needs no key. Raises Problem.

        `asked`: headers of the request. Browsers add `Origin` to each request that has a body or is
        answered across origins, and `Sec-Fetch-Site` to all requests to this machine. Pages cannot
        change either.
        """
        if self._key_needed:
            return
        origin, site = asked.get("origin", ""), asked.get("sec-fetch-site", "")
        if origin in self._allowed:
            return
        if not origin:
            if site in ("", "none", "same-origin"):  # a program, the address bar, the server's page
                return
            origin = "another site"
        elif site in ("", "same-origin") and _authority(origin) == asked.get("host", "-").lower():
            return
        raise Problem("origin_not_allowed", _refusal(origin))


def _authority(origin: str) -> str:
    """Return `host:port` of an origin as in `Host`. Both omit the default port."""
    return origin.partition("://")[2].lower()


def _refusal(origin: str) -> str:
    if origin == _NO_ORIGIN:
        return (
            "This server needs no key, so it cannot tell a page from disk (Origin: null) from a "
            "frame in any web page. Open the client at the server's own address, or let the server "
            "require a key."
        )
    return (
        f"This server needs no key, so pages of {origin[:200]} may not use it. The owner can add "
        "their origin to server.cors_origins, or require a key."
    )
