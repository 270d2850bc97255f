"""Carry bytes between requests and the processes of workspaces: ranges, uploads in pieces.

A process takes and gives pieces, so that the memory of the server does not grow with a file. What
a process refuses becomes a Problem that names the next step.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from ..errors import Problem
from ..json_types import Json
from ..lib.runtime.command import COMMAND
from ..session.workspace_error import WorkspaceError
from ..tools.session_files import Workspace as Workspace
from .body import read_bytes
from .router import RequestContext
from .static import byte_range, matches

PIECE = 1 << 20  # bytes of an upload that a process takes at once
MAX_PARAMETERS = 1_000  # of a query; paths of an archive
HEADERS = {  # the content is untrusted
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": "no-cache",
    "Accept-Ranges": "bytes",
}
# Types that browsers show without running anything in them; other files are bytes.
PASSIVE = re.compile(r"(?:audio|video)/[\w.+-]+|image/(?:avif|bmp|gif|jpeg|png|webp)|text/plain")

_CONTENT_RANGE = re.compile(r"bytes (?:([0-9]{1,15})-([0-9]{1,15})|\*)/([0-9]{1,15})")
_NUMBER = re.compile(r"[0-9]{1,15}")

# Code of a WorkspaceError: code of the Problem, and what to do.
_REFUSALS = {
    "not_found": ("file_not_found", "list the folder that should hold it"),
    "outside": ("path_outside", "name a path below the workspace, without links"),
    "exists": ("workspace_conflict", "choose another path"),
    "invalid": ("request_invalid", ""),
    "too_large": ("workspace_too_large", ""),
    "disk_full": ("disk_full", "free space on the server, and ask again"),
    "disk_failed": ("disk_failed", "once the server can write to its disk, ask again"),
    "closed": ("file_unusable", "let the server's user change it, and ask again"),
    "missing_objects": ("objects_missing", "send them with PUT /objects/{sha256}, and ask again"),
    "conflict": ("workspace_conflict", ""),
    "moved": ("workspace_moved", ""),
    "busy": ("workspace_busy", "ask again when its call or operation is over"),
    "failed": ("file_unusable", ""),
    "timeout": ("overloaded", "ask for fewer or smaller files"),
    "unavailable": ("sandbox_unavailable", f"the owner can run: {COMMAND} --check"),
}
_AGAIN = {"busy": {"Retry-After": "2"}}


@contextmanager
def workspace_problems() -> Iterator[None]:
    """Raise a WorkspaceError as a Problem."""
    try:
        yield
    except WorkspaceError as error:
        code, step = _REFUSALS.get(error.code, _REFUSALS["failed"])
        detail = error.detail  # it may begin with the name of a file
        if step and error.facts.get("unfinished"):
            step = f"it has begun, and the next request goes on with it; {step}"
        raise Problem(
            code,
            f"{detail}; {step}" if step else detail,
            headers=_AGAIN.get(error.code),
            facts=error.facts,
        ) from None


def read_query(call: RequestContext, *names: str) -> dict[str, str]:
    """Return the parameters of the query. Raises Problem for another name than these."""
    return dict(read_pairs(call, *names))


def read_pairs(call: RequestContext, *names: str) -> list[tuple[str, str]]:
    """Return the parameters of the query in order, where one may come several times.

    Raises Problem for another name than these.
    """
    try:
        pairs = parse_qsl(
            call.request.query,
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_PARAMETERS,
        )
    except ValueError:  # also UnicodeDecodeError
        text = f"The query is not percent-encoded UTF-8 of at most {MAX_PARAMETERS} parameters"
        raise Problem("request_invalid", text) from None
    for name, _ in pairs:
        if name not in names:
            text = f"There is no parameter {name[:100]!r} here; there are {', '.join(names)}"
            raise Problem("request_invalid", text)
    return pairs


def number_in(query: Mapping[str, str], name: str, default: int) -> int:
    """Return a parameter that is a number. Raises Problem."""
    text = query.get(name, str(default))
    if not _NUMBER.fullmatch(text) or not text.isascii():
        raise Problem("request_invalid", f"{name} is {text[:100]!r}; it is a whole number from 0")
    return int(text)


# -- out ------------------------------------------------------------------------------------------

Read = Callable[[int, int], Awaitable[Json]]


async def send_content(call: RequestContext, read: Read, headers: Mapping[str, str]) -> None:
    """Answer with bytes, or the range of them that the request names.

    `read(offset, length)` asks a process for a piece, {data, bytes, sha256?, stamp?, media_type?}.
    A process gives fewer bytes than it is asked for if that is too much at once.
    """
    asked = call.request.headers
    is_head = call.request.method == "HEAD"
    probe = 0 if is_head or "range" in asked or "if-none-match" in asked else PIECE
    answer = await read(0, probe)
    size, etag = int(answer["bytes"]), _etag(answer)
    media = str(answer.get("media_type", ""))
    told = {
        **HEADERS,
        "Content-Type": media if PASSIVE.fullmatch(media) else "application/octet-stream",
        "ETag": etag,
        **headers,
    }
    if matches(asked.get("if-none-match", ""), etag):
        await call.reply(304, headers=told)
        return
    if is_head:
        await call.reply(200, headers=told | {"Content-Length": str(size)})
        return
    status, at, end = 200, 0, size
    if "range" in asked and asked.get("if-range", etag) == etag:
        if part := byte_range(asked["range"], size):
            status, at, end = 206, part[0], part[1] + 1
            told["Content-Range"] = f"bytes {at}-{part[1]}/{size}"
    piece = _decoded(answer)[: end - at] if probe else b""
    if not piece and at < end:
        piece = await _piece(read, at, end, answer)
    stream = call.stream(told | {"Content-Length": str(end - at)}, status)
    while True:
        stream.write(piece)
        call.sent += len(piece)
        at += len(piece)
        if at >= end:
            break
        await stream.drain()
        piece = await _piece(read, at, end, answer)
    await stream.close()


async def _piece(read: Read, at: int, end: int, first: Json) -> bytes:
    """Return a piece of the file that the first one is of, else raise Problem.

    An answer that has begun then ends before its Content-Length, which the client can detect.
    """
    found = await read(at, min(PIECE, end - at))
    same = all(found.get(name) == first.get(name) for name in ("bytes", "stamp"))
    piece = _decoded(found)
    if not same or not piece:
        raise Problem("workspace_conflict", "The file was changed while it was read; ask again")
    return piece[: end - at]


def _decoded(found: Json) -> bytes:
    return base64.b64decode(found["data"])


def _etag(found: Json) -> str:
    """Return a strong tag if the content is known, else a weak one."""
    return f'"{sha256}"' if (sha256 := found.get("sha256")) else f'W/"{found.get("stamp", "")}"'


# -- in -------------------------------------------------------------------------------------------

Write = Callable[[str, int, int], Awaitable[Json]]


async def receive_content(call: RequestContext, most: int, write: Write) -> Json:
    """Take the body of a request as a file, or as a piece of one; return what `write` says of it.

    `most`: bytes of one body. `write(data, offset, total)` gives a process a piece in base64. With
    `Content-Range: bytes a-b/total` the body is a piece, and with `bytes */total` it is empty and
    asks how much was received.
    """
    headers = call.request.headers
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Problem("unsupported_media_type", "A file is sent as it is, without Content-Encoding")
    data = await read_bytes(call, partial(_check_body, most))
    at, total = _place(headers.get("content-range", ""), len(data))
    if not data:
        return await write("", at, total)
    call.exchange.hold(len(data) + 2 * PIECE)
    answer: Json = {}
    for start in range(0, len(data), PIECE):
        piece = base64.b64encode(data[start : start + PIECE]).decode("ascii")
        answer = await write(piece, at + start, total)
    return answer


def _check_body(most: int, size: int) -> None:
    if size > most:
        text = f"The body has {size} bytes, and {most} may be sent at once (max_request_size)"
        step = "send the file in pieces, each with Content-Range: bytes a-b/total"
        raise Problem("body_too_large", f"{text}; {step}")


def _place(header: str, size: int) -> tuple[int, int]:
    """Return (offset, total) of a body of `size` bytes. Raises Problem."""
    if not header:
        return 0, size
    match = _CONTENT_RANGE.fullmatch(header.strip())
    if match is None or not header.isascii():
        text = "wanted bytes a-b/total, or bytes */total with an empty body"
        raise Problem("request_invalid", f"Content-Range is {header[:100]!r}; {text}")
    total = int(match[3])
    if match[1] is None:
        if size:
            text = "it asks what was received, and its body is empty"
            raise Problem("request_invalid", f"Content-Range is {header[:100]!r}; {text}")
        return 0, total
    first, last = int(match[1]), int(match[2])
    if last >= total or last + 1 - first != size:
        raise Problem(
            "request_invalid",
            f"Content-Range is {header[:100]!r}, which does not fit a body of {size} bytes",
        )
    return first, total


def about_upload(found: Mapping[str, Any]) -> int:
    """Return the status of an answer to an upload: 202 if more is expected, else 200."""
    return 202 if "received" in found else 200
