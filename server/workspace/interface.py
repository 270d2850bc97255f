"""What runs and handlers need of workspaces; host.py has them."""

from __future__ import annotations

from typing import Any, Protocol

from ..json_types import Json, Session


class Workspace(Protocol):
    """A workspace. `mode`: own, read, write or overlay; `is_recorded`: its changes are recorded."""

    mode: str
    is_recorded: bool

    def exists(self) -> bool:
        """Return whether its folder is there."""
        ...

    def describe(self, session: Session) -> str:
        """Return where tools work and what they reach, for the prompt; "" if none can run."""
        ...

    async def request(self, name: str, **arguments: Any) -> Json:
        """Have its process do an operation. Raises WorkspaceError."""
        ...


class Workspaces(Protocol):
    """The workspaces of a server."""

    def get(self, owner: str, session_id: str, folder_name: str | None = None) -> Workspace:
        """Return the workspace of a session. Raises Problem."""
        ...
