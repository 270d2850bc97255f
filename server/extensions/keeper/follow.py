"""Send what happens to a kept session to one client, from where it was before.

`GET /keeper/sessions/{id}/events`: the events of its runs, as a run's own stream has them, and the
whole document (the events of `POST /session/events`) to who comes anew, who was away too long, or
when the document was changed by something else than a run.
"""

from __future__ import annotations

from ...api.router import RequestContext
from ...api.sessions import HeartbeatTimer, stream_headers
from ...cli.session_files import journal_of
from ...errors import Problem
from ...json_types import Event, Session
from ...lib.http import sse
from ...lib.http.exchange import Stream
from ...lib.runtime.offload import LARGE, offload
from ...lib.strict_json import dumps_in_pieces
from ...session import snapshot
from ...session.events import alias
from .driver import Keeper
from .feed import AT_REST, Feed
from .folder import KeptFolder
from .kept_file import StoredSession, stamp_at

LOOK_S = 1.0  # between two looks at a file that no run of this process writes
TRIES = 5  # to find out after which event of a run the disk was read


class Follower:
    """One client that follows a session. `await follower.send()` until it is gone."""

    def __init__(
        self, keeper: Keeper, folder: KeptFolder, call: RequestContext, heartbeat_s: float
    ) -> None:
        self._keeper, self._folder, self._call = keeper, folder, call
        self._owner, self._id = call.key.owner, call.at["id"]
        self._heartbeat_s = heartbeat_s
        self._feed: Feed  # once it is followed: one that nobody follows is dropped
        self._file = folder.files.file(self._id)
        self._seen: object = None  # of the file, when it was looked at last
        self._known = ""  # the revision that the client has, once nothing runs

    async def send(self) -> None:
        """Send until the client is gone, or has to come again. Raises Problem before that."""
        stored = await self._read()
        feed = self._feed = self._keeper.feed(self._owner, self._id)
        call = self._call
        last = call.request.headers.get("last-event-id", "")
        number = feed.number_of(last)
        if not self._runs() and last == f"{AT_REST}/{stored.revision}":
            number, self._known = feed.number, stored.revision
        stream = call.stream(stream_headers(self._heartbeat_s))
        pulse = HeartbeatTimer(stream, self._heartbeat_s)
        feed.followers, feed.followed = feed.followers + 1, True
        feed.tell_state()
        try:
            await self._send(stream, number)
        finally:
            pulse.stop()
            feed.followers -= 1
            feed.tell_state()
            self._keeper.drop_feeds()
        await stream.close()

    async def _send(self, stream: Stream, number: int | None) -> None:
        feed, changes = self._feed, self._feed.changes
        while not feed.ended:
            entries = None if number is None or changes != feed.changes else feed.after(number)
            if number is None or entries is None:
                changes = feed.changes
                number = await self._send_document(stream)
                if number is None:
                    return
                continue
            for entry in entries:
                stream.write(entry.frame())
                number = entry.number
                if entry.id.startswith(AT_REST):
                    self._known = entry.id.removeprefix(f"{AT_REST}/")
            if stream.full:
                await stream.drain()
            if feed.number == number:
                await feed.wait(LOOK_S)
                if feed.number == number and await self._is_other():
                    number = None

    async def _is_other(self) -> bool:
        """Return whether somebody else has changed the document."""
        if self._runs() or (stamp := self._stamp()) == self._seen:
            return False
        self._seen = stamp
        try:
            return (await self._read()).revision != self._known
        except Problem:  # it was deleted
            return True

    async def _send_document(self, stream: Stream) -> int | None:
        """Send the document. Return after which event it is so, None if that is not known."""
        feed = self._feed
        for _ in range(TRIES):
            before, self._seen = feed.number, self._stamp()
            try:
                stored = await self._read()
            except Problem:  # it was deleted
                return None
            digest, _, position = stored.revision.partition("-")
            number = feed.number_at((digest, int(position or 0))) if self._runs() else before
            if number is not None:
                break
        else:
            return None
        at_rest, self._known = f"{AT_REST}/{stored.revision}", stored.revision
        runs, state = self._runs(), feed.state_event()
        last = feed.id_of(number) if runs else at_rest
        for frame in await offload(stored.size, _frames, stored.session, state, last, runs):
            stream.write(frame)
            if stream.full:
                await stream.drain()
        return number

    def _runs(self) -> bool:
        """Return whether this process runs the session."""
        return (self._owner, self._id) in self._keeper.jobs

    def _stamp(self) -> object:
        """Return what changes when anybody writes the session."""
        return stamp_at(self._file), stamp_at(journal_of(self._file))

    async def _read(self) -> StoredSession:
        return await offload(LARGE, self._folder.read, self._id)


def _frames(session: Session, state: Event, last: str, running: bool) -> list[bytes]:
    """Return the frames that make the document; `last`: the id of the last one."""
    events = snapshot.events(session)
    events = [*(events[:-1] if running else events), state]
    ids = [f"document/{number}" for number in range(1, len(events))]
    return [
        sse.encode(dumps_in_pieces(event), alias(event), event_id)
        for event, event_id in zip(events, [*ids, last], strict=True)
    ]
