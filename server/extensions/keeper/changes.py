"""Change stored sessions, one change after the other, whoever else has the file for a moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ...errors import Problem
from ...json_types import Session
from ...lib.runtime.offload import LARGE, offload
from .folder import KeptFolder

WAIT_S, LOOK_S = 3.0, 0.05  # how long a file is waited for that is in use, and how often

Change = Callable[[Session], Session]


class Changes:
    """Makes changes. `folder`: (person) -> their kept sessions."""

    def __init__(self, folder: Callable[[str], KeptFolder]) -> None:
        self._folder = folder

    async def make(self, owner: str, session_id: str, change: Change) -> None:
        """Store what a change makes of a session. Raises Problem; `run_active` if it runs."""
        deadline = asyncio.get_running_loop().time() + WAIT_S
        while True:
            try:
                await offload(LARGE, self._make, owner, session_id, change)
                return
            except Problem as problem:
                late = asyncio.get_running_loop().time() > deadline
                if problem.code != "run_active" or late:
                    raise
            await asyncio.sleep(LOOK_S)

    def _make(self, owner: str, session_id: str, change: Change) -> None:
        with self._folder(owner).lock(session_id) as kept:
            session = kept.open()
            if session is None:
                raise FileNotFoundError
            kept.save(change(session))
            if kept.failed:
                raise Problem("disk_failed", kept.failed)
