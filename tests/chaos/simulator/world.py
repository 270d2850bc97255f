"""The servers of one home, their clock, and what tools did."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import logging
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from . import disk
from .host import Host
from .line import LATENCY_S
from .loop import Loop, Process

EPOCH = 1_700_000_000.0  # Unix seconds at the world's beginning
TOOK_S = 0.02  # what a tool takes


class Ran(NamedTuple):
    """A call that a tool got. `wanted`: what the model wanted, whatever the call's id."""

    wanted: str
    call_id: str
    tool: str
    at: float


class World:
    """One world. `tools` and `script` as in tests/fakes.py, `keys` those of the configuration.

    ran       what tools did
    story     what happened, for people
    skew_s    how far the clock of the servers is ahead
    """

    def __init__(
        self,
        home: Path,
        tools: dict[str, str],
        script: Callable[[list[Any]], list[tuple[Any, ...]]],
        keys: list[Any],
        chance: random.Random | None = None,
    ) -> None:
        self.home, self.tools, self.script, self.keys = home, tools, script, keys
        self.loop = Loop()
        self.loop.chance = chance
        self.ran: list[Ran] = []
        self.story: list[str] = []
        self.skew_s = 0.0
        self.took_s = TOOK_S
        self.locks: dict[str, Process] = {}
        self.hosts: list[Host] = []
        self._numbers, self._ids = itertools.count(1), itertools.count(1)

    def tell(self, text: str) -> None:
        """Add a line to the story."""
        self.story.append(f"{self.loop.now:9.3f} {text}")

    def note_call(self, host: Host, call: Any, args: Any) -> None:
        """Note that a tool got a call."""
        name = call["function"]["name"]
        self.ran.append(Ran(str(args["n"]), call["id"], name, self.loop.now))
        self.tell(f"    {host.process.name} runs {name} {args['n']} as {call['id']}")

    def latency(self) -> float:
        """Return what the network takes now, in seconds."""
        chance = self.loop.chance
        return LATENCY_S if chance is None else LATENCY_S * chance.choice((0.1, 1, 1, 5, 30))

    def now(self) -> float:
        """Return the time on the servers' clock."""
        return EPOCH + self.loop.now + self.skew_s

    def now_ms(self) -> int:
        """Return the time on the servers' clock in milliseconds."""
        return int(self.now() * 1000)

    def new_id(self, kind: str) -> str:
        """Return an identifier that no server of the world has given."""
        return f"{kind}_{next(self._ids)}"

    def is_idle(self) -> bool:
        """Return whether nothing will happen unless a client does something."""
        sweeps = [h.listener._sweep for h in self.hosts if not h.listener._connections]
        return all(each._callback in sweeps for each in self.loop.left())

    def host(self, name: str) -> Host:
        """Start a server."""
        self.hosts.append(Host(self, name))
        return self.hosts[-1]

    def play(self, story: Any) -> None:
        """Run a coroutine of the client's to its end. Raises Quiet if it never ends."""
        asyncio.set_event_loop(self.loop)
        with disk.mounted(self.now, self.loop.time, lambda: next(self._numbers)):
            task = self.loop.create_task(story, context=contextvars.Context())
            task.add_done_callback(lambda _: self.loop.stop())
            try:
                self.loop.run_forever()
            finally:
                complaints = list(self.loop.complaints)
                self._end()
                self.loop.complaints = complaints
                asyncio.set_event_loop(None)
            task.result()

    def _end(self) -> None:
        """End all that is left, the dead too: their `finally` blocks have no effect any more."""
        left: list[Any] = []
        for host in self.hosts:
            host.process.ended, host.process.dead = True, False
            left += host.process.graveyard  # a task whose next step was not run cannot be cancelled
            host.process.graveyard = []
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.drain(left)
        for host in self.hosts:  # what Python would call when it collects a run keeps it alive
            for run in list(host.app.agent._active.values()):
                run.release()


def silence() -> None:
    """Switch off the product's logs, and what Python says of coroutines of dead processes."""
    logging.disable(logging.CRITICAL)
    sys.unraisablehook = lambda about: None
