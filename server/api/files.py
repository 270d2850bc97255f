"""The handler of `POST /files`: download a file from the workspace of a session.

The workspace's process reads the file, piece by piece. The content is untrusted, so it is sent
as an attachment with a type that browsers do not render. Only the owner of the key that ran the
session can read its files.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from ..errors import Problem
from ..json_types import Json
from ..lib.runtime.accounts import OWNER, Pool
from ..session.limits import LimitCeilings
from ..tools.session_files import Workspaces
from .body import BodyLimits, misfit, read_object
from .router import RequestContext
from .transfers import Workspace, send_content, workspace_problems

HEADERS = {
    "Content-Type": "application/octet-stream",
    "Content-Security-Policy": "default-src 'none'; sandbox",
}
MAX_PATH = 4096
AT_ONCE = 4  # pieces that are read at the same time, each by a process
MAX_ID = 128  # characters of a session's id, as in its document
OF_THE_FILE = ("file_not_found", "file_unusable", "path_outside", "request_invalid")


class Downloads:
    """The handler of `POST /files`."""

    def __init__(self, workspaces: Workspaces, ceilings: LimitCeilings) -> None:
        self._workspaces, self._ceilings = workspaces, ceilings
        self._places = Pool(AT_ONCE, OWNER)

    async def post(self, call: RequestContext) -> None:
        """Send a file. Raises Problem, before anything is sent, if it cannot be read."""
        limits = self._ceilings.of(call.key.owner)
        body = await read_object(call, BodyLimits.of(limits), "request_invalid")
        session_id, path = _text(body, "id", MAX_ID), _text(body, "path", MAX_PATH)
        workspace = self._workspaces.get(call.key.owner, session_id)
        if not workspace.exists():
            raise Problem("not_found", "This session has no files on this server")
        max_bytes = round(limits["tool"]["file_mb"] * 1024 * 1024)  # that tools can write

        async def read(offset: int, length: int) -> Json:
            """Return a piece of the file. Raises Problem."""
            async with self._places.turn():
                piece = await _read(workspace, path, offset, length)
            if piece["bytes"] > max_bytes:
                text = f"The file has {piece['bytes']} bytes; {max_bytes} may be fetched"
                raise Problem("file_too_large", text)
            return piece

        await send_content(call, read, {**HEADERS, "Content-Disposition": disposition(path)})


async def _read(workspace: Workspace, path: str, offset: int, length: int) -> Json:
    try:
        with workspace_problems():
            return await workspace.request("read", path=path, offset=offset, length=length)
    except Problem as problem:
        if problem.code in OF_THE_FILE:
            raise Problem("not_found", problem.detail) from None
        raise


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
    raise misfit((key,), f"wanted a text of 1 to {most} characters")
