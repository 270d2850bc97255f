"""Conversations whose lines are cut anywhere, over and over, in one process: no call runs twice.

    python3 -m tests.chaos.cuts --cuts 10000

The vendor gives every call the id call_0. The tools count. Some run without being asked about, some
are approved, some may repeat. Clients read events, sleep while the server goes on, or wait for one
JSON answer and lose it. Servers are two that share a home folder. The model's calls follow from the
messages alone, so a client that POSTs an earlier state makes it repeat itself. The clock is set,
and claims expire.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from server.agent.call_decisions import FORGOTTEN
from server.agent.loop import BaseAgent
from server.agent.run_records import RunRecords, StopSignals
from server.errors import Problem
from server.json_types import Session
from server.models import Options
from server.models.tool_call_assembler import ToolCallAssembler
from server.session.fold import Folder

from ..fakes import (
    CountingToolbox,
    Ids,
    ManualClock,
    MemoryClaims,
    ScriptedModel,
    agent,
    answer,
    user,
)

TOOLS = {"bump": "auto", "side": "auto safe", "ask": "write", "look": "read", "slow": "auto slow"}
ONCE = ("bump", "side", "ask", "slow")  # tools that may not run twice
POSTS = 200  # of one conversation, at most
HOUR_MS = 3_600_000


class Conversation:
    """One conversation, with its own servers. `cuts` is how often a line was cut."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance = random.Random(seed)
        self.counts: dict[tuple[str, str], int] = {}
        self.ran: Counter[str] = Counter()
        self.clock = ManualClock()
        self.claims = MemoryClaims()
        self.rounds = [self._round() for _ in range(self.chance.randint(1, 5))]
        self.ids = Ids()
        self.hosts = [self._host(folder) for _ in range(2)]
        self.kind = self.chance.choice(("stream", "stream", "sleep", "json"))
        self.cuts = self.posts = 0
        self.lost: Counter[str] = Counter()  # what a person had to be asked about

    def _round(self) -> list[str]:
        return self.chance.choices(list(TOOLS), k=self.chance.choice((1, 1, 1, 2, 3)))

    def _host(self, folder: Path) -> BaseAgent:
        model = CountingVendor(self.script)
        model.clock = self.clock
        toolbox = Counted(TOOLS, self.ran)
        return agent(
            *(model, toolbox),
            claims=self.claims,
            ids=self.ids,
            clock=self.clock,
            records=RunRecords(folder / "runs", 10**9),
            signals=StopSignals(folder / "stops"),
            limits={"disconnect_grace_s": 0.002},
        )

    def script(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        """The next round's calls, named by turn and place, then an answer."""
        turn = sum(message["role"] == "user" for message in messages)
        last = max(i for i, message in enumerate(messages) if message["role"] == "user")
        number = sum(bool(message.get("tool_calls")) for message in messages[last:])
        if number >= len(self.rounds):
            return [("text", ["All ", "done", "."])]
        calls = [
            ("call", name, ["{", json.dumps({"n": f"{turn}.{number}.{place}"})[1:]])
            for place, name in enumerate(self.rounds[number])
        ]
        return [("text", ["Next: ", "now."]), *calls]

    async def run(self) -> None:
        """Hold the conversation to its end, through two turns."""
        session: Any = {"id": "s", "messages": [user("go")]}
        for turn in (1, 2):
            session = await self.turn(session)
            if turn == 1:
                session["messages"].append(user("again", "u2"))
        for host in self.hosts:
            await host.close()

    async def turn(self, session: Any) -> Any:
        while True:
            self.posts += 1
            if self.posts > POSTS:
                raise AssertionError(f"no end after {POSTS} POSTs: {session['status']}")
            self.step_clock()
            session = await self.post(session)
            if session.get("status") == "completed":
                return session
            self.answer(session)

    def step_clock(self) -> None:
        self.clock.now += self.chance.randint(1, 1000)
        if self.chance.random() < 0.02:
            self.clock.now = max(1, self.clock.now + self.chance.randint(-48, 48) * HOUR_MS)
        if self.chance.random() < 0.02:
            self.claims.expire()

    def answer(self, session: Any) -> None:
        if not session.get("interrupts"):
            return
        for interrupt in session["interrupts"]:
            self.lost[interrupt["reason"]] += 1
        for interrupt in session["interrupts"]:
            if interrupt["reason"] == "tool_call":
                payload = {"approved": FORGOTTEN not in interrupt["message"]}
                interrupt["answer"] = {"status": "resolved", "payload": payload}
        answer(session, "indeterminate", {"action": "skip"})

    async def post(self, session: Any) -> Any:
        """POST once, and lose the line with some probability. Returns what the client has then."""
        host = self.chance.choice(self.hosts)
        sent, kept = copy.deepcopy(session), marked(session)
        try:
            run = host.prepare(sent)
        except Problem as problem:  # the run before has not ended yet
            if problem.code != "run_active":
                raise
            await asyncio.sleep(0.002)
            return session
        cut = self.chance.randint(0, 40) if self.chance.random() < 0.8 else None
        ahead = self.chance.choice((0, 0, 1, 3)) if self.kind == "stream" else 10**9
        folder, seen, lost = Folder(kept), 0, False
        async with aclosing(run.events()) as events:
            async for event in events:
                seen += 1
                if cut is not None and seen > cut:
                    lost = True
                    if seen > cut + ahead:
                        break
                    continue
                folder.apply(copy.deepcopy(event))
        folder.flush()
        self.cuts += lost
        if not lost:
            return copy.deepcopy(run.session)
        if self.chance.random() < 0.3:
            await asyncio.sleep(0.004)  # longer than the grace
        return copy.deepcopy(session) if self.kind == "json" else kept


class CountingVendor(ScriptedModel):
    """Calls every tool `call_0`, as some vendors do, through what assembles a vendor's calls."""

    def call(self, options: Options, name: str, deltas: Iterable[str]) -> Iterator[Any]:
        calls = ToolCallAssembler(options.message_id, options.new_id, str)
        for delta in ("", *deltas):
            function = {"name": name, "arguments": delta}
            yield from calls.feed({"index": 0, "id": "call_0", "function": function})
        yield from calls.finish(cut=False)


class Counted(CountingToolbox):
    """Counts by what the model wanted, not by the call's id, which differs when it asks anew."""

    def __init__(self, tools: dict[str, str], ran: Counter[str]) -> None:
        super().__init__(tools, {})
        self.ran = ran

    async def execute(
        self, session: Session, call: Any, args: Any, *more: Any, **owner: Any
    ) -> None:
        if call["function"]["name"] in ONCE:
            self.ran[args["n"]] += 1
        await super().execute(session, call, args, *more, **owner)


def marked(session: Any) -> Any:
    """The copy that a client keeps when it POSTs approvals: those calls may have begun."""
    kept = copy.deepcopy(session)
    for interrupt in kept.get("interrupts", ()):
        given = interrupt.get("answer", {}).get("payload", {})
        entry = kept["calls"].get(interrupt.get("call_id"))
        if interrupt["reason"] == "tool_call" and given.get("approved") and entry:
            entry |= {"state": "started", "attempt": entry.get("attempt", 0) + 1}
    return kept


async def storm(cuts: int, seed: int) -> Counter[str]:
    """Hold conversations until lines were cut so often. Raises AssertionError for a call that ran
    twice, naming its seed."""
    told: Counter[str] = Counter()
    while told["cuts"] < cuts:
        with tempfile.TemporaryDirectory() as folder:
            held = Conversation(seed, Path(folder))
            await held.run()
        twice = {name: count for name, count in held.ran.items() if count > 1}
        if twice:
            raise AssertionError(f"seed {seed}: ran twice: {twice}, client {held.kind}")
        told.update(conversations=1, cuts=held.cuts, posts=held.posts, calls=len(held.ran))
        told.update({f"asked: {reason}": count for reason, count in held.lost.items()})
        seed += 1
    return told


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m tests.chaos.cuts")
    parser.add_argument("--cuts", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**9) if options.seed is None else options.seed
    began = time.monotonic()
    told = asyncio.run(storm(options.cuts, seed))
    print(f"seed {seed}: {dict(told)} in {time.monotonic() - began:.0f} s; no call ran twice")


if __name__ == "__main__":
    main()
