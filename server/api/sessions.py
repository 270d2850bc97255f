"""The handlers of `POST /session`, `POST /session/events` and `POST /session/stop`.

`POST /session` runs a session document. `Accept` decides whether the answer is the stream of events
or the updated document. `POST /session/events` returns the events that rebuild a stored session,
without a run.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from functools import partial
from itertools import count
from typing import Any

from ..agent.loop import BaseAgent, Run
from ..errors import Problem
from ..json_types import Event, Json, Session
from ..lib.http import sse
from ..lib.http.exchange import Stream, wait_for_acknowledgement
from ..lib.runtime import waits
from ..lib.runtime.accounts import Accounts, Rules
from ..lib.runtime.offload import offload
from ..lib.runtime.run_id import run_id
from ..lib.strict_json import dumps_in_pieces
from ..session import snapshot
from ..session.accept import accept_for_run
from ..session.delta_reply import delta_reply
from ..session.events import EXEC, alias, dumps, run_wait
from ..session.kept_sessions import KeptSession
from ..session.limits import LimitCeilings
from .body import BodyLimits, misfit, read_object
from .router import JSON, RequestContext
from .session_bases import PER_MESSAGE, Bases

# -- run stream -----------------------------------------------------------------------------------
# Run an agent inside a request, for `POST /session` and requests of other systems.
#
# A handler converts its request into a session document. `Runs.begin` takes a slot and lets the
# agent accept the document. Then `stream` sends the run's events as frames that the handler makes,
# or `collect` returns the session after the run. Status and headers are sent only after the
# document has been accepted. A run ends with its request.

EVENT_STREAM = "text/event-stream; charset=utf-8"
STREAM_HEADERS = {
    "Content-Type": EVENT_STREAM,
    "X-Accel-Buffering": "no",  # nginx would otherwise collect the stream
    "x-should-retry": "false",
}
PING = sse.comment("ping")

Frame = Callable[[Event, str, int], bytes]
NextRun = Callable[[], Awaitable[Run | None]]
TERMINAL = ("RUN_FINISHED", "RUN_ERROR")


class Runs:
    """The runs of all handlers.

    `limits` is `server.limits`, `ceilings` the limits of individual keys.
    """

    def __init__(
        self,
        agent: BaseAgent,
        limits: Mapping[str, Any],
        ceilings: LimitCeilings | None = None,
        accounts: Accounts | None = None,
    ) -> None:
        self._agent = agent
        self._accounts = accounts or Accounts(Rules(limits))
        self._ceilings = ceilings or LimitCeilings(limits, {})
        self.bases = Bases(limits.get("kept_sessions_mb", 0), self._ceilings)
        self._heartbeat_s: float = limits["heartbeat_s"]
        self._announce_s: float = limits["announce_s"]

    async def read(self, call: RequestContext, code: str = "session_invalid") -> dict[str, Any]:
        """Return the body as a JSON object. Raises Problem, JSONError or ProtocolError.

        `code`: error code for a body that is not an object.
        """
        return await read_object(call, BodyLimits.of(self._ceilings.of(call.key.owner)), code)

    @asynccontextmanager
    async def begin(
        self, call: RequestContext, document: Mapping[str, Any], base: KeptSession | None = None
    ) -> AsyncGenerator[Run, None]:
        """Take a slot and prepare a run of `document`, which now belongs to the run.

        `base`: as for `Agent.accept`. The slot stays taken until the calls that outlive the run
        have ended, and the next run of the session shares it. Raises Problem if there is no slot
        or the document is invalid.
        """
        owner, hold = call.key.owner, self._accounts.hold
        release = hold(owner, "runs", str(document.get("id") or call.exchange.id))
        run: Run | None = None
        try:
            resumed = call.request.headers.get("last-event-id", "").rpartition("/")[0]
            run = await self.next_run(call, document, resumed, base)
            call.run = run.id
            token = run_id.set(run.id)
            try:
                yield run
            finally:
                run_id.reset(token)
        finally:
            try:
                session_id = run.session.get("id", "") if run else ""
                for left in self._agent.running_calls(owner, session_id) if run else ():
                    left.add_done_callback(hold(owner, "runs", session_id, always=True))
            finally:
                release()

    async def next_run(
        self,
        call: RequestContext,
        document: Mapping[str, Any],
        resumed: str = "",
        base: KeptSession | None = None,
    ) -> Run:
        """Return a run for the request and its slot, when no other has begun or it has ended.

        `resumed`: as for `Agent.begin`, `base` as for `Agent.accept`. Raises Problem.
        """
        known = PER_MESSAGE * len(base.messages) if base else 0
        accept = self._agent.accept
        accepted = await offload(call.size + known, accept, document, call.key.owner, base)
        call.size += base.size if base else 0  # all that follows is about the whole session
        return self._agent.begin(accepted, call.key.name, call.key.owner, resumed, call.size)

    async def stop(self, call: RequestContext, session_id: str) -> dict[str, Any]:
        """Stop the runs of a session of this key, and return {stopped, running, detail?}."""
        runs = {key: run for key, run in self._agent.active_runs() if key[1] == session_id}
        mine = (call.key.owner, session_id)
        if call.key.is_owner and runs and mine not in runs:
            text = f"It runs with another person's key, as {next(iter(runs.values()))}"
            return {"stopped": False, "running": True, "detail": text}
        ended = await self._agent.stop_session(*mine)
        return {"stopped": bool(ended), "running": ended is False}

    def active(self) -> list[dict[str, Any]]:
        """Return {at, run, session, key_name} of the runs that go on, of all people.

        `at` is when it began, in ms since 1970. The last is first.
        """
        sessions = {run: session_id for (_, session_id), run in self._agent.active_runs()}
        runs: list[dict[str, Any]] = [
            {
                "at": round(each.began * 1000),
                "run": each.run,
                "session": sessions[each.run],
                "key_name": each.key.name,
            }
            for each in self._accounts.requests
            if each.run in sessions
        ]
        return sorted(runs, key=lambda each: each["at"], reverse=True)

    async def end(self, wanted: str, code: str) -> bool | None:
        """End a run of anybody, with its calls. Return whether it has ended; None: there is none.

        `code`: see `BaseAgent.stop_session`.
        """
        for (owner, session_id), run in self._agent.active_runs():
            if run == wanted:
                return bool(await self._agent.stop_session(owner, session_id, code))
        return None

    async def stream(
        self,
        call: RequestContext,
        run: Run,
        frame: Frame,
        cut: Callable[[], bytes] = bytes,
        go_on: NextRun | None = None,
        size: int = 0,
        before_end: Callable[[Run], Awaitable[None]] | None = None,
    ) -> None:
        """Send each event as the SSE frames that `frame(event, alias, number)` returns.

        A frame b"" is not sent. If the server stops, the stream ends without a terminal event, and
        the bytes that `cut` returns are sent last, for clients that would take this as a regular
        end. `before_end` is awaited before a terminal event is sent. `go_on` may return another
        run, whose events follow; then `cut` always ends the stream. `size`: of the JSON of the
        session, if the last frames have it; large ones are made apart.
        """
        stream = call.stream(stream_headers(self._heartbeat_s))
        pulse = HeartbeatTimer(stream, self._heartbeat_s)
        numbers, ended = count(1), False
        following: Run | None = run

        def tell(wait: Json) -> None:
            """Send what the run waits for, while nothing else comes of it."""
            if not call.exchange.finished:
                stream.write(frame(event := run_wait(wait), alias(event), next(numbers)))

        waits.listener.set(tell)
        try:
            while following is not None:
                following.confirm_announcements(
                    partial(wait_for_acknowledgement, call.exchange, self._announce_s)
                )
                async with aclosing(following.events()) as events:
                    async for event in events:
                        name, last = alias(event), event["type"] in TERMINAL
                        if last and before_end:
                            await before_end(following)
                        told = event, name, next(numbers)
                        data = await offload(size, frame, *told) if last else frame(*told)
                        ended = last
                        if data:
                            stream.write(data)
                            call.sent += len(data)
                        # `tool.exec` is sent before its tool starts, as the next event is asked for
                        if name == EXEC:
                            await stream.flush()
                        elif stream.full:
                            await stream.drain()
                ended = ended and go_on is None  # with `go_on`, `cut` sends the last bytes
                following = await go_on() if go_on else None
        except asyncio.CancelledError:
            if call.exchange.gone:
                raise
        finally:
            pulse.stop()
        if not ended and (data := await offload(size, cut)):
            stream.write(data)
        await stream.close()

    async def collect(
        self, call: RequestContext, run: Run, see: Callable[[Event], object] = lambda event: None
    ) -> Session:
        """Run to the end and return the session; call `see` with each event.

        If the server stops, the session is returned as it is, with status `in_progress`.
        """
        try:
            async with aclosing(run.events()) as events:
                async for event in events:
                    see(event)
        except asyncio.CancelledError:
            if call.exchange.gone:
                raise
        return run.session


def stream_headers(heartbeat_s: float) -> dict[str, str]:
    """Return the headers of a stream with a heartbeat every `heartbeat_s`, 0 for none."""
    return STREAM_HEADERS | ({"X-Heartbeat": f"{heartbeat_s:g}"} if heartbeat_s else {})


class HeartbeatTimer:
    """A heartbeat: a comment whenever nothing was sent for `every` seconds (0: never).

    One timer per stream, rescheduled when it fires, so that events cost nothing.
    """

    def __init__(self, stream: Stream, every: float) -> None:
        self._stream = stream
        self._every = every
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(every, self._beat) if every else None

    def stop(self) -> None:
        """Stop the heartbeat."""
        if self._timer is not None:
            self._timer.cancel()

    def _beat(self) -> None:
        now, last = self._loop.time(), self._stream.sent_at
        if now - last >= self._every:
            self._stream.write(PING)
            last = now
        self._timer = self._loop.call_at(last + self._every, self._beat)


# -- sessions -------------------------------------------------------------------------------------

MAX_ID = 128  # characters of a session's id


class Sessions:
    """The handlers of sessions. `streams` is the default of `config.yaa.stream`."""

    def __init__(self, runs: Runs, *, streams: bool) -> None:
        self._runs = runs
        self._streams = streams

    async def post(self, call: RequestContext) -> None:
        """Run a session. Raises Problem if it cannot begin."""
        document = await self._runs.read(call)
        base = await self._runs.bases.take(call, document)
        name_session(document, call)
        async with self._runs.begin(call, document, base) as run:
            own = run.session.get("config", {}).get("yaa", {}).get("stream", self._streams)
            if wants_stream(call.request.headers.get("accept", ""), bool(own)):

                def frame(event: Event, name: str, number: int) -> bytes:
                    """Return the event as one SSE frame."""
                    return sse.encode(dumps(event), name, f"{run.id}/{number}")

                keep = partial(self._runs.bases.keep, call)
                await self._runs.stream(call, run, frame, before_end=keep)
                return
            before = {**run.session, "messages": list(run.session.get("messages") or ())}
            session = await self._runs.collect(call, run)
            await self._runs.bases.keep(call, run)
            reply: Mapping[str, Any] = session
            if session["config"]["yaa"].get("reply") == "delta":
                reply = delta_reply(session, before, run.first_message, run.base.known_ids.messages)
            await call.json(reply, headers={"x-should-retry": "false"})

    async def stop(self, call: RequestContext) -> None:
        """Stop the runs of the session `{"id": …}` on this host at once."""
        body = await self._runs.read(call, "request_invalid")
        session_id = body.get("id")
        if not isinstance(session_id, str) or not 0 < len(session_id) <= MAX_ID:
            raise misfit(("id",), f"wanted the id of a session, a text of 1 to {MAX_ID} characters")
        await call.json({"id": session_id, **await self._runs.stop(call, session_id)})

    async def events(self, call: RequestContext) -> None:
        """Send the events that rebuild a session, as an array or a stream, without a run."""
        document = await self._runs.read(call)
        base = await self._runs.bases.take(call, document)
        call.size += base.size if base else 0
        session, _ = await offload(call.size, accept_for_run, document, base)
        streams = wants_stream(call.request.headers.get("accept", ""), False)
        answer = await offload(call.size, _snapshot, session, streams)
        kind = EVENT_STREAM if streams else JSON
        await call.reply(200, answer, {"Content-Type": kind})


def _snapshot(session: Session, streams: bool) -> bytes:
    """Return the events that rebuild a session, as frames or as an array."""
    found = snapshot.events(session)
    texts = [dumps_in_pieces(event) for event in found]
    if not streams:
        return f"[{','.join(texts)}]".encode()
    frames = [
        sse.encode(text, alias(event), f"snapshot/{number}")
        for number, (event, text) in enumerate(zip(found, texts, strict=True), 1)
    ]
    return b"".join(frames)


def name_session(document: dict[str, Any], call: RequestContext) -> None:
    """Set the id of a session without one from its `Idempotency-Key`, if it has one.

    A repeated request then has the same id.
    """
    key = call.request.headers.get("idempotency-key", "")
    if key and document.get("id") is None:
        name = hashlib.sha256("\0".join((call.key.owner, key)).encode()).hexdigest()
        document["id"] = f"ses_{name[:24]}"


def wants_stream(accept: str, otherwise: bool) -> bool:
    """Return whether `Accept` prefers SSE to JSON; `otherwise` if it has no preference.

    Raises Problem("not_acceptable") if it allows neither (RFC 9110 section 12.5.1).
    """
    stream = _quality(accept, "text/event-stream")
    whole = _quality(accept, "application/json")
    if not stream and not whole:
        raise Problem("not_acceptable", "Accept text/event-stream or application/json")
    if stream == whole:
        return otherwise
    return stream > whole


def _quality(accept: str, kind: str) -> float:
    """Return the quality of `kind` in `Accept`, from 0 to 1.

    The most specific range counts. For an empty header it is 1.
    """
    best, quality = 0, 0.0 if accept.strip() else 1.0
    ranges = {kind: 3, kind.split("/")[0] + "/*": 2, "*/*": 1}
    for part in accept.lower().split(","):
        name, _, parameters = part.partition(";")
        weight = _WEIGHT.search(parameters)
        if ranges.get(name.strip(), 0) > best:
            best, quality = ranges[name.strip()], float(weight[1]) if weight else 1.0
    return quality


_WEIGHT = re.compile(r"\bq\s*=\s*(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")
