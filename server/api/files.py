"""The handler of `POST /files`: download a file from the workspace of a session.

The toolbox reads the file in the sandbox, piece by piece. The content is untrusted, so it is sent
as an attachment with a type that browsers do not render. Only the owner of the key that ran the
session can read its files.
"""

from __future__ import annotations

import re
from typing import Protocol
from urllib.parse import quote

from ..errors import Problem
from ..runtime.accounts import OWNER, Pool
from ..session.limits import LimitCeilings
from .body import BodyLimits, misfit, read_object
from .router import RequestContext

HEADERS = {
    "Content-Type": "application/octet-stream",
    "Content-Security-Policy": "default-src 'none'; sandbox",
}
MAX_PATH = 4096
AT_ONCE = 4  # pieces that are read at the same time, each by a process
MAX_ID = 128  # characters of a session's id, as in its document


class Piece(Protocol):
    """The interface of a piece of a file (tools/workspace.py)."""

    @property
    def data(self) -> bytes:
        """Return the content of the piece; empty at the end of the file."""
        ...

    @property
    def bytes(self) -> int:
        """Return the size of the whole file in bytes."""
        ...

    @property
    def stamp(self) -> str:
        """Return a value that changes when the file does."""
        ...


class Toolbox(Protocol):
    """The interface of the toolbox that `Downloads` uses."""

    async def read_piece(
        self, owner: str, session_id: str, path: str, offset: int, stamp: str
    ) -> Piece:
        """Read a piece of a file from `offset` bytes on. Raises Problem.

        `stamp`: that of the previous piece, "" for the first one.
        """
        ...


class Downloads:
    """The handler of `POST /files`."""

    def __init__(self, toolbox: Toolbox, ceilings: LimitCeilings) -> None:
        self._toolbox, self._ceilings = toolbox, ceilings
        self._places = Pool(AT_ONCE, OWNER)

    async def post(self, call: RequestContext) -> None:
        """Send a file. Raises Problem, before anything is sent, if it cannot be read."""
        sizes = BodyLimits.of(self._ceilings.of(call.key.owner))
        body = await read_object(call, sizes, "request_invalid")
        session_id, path = _text(body, "id", MAX_ID), _text(body, "path", MAX_PATH)
        owner = call.key.owner
        piece = await self._read(owner, session_id, path, 0, "")
        size, sent = piece.bytes, len(piece.data)
        length = {"Content-Length": str(size), "Content-Disposition": disposition(path)}
        stream = call.stream(HEADERS | length)
        stream.write(piece.data)
        while sent < size:
            await stream.drain()
            # If the file has changed or is gone, the answer is shorter than its Content-Length, so
            # the client can detect it.
            piece = await self._read(owner, session_id, path, sent, piece.stamp)
            if not piece.data:
                raise Problem("not_found", "The file became shorter while it was read")
            stream.write(piece.data)
            sent += len(piece.data)
        call.sent = sent
        await stream.close()

    async def _read(self, owner: str, session_id: str, path: str, offset: int, stamp: str) -> Piece:
        async with self._places.turn():
            return await self._toolbox.read_piece(owner, session_id, path, offset, stamp)


def disposition(path: str) -> str:
    """Return the Content-Disposition of a download named by the last part of `path` (RFC 6266).

    The name is given in ASCII for old clients and exactly for all others.
    """
    name = re.sub(r"[\x00-\x1f\x7f]", "_", path.rstrip("/").rpartition("/")[2]) or "file"
    plain = re.sub(r'[^ -~]|["\\%]', "_", name)
    exact = quote(name.encode("utf-8", "replace"), safe="")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{exact}"


def _text(body: dict[str, object], key: str, most: int) -> str:
    value = body.get(key)
    if isinstance(value, str) and 0 < len(value) <= most:
        return value
    raise misfit(key, f"wanted a text of 1 to {most} characters")
