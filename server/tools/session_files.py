"""The files that sessions work on: what the kernel asks of them, and those that are only folders.

`SessionFiles` gives each session a folder of its own and records nothing. server/workspace has
more: real folders of the owner, a record of each change, and going back to an earlier state.

What belongs to one API key (`owner` of api/auth.py Key) is under a name that is a hash of the owner
and cannot be found with another: owners and session ids are arbitrary strings. The separating byte
occurs in no UTF-8 text.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..errors import Problem
from ..json_types import Json, Session
from ..lib.sandbox.folders import make_folders
from ..lib.sandbox.network_policy import NetworkPolicy
from ..lib.sandbox.policy import WORKSPACE, Mount
from ..lib.sandbox.process import Job, Outcome, Process
from ..session.workspace_error import WorkspaceError

# Below the home folder: files of sessions, what is known of them, recorded contents.
WORKSPACES, STATES, STORE = "workspaces", "workspace_state", "objects"
CALL_FILES = "skill_files"  # what calls read besides, each where it is mounted


class Starter(Protocol):
    """What runs calls in the sandbox (runner.py)."""

    @property
    def tier(self) -> str:
        """Return the tier of the sandbox."""
        ...

    @property
    def run_as(self) -> int:
        """Return the user of tools if the server is root, else 0."""
        ...

    @property
    def reach(self) -> NetworkPolicy:
        """Return the network of a call by default."""
        ...

    async def start(self, job: Job, mounts: tuple[Mount, ...]) -> Process:
        """Start a process for jobs like this one. Raises OSError."""
        ...

    async def run_own(self, job: Job, mounts: tuple[Mount, ...]) -> Outcome:
        """Run a call of the server itself."""
        ...

    def renew(self) -> None:
        """Discard prepared workers: one could not be used."""
        ...


class Workspace(Protocol):
    """The files of one session."""

    @property
    def mode(self) -> str:
        """Return own, read, write or overlay."""
        ...

    @property
    def is_recorded(self) -> bool:
        """Return whether its changes are recorded."""
        ...

    def exists(self) -> bool:
        """Return whether its folder is there."""
        ...

    def describe(self, session: Session) -> str:
        """Return where tools work and what they reach, for the prompt; "" if none can run."""
        ...

    async def request(self, name: str, **arguments: Any) -> Json:
        """Have an operation done. Raises WorkspaceError."""
        ...


class WorkspaceOfCalls(Workspace, Protocol):
    """A workspace, and what calls get of it."""

    @property
    def is_trusted(self) -> bool:
        """Return whether its folder says what models follow."""
        ...

    def for_tools(self) -> tuple[Mount, ...]:
        """Return what a tool's call gets: the current folder, and a home beside a real one."""
        ...

    def hold(self, run_as: int) -> AbstractAsyncContextManager[None]:
        """Keep the files from being replaced during a call. Raises WorkspaceError, OSError.

        `run_as`: the user of tools if the server is root, else 0.
        """
        ...


class Workspaces(Protocol):
    """The workspaces of a server."""

    def get(self, owner: str, session_id: str, folder_name: str | None = None) -> Workspace:
        """Return the workspace of a session: its own, or that of a real folder. Raises Problem."""
        ...


@dataclass(frozen=True)
class OwnFolder:
    """A session's own folder, of which nothing is recorded."""

    path: Path
    mode: str = "own"
    is_recorded: bool = False
    is_trusted: bool = False

    def for_tools(self) -> tuple[Mount, ...]:
        """Return the folder."""
        return (Mount(WORKSPACE, str(self.path), own=True),)

    @asynccontextmanager
    async def hold(self, run_as: int) -> AsyncGenerator[None]:
        """Make the folder: nothing else replaces its files. Raises OSError."""
        make_folders(self.for_tools(), run_as)
        yield

    def exists(self) -> bool:
        """Return whether it is there; the first call makes it."""
        return self.path.is_dir()

    def describe(self, session: Session) -> str:
        """Return nothing for the prompt."""
        return ""

    async def request(self, name: str, **arguments: Any) -> Json:
        """Raise WorkspaceError: no operation can be done."""
        raise WorkspaceError("unavailable", "this server does not record the files of sessions")


class SessionFiles:
    """The files of the sessions of one server; here each session has only a folder of its own.

    starter   runs calls, once it is known
    withheld  why no process may be started; "" if it may
    """

    starter: Starter
    withheld = ""

    def __init__(self, home: Path) -> None:
        self.home = home.resolve()

    @property
    def roots(self) -> tuple[str, ...]:
        """Return the folders that hold everything a call may get."""
        return tuple(str(self.home / name) for name in (WORKSPACES, STATES, STORE, CALL_FILES))

    def own(self, owner: str, session_id: str) -> Path:
        """Return the own folder of a session."""
        return self.home / WORKSPACES / own_name(owner, session_id)

    def get(self, owner: str, session_id: str, folder_name: str | None = None) -> WorkspaceOfCalls:
        """Return the workspace of a session: its own, or that of a real folder. Raises Problem."""
        if folder_name:
            raise Problem("folder_unknown", "this server has no folders")
        return OwnFolder(self.own(owner, session_id))

    def mode_of(self, folder_name: str) -> str:
        """Return the mode of a real folder, "" if there is none of this name."""
        return ""

    async def open(self) -> None:
        """Try what the sandbox allows in real folders."""

    def info(self) -> Json:
        """Return `{recorded, reason?, limits}` for `/info`."""
        return {"recorded": False, "reason": "the files of sessions are not recorded", "limits": {}}

    def folders(self, owner: str) -> list[Json]:
        """Return `[{name, mode, available, reason?}]` of a person's folders for `/info`."""
        return []

    def problems(self, people: Collection[str]) -> list[str]:
        """Return what the owner has to fix, a line each. `people`: whom the keys are of."""
        return []

    def clean(self) -> None:
        """Remove recorded contents that are too many. Slow."""

    def close(self) -> None:
        """End all processes."""


def own_name(owner: str, session_id: str) -> str:
    """Return the name of a session's own folder."""
    return hash_of(owner, session_id) if owner else hash_of(session_id)


def hash_of(*parts: str) -> str:
    """Return the name of what belongs to these."""
    text = b"\xff".join(part.encode("utf-8", "surrogatepass") for part in parts)
    return hashlib.sha256(text).hexdigest()[:32]
