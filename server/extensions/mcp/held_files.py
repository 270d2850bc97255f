"""Answers for held calls, handed from one process of this host to the one that holds the call.

Several workers share a port, so any of them may get the POST with the answer. A held call has a
file that its holder keeps locked; the kernel frees the lock when the holder ends, so a file that
can be locked is of a call that is gone. Beside it lie the answer, which only one process can write,
and what the call ended with. The holder looks for the answer POLL_S after POLL_S.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import time
from pathlib import Path

from ...json_types import Json
from ...lib.runtime import private_files
from ...lib.runtime.descriptors import try_lock
from ...lib.strict_json import JSONError, dumps, loads

FOLDER = "held_calls"  # in the home folder
POLL_S = 0.1
STALE_S = 24 * 3600.0
ANSWER, OUTCOME, STOP = ".answer", ".outcome", ".stop"


class HeldFile:
    """The file of one held call, of its holder. Without a descriptor it is only known here."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path, self._descriptor = path, descriptor

    def answer(self) -> Json | None:
        """Return the answer that another process has written; None if there is none yet."""
        return _read(self._path.with_suffix(ANSWER))

    def is_stopped(self) -> bool:
        """Return whether the process that wrote the answer does not wait for the end any longer."""
        return self._path.with_suffix(STOP).exists()

    def settle(self, outcome: Json) -> None:
        """Write what the call ended with, for the process that wrote the answer."""
        with contextlib.suppress(OSError):
            private_files.write(self._path.with_suffix(OUTCOME), dumps(outcome).encode())

    def close(self) -> None:
        """Remove the file, and free its lock."""
        for path in (self._path, self._path.with_suffix(ANSWER), self._path.with_suffix(STOP)):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        os.close(self._descriptor)


class HeldFiles:
    """The files of all held calls of this host. `folder` is created on demand."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def hold(self, token: str, whose: tuple[str, ...]) -> HeldFile | None:
        """Return the locked file of a call; None if it cannot be written."""
        path = self._path(token)
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._sweep()
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.write(descriptor, dumps([*whose]).encode())
            except OSError:
                os.close(descriptor)
                raise
            return HeldFile(path, descriptor)
        return None

    async def forward(self, token: str, whose: tuple[str, ...], answer: Json) -> Json | None:
        """Hand an answer to the holder of a call, and return what the call ended with.

        None if no process holds such a call, or it was answered before. Cancelling this stops it.
        """
        path = self._path(token)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            if not _is_locked(descriptor) or not self._is_of(path, whose):
                return None
            try:
                data = dumps(answer).encode()
                if not private_files.write(path.with_suffix(ANSWER), data, replace=False):
                    return None  # it was answered before
            except OSError:
                return None
            return await self._outcome(path, descriptor)
        finally:
            os.close(descriptor)

    async def _outcome(self, path: Path, descriptor: int) -> Json | None:
        end = path.with_suffix(OUTCOME)
        try:
            while True:
                holds = _is_locked(descriptor)
                if (found := _read(end)) is not None:
                    return found
                if not holds:
                    return None
                await asyncio.sleep(POLL_S)
        except asyncio.CancelledError:
            with contextlib.suppress(OSError):
                path.with_suffix(STOP).touch(0o600)
            raise
        finally:
            with contextlib.suppress(OSError):
                end.unlink(missing_ok=True)

    def _is_of(self, path: Path, whose: tuple[str, ...]) -> bool:
        try:
            return bool(loads(path.read_bytes()) == [*whose])
        except (OSError, JSONError):
            return False

    def _path(self, token: str) -> Path:
        name = hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / name

    def _sweep(self) -> None:
        """Remove what processes left behind that were killed."""
        private_files.remove_old(self._folder, STALE_S, time.time())


def _is_locked(descriptor: int) -> bool:
    with contextlib.suppress(OSError):
        if not try_lock(descriptor, exclusive=False):
            return True
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


def _read(path: Path) -> Json | None:
    try:
        found = loads(path.read_bytes(), max_depth=200)
    except (OSError, JSONError):
        return None
    return found if isinstance(found, dict) else None
