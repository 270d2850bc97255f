"""Download of a workspace file for `POST /files`: read in a child, one piece at a time.

Each piece is a call of its own, so that a slow client occupies no process. The server itself opens
no path in a workspace.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from dataclasses import dataclass

from ..errors import Problem
from . import workspace
from .base import drain
from .runner import Job, ToolRunner

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
    """Part of a file. `bytes`: size of the file; `stamp`: its version."""

    data: bytes
    bytes: int
    stamp: str


async def read_piece(
    runner: ToolRunner, owner: str, session_id: str, path: str, offset: int, stamp: str, most: int
) -> Piece:
    """Return the file from `offset` on, as much as fits into one piece.

    `stamp`: version of the piece before, or "". Raises Problem: `not_found` if this session of
    `owner` has no such file, `file_too_large` above `most` bytes, `sandbox_unavailable` if it
    cannot be read.
    """
    if not runner.folder(session_id, owner).is_dir():
        raise Problem("not_found", "This session has no files on this server")
    args = {"path": path, "offset": offset, "stamp": stamp}
    job = Job(WHERE, args, session_id, LIMITS, owner=owner)
    outcome = await drain(runner.run(job))
    if outcome.status == "error" and outcome.error.get("type") == "error":
        raise Problem("not_found", str(outcome.error.get("message")))
    found = _piece(outcome.result) if outcome.status == "ok" else None
    if found is None:
        raise Problem("sandbox_unavailable", "The file could not be read in the sandbox")
    if found.bytes > most:
        raise Problem("file_too_large", f"The file has {found.bytes} bytes; {most} may be fetched")
    return found


def _piece(said: object) -> Piece | None:
    """Return the child's answer as a Piece; None if it has another shape."""
    if not isinstance(said, dict):
        return None
    data, size, stamp = said.get("data"), said.get("bytes"), said.get("stamp")
    if not (isinstance(data, str) and isinstance(size, int) and isinstance(stamp, str)):
        return None
    try:
        return Piece(b64decode(data, validate=True), size, stamp)
    except binascii.Error:
        return None
