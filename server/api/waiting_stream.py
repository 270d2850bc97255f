"""A stream of another program's client that stays open for answers when its run has stopped."""

from __future__ import annotations

import asyncio

from ..agent.loop import Run
from ..errors import Problem
from .router import RequestContext
from .sessions import Runs


class WaitingStream:
    """An open stream that waits, when its run has stopped, for answers to the interrupts.

    Whoever puts an answer into the session sets `arrived`.
    """

    def __init__(self, runs: Runs, call: RequestContext, run: Run, wait_s: float) -> None:
        self.call, self.run = call, run
        self.arrived = asyncio.Event()
        self._runs, self._wait_s = runs, wait_s

    async def all_answered(self) -> bool:
        """Wait until all interrupts have answers; return False if they do not in time."""
        try:
            async with asyncio.timeout(self._wait_s):
                while any("answer" not in item for item in self.run.session["interrupts"]):
                    self.arrived.clear()
                    await self.arrived.wait()
        except TimeoutError:
            return False
        return True

    async def again(self) -> Run | None:
        """Return the run that continues with the answers.

        None if the server stops: the session that is sent to the client has the answers.
        """
        try:
            self.run = await self._runs.next_run(self.call, self.run.session)
        except Problem:
            return None
        return self.run
