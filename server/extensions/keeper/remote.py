"""Run kept sessions at another server: `POST /session` there, in place of runs of this one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from ...errors import CODES, Problem
from ...json_types import Event, Session
from ...lib.http.client import Client, Response
from ...lib.http.connection_pool import ClientError, Timeouts
from ...lib.http.sse import Decoder
from ...lib.runtime.offload import offload
from ...lib.strict_json import JSONError, as_object, dumps, loads
from ...session.fold import Folder

IDLE_S = 120.0  # a server says something at least each 15 s
MOST = 1 << 40  # bytes of the events of a run; each event has a limit of its own
MAX_PROBLEM = 1 << 20  # bytes
ABSENT = "keeper_server_absent"


class RemoteRun:
    """A run at another server, folded into its session here. `id`: "" before its first event."""

    def __init__(self, response: Response, session: Session) -> None:
        self._response, self.session, self.id = response, session, ""
        self._stopped = False

    def stop(self, code: str) -> None:
        """Let nothing come of a run that `events` was not called of: its connection is closed."""
        self._stopped = True

    def keep_before_calls(self, keep: Callable[[Session], object]) -> None:
        """Do nothing: the other server does not wait for what is stored here."""

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield the events; they end early where the connection is lost."""
        if self._stopped:
            return
        folder, decoder = Folder(self.session), Decoder()
        with suppress(ClientError):
            async for data in self._response.chunks():
                for frame in decoder.feed(data):
                    event: Any = loads(frame.data, max_values=1 << 30)
                    self.id = self.id or frame.id.partition("/")[0]
                    folder.apply(event)
                    yield event
        folder.flush()


class RemoteRuns:
    """The runs at the server at `url`, for the person of the home folder's key alone.

    key  of that server: all runs are on the terms of its person there
    """

    def __init__(self, url: str, key: str) -> None:
        self._url, self._key = f"{url.rstrip('/')}/session", key
        self._client = Client(max_response=MOST)
        self._aborts: dict[str, Callable[[], object]] = {}  # by id of the session

    @asynccontextmanager
    async def begin(
        self, owner: str, document: dict[str, Any], size: int, abort: Callable[[], object]
    ) -> AsyncGenerator[RemoteRun, None]:
        """Begin a run, as PersonRuns.begin."""
        if owner:
            text = "Sessions of other people do not run at server.keeper.server.url"
            raise Problem("forbidden", text)
        headers = {"content-type": "application/json", "accept": "text/event-stream"}
        headers |= {"authorization": f"Bearer {self._key}"} if self._key else {}
        body = (await offload(size, dumps, document)).encode("utf-8", "replace")
        timeouts = Timeouts(connect=10, first_byte=IDLE_S, idle=IDLE_S)
        try:
            response = await self._client.request(
                "POST", self._url, headers, body, timeouts=timeouts
            )
        except ClientError as error:
            raise Problem(ABSENT, f"server.keeper.server.url: {error.message}") from None
        async with response:
            if response.status != 200:
                raise await _problem(response)
            self._aborts[document["id"]] = abort
            try:
                yield RemoteRun(response, document)  # type: ignore[arg-type]
            finally:
                self._aborts.pop(document["id"], None)

    async def stop(self, owner: str, session_id: str) -> bool | None:
        """End the runs of a session: their connections are closed, which ends them there."""
        if (abort := self._aborts.get(session_id)) is None or owner:
            return None
        abort()
        return True

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


async def _problem(response: Response) -> Problem:
    """Return what the other server has refused, with its code if that is known here."""
    about: dict[str, Any] = {}
    with suppress(JSONError, ClientError):
        about = as_object(loads(await response.read(MAX_PROBLEM)))
    code = about.get("code")
    detail = str(about.get("detail") or f"it answered {response.status}")
    after = {"Retry-After": response.headers.get("retry-after", "")}
    known = code if code in CODES else ABSENT if response.status >= 500 else "forbidden"
    return Problem(known, detail, headers=after, status=response.status)
