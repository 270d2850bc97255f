"""A program that calls `/v1` with an SDK, which sends a request again."""

from __future__ import annotations

import asyncio
from typing import Any

from server.extensions import present

from .client import LATE_S, Client, lost
from .spec import Disturbance
from .wire import request

# Where each kind of program asks, and the member of the body that holds the conversation.
PROGRAMS = {"v1": ("/v1/chat/completions", "messages"), "responses": ("/v1/responses", "input")}
PROGRAMS = PROGRAMS if "openai" in present() else {}


class Caller(Client):
    """A client that holds no session: each try is the same request, and says which try it is."""

    async def run(self) -> None:
        """Ask until there is an answer."""
        self.final = {"messages": []}
        agent = self.host.app.agents.info("")[0]["name"]
        path, member = PROGRAMS[self.spec.wire]
        body = {"model": agent, member: [{"role": "user", "content": "go"}]}
        while self.tries < 60:
            due = self._due.pop(self.tries, None)
            headers = {"X-Stainless-Retry-Count": str(self.tries)}
            host, before = self.host, self.host.process.effects
            if due is not None and due.mode in ("kill", "full"):
                at = "kill_at" if due.mode == "kill" else "full_at"
                setattr(host.process, at, before + due.at)
            self.world.tell(f"POST {self.tries} to {host.process.name}")
            answer, line = await request(host, path, body, headers, **self._options_of(due))
            host.process.after = lambda count: None
            self.killed |= host.process.dead
            if due is None:
                self.sizes.append(0)
                self.effects.append(host.process.effects - before)
            self.world.tell(f"  has {answer.status} {str(answer.body)[:80]}")
            self.tries += 1
            if due is not None and due.action != "none":
                await self.after(due, body, body, line)
            elif answer.status == 200 and answer.whole:
                self.posts = self.tries
                return
            elif host.process.dead:
                self.host = self._another()
            else:
                await asyncio.sleep(1.0)
        self.found["never ends"] += 1

    def _options_of(self, due: Disturbance | None) -> dict[str, Any]:
        if due is None or due.mode == "kill":
            return {}
        if due.mode in ("rst", "fin"):
            return {"cut": (due.at, due.mode)}
        if due.mode == "late":
            return {"take": 0, "frames": 0, "late_s": LATE_S}
        return lost(0, due.mode) or {"take": 0}

    async def act(self, action: str, kept: Any, posted: Any) -> Any:
        """Wait, if the action is to come later; an SDK can do nothing else."""
        if action == "later":
            await asyncio.sleep(2.0)
        return kept
