"""The routes of `/api/*`: agents, queries and submits, for clients of an agent gateway.

Runs are the same as those of `POST /session`; protocols/gateway/request.py translates. Only an open
request waits for a submit: the stream of a query ends with the session, and the server keeps
nothing of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol
from urllib.parse import parse_qs

from ...api.router import Call, Route
from ...api.run_stream import Run, Runs
from ...api.sessions import wants_stream
from ...errors import Problem
from ...http import sse
from ...runtime.offload import offload
from ...session.accept import accept
from ...session.events import Event
from ...strict_json import dumps
from ..session_body import in_body
from . import request
from .events import Telling, chat, reply
from .request import NO_CHATS, WINDOW, Asked, Json, envelope

DONE = sse.encode("[DONE]")


class Agents(Protocol):
    """The agents of a key."""

    def info(self, owner: str) -> list[Json]:
        """Return the agents of this owner."""
        ...

    def resolve(self, session: Json, owner: str) -> Json:
        """Return the definition of a session's agent. Raises Problem."""
        ...


class Tools(Protocol):
    """The server's tools."""

    def info(self) -> list[Json]:
        """Return the tools that every agent may use."""
        ...

    def info_named(self) -> list[Json]:
        """Return the tools that only agents that name them may use."""
        ...


class Gateway:
    """The handlers of `/api/*`.

    `clock` returns the time in milliseconds, `defaults` are the defaults of sessions.
    """

    def __init__(
        self,
        runs: Runs,
        agents: Agents,
        tools: Tools,
        clock: Callable[[], int],
        defaults: Mapping[str, Any],
    ) -> None:
        self._runs, self._agents, self._tools, self._clock = runs, agents, tools, clock
        says = defaults["config"]["context"]["window_runs"] is not None
        self._window = None if says else WINDOW
        self._open: set[Live] = set()  # streams of queries

    def routes(self) -> dict[tuple[str, str], Route]:
        """Return (method, path) -> route."""
        table = {
            ("GET", "/api/agents"): self.agents,
            ("GET", "/api/agent"): self.agent,
            ("GET", "/api/chats"): self.chats,
            ("GET", "/api/chat"): self.chat,
            ("POST", "/api/chat"): self.chat,
            ("POST", "/api/query"): self.query,
            ("POST", "/api/submit"): self.submit,
        }
        return {at: Route(handler, refusal=request.refusal) for at, handler in table.items()}

    async def agents(self, call: Call) -> None:
        """Send the list of agents, filtered by `tag`."""
        tag, tools = _parameter(call, "tag"), self._tools_of()
        owner = call.key.owner
        names = [each["name"] for each in self._agents.info(owner)]
        known = [self._agents.resolve({"agent": name}, owner) for name in names]
        listed = [request.summary(about, *tools) for about in known]
        await call.json(envelope([agent for agent in listed if request.tagged(agent, tag)]))

    async def agent(self, call: Call) -> None:
        """Send one agent. Raises Problem if it is unknown."""
        asked = request.one_agent(_parameter(call, "agentKey"))
        with in_body(asked):
            about = self._agents.resolve(asked.document, call.key.owner)
        await call.json(envelope(request.detail(about, *self._tools_of())))

    async def query(self, call: Call) -> None:
        """Run a query and send its events; with `"stream": false` one answer."""
        body = await self._runs.read(call, "request_invalid")
        asked = request.query(body, self._window)
        await self._run(call, asked, streams=body.get("stream") is not False)

    async def submit(self, call: Call) -> None:
        """Continue a run with a submitted answer.

        With a `session` in the body, that session runs; the response is one answer unless `Accept`
        asks for events. Without one, the run continues in the stream of the query that waits in
        this process.
        """
        body = await self._runs.read(call, "request_invalid")
        asked = request.submit(body)
        more = {"requestId": body.get("requestId"), "accepted": True, "toolId": body["toolId"]}
        if body.get("session") is None:
            live = await self._submitted(call, body, asked)
            await call.json(envelope({**more, "runId": live.run_id}))
            return
        streams = wants_stream(call.request.headers.get("accept", ""), False)
        await self._run(call, asked, streams=streams, more=more)

    async def _submitted(self, call: Call, body: Json, asked: Asked) -> Live:
        """Return the open query that waited for this submit and has taken it. Raises Problem."""
        for live in list(self._open):
            if live.call.key.owner == call.key.owner and live.waits_for(body):
                full = request.submit({**body, "session": live.run.session})
                with in_body(full):
                    await offload(live.call.size, accept, full.document)
                if live.take(body, full, asked.told):  # another submit may have been faster
                    return live
        raise request.not_waiting(body)

    async def chats(self, call: Call) -> None:
        """Send an empty list: chats are not kept here."""
        await call.json(envelope([], NO_CHATS))

    async def chat(self, call: Call) -> None:
        """Send the details of the session in the body or in the query string."""
        heads = call.request.headers
        sent = heads.get("content-length", "0") != "0" or "transfer-encoding" in heads
        if call.request.method == "POST" or sent:
            body = await self._runs.read(call, "request_invalid")
            if _parameter(call, "includeEvents") == "true":
                body.setdefault("includeEvents", True)
        else:
            names = ("session", "includeEvents")
            body = request.chat_in({name: _parameter(call, name) for name in names})
        asked = request.chat(body)
        with in_body(asked):
            session = await offload(call.size, accept, asked.document)
        await call.json(envelope(chat(session, with_events=body.get("includeEvents") is True)))

    async def _run(
        self, call: Call, asked: Asked, *, streams: bool, more: Json | None = None
    ) -> None:
        with in_body(asked):
            async with self._runs.begin(call, asked.document) as run:
                if streams:
                    live = Live(call, run, asked, self._clock)
                    self._open.add(live)
                    try:
                        go_on = self._next(live)
                        await self._runs.stream(call, run, live.frame, live.last, go_on)
                    finally:
                        self._open.discard(live)
                    return
                session = await self._runs.collect(call, run)
                data = {**(more or {}), **reply(session, run.id, run.first_message)}
                await call.json(envelope(data), headers={"x-should-retry": "false"})

    def _next(self, live: Live) -> Callable[[], Any]:
        async def go_on() -> Run | None:
            """Return the run that continues with the answers; None unless all came in time."""
            if not await live.answered():
                return None
            try:
                return live.goes_on(self._runs.again(live.call, live.run.session))
            except Problem:  # the server stops: the session sent to the client has the answers
                return None

        return go_on

    def _tools_of(self) -> tuple[list[str], list[str]]:
        """Return the names of usable tools: (of every agent, of agents that name them)."""
        return _usable(self._tools.info()), _usable(self._tools.info_named())


class Live:
    """The open stream of a query: its request, its run, and the answers submitted meanwhile."""

    def __init__(self, call: Call, run: Run, asked: Asked, clock: Callable[[], int]) -> None:
        self.call, self.run, self.run_id = call, run, run.id
        self._telling = Telling(run.session, asked.told, new=asked.new, holds=asked.wait > 0)
        self._wait, self._clock = asked.wait, clock
        self._arrived = asyncio.Event()
        self._submitted: list[Json] = []
        self._late = False

    def frame(self, event: Event, name: str, number: int) -> bytes:
        """Return the frames of an event."""
        return _frames(self._telling.tell(event, name, self._clock()))

    def last(self) -> bytes:
        """Return the end of the stream, in every case the session's last event and `[DONE]`."""
        return _frames(self._telling.last(self._clock())) + DONE

    def waits_for(self, body: Json) -> bool:
        """Return whether the run waits for this submit."""
        right = body.get("runId") in (None, "", self.run_id)
        waits = right and self._telling.waiting and not self._late
        return waits and request.waits_for(self.run.session, body) is not None

    def take(self, body: Json, full: Asked, told: Json) -> bool:
        """Put the answer into the session; return False if nothing waits for it any more."""
        if not self.waits_for(body) or (item := request.waits_for(self.run.session, body)) is None:
            return False
        item["answer"] = next(
            each["answer"] for each in full.document["interrupts"] if each["id"] == item["id"]
        )
        self._submitted.append(told)
        self._arrived.set()
        return True

    async def answered(self) -> bool:
        """Wait for the answers to the run's interrupts; return whether all came."""
        if not self._telling.waiting:
            return False
        try:
            async with asyncio.timeout(self._wait):
                while any(self._missing()):
                    self._arrived.clear()
                    await self._arrived.wait()
        except TimeoutError:
            return False
        finally:
            self._late = True
        return True

    def goes_on(self, run: Run) -> Run:
        """Continue this stream with `run`, and return it."""
        self.run, self._late = run, False
        self._telling.goes_on(self._submitted)
        self._submitted = []
        return run

    def _missing(self) -> Iterator[bool]:
        return ("answer" not in item for item in self.run.session["interrupts"])


def _usable(tools: list[Json]) -> list[str]:
    return [t["name"] for t in tools if t["policy"] != "deny" and "unavailable" not in t]


def _frames(told: list[Json]) -> bytes:
    return b"".join(sse.encode(dumps(each), each["type"]) for each in told)


def _parameter(call: Call, name: str) -> str:
    """Return a parameter of the query string, "" if it is missing."""
    return parse_qs(call.request.query).get(name, [""])[0]
