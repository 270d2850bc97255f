"""Take the bases of POSTs, and keep what runs end with for those of the next ones.

See session/kept_sessions.py. Long work on a kept session is done outside of the event loop.
"""

from __future__ import annotations

from typing import Any

from ..agent.loop import Run
from ..lib.runtime.offload import offload
from ..session.kept_sessions import KeptSession, KeptSessions, take_base, unknown_base
from ..session.limits import LimitCeilings
from .body import BodyLimits
from .router import RequestContext

PER_MESSAGE = 10  # a message that is known takes as long as so many bytes of JSON


class Bases:
    """The kept sessions of this process: up to `megabytes` of memory, 0 for none."""

    def __init__(self, megabytes: float, ceilings: LimitCeilings) -> None:
        self._kept, self._ceilings, self._on = KeptSessions(megabytes), ceilings, megabytes > 0

    async def take(self, call: RequestContext, document: dict[str, Any]) -> KeptSession | None:
        """Take the base out of a document and return what it stands for; None if it has none.

        Raises Problem if that is not kept, or would be refused for its size.
        """
        if (wanted := take_base(document)) is None:
            return None
        count, digest = wanted
        kept = self.find(call.key.owner, document.get("id"))
        most = BodyLimits.of(self._ceilings.of(call.key.owner))
        if kept is None or kept.size + call.size > most.bytes:
            raise unknown_base()
        if kept.values + call.values > most.values:
            raise unknown_base()
        base = await offload(kept.size, kept.first_if, count, digest)
        if base is None:
            raise unknown_base()
        return base

    async def keep(self, call: RequestContext, run: Run) -> None:
        """Keep what a run left of its session; `call` brought that, or what follows its base."""
        if self._on and (left := await offload(PER_MESSAGE * run.first_message, run.left)):
            if not run.base.messages:
                left.values += call.values
            self._kept.keep(left)

    def find(self, owner: str, session_id: Any) -> KeptSession | None:
        """Return what is kept of a session, None if there is nothing. The id may be any value."""
        return self._kept.find(owner, session_id)
