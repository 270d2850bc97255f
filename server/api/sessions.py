"""`POST /session`: a session document in, a run, the updated document or its events out.

In the walk: the router has checked the key; here the body becomes a document and a run
(run_stream.py), and `Accept` decides whether the answer is the events or the document. `POST
/session/events` answers with a stored session as events, and runs nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping
from typing import Any

from ..errors import Problem
from ..http import sse
from ..runtime.offload import offload
from ..session import snapshot
from ..session.accept import accept
from ..session.events import Event, alias, dumps
from .router import Call
from .run_stream import EVENT_STREAM, Runs

MAX_ID = 128  # characters of a session's id


class Sessions:
    """The handler of `POST /session`. `streams` is the default of `config.yaa.stream`, for a
    session that does not say."""

    def __init__(self, runs: Runs, *, streams: bool) -> None:
        self._runs = runs
        self._streams = streams

    async def post(self, call: Call) -> None:
        """Raises Problem for everything that is found wrong before the run begins."""
        document = await self._runs.read(call)
        name_session(document, call)
        async with self._runs.begin(call, document) as run:
            own = run.session.get("config", {}).get("yaa", {}).get("stream", self._streams)
            if wants_stream(call.request.headers.get("accept", ""), bool(own)):

                def frame(event: Event, name: str, number: int) -> bytes:
                    return sse.encode(dumps(event), name, f"{run.id}/{number}")

                await self._runs.stream(call, run, frame)
                return
            before = {**run.session, "messages": list(run.session.get("messages") or ())}
            session = await self._runs.collect(call, run)
            delta = session["config"]["yaa"].get("reply") == "delta"
            reply = delta_reply(session, before, run.first_message) if delta else session
            await call.json(reply, headers={"x-should-retry": "false"})

    async def stop(self, call: Call) -> None:
        """End what runs of the session `{"id": …}` on this host, at once."""
        body = await self._runs.read(call, "request_invalid")
        session_id = body.get("id")
        if not isinstance(session_id, str) or not 0 < len(session_id) <= MAX_ID:
            detail = f"wanted the id of a session, a text of 1 to {MAX_ID} characters"
            errors = [{"pointer": "/id", "detail": detail}]
            raise Problem("request_invalid", f"/id: {detail}", errors=errors)
        stopped = await self._runs.stop(call, session_id)
        await call.json({"id": session_id, "stopped": stopped})

    async def events(self, call: Call) -> None:
        """The events that rebuild a session, as an array or as a stream. Nothing is run."""
        document = await self._runs.read(call)
        document = await offload(call.size, accept, document)
        # 5,000 messages take a third of a second, in which other streams would stand still.
        found = await asyncio.to_thread(snapshot.events, document)
        if not wants_stream(call.request.headers.get("accept", ""), False):
            await call.json(found)
            return
        frames = [
            sse.encode(dumps(event), alias(event), f"snapshot/{number}")
            for number, event in enumerate(found, 1)
        ]
        await call.reply(200, b"".join(frames), {"Content-Type": EVENT_STREAM})


def name_session(document: dict[str, Any], call: Call) -> None:
    """Give a session without an id the one that its `Idempotency-Key` stands for, so that a
    repetition is known for the same session."""
    key = call.request.headers.get("idempotency-key", "")
    if key and document.get("id") is None:
        name = hashlib.sha256("\0".join((call.key.owner, key)).encode()).hexdigest()
        document["id"] = f"ses_{name[:24]}"


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


def delta_reply(
    session: Mapping[str, Any], before: Mapping[str, Any], first: int = 0
) -> dict[str, Any]:
    """Seed 003's reply: only what this run added to the session, and what it used. `before` has the
    messages that were there: the last ones need not be the new ones, since the result of a call
    goes behind that call, also when the user has spoken since. Where content blocks were parted,
    all messages are others: then those from number `first` on are new."""
    there = {id(message) for message in before["messages"]}  # the fold keeps each where it changes
    messages = [message for message in session["messages"] if id(message) not in there]
    if there and len(messages) == len(session["messages"]):
        messages = messages[first:]
    spent = before.get("usage") or {}
    usage = {
        name: value - spent.get(name, 0) if isinstance(value, int) else value
        for name, value in session.get("usage", {}).items()
    }
    reply = {key: session.get(key) for key in ("id", "title", "start_time", "finish_reason")}
    return reply | {"messages": messages, "usage": usage}


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


_WEIGHT = re.compile(r"\bq\s*=\s*(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")
