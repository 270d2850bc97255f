"""Requests to stop a session, as files that every process of this host reads.

`POST /session/stop` may reach another worker than the one that runs the session. A request is a
file, named by a hash of the session; each process looks for new ones while it runs anything.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import time
from pathlib import Path

from ..strict_json import dumps

KEPT_S = 60.0  # a request is removed after this long


class StopSignals:
    """The stop requests of one process.

    `folder` is created on demand. None for a single process: nothing is sent.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._seen: set[str] = set()

    def send(self, session: tuple[str, str]) -> None:
        """Ask the other processes to stop this session. Raises OSError."""
        if self._folder is None:
            return
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = f"{self.name(session)}.{secrets.token_hex(8)}"
        self._seen.add(name)
        os.close(os.open(self._folder / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    def received(self) -> set[str]:
        """Return the names of the sessions that were asked to stop since the last call."""
        if self._folder is None:
            return set()
        there: set[str] = set()
        with contextlib.suppress(OSError):
            for entry in os.scandir(self._folder):
                there.add(entry.name)
                if entry.name in self._seen:
                    with contextlib.suppress(OSError):
                        if time.time() - entry.stat().st_mtime > KEPT_S:
                            Path(entry.path).unlink()
        new = there - self._seen
        self._seen = there
        return {name.partition(".")[0] for name in new}

    def sweep(self) -> None:
        """Remove expired requests, which stay if no process is running anything."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            for entry in os.scandir(self._folder):
                with contextlib.suppress(OSError):
                    if time.time() - entry.stat().st_mtime > KEPT_S:
                        Path(entry.path).unlink()

    @staticmethod
    def name(session: tuple[str, str]) -> str:
        """Return the prefix of the file names of requests for this session."""
        text = dumps(list(session)).encode("utf-8", "surrogatepass")
        return hashlib.sha256(text).hexdigest()
