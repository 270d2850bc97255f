"""The folders of a workspace: where they are on this host, and what a call gets of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..lib.sandbox.policy import FOLDER, OBJECTS, SESSION, STATE, WORKSPACE, Mount
from ..settings.real_folders import Folder, Folders
from ..tools.session_files import CALL_FILES, STATES, STORE, WORKSPACES, hash_of, own_name
from .guard import protected_places


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

    @property
    def is_trusted(self) -> bool:
        """Return whether its folder says what models follow."""
        return self.folder is not None and self.folder.trusted

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
        return self.workspaces / own_name(owner, session_id)

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
                files = self.workspaces / hash_of(owner, session_id, *told)
                name = files.name
            else:
                files = folder.path
                name = f"folder-{hash_of(owner, *told)}"
        state, objects = self._states / name, self._store / hash_of(owner)
        return Place(name, owner, folder, files, session, state, objects)
