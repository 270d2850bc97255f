"""`POST /session`: a session document in, a run, the updated document or its events out.

In the walk: the router has checked the key; here the body becomes a document, `agent.prepare`
accepts it or says what is wrong with it, and the run's events go out as SSE or are left to fold
into the reply. The rule of the file: status and content type are sent only after the document is
known to be good, and nothing of a run outlives its request.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any, Protocol

from .. import jsontext, log
from ..errors import Problem
from ..session.events import EXEC, Event, alias, dumps
from ..wire import sse
from .auth import Key
from .router import Call

STREAM_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "X-Accel-Buffering": "no",  # nginx would otherwise collect the stream
    "x-should-retry": "false",
}
RETRY_AFTER_S = 2  # a run lasts seconds to minutes; asking again sooner only adds load
BIG = 1 << 20  # bytes of JSON that are parsed beside the event loop: a megabyte takes 2-10 ms
PING = sse.comment("ping")


class Run(Protocol):
    """One accepted run (agent.Run)."""

    @property
    def id(self) -> str: ...
    @property
    def session(self) -> dict[str, Any]: ...
    @property
    def first_message(self) -> int: ...
    def events(self) -> AsyncGenerator[Event, None]: ...


class Agent(Protocol):
    def prepare(self, document: dict[str, Any], key: str = "") -> Run: ...


class Sessions:
    """The handler of `POST /session`. `limits` is `server.limits`; `streams` is the default of
    `config.yaa.stream`, for a session that does not say."""

    def __init__(self, agent: Agent, limits: Mapping[str, Any], *, streams: bool) -> None:
        self._agent = agent
        self._streams = streams
        self._slots = Slots(limits["max_runs"])
        self._max_bytes: int = limits["max_request_size"]
        self._heartbeat_s: float = limits["heartbeat_s"]

    async def post(self, call: Call) -> None:
        """Raises Problem for everything that is found wrong before the run begins."""
        document = await read_object(call, self._max_bytes)
        with self._slots.take(call.key):
            run = self._agent.prepare(document, call.key.name)
            own = run.session.get("config", {}).get("yaa", {}).get("stream", self._streams)
            streams = wants_stream(call.request.headers.get("accept", ""), bool(own))
            call.run = run.id
            token = log.run_id.set(run.id)
            try:
                await (self._stream(call, run) if streams else self._collect(call, run))
            finally:
                log.run_id.reset(token)

    async def _stream(self, call: Call, run: Run) -> None:
        stream = call.stream(STREAM_HEADERS)
        pulse = Pulse(stream.write, self._heartbeat_s)
        number = 0
        try:
            async with aclosing(run.events()) as events:
                async for event in events:
                    number += 1
                    name = alias(event)
                    frame = sse.encode(dumps(event), name, f"{run.id}/{number}")
                    stream.write(frame)
                    call.sent += len(frame)
                    pulse.touch()
                    # Back-pressure; and before a tool starts its `tool.exec` has left: the run
                    # goes on to hand the call over only when it is asked for its next event.
                    await (stream.flush() if name == EXEC else stream.drain())
        except asyncio.CancelledError:
            if call.exchange.gone:
                raise
        finally:
            pulse.stop()
        await stream.close()  # of a server that stops, too: whole frames, and no terminal event

    async def _collect(self, call: Call, run: Run) -> None:
        try:
            async with aclosing(run.events()) as events:
                async for _ in events:
                    pass
        except asyncio.CancelledError:
            if call.exchange.gone:
                raise
        session = run.session  # of a server that stops: `in_progress`, as far as it came
        delta = session["config"]["yaa"].get("reply") == "delta"
        reply = delta_reply(session, run.first_message) if delta else session
        await call.json(reply, headers={"x-should-retry": "false"})


class Slots:
    """How many runs there may be at once: on this server, and for one key."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: Counter[str] = Counter()

    @contextmanager
    def take(self, key: Key) -> Iterator[None]:
        """Raises Problem("busy") when there is no slot."""
        mine = self._most if key.max_runs is None else key.max_runs
        if self._taken.total() >= self._most or self._taken[key.name] >= mine:
            raise Problem(
                "busy",
                "Too many runs at once; try again in a moment",
                headers={"Retry-After": str(RETRY_AFTER_S)},
            )
        self._taken[key.name] += 1
        try:
            yield
        finally:
            self._taken[key.name] -= 1


class Pulse:
    """Writes a comment when nothing else was written for `every` seconds (0: never).

    One timer for the whole stream, put forward when it fires: nothing is scheduled per event.
    """

    def __init__(self, write: Callable[[bytes], None], every: float) -> None:
        self._write = write
        self._every = every
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        self._timer = self._loop.call_later(every, self._beat) if every else None

    def touch(self) -> None:
        self._last = self._loop.time()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _beat(self) -> None:
        now = self._loop.time()
        if now - self._last >= self._every:
            self._write(PING)
            self._last = now
        self._timer = self._loop.call_at(self._last + self._every, self._beat)


def wants_stream(accept: str, otherwise: bool) -> bool:
    """SSE or JSON: what `Accept` prefers; `otherwise` where it leaves the choice open.

    Raises Problem("not_acceptable") when neither would be taken (RFC 9110 section 12.5.1).
    """
    stream = _quality(accept, "text/event-stream")
    whole = _quality(accept, "application/json")
    if not stream and not whole:
        raise Problem("not_acceptable", "Accept text/event-stream or application/json")
    if stream == whole:
        return otherwise
    return stream > whole


async def read_object(call: Call, max_bytes: int, code: str = "session_invalid") -> dict[str, Any]:
    """The body as one JSON object. Raises Problem, JSONError or ProtocolError.

    What the head alone gives away is refused before the body is asked for.
    """
    headers = call.request.headers
    _check_type(headers.get("content-type", ""))
    coding = headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip"):
        raise Problem("unsupported_media_type", "Content-Encoding: gzip, or none at all")
    data = await call.exchange.body()
    if coding == "gzip":
        data = inflate(data, max_bytes)
    if len(data) > BIG:
        value = await asyncio.to_thread(jsontext.loads, data)
    else:
        value = jsontext.loads(data)
    if not isinstance(value, dict):
        raise Problem(
            code,
            "The body must be one JSON object",
            errors=[{"pointer": "", "detail": "wanted an object"}],
        )
    return value


def inflate(data: bytes, limit: int) -> bytes:
    """Gzip undone, never beyond `limit` bytes: a few kilobytes can hold gigabytes.

    One member, as every encoder makes it: a chain of empty ones costs time without any output.
    """
    decoder = zlib.decompressobj(wbits=31)
    try:
        plain = decoder.decompress(data, limit + 1)
    except zlib.error:
        raise Problem("bad_request", "The body is not valid gzip") from None
    if len(plain) > limit:
        raise Problem("body_too_large", f"Unpacked, the body is larger than {limit} bytes")
    if not decoder.eof or decoder.unused_data:
        raise Problem("bad_request", "The body must be exactly one gzip stream")
    return plain


def delta_reply(session: Mapping[str, Any], first: int) -> dict[str, Any]:
    """Seed 003's reply: only what this run added, `first` being the index of its first message."""
    reply = {key: session.get(key) for key in ("id", "title", "start_time", "finish_reason")}
    return reply | {"messages": session["messages"][first:], "usage": session.get("usage", {})}


def _check_type(content_type: str) -> None:
    """Only application/json: text/plain and forms are what any page may send unasked (CSRF)."""
    match = _JSON.fullmatch(content_type)
    if match is None or (match[1] or "utf-8").lower() not in ("utf-8", "utf8"):
        raise Problem("unsupported_media_type", "Send Content-Type: application/json in UTF-8")


def _quality(accept: str, kind: str) -> float:
    """How much `Accept` wants `kind`: 0 to 1. The most specific range counts, an empty or
    unreadable header wants everything."""
    best, quality = 0, 0.0 if accept.strip() else 1.0
    ranges = {kind: 3, kind.split("/")[0] + "/*": 2, "*/*": 1}
    for part in accept.lower().split(","):
        name, _, parameters = part.partition(";")
        weight = _WEIGHT.search(parameters)
        if ranges.get(name.strip(), 0) > best:
            best, quality = ranges[name.strip()], float(weight[1]) if weight else 1.0
    return quality


_JSON = re.compile(
    r"\s*application/json\s*(?:;\s*charset\s*=\s*\"?([\w-]+)\"?\s*)?;?\s*", re.IGNORECASE
)
_WEIGHT = re.compile(r"\bq\s*=\s*(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")
