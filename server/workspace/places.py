"""The folders of a workspace: where they are on this host, and what a call gets of them.

What belongs to one API key (`owner` of api/auth.py Key) is under a name that is a hash of the owner
and cannot be found with another: owners and session ids are arbitrary strings. The separating byte
occurs in no UTF-8 text.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..lib.sandbox.policy import FOLDER, OBJECTS, SESSION, STATE, WORKSPACE, Mount
from .folders import Folder, Folders
from .guard import protected_places

WORKSPACES, STATES, STORE = "workspaces", "workspace_state", "objects"  # below the home folder
CALL_FILES = "skill_files"  # what calls read beside them, each where it is mounted


@dataclass(frozen=True)
class Place:
    """The workspace of one session: `folder` is None for its own.

    id        of its state, the same for all who share it
    files     what is mounted for tools as the current folder
    session   the session's own folder: `files`, unless that is of a real folder
    """

    id: str
    owner: str
    folder: Folder | None
    files: Path
    session: Path
    state: Path
    objects: Path

    @property
    def mode(self) -> str:
        """Return own, read, write or overlay."""
        return self.folder.mode if self.folder else "own"

    def for_tools(self) -> tuple[Mount, ...]:
        """Return what a tool's call gets: the current folder, and a home beside a real one."""
        known = protected_places(self.state) if self.mode == "write" else None
        files = self._files(WORKSPACE, known)
        if self.files == self.session:
            return (files,)
        return (files, Mount(SESSION, str(self.session), own=True))

    def for_operations(self) -> tuple[Mount, ...]:
        """Return what the workspace process gets."""
        mounts = [
            self._files(WORKSPACE),
            Mount(STATE, str(self.state), own=True),
            Mount(OBJECTS, str(self.objects), own=True),
        ]
        if self.folder is not None and self.mode == "overlay":
            mounts.append(Mount(FOLDER, str(self.folder.path)))
        return tuple(mounts)

    def _files(self, at: str, protected: tuple[str, ...] | None = None) -> Mount:
        own = self.mode in ("own", "overlay")
        return Mount(at, str(self.files), self.mode != "read", own, protected)


class Places:
    """The workspaces of one home folder."""

    def __init__(self, home: Path, folders: Folders | None = None) -> None:
        self.home = home.resolve()
        self.folders = folders or Folders({})
        self.workspaces = self.home / WORKSPACES
        self._states, self._store = self.home / STATES, self.home / STORE

    @property
    def roots(self) -> tuple[str, ...]:
        """Return the folders that hold everything that a call may get."""
        own = (str(self.home / name) for name in (WORKSPACES, STATES, STORE, CALL_FILES))
        return (*own, *self.folders.paths)

    def own(self, owner: str, session_id: str) -> Path:
        """Return the folder of a session."""
        parts = (owner, session_id) if owner else (session_id,)
        return self.workspaces / _hash(*parts)

    def find(self, owner: str, session_id: str, folder_name: str | None = None) -> Place:
        """Return the workspace of a session: its own, or that of a real folder.

        Raises Problem: folder_unknown, folder_missing, folder_mode.
        """
        session = files = self.own(owner, session_id)
        folder = None
        name = session.name
        if folder_name:
            folder = self.folders.find(folder_name, owner)
            told = (folder.name, str(folder.path))
            if folder.mode == "overlay":
                files = self.workspaces / _hash(owner, session_id, *told)
                name = files.name
            else:
                files = folder.path
                name = f"folder-{_hash(owner, *told)}"
        state, objects = self._states / name, self._store / _hash(owner)
        return Place(name, owner, folder, files, session, state, objects)


def make_folders(mounts: Iterable[Mount], run_as: int) -> None:
    """Make those of these folders that belong to the server, for the user of tools. Raises OSError.

    `run_as`: that user if the server is root, else 0.
    """
    for mount in mounts:
        if not mount.own:
            continue
        folder = Path(mount.path)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o700 != 0o700:  # changed by a tool
            folder.chmod(0o700)
        with suppress(OSError):  # tools/retention.py removes unused workspaces by this time
            os.utime(folder)
        if run_as:  # safe by path: nobody else may write in the parent folder
            os.chown(folder, run_as, run_as, follow_symlinks=False)


def identities(mounts: Iterable[Mount]) -> str:
    """Return what tells these folders from others that take their places. Raises OSError."""
    return repr([(about.st_dev, about.st_ino) for about in map(os.lstat, (m.path for m in mounts))])


def _hash(*told: str) -> str:
    text = b"\xff".join(part.encode("utf-8", "surrogatepass") for part in told)
    return hashlib.sha256(text).hexdigest()[:32]
