"""`/v1`: agents as OpenAI's models, for everything that speaks to those.

In the walk: a body becomes a session in `fronts`, a run of it is begun as for `POST /session`, and
its events leave as the official SDKs read them. The rule of the file: before a run a mistake is a
real status; once one has begun nothing asks to be repeated, because tools may have run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ..errors import Problem
from ..fronts import chat, chat_reply, openai, responses, responses_reply
from ..session.events import Event
from .router import Call, Route
from .runs import Run, Runs

OWNER = "yaa"


class Agents(Protocol):
    """Which agents there are, and when each was written (Unix seconds)."""

    def info(self) -> list[dict[str, Any]]: ...
    def written(self) -> dict[str, int]: ...


class Reply(Protocol):
    """A run's events as an answer, streamed or whole."""

    def frame(self, event: Event) -> bytes: ...
    def cut(self) -> bytes: ...
    def see(self, event: Event) -> None: ...
    def answer(self) -> tuple[int, dict[str, Any]]: ...
    def brought(self) -> dict[str, Any] | None: ...


class Kept(Protocol):
    """What this host keeps for a short while (tools/claims.py)."""

    def store(self, owner: str, call_id: str, attempt: int, value: dict[str, Any]) -> None: ...
    def fetch(self, owner: str, call_id: str, attempt: int) -> dict[str, Any] | None: ...


class OpenAI:
    """The handlers. `names`: the server's own tools."""

    def __init__(
        self,
        runs: Runs,
        agents: Agents,
        names: Callable[[], Collection[str]],
        kept: Kept,
        version: str,
    ) -> None:
        self._runs, self._agents, self._names, self._kept = runs, agents, names, kept
        self._fingerprint = f"yaa-{version}"

    def routes(self) -> dict[tuple[str, str], Route]:
        return {
            ("GET", "/v1/models"): Route(self.models, refusal=openai.refusal),
            ("GET", "/v1/models/{model}"): Route(self.model, refusal=openai.refusal),
            ("POST", "/v1/chat/completions"): Route(self.chat, refusal=openai.refusal),
            ("POST", "/v1/responses"): Route(self.responses, refusal=openai.refusal),
        }

    async def models(self, call: Call) -> None:
        await call.json({"object": "list", "data": self._models()})

    async def model(self, call: Call) -> None:
        name = call.at["model"]
        for model in self._models():
            if model["id"] == name:
                await call.json(model)
                return
        known = ", ".join(model["id"] for model in self._models())
        detail = f"This server has no agent {openai.shown(name)}. Known: {known}."
        raise Problem("agent_unknown", detail, status=404)

    def _models(self) -> list[dict[str, Any]]:
        written = self._agents.written()
        return [
            {
                "id": agent["name"],
                "object": "model",
                "created": written.get(agent["name"], 0),
                "owned_by": OWNER,
            }
            for agent in self._agents.info()
        ]

    async def chat(self, call: Call) -> None:
        """Raises Problem for everything that is found wrong before the run begins."""
        with spoken():
            await self.complete(call, await self._runs.read(call, "request_invalid"))

    async def complete(self, call: Call, body: dict[str, Any]) -> None:
        """Answer a body of Chat Completions. Raises Problem."""
        document, wish = chat.read(body, self._names(), self._recall(call))
        with self._runs.begin(call, document) as run:
            reply = chat_reply.Reply(
                run.session,
                wish,
                run_id=run.id,
                first_message=run.first_message,
                fingerprint=self._fingerprint,
            )
            await self._answer(call, run, reply, streams=wish.stream)

    async def responses(self, call: Call) -> None:
        """Raises Problem for everything that is found wrong before the run begins."""
        with spoken():
            body = await self._runs.read(call, "request_invalid")
            document, wish = responses.read(body, self._names(), self._recall(call))
            with self._runs.begin(call, document) as run:
                first = run.first_message
                reply = responses_reply.Reply(run.session, wish, run_id=run.id, first_message=first)
                await self._answer(call, run, reply, streams=wish.stream)

    async def _answer(self, call: Call, run: Run, reply: Reply, *, streams: bool) -> None:
        if streams:

            def frame(event: Event, *_: Any) -> bytes:
                data = reply.frame(event)
                self._keep(call, event, reply)  # before it is sent: the caller may be quick
                return data

            await self._runs.stream(call, run, frame, reply.cut)
            return

        def see(event: Event) -> None:
            reply.see(event)
            self._keep(call, event, reply)

        await self._runs.collect(call, run, see)
        status, body = reply.answer()
        await call.json(body, status=status, headers={"x-should-retry": "false"})

    # Some clients (openai-node's runTools) send only the fields they know back. What they leave
    # out lies for a while where results of cut calls lie; elsewhere or later it is not known.

    def _keep(self, call: Call, event: Event, reply: Reply) -> None:
        if event["type"] == "RUN_FINISHED" and (brought := reply.brought()):
            self._kept.store(f"openai/{call.key.name}", next(iter(brought["calls"])), 0, brought)

    def _recall(self, call: Call) -> Callable[[str], dict[str, Any] | None]:
        return lambda call_id: self._kept.fetch(f"openai/{call.key.name}", call_id, 0)


@contextmanager
def spoken() -> Iterator[None]:
    """Problems leave with the status that the SDKs raise the right exception for."""
    try:
        yield
    except Problem as problem:
        raise openai.translated(problem) from None
