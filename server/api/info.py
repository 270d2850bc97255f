"""`GET /health` for machines, `GET /info` for the client: what this server is and has.

The rule of the file: `/health` is open and says nothing worth knowing; `/info` needs a key and
tells no secret, only what a session on this server can name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .router import Call

Facts = Callable[[], Any]


class Info:
    """The two handlers. Each of `facts` is asked at every request, because agents, models and
    tools may change while the server runs; `defaults` is the session half of the configuration."""

    def __init__(
        self,
        version: str,
        limits: Mapping[str, Any],
        defaults: Mapping[str, Any],
        is_open: Callable[[], bool] = lambda: True,
        **facts: Facts,
    ) -> None:
        self._version, self._is_open = version, is_open
        self._fixed = {"version": version, "limits": dict(limits), "defaults": dict(defaults)}
        self._facts = facts

    async def health(self, call: Call) -> None:
        """200 as soon as it listens: what needs more than that waits until there is more."""
        status = "ok" if self._is_open() else "starting"
        await call.json({"status": status, "version": self._version})

    async def info(self, call: Call) -> None:
        await call.json(self._fixed | {name: fact() for name, fact in self._facts.items()})
