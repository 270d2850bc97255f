"""What the keeper has beside the agent: its routes, and what `/info` says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...api import idempotency
from ...api.router import Route
from ..parts import Host, Parts
from .folder import KeptFolder, Room
from .routes import KeptSessions


class KeeperParts(Parts):
    """The folders of kept sessions, and their routes."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._folders: dict[str, KeptFolder] = {}
        self.room = Room.of(host.config.server)

    def folder(self, owner: str) -> KeptFolder:
        """Return the folder of a person."""
        if owner not in self._folders:
            self._folders[owner] = KeptFolder(self.host.config.home, owner, self.room)
        return self._folders[owner]

    def routes(self) -> Mapping[tuple[str, str], Route]:
        """Return its routes. What changes something may be repeated."""
        return idempotency.of_process.wrap(KeptSessions(self.folder, self.host.ceilings).routes())

    def info(self, owner: str) -> Mapping[str, Any]:
        """Return how much a person may keep."""
        return {"keeper": dict(self.room._asdict())}
