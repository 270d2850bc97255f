"""`/v1`: agents as OpenAI's models, for everything that speaks to those.

In the walk: a body becomes a session in `fronts`, a run of it is begun as for `POST /session`, and
its events leave as the official SDKs read them. The rule of the file: before a run a mistake is a
real status; once one has begun nothing asks to be repeated, because tools may have run, and what is
repeated all the same goes on with the run that it began (protocols/openai/idempotency).
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Protocol

from ...api.router import Call, Route
from ...api.run_stream import TERMINAL, Run, Runs
from ...errors import Problem
from ...http.delivery import arrived
from ...session.events import EXEC, Event, alias
from . import chat, chat_reply, common, idempotency, responses, responses_reply
from .fields import shown
from .previous_responses import Earlier

OWNER = "yaa"
NOTED = ("RUN_STARTED", "STATE_DELTA", *TERMINAL)


class Agents(Protocol):
    """Which agents a key has, and when each was written (Unix seconds)."""

    def info(self, owner: str) -> list[dict[str, Any]]: ...
    def written(self, owner: str) -> dict[str, int]: ...


class Reply(Protocol):
    """A run's events as an answer, streamed or whole."""

    def frame(self, event: Event) -> bytes: ...
    def cut(self) -> bytes: ...
    def see(self, event: Event) -> None: ...
    def answer(self) -> tuple[int, dict[str, Any]]: ...
    def brought(self) -> dict[str, Any] | None: ...
    def lasting(self) -> tuple[str, dict[str, Any]] | None: ...


class Kept(Protocol):
    """What this host keeps for a short while (tools/execution_claims.py)."""

    def store(self, owner: str, call_id: str, attempt: int, value: dict[str, Any]) -> None: ...
    def fetch(self, owner: str, call_id: str, attempt: int) -> dict[str, Any] | None: ...
    def forget(self, owner: str, call_id: str, attempt: int) -> None: ...


class Recent(Protocol):
    """Recent answers of this host (recent.py)."""

    @property
    def keeps(self) -> bool: ...
    def store(self, owner: str, name: str, value: dict[str, Any]) -> None: ...
    def fetch(self, owner: str, name: str, most: int) -> tuple[dict[str, Any], int] | None: ...


class OpenAI:
    """The handlers. `names`: the server's own tools."""

    def __init__(
        self,
        runs: Runs,
        agents: Agents,
        names: Callable[[], Collection[str]],
        kept: Kept,
        recent: Recent,
        version: str,
    ) -> None:
        self._runs, self._agents, self._names, self._kept = runs, agents, names, kept
        self._recent = recent
        self._fingerprint = f"yaa-{version}"

    def routes(self) -> dict[tuple[str, str], Route]:
        return {
            ("GET", "/v1/models"): Route(self.models, refusal=common.refusal),
            ("GET", "/v1/models/{model}"): Route(self.model, refusal=common.refusal),
            ("POST", "/v1/chat/completions"): Route(self.chat, refusal=common.refusal),
            ("POST", "/v1/responses"): Route(self.responses, refusal=common.refusal),
        }

    async def models(self, call: Call) -> None:
        await call.json({"object": "list", "data": self._models(call)})

    async def model(self, call: Call) -> None:
        name = call.at["model"]
        for model in self._models(call):
            if model["id"] == name:
                await call.json(model)
                return
        known = ", ".join(model["id"] for model in self._models(call))
        detail = f"This server has no agent {shown(name)}. Known: {known}."
        raise Problem("agent_unknown", detail, status=404)

    def _models(self, call: Call) -> list[dict[str, Any]]:
        written = self._agents.written(call.key.owner)
        return [
            {
                "id": agent["name"],
                "object": "model",
                "created": written.get(agent["name"], 0),
                "owned_by": OWNER,
            }
            for agent in self._agents.info(call.key.owner)
        ]

    async def chat(self, call: Call) -> None:
        """Raises Problem for everything that is found wrong before the run begins."""
        with spoken():
            await self.complete(call, await self._runs.read(call, "request_invalid"))

    async def complete(self, call: Call, body: dict[str, Any]) -> None:
        """Answer a body of Chat Completions. Raises Problem."""
        document, wish = chat.read(body, self._names(), self._recall(call))
        turn = await self._turn(call, document, streams=wish.stream)
        async with self._begun(call, turn) as run:
            reply = chat_reply.Reply(
                run.session,
                wish,
                run_id=run.id,
                first_message=turn.first,
                fingerprint=self._fingerprint,
            )
            await self._answer(call, run, reply, turn, streams=wish.stream)

    async def responses(self, call: Call) -> None:
        """Raises Problem for everything that is found wrong before the run begins."""
        with spoken():
            body = await self._runs.read(call, "request_invalid")
            document, wish = responses.read(
                *(body, self._names(), self._recall(call), self._earlier(call)),
                keeps=self._recent.keeps,
            )
            turn = await self._turn(call, document, streams=wish.stream)
            async with self._begun(call, turn) as run:
                first = turn.first
                reply = responses_reply.Reply(run.session, wish, run_id=run.id, first_message=first)
                await self._answer(call, run, reply, turn, streams=wish.stream)

    async def _turn(self, call: Call, document: dict[str, Any], *, streams: bool) -> Turn:
        body, request = await call.exchange.body(), call.request
        who = call.key.owner
        found = idempotency.named(request.headers, who, request.path, body, streams=streams)
        return Turn(self._kept, place(call.key.owner), document, found)

    @asynccontextmanager
    async def _begun(self, call: Call, turn: Turn) -> AsyncGenerator[Run, None]:
        try:
            async with self._runs.begin(call, turn.document) as run:
                yield run
        except Problem as problem:
            turn.refused(problem)
            raise

    async def _answer(
        self, call: Call, run: Run, reply: Reply, turn: Turn, *, streams: bool
    ) -> None:
        if streams:

            def frame(event: Event, *_: Any) -> bytes:
                data = reply.frame(event)
                if event["type"] in NOTED:  # before it is sent: the caller may be quick
                    data += b"".join(map(reply.frame, turn.retold(event)))
                    self._note(call, run, event, reply, turn)
                return data

            await self._runs.stream(call, run, frame, reply.cut)
            return

        def see(event: Event) -> None:
            reply.see(event)
            if event["type"] in NOTED:
                for each in turn.retold(event):
                    reply.see(each)
                self._note(call, run, event, reply, turn)

        await self._runs.collect(call, run, see)
        status, body = reply.answer()
        await call.json(body, status=status, headers={"x-should-retry": "false"})
        if turn.nameless and await arrived(call.exchange):
            turn.forget()

    def _note(self, call: Call, run: Run, event: Event, reply: Reply, turn: Turn) -> None:
        turn.note(event, run.session)
        self._keep(call, event, reply)

    # Some clients (openai-node's runTools) send back only the fields they know. What they leave out
    # is kept for a while on this host, where results of cut calls are kept.

    def _keep(self, call: Call, event: Event, reply: Reply) -> None:
        if event["type"] == "RUN_FINISHED" and (brought := reply.brought()):
            self._kept.store(place(call.key.owner), next(iter(brought["calls"])), 0, brought)
        if event["type"] == "RUN_FINISHED" and (lasting := reply.lasting()):
            self._recent.store(call.key.owner, *lasting)

    def _recall(self, call: Call) -> Callable[[str], dict[str, Any] | None]:
        return lambda call_id: self._kept.fetch(place(call.key.owner), call_id, 0)

    def _earlier(self, call: Call) -> Earlier:
        return lambda name, most: self._recent.fetch(call.key.owner, name, most)


class Turn:
    """A request and the session that answers it: a new one, or for a repetition the one that the
    request had before. `first`: how many messages the request itself has."""

    def __init__(
        self, kept: Kept, owner: str, document: dict[str, Any], name: idempotency.Again | None
    ) -> None:
        self._kept, self._owner, self._again = kept, owner, name
        self.document, self.first = document, len(document["messages"])
        found = kept.fetch(owner, name.name, 0) if name and name.repeated else None
        self._is_kept = found is not None
        self._retold: list[Event] = []
        if found:
            self.document = idempotency.resumed(document, found)
            self._retold = list(idempotency.retold(found["messages"]))
        elif name and name.keyed:  # so that a second one of these finds that the first still runs
            self.document.setdefault("id", f"ses_{name.name[:24]}")

    def retold(self, event: Event) -> list[Event]:
        """What was said before, behind the event that opens the run."""
        return self._retold if event["type"] == "RUN_STARTED" else []

    def note(self, event: Event, session: dict[str, Any]) -> None:
        """Keep the run from its first call on, before that begins: what came before costs nothing
        to do again. One that was named is kept at its end in any case."""
        if self._again is None:
            return
        ended = event["type"] in TERMINAL and (self._is_kept or self._again.keyed)
        if ended or alias(event) == EXEC:
            self._is_kept = True
            self._kept.store(
                self._owner, self._again.name, 0, idempotency.kept(session, self.first)
            )

    @property
    def nameless(self) -> bool:
        """Whether only its words tell a repetition: once the answer has arrived, the same words are
        another request."""
        return bool(self._again and self._is_kept and not self._again.keyed)

    def forget(self) -> None:
        if self._again:
            self._kept.forget(self._owner, self._again.name, 0)

    def refused(self, problem: Problem) -> None:
        """One that comes while its first try still runs may come again: it is not begun twice."""
        if problem.code == "run_active" and self._again and self._again.repeated:
            problem.headers["x-should-retry"] = "true"


def place(owner: str) -> str:
    """Return where things of a key of this owner are kept. It is longer than the id of any session,
    since the results of sessions are kept in the same folder."""
    return f"openai/{hashlib.blake2b(owner.encode('utf-8', 'surrogatepass')).hexdigest()}"


@contextmanager
def spoken() -> Iterator[None]:
    """Problems leave with the status that the SDKs raise the right exception for."""
    try:
        yield
    except Problem as problem:
        raise common.translated(problem) from None
