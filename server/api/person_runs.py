"""Begin runs for people who have sent no request, on the terms of one of theirs.

What goes on by itself (an extension that keeps sessions) uses this in place of `POST /session`: the
same checks, limits and accounts. Only who has a key here can have runs; a key that goes ends them.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from ..agent.loop import BaseAgent, Run
from ..errors import Problem
from ..lib.runtime.accounts import Accounts, crowded, person
from ..telemetry import trace_context
from .auth import Key, Keys
from .sessions import Runs

COPIES = 4  # bytes of memory for a byte of a document


class Errand:
    """What stands for the request of a run that nobody has sent. `abort` ends the run."""

    outlives_key = False

    def __init__(self, key: Key, size: int, abort: Callable[[], object]) -> None:
        self.key, self.size, self.abort = key, size, abort
        self.run, self.began, self.id = "", time.time(), f"errand_{secrets.token_hex(8)}"
        self.headers: Mapping[str, str] = {}
        self.exchange: Any = self
        self.request: Any = self


class PersonRuns:
    """The runs of people of one server, in one process."""

    def __init__(self, agent: BaseAgent, runs: Runs, keys: Keys, accounts: Accounts) -> None:
        self._agent, self._runs, self._keys, self._accounts = agent, runs, keys, accounts

    @asynccontextmanager
    async def begin(
        self, owner: str, document: dict[str, Any], size: int, abort: Callable[[], object]
    ) -> AsyncGenerator[Run, None]:
        """Prepare a run of a document of `size` bytes, which belongs to the run from now on.

        `abort` is called if the person's last key goes. Raises Problem, as `POST /session` answers.
        """
        if (key := self._keys.of(owner)) is None:
            raise Problem("forbidden", "This person has no key here any more")
        errand = Errand(key, size, abort)
        person.set(owner)
        crowded.set(self._accounts.others)
        trace_context.current.set(trace_context.begin())
        self._accounts.begin(errand)
        try:
            self._accounts.take(owner, "memory", COPIES * size)
            try:
                await self._accounts.arrive(owner)
                caller: Any = errand  # it has all of a RequestContext that is read there
                async with self._runs.begin(caller, document) as run:
                    yield run
            finally:
                self._accounts.give(owner, "memory", COPIES * size)
        finally:
            self._accounts.end(errand)

    async def stop(self, owner: str, session_id: str) -> bool | None:
        """Stop the runs of a session. Return whether they have ended, None: nothing ran."""
        return await self._agent.stop_session(owner, session_id)
