"""A file of a session's folder on its way to a person: read in a child, a piece at a time.

In the walk: `POST /files` (api/files.py) asks the toolbox, which asks here. Each piece is a call of
its own, so that a reader who is slow holds no process, and no path is opened by the server.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from dataclasses import dataclass

from ..errors import Problem
from . import workspace
from .runner import Job, Outcome, Runner

WHERE = ("module", workspace.__name__, workspace.piece.__name__)
LIMITS: dict[str, float] = {
    "wall_s": 30,
    "cpu_s": 10,
    "memory_mb": 512,
    "file_mb": 1,
    "output_kb": 16,
    "processes": 16,
    "open_files": 64,
}


@dataclass(frozen=True)
class Piece:
    """`data`: some of a file's `bytes`. `stamp` names the version it is of."""

    data: bytes
    bytes: int
    stamp: str


async def read_piece(
    runner: Runner, owner: str, session_id: str, path: str, offset: int, stamp: str, most: int
) -> Piece:
    """The file from `offset` on, as much as fits. Raises Problem: `not_found` for what is no file
    of this session of `owner`, `file_too_large` for one of more than `most` bytes."""
    if not runner.folder(session_id, owner).is_dir():
        raise Problem("not_found", "This session has no files on this server")
    args = {"path": path, "offset": offset, "stamp": stamp}
    job = Job(WHERE, args, session_id, LIMITS, owner=owner)
    outcome = Outcome("error")
    async for item in runner.run(job):
        if isinstance(item, Outcome):
            outcome = item
    if outcome.status == "error" and outcome.error.get("type") == "error":
        raise Problem("not_found", str(outcome.error.get("message")))
    found = _piece(outcome.result) if outcome.status == "ok" else None
    if found is None:
        raise Problem("sandbox_unavailable", "The file could not be read in the sandbox")
    if found.bytes > most:
        raise Problem("file_too_large", f"The file has {found.bytes} bytes; {most} may be fetched")
    return found


def _piece(said: object) -> Piece | None:
    """What a child said, where it is of this shape and something to go on with."""
    if not isinstance(said, dict):
        return None
    data, size, stamp = said.get("data"), said.get("bytes"), said.get("stamp")
    if not (isinstance(data, str) and isinstance(size, int) and isinstance(stamp, str)):
        return None
    try:
        return Piece(b64decode(data, validate=True), size, stamp)
    except binascii.Error:
        return None
