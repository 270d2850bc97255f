"""The routes of kept sessions. A key reaches those of its person only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

from ...api.body import BodyLimits, read_object
from ...api.router import RequestContext, Route
from ...errors import Problem
from ...json_types import Session
from ...lib.runtime.offload import LARGE, offload
from ...session.accept import accept
from ...session.limits import LimitCeilings
from .folder import Conflict, KeptFolder

PAGE, MOST_OF_PAGE = 50, 500  # sessions of a list


class KeptSessions:
    """The handlers. `folder`: (owner of a key) -> their folder."""

    def __init__(self, folder: Callable[[str], KeptFolder], ceilings: LimitCeilings) -> None:
        self._folder, self._ceilings = folder, ceilings

    def routes(self) -> Mapping[tuple[str, str], Route]:
        """Return the routes, by (method, path)."""
        return {
            ("GET", "/keeper/sessions"): Route(self.list),
            ("GET", "/keeper/sessions/{id}"): Route(self.get),
            ("PUT", "/keeper/sessions/{id}"): Route(self.put),
            ("DELETE", "/keeper/sessions/{id}"): Route(self.delete),
        }

    async def list(self, call: RequestContext) -> None:
        """Answer with a page of what is kept, the last changed first."""
        query = parse_qs(call.request.query)
        limit = query.get("limit", [str(PAGE)])[0]
        if not limit.isdigit() or not 0 < int(limit) <= MOST_OF_PAGE:
            text = f"limit is {limit[:20]}, wanted a number from 1 to {MOST_OF_PAGE}"
            raise Problem("request_invalid", text)
        folder, before = self._folder(call.key.owner), query.get("before", [""])[0]
        rows, following = await offload(LARGE, folder.page, int(limit), before)
        await call.json({"sessions": rows, "next": following})

    async def get(self, call: RequestContext) -> None:
        """Answer with a session."""
        stored = await offload(LARGE, self._folder(call.key.owner).read, call.at["id"])
        tag = {"ETag": f'"{stored.revision}"'}
        if _named(call, "if-none-match") == stored.revision:
            await call.reply(304, headers=tag)
            return
        call.size = max(call.size, stored.size)
        await call.json(stored.session, headers=tag)

    async def put(self, call: RequestContext) -> None:
        """Store a session. Raises Problem; after a conflict it is stored as a branch."""
        session_id, sizes = call.at["id"], BodyLimits.of(self._ceilings.of(call.key.owner))
        document: Any = await read_object(call, sizes)
        if document.get("id", session_id) != session_id:
            raise Problem("request_invalid", "The id of the session is not that of the address")
        session: Session = await offload(call.size, accept, document)
        base, folder = _named(call, "if-match"), self._folder(call.key.owner)
        if not isinstance(session.get("messages"), list):
            session["messages"] = []
        try:
            revision = await offload(max(LARGE, call.size), folder.put, session_id, session, base)
        except Conflict as conflict:
            raise _conflict(conflict, base) from None
        status = 200 if base else 201
        answer = {"id": session_id, "revision": revision}
        await call.json(answer, status=status, headers={"ETag": f'"{revision}"'})

    async def delete(self, call: RequestContext) -> None:
        """Delete a session."""
        await offload(LARGE, self._folder(call.key.owner).delete, call.at["id"])
        await call.reply(204)


def _conflict(conflict: Conflict, base: str) -> Problem:
    text = "Another program or device has changed it, or it runs. Yours is kept as a branch"
    facts = {
        "branch": conflict.branch,
        "branch_revision": conflict.branch_revision,
        "revision": conflict.revision,
        "base": base,
    }
    return Problem("kept_conflict", f"{text}: {conflict.branch}", facts=facts)


def _named(call: RequestContext, header: str) -> str:
    """Return the revision that a header of the request names, "" for none."""
    return call.request.headers.get(header, "").strip().removeprefix("W/").strip('"')
