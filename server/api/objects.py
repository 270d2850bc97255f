"""The handlers of `/objects/…`: contents of files and folders by their SHA-256.

So a client carries the files of a session to another server. Objects belong to the owner of a key:
what another owner stored is not here. They are read and written by a sandboxed process, as the
files of a workspace are.
"""

from __future__ import annotations

import re

from ..errors import Problem
from ..json_types import Json
from ..lib.json_schema.objects import object_schema
from ..session.limits import LimitCeilings
from ..tools.session_files import Workspaces
from .body import BodyLimits, read_fields
from .router import RequestContext, Route
from .transfers import (
    about_upload,
    read_query,
    receive_content,
    send_content,
    workspace_problems,
)

NO_SESSION = ""  # the workspace whose process serves objects; no session has this id
MAX_MISSING = 1_000  # objects that an answer names

_ID = re.compile(r"[0-9a-f]{64}")
_TREE = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_MISSING = object_schema({"tree": _TREE}, None, closed=True)


class Objects:
    """The handlers of objects."""

    def __init__(self, workspaces: Workspaces, ceilings: LimitCeilings) -> None:
        self._workspaces, self._ceilings = workspaces, ceilings

    def routes(self) -> dict[tuple[str, str], Route]:
        """Return the routes by method and path."""
        return {
            ("GET", "/objects/{sha256}"): Route(self.read),
            ("PUT", "/objects/{sha256}"): Route(self.write),
            ("POST", "/objects/missing"): Route(self.missing),
        }

    async def read(self, call: RequestContext) -> None:
        """Send an object or a range of it."""
        read_query(call)
        sha256 = _id_in(call)

        async def _read(offset: int, length: int) -> Json:
            found = await self._ask(
                call, "read_object", sha256=sha256, offset=offset, length=length
            )
            return {**found, "sha256": sha256}

        await send_content(call, _read, {"Content-Disposition": "attachment"})

    async def write(self, call: RequestContext) -> None:
        """Take an object or a piece of one. It is stored once its content fits its name."""
        read_query(call)
        sha256 = _id_in(call)

        async def _write(data: str, offset: int, total: int) -> Json:
            return await self._ask(
                call, "write_object", sha256=sha256, data=data, offset=offset, total=total
            )

        found = await receive_content(call, self._sizes(call).bytes, _write)
        await call.json(found, status=about_upload(found))

    async def missing(self, call: RequestContext) -> None:
        """Send which objects of a tree are not here: {objects, count, bytes}."""
        read_query(call)
        body = await read_fields(call, self._sizes(call), _MISSING)
        await call.json(await self._ask(call, "missing", tree=body["tree"], most=MAX_MISSING))

    def _sizes(self, call: RequestContext) -> BodyLimits:
        return BodyLimits.of(self._ceilings.of(call.key.owner))

    async def _ask(self, call: RequestContext, name: str, **arguments: str | int) -> Json:
        workspace = self._workspaces.get(call.key.owner, NO_SESSION)
        with workspace_problems():
            return await workspace.request(name, **arguments)


def _id_in(call: RequestContext) -> str:
    """Return the id of the object that the path names. Raises Problem."""
    if _ID.fullmatch(sha256 := call.at["sha256"]):
        return sha256
    text = f"{sha256[:100]!r} is no id of an object: 64 hexadecimal digits in lower case"
    raise Problem("request_invalid", text)
