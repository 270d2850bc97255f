"""Claims: a call that this host has once begun is never begun again, whatever is POSTed.

A claim is a file made with O_EXCL, which is atomic between processes too, and named by a hash, so
that no id from a session is ever part of a path. The call's result is kept beside it as long as a
resume may ask for it. Both expire.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import log
from ..jsontext import JSONError, dumps, loads

_log = log.get("claims")

RESULT = ".result"
SWEEP_EVERY = 256  # claims and results written between two looks at what has expired


class Claims:
    """`folder` is made on demand. Times in seconds."""

    def __init__(
        self,
        folder: Path,
        ttl_s: float,
        result_ttl_s: float,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder, self.ttl_s, self.result_ttl_s = folder, ttl_s, result_ttl_s
        self._clock = clock
        self._written = 0

    def take(self, session_id: str, call_id: str, attempt: int) -> bool:
        """Whether this call is ours to execute. Raises OSError where no claim can be written:
        then it must not be executed either."""
        self._make_room()
        try:
            made = os.open(
                self._path(session_id, call_id, attempt),
                os.O_CREAT | os.O_EXCL | os.O_WRONLY,
                0o600,
            )
        except FileExistsError:
            return False
        os.close(made)
        return True

    def release(self, session_id: str, call_id: str, attempt: int) -> None:
        """Take a claim back, for a call that was not begun."""
        with contextlib.suppress(OSError):
            self._path(session_id, call_id, attempt).unlink()

    def store(self, session_id: str, call_id: str, attempt: int, result: dict[str, Any]) -> None:
        """Keep a result, whole or not at all. A full disk loses the copy, never the run."""
        path = self._path(session_id, call_id, attempt).with_suffix(RESULT)
        draft = path.with_suffix(f".{secrets.token_hex(4)}.draft")
        with contextlib.suppress(OSError):
            self._make_room()
            try:
                with open(draft, "xb", opener=_private) as file:
                    file.write(dumps(result).encode())
                draft.replace(path)
            finally:
                draft.unlink(missing_ok=True)

    def fetch(self, session_id: str, call_id: str, attempt: int) -> dict[str, Any] | None:
        """A kept result that has not expired."""
        path = self._path(session_id, call_id, attempt).with_suffix(RESULT)
        try:
            if self._clock() - path.stat().st_mtime > self.result_ttl_s:
                return None
            found = loads(path.read_bytes(), max_depth=200)
        except (OSError, JSONError):
            return None
        return found if isinstance(found, dict) else None

    def forget(self, session_id: str, call_id: str, attempt: int) -> None:
        """A result that nobody will ask for."""
        with contextlib.suppress(OSError):
            self._path(session_id, call_id, attempt).with_suffix(RESULT).unlink()

    def _make_room(self) -> None:
        """The folder, from time to time without what has expired. Raises OSError."""
        if self._written % SWEEP_EVERY == 0:
            self.sweep()
        self._written += 1
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def sweep(self) -> None:
        """Remove what has expired, and say how much that was."""
        now, oldest_s, gone, left = self._clock(), 0.0, 0, 0
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.folder):
                ttl = self.ttl_s if "." not in entry.name else self.result_ttl_s
                left += 1
                with contextlib.suppress(OSError):
                    if (age_s := now - entry.stat().st_mtime) > ttl:
                        Path(entry.path).unlink()
                        oldest_s, gone = max(oldest_s, age_s), gone + 1
        if gone:
            _log.info(
                "%d claims and results expired, the oldest after %d s; %d are left",
                *(gone, oldest_s, left - gone),
            )

    def _path(self, session_id: str, call_id: str, attempt: int) -> Path:
        name = dumps([session_id, call_id, attempt]).encode("utf-8", "surrogatepass")
        return self.folder / hashlib.sha256(name).hexdigest()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
