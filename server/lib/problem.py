"""Errors of requests: `Problem`, and the table of its codes.

A `Problem` is raised where a request is found to be wrong and translated once, by whoever answers,
into a status and a JSON body for both RFC 9457 clients and OpenAI SDKs. It contains only text for
the client: no paths, traces or secrets. A program adds the codes of its own to CODES.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

CODES: dict[str, tuple[int, str]] = {
    "bad_request": (400, "The request is not valid HTTP"),
    "bad_json": (400, "The body is not valid JSON"),
    "unauthorized": (401, "A valid API key is required"),
    "forbidden": (403, "This is not allowed"),
    "host_not_allowed": (403, "This host name is not served here"),
    "origin_not_allowed": (403, "Pages of this origin may not use this server"),
    "not_found": (404, "There is nothing here"),
    "method_not_allowed": (405, "This method is not supported here"),
    "not_acceptable": (406, "No acceptable representation"),
    "timeout": (408, "The request took too long to arrive"),
    "body_too_large": (413, "The body is too large"),
    "uri_too_long": (414, "The request line is too long"),
    "unsupported_media_type": (415, "Send application/json"),
    "range_not_satisfiable": (416, "The range lies outside the file"),
    "expectation_failed": (417, "This expectation is not supported"),
    "request_invalid": (422, "The request does not say what is needed"),
    "busy": (429, "Too much at once"),
    "rate_limited": (429, "Too many requests in too short a time"),
    "headers_too_large": (431, "The request head is too large"),
    "internal": (500, "The server made a mistake"),
    "not_implemented": (501, "This method is not known"),
    "overloaded": (503, "This server takes no more now"),
    "http_version": (505, "Only HTTP/1.1 and HTTP/1.0 are spoken here"),
    "disk_full": (507, "The disk is full"),
    "disk_failed": (507, "The disk takes nothing"),
}

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
BROKEN = (errno.EROFS, errno.EIO)


class Problem(Exception):
    """A request that cannot be served, with all the facts for the client.

    `errors` lists the places: `{"pointer": RFC 6901 pointer into the body, "detail": text}`.
    `facts`: further members of the body.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        errors: Iterable[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        status: int | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.status = status or CODES[code][0]
        self.title = CODES[code][1]
        self.detail = detail
        self.errors = [dict(error) for error in errors]
        self.headers = dict(headers or {})
        self.facts = dict(facts or {})

    def body(self) -> dict[str, Any]:
        """Return the RFC 9457 members, and the `error` object that OpenAI SDKs read."""
        first = self.errors[0]["pointer"] if self.errors else None
        body = {
            "type": f"urn:yaa:error:{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "errors": self.errors,
            "error": {
                "message": self.detail,
                "type": "server_error" if self.status >= 500 else "invalid_request_error",
                "code": self.code,
                "param": first,
            },
        }
        return {**self.facts, **body}


def disk_problem(error: OSError) -> Problem | None:
    """Return the Problem of a disk that takes nothing, after which nothing was changed; else None.

    EACCES and EPERM count only with the name of a file: sockets have them too.
    """
    why = error.strerror
    if error.errno in FULL:
        text = f"The server's disk has no room: {why}; free space on the server, and ask again"
        return Problem("disk_full", text)
    if error.errno in BROKEN or isinstance(error, PermissionError) and error.filename:
        text = f"The server cannot write: {why}; once it can, ask again"
        return Problem("disk_failed", text)
    return None


@contextmanager
def translate_problems(change: Callable[[Problem], Problem]) -> Iterator[None]:
    """Raise what `change` makes of a Problem that is raised inside."""
    try:
        yield
    except Problem as problem:
        raise change(problem) from None


def refuse(code: str, errors: Sequence[Mapping[str, str]], status: int | None = None) -> None:
    """Raise the Problem of these errors, if there are any."""
    if errors:
        more = f" ({len(errors) - 1} more)" if len(errors) > 1 else ""
        detail = f"{errors[0]['pointer'] or '/'}: {errors[0]['detail']}{more}"
        raise Problem(code, detail, errors=errors, status=status)
