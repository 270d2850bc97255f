"""A run inside a request: what `POST /session` and the fronts of other systems have in common.

In the walk: a handler has made a session document of what it was sent. `Runs.begin` takes a slot
and has the agent accept the document; then the run's events are streamed as frames that the handler
makes (`stream`), or the run's session is returned at its end (`collect`). The rule of the file:
status and content type are sent only after the document is known to be good, and nothing of a run
outlives its request.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any, Protocol

from ..errors import Problem
from ..http import sse
from ..http.delivery import reached
from ..runtime.gc_pause import LARGE
from ..runtime.offload import offload
from ..runtime.run_id import run_id
from ..session.accept import accept
from ..session.events import EXEC, Event, alias
from ..session.limits import Ceilings
from .auth import Key
from .body import Sizes, read_object
from .router import Call, Record

EVENT_STREAM = "text/event-stream; charset=utf-8"
STREAM_HEADERS = {
    "Content-Type": EVENT_STREAM,
    "X-Accel-Buffering": "no",  # nginx would otherwise collect the stream
    "x-should-retry": "false",
}
RETRY_AFTER_S = 2  # a run lasts seconds to minutes; asking again sooner only adds load
PING = sse.comment("ping")

Frame = Callable[[Event, str, int], bytes]
GoOn = Callable[[], Awaitable["Run | None"]]
TERMINAL = ("RUN_FINISHED", "RUN_ERROR")


class Run(Protocol):
    """One accepted run (agent.Run)."""

    @property
    def id(self) -> str: ...
    @property
    def session(self) -> dict[str, Any]: ...
    @property
    def first_message(self) -> int: ...
    @property
    def record(self) -> Record | None: ...
    def events(self) -> AsyncGenerator[Event, None]: ...
    def announces(self, arrived: Callable[[], Awaitable[bool]]) -> None: ...


class Sends(Protocol):
    """What a pulse asks of a stream (wire.exchange.Stream)."""

    sent_at: float  # when anything was sent at last, in loop time

    def write(self, data: bytes) -> None: ...


class Agent(Protocol):
    def prepare(
        self,
        document: dict[str, Any],
        key: str = "",
        owner: str = "",
        resumed: str = "",
        checked_size: int = 0,
    ) -> Run: ...

    async def stop_session(self, owner: str, session_id: str) -> bool: ...


class Runs:
    """The runs of all handlers, which share the slots. `limits` is `server.limits`, `ceilings`
    what keys have of their own."""

    def __init__(
        self, agent: Agent, limits: Mapping[str, Any], ceilings: Ceilings | None = None
    ) -> None:
        self._agent = agent
        self._slots = Slots(limits["max_runs"])
        self._ceilings = ceilings or Ceilings(limits, {})
        self._heartbeat_s: float = limits["heartbeat_s"]
        self._announce_s: float = limits["announce_s"]

    async def read(self, call: Call, code: str = "session_invalid") -> dict[str, Any]:
        """The body as one JSON object. Raises Problem, JSONError or ProtocolError."""
        return await read_object(call, Sizes.of(self._ceilings.of(call.key.owner)), code)

    @asynccontextmanager
    async def begin(self, call: Call, document: dict[str, Any]) -> AsyncGenerator[Run, None]:
        """A run of `document`, which now belongs to the run. Raises Problem for everything that is
        wrong with it."""
        self._slots.take(call.key)
        try:
            headers = call.request.headers
            resumed = headers.get("last-event-id", "").rpartition("/")[0]
            who = (call.key.name, call.key.owner, resumed)
            if call.size < LARGE:
                run = self._agent.prepare(document, *who)
            else:
                await offload(call.size, accept, document)
                run = self._agent.prepare(document, *who, checked_size=call.size)
            call.run = run.id
            token = run_id.set(run.id)
            try:
                yield run
                if "idempotency-key" not in headers:
                    call.record = run.record
            finally:
                run_id.reset(token)
        finally:
            self._slots.give(call.key)

    def again(self, call: Call, document: dict[str, Any]) -> Run:
        """Another run of the same request, in its slot, when the one before has ended. Raises
        Problem."""
        return self._agent.prepare(document, call.key.name, call.key.owner)

    async def stop(self, call: Call, session_id: str) -> bool:
        """End what runs of a session of this key. False if something still runs after a while."""
        return await self._agent.stop_session(call.key.owner, session_id)

    async def stream(
        self,
        call: Call,
        run: Run,
        frame: Frame,
        cut: Callable[[], bytes] = bytes,
        go_on: GoOn | None = None,
    ) -> None:
        """Send each event as the SSE frames that `frame(event, alias, number)` returns; b"" sends
        nothing. If the server stops, the stream ends without a terminal event; `cut` returns what
        is sent then, for clients that would take that as a proper end. `go_on` may return another
        run, whose events follow those of the last."""
        beat = {"X-Heartbeat": f"{self._heartbeat_s:g}"} if self._heartbeat_s else {}
        stream = call.stream(STREAM_HEADERS | beat)
        pulse = Pulse(stream, self._heartbeat_s)
        number, ended = 0, False
        following: Run | None = run
        try:
            while following is not None:
                following.announces(partial(reached, call.exchange, self._announce_s))
                async with aclosing(following.events()) as events:
                    async for event in events:
                        number += 1
                        ended = event["type"] in TERMINAL
                        name = alias(event)
                        if data := frame(event, name, number):
                            stream.write(data)
                            call.sent += len(data)
                        # Back-pressure. And `tool.exec` must have left before its tool starts: the
                        # run starts it only when it is asked for its next event.
                        if name == EXEC:
                            await stream.flush()
                        elif stream.full:
                            await stream.drain()
                ended = ended and go_on is None  # then `cut` has the last word
                following = await go_on() if go_on else None
        except asyncio.CancelledError:
            if call.exchange.gone:
                raise
        finally:
            pulse.stop()
        if not ended and (data := cut()):
            stream.write(data)
        await stream.close()

    async def collect(
        self, call: Call, run: Run, see: Callable[[Event], object] = lambda event: None
    ) -> dict[str, Any]:
        """The session after the run; `see` gets each of its events. If the server stops, it is the
        session as far as it came, `in_progress`."""
        try:
            async with aclosing(run.events()) as events:
                async for event in events:
                    see(event)
        except asyncio.CancelledError:
            if call.exchange.gone:
                raise
        return run.session


class Slots:
    """How many runs there may be at once: on this server, and for all keys of one person."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: Counter[str] = Counter()

    def take(self, key: Key) -> None:
        """Raises Problem("busy") when there is no slot."""
        mine = self._most if key.max_runs is None else key.max_runs
        if self._taken.total() >= self._most or self._taken[key.owner] >= mine:
            raise Problem(
                "busy",
                "Too many runs at once; try again in a moment",
                headers={"Retry-After": str(RETRY_AFTER_S)},
            )
        self._taken[key.owner] += 1

    def give(self, key: Key) -> None:
        self._taken[key.owner] -= 1


class Pulse:
    """Writes a comment when nothing else was sent for `every` seconds (0: never).

    One timer for the whole stream, put forward when it fires: nothing is scheduled per event.
    """

    def __init__(self, stream: Sends, every: float) -> None:
        self._stream = stream
        self._every = every
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(every, self._beat) if every else None

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _beat(self) -> None:
        now, last = self._loop.time(), self._stream.sent_at
        if now - last >= self._every:
            self._stream.write(PING)
            last = now
        self._timer = self._loop.call_at(last + self._every, self._beat)
