"""The routes of kept sessions. A key reaches those of its person only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import parse_qs

from ...api.body import BodyLimits, read_fields, read_object
from ...api.router import RequestContext, Route
from ...errors import Problem
from ...json_types import Json, Session
from ...lib.runtime.offload import LARGE, offload
from ...session.accept import accept
from ...session.limits import LimitCeilings
from .answers import BODY
from .changes import Changes
from .driver import Keeper
from .folder import Conflict, KeptFolder
from .follow import Follower
from .session_keys import check_keys
from .wakes import Wakes

PAGE, MOST_OF_PAGE = 50, 500  # sessions of a list


class Place(Protocol):
    """Where the handlers find what they need (parts.py)."""

    changes: Changes
    wakes: Wakes

    @property
    def keeper(self) -> Keeper:
        """Return what runs sessions in this process. Raises Problem until the server is open."""
        ...

    def folder(self, owner: str) -> KeptFolder:
        """Return the folder of a person."""
        ...

    async def answer(self, owner: str, session_id: str, entries: list[Any]) -> Json:
        """Store answers to questions of a session, and have it go on. Raises Problem."""
        ...

    async def end_runs(self, owner: str, session_id: str) -> bool | None:
        """End the runs of a session, as PersonRuns.stop."""
        ...


class KeptSessions:
    """The handlers. `heartbeat_s`: between two comments of a stream."""

    def __init__(self, place: Place, ceilings: LimitCeilings, heartbeat_s: float) -> None:
        self._place, self._folder = place, place.folder
        self._ceilings, self._heartbeat_s = ceilings, heartbeat_s

    def routes(self) -> Mapping[tuple[str, str], Route]:
        """Return the routes, by (method, path)."""
        return {
            ("GET", "/keeper/sessions"): Route(self.list),
            ("GET", "/keeper/sessions/{id}"): Route(self.get),
            ("PUT", "/keeper/sessions/{id}"): Route(self.put),
            ("DELETE", "/keeper/sessions/{id}"): Route(self.delete),
            ("POST", "/keeper/sessions/{id}/run"): Route(self.run),
            ("POST", "/keeper/sessions/{id}/answers"): Route(self.answers),
            ("POST", "/keeper/sessions/{id}/stop"): Route(self.stop),
            ("GET", "/keeper/sessions/{id}/events"): Route(self.events),
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
        owner, running = call.key.owner, self._place.keeper.is_running
        queued = self._place.changes.count(owner, (each["id"] for each in rows))
        for row in (rows := [{**each, "running": running(owner, each["id"])} for each in rows]):
            row["queued"] = row.get("queued", 0) + queued.get(row["id"], 0)
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
        check_keys(session)
        base, folder = _named(call, "if-match"), self._folder(call.key.owner)
        if not isinstance(session.get("messages"), list):
            session["messages"] = []
        try:
            revision = await offload(max(LARGE, call.size), folder.put, session_id, session, base)
        except Conflict as conflict:
            raise _conflict(conflict, base) from None
        self._place.keeper.note_change(call.key.owner, session_id)
        await self._place.wakes.note_change(call.key.owner, session_id, session)
        status = 200 if base else 201
        answer = {"id": session_id, "revision": revision}
        await call.json(answer, status=status, headers={"ETag": f'"{revision}"'})

    async def delete(self, call: RequestContext) -> None:
        """Delete a session."""
        await offload(LARGE, self._folder(call.key.owner).delete, call.at["id"])
        self._place.keeper.note_change(call.key.owner, call.at["id"])
        await call.reply(204)

    async def run(self, call: RequestContext) -> None:
        """Let a session run, whoever looks. Answer with {id, running, run}."""
        answer = await self._place.keeper.run(call.key.owner, call.at["id"])
        await call.json(answer, status=202)

    async def answers(self, call: RequestContext) -> None:
        """Put answers to questions of a session, and let it go on. Answer as `run`."""
        sizes = BodyLimits.of(self._ceilings.of(call.key.owner))
        body = await read_fields(call, sizes, BODY)
        answer = await self._place.answer(call.key.owner, call.at["id"], body["resume"])
        await call.json(answer)

    async def stop(self, call: RequestContext) -> None:
        """End what runs of a session, and let it not go on. Answer with {id, stopped, running}."""
        owner, session_id = call.key.owner, call.at["id"]
        await offload(LARGE, self._folder(owner).read, session_id)
        state = await self._place.keeper.pause(owner, session_id, self._place.end_runs)
        await call.json({"id": session_id, **state})

    async def events(self, call: RequestContext) -> None:
        """Send what happens to a session, as it happens."""
        folder = self._folder(call.key.owner)
        await Follower(self._place.keeper, folder, call, self._heartbeat_s).send()


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
