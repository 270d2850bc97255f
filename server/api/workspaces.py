"""The handlers of `/workspaces/{session}/…`: the files that a session works on, for its person.

The server opens no path in a workspace: a sandboxed process does (workspace/host.py). Whose
workspace it is, the key says; `?folder=NAME` names a folder of the owner, else it is the session's
own. Answers to requests that changed files have the new `tree`, and `before` and `after` of their
own change.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
from typing import Any

from ..errors import Problem
from ..json_types import Json
from ..lib.json_schema.objects import object_schema
from ..session.limits import LimitCeilings
from ..tools.session_files import Workspaces
from .body import BodyLimits, read_fields
from .files import MAX_ID, disposition
from .router import RequestContext, Route
from .transfers import (
    HEADERS,
    about_upload,
    number_in,
    read_pairs,
    receive_content,
    send_content,
    workspace_problems,
)

DEPTH, LISTED = 1, 1_000  # of a list, if the request does not say

_PATH = {"type": "string", "minLength": 1, "maxLength": 20_000}
_PATHS = {"type": "array", "items": _PATH, "maxItems": 10_000}


_TREE = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_MOVE = object_schema({"from": _PATH, "to": _PATH}, None, closed=True)
_RESTORE = object_schema({"tree": _TREE, "after": _TREE, "paths": _PATHS}, ("tree",), closed=True)
_DISCARD = object_schema({"paths": _PATHS, "tree": _TREE}, closed=True)
_APPLY = object_schema({**_DISCARD["properties"], "force": {"type": "boolean"}}, closed=True)


class WorkspaceRequest:
    """The workspace that a request names. `query`: its other parameters."""

    def __init__(self, workspaces: Workspaces, call: RequestContext, *names: str) -> None:
        """Raises Problem for other parameters than `folder` and `names`."""
        pairs = read_pairs(call, "folder", *names)
        self.query = dict(pairs)
        self.paths = [value for name, value in pairs if name == "path" and value]
        self.session, self.folder = call.at["session"], self.query.get("folder") or None
        if len(self.session) > MAX_ID:
            text = f"The id of a session has at most {MAX_ID} characters, not {len(self.session)}"
            raise Problem("request_invalid", text)
        self._workspace = workspaces.get(call.key.owner, self.session, self.folder)
        self.mode = self._workspace.mode

    def may_write(self) -> None:
        """Raise Problem for a folder that may only be read."""
        if self.mode == "read":
            text = f"The folder {self.folder} may only be read; its owner sets the mode"
            raise Problem("folder_mode", text)

    async def fill(self) -> None:
        """Copy the real folder of an overlay, if that was not done. Raises Problem."""
        if self.mode == "overlay" and "base" not in await self.ask("state"):
            await self.ask("refresh", session=self.session)

    async def ask(self, name: str, **arguments: Any) -> Json:
        """Have the process do an operation, without arguments that are None. Raises Problem."""
        present = {key: value for key, value in arguments.items() if value is not None}
        with workspace_problems():
            return await self._workspace.request(name, **present)

    async def record(self) -> Json:
        """Return {tree, left_out?} of the files as they are now."""
        recorded = await self.ask("record", session=self.session)
        left_out = recorded.get("left_out")
        return {"tree": recorded["after"], **({"left_out": left_out} if left_out else {})}

    async def record_change(self, found: Json) -> Json:
        """Return what an operation has done, with the tree after it.

        It is done also if that cannot be recorded; then `unrecorded` says why.
        """
        try:
            return found | await self.record()
        except Problem as problem:
            return found | {"unrecorded": problem.detail}

    def path(self) -> str:
        """Return the path that the request must name. Raises Problem."""
        if path := self.query.get("path", ""):
            return path
        raise Problem("request_invalid", "Name the file: ?path=PATH, relative to the workspace")


class WorkspaceFiles:
    """The handlers of a workspace's files."""

    def __init__(self, workspaces: Workspaces, ceilings: LimitCeilings) -> None:
        self._workspaces, self._ceilings = workspaces, ceilings
        self._ending: set[asyncio.Task[None]] = set()

    def routes(self) -> dict[tuple[str, str], Route]:
        """Return the routes by method and path."""
        return {
            ("GET", "/workspaces/{session}/files"): Route(self.list),
            ("GET", "/workspaces/{session}/file"): Route(self.read),
            ("PUT", "/workspaces/{session}/file"): Route(self.write),
            ("DELETE", "/workspaces/{session}/file"): Route(self.remove),
            ("POST", "/workspaces/{session}/move"): Route(self.move),
            ("GET", "/workspaces/{session}/archive"): Route(self.archive),
            ("GET", "/workspaces/{session}/state"): Route(self.state),
            ("POST", "/workspaces/{session}/record"): Route(self.record),
            ("GET", "/workspaces/{session}/diff"): Route(self.diff),
            ("GET", "/workspaces/{session}/status"): Route(self.status),
            ("POST", "/workspaces/{session}/apply"): Route(self.apply),
            ("POST", "/workspaces/{session}/discard"): Route(self.discard),
            ("POST", "/workspaces/{session}/restore"): Route(self.restore),
        }

    # -- files

    async def list(self, call: RequestContext) -> None:
        """Send what a folder holds, now or in a tree."""
        opened = self._open(call, "path", "tree", "depth", "offset", "limit")
        query = opened.query
        depth, limit = number_in(query, "depth", DEPTH), number_in(query, "limit", LISTED)
        offset = number_in(query, "offset", 0)
        await opened.fill()
        listing = await opened.ask(
            "list",
            path=query.get("path", ""),
            tree=query.get("tree") or None,
            depth=depth,
            offset=offset,
            limit=limit,
        )
        await call.json(listing)

    async def read(self, call: RequestContext) -> None:
        """Send a file or a range of it, as an attachment."""
        opened = self._open(call, "path", "tree")
        path, tree = opened.path(), opened.query.get("tree") or None
        await opened.fill()

        async def _read(offset: int, length: int) -> Json:
            return await opened.ask("read", path=path, tree=tree, offset=offset, length=length)

        await send_content(call, _read, {"Content-Disposition": disposition(path)})

    async def write(self, call: RequestContext) -> None:
        """Take a file or a piece of one. The answer has `received` until the file is complete."""
        opened = self._open(call, "path", "upload")
        path = opened.path()
        opened.may_write()
        await opened.fill()
        single_upload = "" if "content-range" in call.request.headers else secrets.token_hex(16)
        named = opened.query.get("upload") or f"{opened.session}\0{path}"

        async def _write(data: str, offset: int, total: int) -> Json:
            upload = single_upload or f"{named}\0{total}"  # what comes later continues the latter
            piece = {"path": path, "data": data, "offset": offset, "total": total}
            return await opened.ask("write", **piece, upload=upload, session=opened.session)

        try:
            answer = await receive_content(call, self._sizes(call).bytes, _write)
        except BaseException:  # the client is gone, or there is no room
            if single_upload:
                self._give_up(opened, single_upload)
            raise
        await call.json(answer, status=about_upload(answer))

    async def remove(self, call: RequestContext) -> None:
        """Remove a file, or a folder with all that it holds."""
        opened = self._open(call, "path")
        path = opened.path()
        opened.may_write()
        await opened.fill()
        await call.json(await opened.ask("remove", path=path, session=opened.session))

    async def move(self, call: RequestContext) -> None:
        """Give a file or folder another path."""
        opened = self._open(call)
        body = await self._body(call, _MOVE)
        opened.may_write()
        await opened.fill()
        paths = {"path": body["from"], "to": body["to"]}
        await call.json(await opened.ask("move", **paths, session=opened.session))

    async def archive(self, call: RequestContext) -> None:
        """Send a ZIP of the files, or of the folders and files of each `path`, now or in a tree."""
        opened = self._open(call, "path", "tree")
        paths, tree = opened.paths, opened.query.get("tree") or None
        named = paths[0] if len(paths) == 1 else opened.folder or "files"
        headers = {
            **HEADERS,
            "Content-Type": "application/zip",
            "Content-Disposition": disposition(f"{named}.zip"),
            "Accept-Ranges": "none",
        }
        if call.request.method == "HEAD":  # only what is built has a length
            await call.stream(headers).close()
            return
        await opened.fill()
        found = await opened.ask("archive", paths=paths or None, tree=tree)
        name, size = found["archive"], int(found["bytes"])
        stream = call.stream(headers | {"Content-Length": str(size)})
        complete = False
        try:
            while True:
                piece = base64.b64decode(found["data"])
                stream.write(piece)
                call.sent += len(piece)
                if complete := bool(found["complete"]):
                    break
                await stream.drain()
                found = await opened.ask("archive", archive=name, offset=call.sent)
            await stream.close()
        finally:
            if not complete:  # the client is gone
                self._give_up(opened, name)

    # -- the whole

    async def state(self, call: RequestContext) -> None:
        """Send {folder, mode, tree, base?, seen, restoring?}; costs no scan."""
        opened = self._open(call)
        state = await opened.ask("state", session=opened.session)
        await call.json({"folder": opened.folder, "mode": opened.mode, **state})

    async def record(self, call: RequestContext) -> None:
        """Record the files as they are now, and send their {tree, left_out?}."""
        opened = self._open(call)
        opened.may_write()
        await opened.fill()
        await call.json(await opened.record())

    async def diff(self, call: RequestContext) -> None:
        """Send how two trees differ, and with a path the difference of that file."""
        opened = self._open(call, "from", "to", "path")
        query = opened.query
        if not query.get("from") or not query.get("to"):
            text = "Name two trees: ?from=TREE&to=TREE; now and base are names too"
            raise Problem("request_invalid", text)
        await opened.fill()
        arguments = {"from": query["from"], "to": query["to"], "path": query.get("path") or None}
        await call.json(await opened.ask("diff", **arguments))

    async def status(self, call: RequestContext) -> None:
        """Send how an overlay differs from its real folder."""
        opened = self._open(call)
        await opened.fill()
        await call.json(await opened.ask("status"))

    async def apply(self, call: RequestContext) -> None:
        """Put files of an overlay into the real folder."""
        opened = self._open(call)
        body = await self._body(call, _APPLY)
        await opened.fill()
        await call.json(await opened.record_change(await opened.ask("apply", **body)))

    async def discard(self, call: RequestContext) -> None:
        """Make files of an overlay what they are in the real folder."""
        opened = self._open(call)
        body = await self._body(call, _DISCARD)
        await opened.fill()
        await call.json(await opened.ask("discard", **body))

    async def restore(self, call: RequestContext) -> None:
        """Make the files what a tree says."""
        opened = self._open(call)
        body = await self._body(call, _RESTORE)
        opened.may_write()
        await opened.fill()
        await call.json(await opened.ask("restore", session=opened.session, **body))

    # -- shared

    def _open(self, call: RequestContext, *names: str) -> WorkspaceRequest:
        return WorkspaceRequest(self._workspaces, call, *names)

    def _sizes(self, call: RequestContext) -> BodyLimits:
        return BodyLimits.of(self._ceilings.of(call.key.owner))

    async def _body(self, call: RequestContext, schema: Json) -> Json:
        return await read_fields(call, self._sizes(call), schema)

    def _give_up(self, opened: WorkspaceRequest, name: str) -> None:
        """Remove an upload or archive that its client left."""

        async def _remove() -> None:
            try:
                await opened.ask("give_up", pieces=name)
            except Problem:  # it is removed a day later
                return

        task = asyncio.create_task(_remove())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
