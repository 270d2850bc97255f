"""Keep the tokens of MCP servers in files of the home folder, one for each server.

A file is named by a hash of the server's address and of the configured client, so that a token is
never found for another address. Files are readable by their owner only, and replaced atomically.
Several processes share the folder (workers, the command line): whoever changes a file holds its
lock, which ends with the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

from ....json_types import Json
from ....lib.runtime import private_files
from ....lib.runtime.descriptors import open_fd, try_lock
from ....lib.runtime.file_stamps import Stamp, stamp_of
from ....lib.strict_json import canonical
from .metadata import MISCONFIGURED, OAuthError

FOLDER = "oauth"  # in the home folder
KEY_FILE = "state.key"
USED = "used-"  # begins the names of files that stand for used states: used-<until>-<nonce>
MAX_FILE = 1 << 20  # bytes
POLL_S = 0.05  # between attempts to take a lock
KEY_BYTES = 32


class TokenStore:
    """The folder of all token files. `folder` is made when something is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def record(self, url: str, client_id: str) -> TokenFile:
        """Return the file for the server at `url`. `client_id`: the configured one, or ""."""
        digest = hashlib.sha256(canonical([url, client_id]).encode()).hexdigest()
        return TokenFile(self.folder / f"{digest[:32]}.json")

    def signing_key(self) -> bytes:
        """Return the key that signs the state of sign-ins, made once. Raises OAuthError."""
        file = self.folder / KEY_FILE
        for _ in range(2):
            with contextlib.suppress(FileNotFoundError, OSError):
                if len(key := file.read_bytes()) == KEY_BYTES:
                    return key
            _write(file, secrets.token_bytes(KEY_BYTES), replace=False)
        raise OAuthError(
            "the file oauth/state.key of the home folder is unusable: delete it", MISCONFIGURED
        )

    def use_once(self, nonce: str, until: int, now: float) -> bool:
        """Return whether a state is used for the first time, in all processes of the folder.

        `until`: when it is no longer valid anyway. Raises OAuthError.
        """
        try:
            _make_folder(self.folder)
            for old in self.folder.glob(f"{USED}*"):
                if int(old.name.split("-")[1]) < now:
                    old.unlink(missing_ok=True)
            (self.folder / f"{USED}{until}-{nonce}").touch(mode=0o600, exist_ok=False)
        except FileExistsError:
            return False
        except OSError as error:
            raise _unwritable(error) from None
        return True


class TokenFile:
    """The record of one server: what `Record` in sign_in.py says, {} if there is none."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Json:
        """Return the record; {} if it is missing or unusable."""
        try:
            with self._path.open("rb") as file:
                if os.fstat(file.fileno()).st_mode & 0o077:
                    os.fchmod(file.fileno(), 0o600)
                found = json.loads(file.read(MAX_FILE))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def write(self, record: Json) -> None:
        """Replace the record. Raises OAuthError, for instance if the disk is full."""
        _write(self._path, json.dumps(record).encode())

    def remove(self) -> None:
        """Delete the record, if there is one. Raises OAuthError."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise OAuthError(
                f"the tokens cannot be deleted: {error.strerror}", MISCONFIGURED
            ) from None

    def stamp(self) -> Stamp:
        """Return a value that changes with every write; () if there is no record."""
        return stamp_of(self._path)

    @contextlib.asynccontextmanager
    async def lock(self) -> AsyncIterator[None]:
        """Hold the record: no other task or process changes it meanwhile. Raises OAuthError."""
        with contextlib.ExitStack() as held:
            try:
                _make_folder(self._path.parent)
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                file = held.enter_context(open_fd(self._path.with_suffix(".lock"), flags))
                while not try_lock(file):
                    await asyncio.sleep(POLL_S)
            except OSError as error:
                raise _unwritable(error) from None
            yield


def _make_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _write(file: Path, data: bytes, *, replace: bool = True) -> None:
    """Write a file atomically, readable by its owner only. Raises OAuthError.

    Without `replace` a file that another process has just written stays.
    """
    try:
        private_files.write(file, data, replace=replace, durable=True)
    except OSError as error:
        raise _unwritable(error) from None


def _unwritable(error: OSError) -> OAuthError:
    return OAuthError(f"the folder oauth of the home folder cannot be written: {error.strerror}")
