"""`/api/*`: agents, queries and submits, for clients of an agent gateway.

In the walk: beside `POST /session`, with the same runs; fronts/gateway translates. The rule of the
file: a query's stream ends with the session, and nothing of it stays here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol
from urllib.parse import parse_qs

from ..errors import Problem
from ..fronts import gateway
from ..fronts.asked import in_body
from ..fronts.gateway import Asked, Json, envelope
from ..fronts.gateway_events import Telling, chat, reply
from ..jsontext import dumps
from ..session.events import Event
from ..session.intake import accept
from ..wire import sse
from .router import Call, Route
from .runs import Runs
from .session import wants_stream

DONE = sse.encode("[DONE]")
TERMINAL = ("run.end", "run.error")
NO_CHATS = (
    "This server keeps no chats: the session that a query ends with is the chat, and its client"
    ' keeps it. POST /api/chat with {"session": …} tells its details.'
)


class Agents(Protocol):
    def info(self, owner: str) -> list[Json]: ...
    def resolve(self, session: Json, owner: str) -> Json: ...


class Gateway:
    """The handlers. `tools` gives the server's tools, `clock` the time in milliseconds."""

    def __init__(
        self,
        runs: Runs,
        agents: Agents,
        tools: Callable[[], list[Json]],
        clock: Callable[[], int],
    ) -> None:
        self._runs, self._agents, self._tools, self._clock = runs, agents, tools, clock

    def routes(self) -> dict[tuple[str, str], Route]:
        table = {
            ("GET", "/api/agents"): self.agents,
            ("GET", "/api/agent"): self.agent,
            ("GET", "/api/chats"): self.no_chats,
            ("GET", "/api/chat"): self.no_chats,
            ("POST", "/api/chat"): self.chat,
            ("POST", "/api/query"): self.query,
            ("POST", "/api/submit"): self.submit,
        }
        return {at: Route(handler, refusal=gateway.refusal) for at, handler in table.items()}

    async def agents(self, call: Call) -> None:
        tag, tools = _parameter(call, "tag"), self._tool_names()
        owner = call.key.owner
        names = [each["name"] for each in self._agents.info(owner)]
        known = [self._agents.resolve({"agent": name}, owner) for name in names]
        listed = [gateway.summary(about, tools) for about in known]
        await call.json(envelope([agent for agent in listed if gateway.tagged(agent, tag)]))

    async def agent(self, call: Call) -> None:
        asked = gateway.one_agent(_parameter(call, "agentKey"))
        with in_body(asked):
            about = self._agents.resolve(asked.document, call.key.owner)
        await call.json(envelope(gateway.detail(about, self._tool_names())))

    async def query(self, call: Call) -> None:
        """A run, as events; with `"stream": false` as one answer."""
        body = await self._runs.read(call, "request_invalid")
        await self._run(call, gateway.query(body), streams=body.get("stream") is not False)

    async def submit(self, call: Call) -> None:
        """The run goes on with what was submitted, and is told in one answer unless `Accept` asks
        for events."""
        body = await self._runs.read(call, "request_invalid")
        asked = gateway.submit(body)
        streams = wants_stream(call.request.headers.get("accept", ""), False)
        more = {"requestId": body.get("requestId"), "accepted": True, "toolId": body["toolId"]}
        await self._run(call, asked, streams=streams, more=more)

    async def chat(self, call: Call) -> None:
        body = await self._runs.read(call, "request_invalid")
        asked = gateway.chat(body)
        with in_body(asked):
            session = accept(asked.document)
        events = body.get("includeEvents") is not False
        await call.json(envelope(chat(session, with_events=events)))

    async def no_chats(self, call: Call) -> None:
        raise Problem("not_found", NO_CHATS)

    async def _run(
        self, call: Call, asked: Asked, *, streams: bool, more: Json | None = None
    ) -> None:
        with in_body(asked):
            async with self._runs.begin(call, asked.document) as run:
                if streams:
                    telling = Telling(run.session, asked.told, new=asked.new)

                    def frame(event: Event, name: str, number: int) -> bytes:
                        told = _frames(telling.tell(event, name, self._clock()))
                        return told + DONE if name in TERMINAL else told

                    def cut() -> bytes:
                        return _frames(telling.cut(self._clock())) + DONE

                    await self._runs.stream(call, run, frame, cut)
                    return
                session = await self._runs.collect(call, run)
                data = {**(more or {}), **reply(session, run.id, run.first_message)}
                await call.json(envelope(data), headers={"x-should-retry": "false"})

    def _tool_names(self) -> list[str]:
        """Those that a call may use."""
        usable = (t for t in self._tools() if t["policy"] != "deny" and "unavailable" not in t)
        return [tool["name"] for tool in usable]


def _frames(told: list[Json]) -> bytes:
    return b"".join(sse.encode(dumps(each), each["type"]) for each in told)


def _parameter(call: Call, name: str) -> str:
    """A parameter of the query string; nothing where it is missing."""
    return parse_qs(call.request.query).get(name, [""])[0]
