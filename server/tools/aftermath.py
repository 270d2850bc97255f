"""What is done between the end of a call and its result: the record of the files it changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from ..json_types import Event


class Aftermath(Protocol):
    """What is done after a call has ended, and before its result is kept or told."""

    async def complete(self, result: Event) -> Event:
        """Return the TOOL_CALL_RESULT with what was found out after the call."""
        ...

    def abandon(self) -> None:
        """Clean up after a call, which may have ended without a result."""
        ...


async def complete(aftermath: Aftermath, result: Event, stopping: Callable[[], bool]) -> Event:
    """Return the complete result of a call.

    Not cut by cancelling unless the server stops: the call has ended, and what it did must not be
    forgotten.
    """
    task = asyncio.ensure_future(aftermath.complete(result))
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if stopping() or task.cancelled():
                task.cancel()
                raise
    return task.result()
