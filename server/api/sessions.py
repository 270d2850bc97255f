"""The handlers of `POST /session`, `POST /session/events` and `POST /session/stop`.

`POST /session` runs a session document (run_stream.py). `Accept` decides whether the answer is the
stream of events or the updated document. `POST /session/events` returns the events that rebuild a
stored session, without a run.
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
from ..session.events import alias, dumps
from ..types import Event
from .body import misfit
from .router import RequestContext
from .run_stream import EVENT_STREAM, Runs

MAX_ID = 128  # characters of a session's id


class Sessions:
    """The handlers of sessions. `streams` is the default of `config.yaa.stream`."""

    def __init__(self, runs: Runs, *, streams: bool) -> None:
        self._runs = runs
        self._streams = streams

    async def post(self, call: RequestContext) -> None:
        """Run a session. Raises Problem if it cannot begin."""
        document = await self._runs.read(call)
        name_session(document, call)
        async with self._runs.begin(call, document) as run:
            own = run.session.get("config", {}).get("yaa", {}).get("stream", self._streams)
            if wants_stream(call.request.headers.get("accept", ""), bool(own)):

                def frame(event: Event, name: str, number: int) -> bytes:
                    """Return the event as one SSE frame."""
                    return sse.encode(dumps(event), name, f"{run.id}/{number}")

                await self._runs.stream(call, run, frame)
                return
            before = {**run.session, "messages": list(run.session.get("messages") or ())}
            session = await self._runs.collect(call, run)
            delta = session["config"]["yaa"].get("reply") == "delta"
            reply = delta_reply(session, before, run.first_message) if delta else session
            await call.json(reply, headers={"x-should-retry": "false"})

    async def stop(self, call: RequestContext) -> None:
        """Stop the runs of the session `{"id": …}` on this host at once."""
        body = await self._runs.read(call, "request_invalid")
        session_id = body.get("id")
        if not isinstance(session_id, str) or not 0 < len(session_id) <= MAX_ID:
            raise misfit("id", f"wanted the id of a session, a text of 1 to {MAX_ID} characters")
        stopped = await self._runs.stop(call, session_id)
        await call.json({"id": session_id, "stopped": stopped})

    async def events(self, call: RequestContext) -> None:
        """Send the events that rebuild a session, as an array or a stream, without a run."""
        document = await self._runs.read(call)
        session = await offload(call.size, accept, document)
        # In a thread: 5,000 messages take 0.3 s, which would delay other streams.
        found = await asyncio.to_thread(snapshot.events, session)
        if not wants_stream(call.request.headers.get("accept", ""), False):
            await call.json(found)
            return
        frames = [
            sse.encode(dumps(event), alias(event), f"snapshot/{number}")
            for number, event in enumerate(found, 1)
        ]
        await call.reply(200, b"".join(frames), {"Content-Type": EVENT_STREAM})


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


def delta_reply(
    session: Mapping[str, Any], before: Mapping[str, Any], first: int = 0
) -> dict[str, Any]:
    """Return the reply of `config.yaa.reply: delta`: new messages and the usage of this run.

    `before`: the session before the run. Its message objects are compared by identity, since new
    messages need not be the last ones: a tool result is inserted after its call, even if a user
    message follows. If splitting content blocks has replaced all messages, those from index `first`
    on are new.
    """
    there = {id(message) for message in before["messages"]}  # the fold changes messages in place
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
