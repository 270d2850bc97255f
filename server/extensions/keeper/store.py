"""The kept sessions of the home folder's key, as `run` and `chat` use them: `--store @kept`."""

from __future__ import annotations

from ...cli.session_files import JsonSession
from ...config import Config, make_home
from ...json_types import Session
from .folder import KeptFolder, Room, problems
from .kept_file import KeptFile


class CommandFile(KeptFile):
    """A kept session that a command writes."""

    def load(self) -> Session:
        """Return the session. Raises Problem."""
        with problems(self.id):
            session = self.open()
            if session is None:
                raise FileNotFoundError
            return session


class KeptStore(JsonSession):
    """The sessions of a person's folder."""

    def __init__(self, folder: KeptFolder) -> None:
        super().__init__(folder.path)
        self._folder = folder

    def open_locked(self, session_id: str) -> KeptFile:
        """Open and lock a session's file. Raises Problem."""
        return self._folder.open(session_id, CommandFile)

    def load_session_state(self, session_id: str) -> Session:
        """Return a session. Raises Problem."""
        return self._folder.read(session_id).session


def open_store(config: Config) -> KeptStore:
    """Return the sessions of the key of the home folder, which is made if it is not there."""
    make_home(config.home)
    return KeptStore(KeptFolder(config.home, "", Room.of(config.server)))
