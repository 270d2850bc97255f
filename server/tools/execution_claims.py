"""Claims on tool calls: a call that this host has begun is never begun again.

A claim is a file created with O_EXCL, which is atomic between processes. Its name is a hash, so
that no id from a session is part of a path. It holds the call's fingerprint, so that another call
with the same ids is not mistaken for it. The call's result is kept beside it for as long as a
resume may ask for it. Both expire; `horizon` tells which approvals are older than the claims that
are kept.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..lib.runtime import private_files
from ..lib.runtime.private_files import DRAFT
from ..lib.strict_json import JSONError, dumps, loads
from ..telemetry import log

_log = log.get("claims")

Scope = str | tuple[str, str]  # a name of the server's own, or (owner, session id)

RESULT = ".result"
HORIZON = "horizon"


class Claims:
    """The claims and kept results of one host. `folder` is created on demand.

    `ttl_s`, `result_ttl_s`: seconds until claims and results expire.
    """

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

    def take(
        self, scope: Scope, call_id: str, attempt: int, fingerprint: str = "", since_ms: int = 0
    ) -> bool:
        """Claim a call. Return False if it was claimed before.

        `since_ms`: when the call was made or its approval requested, now at the latest; may become
        the owner's `horizon`. Raises OSError if the claim cannot be written; then the call must not
        be executed.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(scope, call_id, attempt)
        try:
            made = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            return False
        try:
            since_ms = min(since_ms, self._now_ms())
            os.write(made, dumps([fingerprint, since_ms, _owner_of(scope)]).encode())
        except OSError:
            path.unlink()
            raise
        finally:
            os.close(made)
        return True

    def claimed_as(self, scope: Scope, call_id: str, attempt: int) -> str | None:
        """Return the fingerprint with which a call was claimed; None if it was not."""
        claim = self._read(self._path(scope, call_id, attempt))
        return None if claim is None else claim[0]

    def release(self, scope: Scope, call_id: str, attempt: int) -> None:
        """Remove a claim, for a call that was not begun."""
        with contextlib.suppress(OSError):
            self._path(scope, call_id, attempt).unlink()

    def store(self, scope: Scope, call_id: str, attempt: int, result: dict[str, Any]) -> None:
        """Keep a result, written atomically. Raises OSError."""
        path = self._path(scope, call_id, attempt).with_suffix(RESULT)
        private_files.write(path, dumps(result).encode())

    def fetch(self, scope: Scope, call_id: str, attempt: int) -> dict[str, Any] | None:
        """Return a kept result; None if there is none or it has expired."""
        path = self._path(scope, call_id, attempt).with_suffix(RESULT)
        try:
            if self._clock() - path.stat().st_mtime > self.result_ttl_s:
                return None
            found = loads(path.read_bytes(), max_depth=200)
        except (OSError, JSONError):
            return None
        return found if isinstance(found, dict) else None

    def horizon(self, owner: str) -> int:
        """Return the latest `since_ms` of an owner's expired claims; 0 if none has expired.

        A call made or asked about at that time or before may have run here: its claim is gone. No
        claim expires before `ttl_s`, so a later time comes from a clock that was wrong.
        """
        latest = self._horizon_of(_owner_of(owner))
        return max(0, min(latest, self._now_ms() - int(self.ttl_s * 1000)))

    def _horizon_of(self, owner: str) -> int:
        try:
            return int(self._horizon_path(owner).read_text())
        except (OSError, ValueError):
            return 0

    def _horizon_path(self, owner: str) -> Path:
        return self.folder / f"{HORIZON}.{owner}"

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)

    def sweep(self) -> None:
        """Remove expired claims and results, and log their number. Slow for a large folder."""
        now, oldest_s, left = self._clock(), 0.0, 0
        expired: list[tuple[float, Path]] = []
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.folder):
                if entry.name.startswith(HORIZON) or not entry.is_file():
                    continue
                ttl = self.result_ttl_s if entry.name.endswith((RESULT, DRAFT)) else self.ttl_s
                left += 1
                with contextlib.suppress(OSError):
                    if (age_s := now - entry.stat().st_mtime) > ttl:
                        expired.append((age_s, Path(entry.path)))
        latest: dict[str, int] = {}
        for _, path in expired:
            if (claim := self._read(path)) is not None:
                latest[claim[2]] = max(latest.get(claim[2], 0), claim[1])
        if not all([self._raise_horizon(*each) for each in latest.items()]):
            expired = [(age_s, path) for age_s, path in expired if path.suffix]
        gone = 0
        for age_s, path in expired:
            with contextlib.suppress(OSError):
                path.unlink()
                oldest_s, gone = max(oldest_s, age_s), gone + 1
        if gone:
            _log.info(
                "%d claims and results expired, the oldest after %d s; %d are left",
                *(gone, oldest_s, left - gone),
            )

    def _raise_horizon(self, owner: str, since_ms: int) -> bool:
        """Write an owner's horizon, before claims are removed. Return False if that fails."""
        horizon = max(since_ms, self._horizon_of(owner))
        try:
            private_files.write(self._horizon_path(owner), str(horizon).encode())
        except OSError:
            return False
        return True

    def _read(self, path: Path) -> tuple[str, int, str] | None:
        """Return (fingerprint, since_ms, owner) of a claim; None if there is none.

        A damaged claim counts as ("", 0, "").
        """
        if path.suffix:
            return None
        try:
            fingerprint, since_ms, owner = loads(path.read_bytes())
            return str(fingerprint), int(since_ms), str(owner)
        except OSError:
            return None
        except (JSONError, ValueError, TypeError):
            return "", 0, ""

    def _path(self, scope: Scope, call_id: str, attempt: int) -> Path:
        name = dumps([scope, call_id, attempt]).encode("utf-8", "surrogatepass")
        return self.folder / hashlib.sha256(name).hexdigest()


def _owner_of(scope: Scope) -> str:
    """Return a name for the owner of a scope that can be part of a file's name."""
    owner = scope if isinstance(scope, str) else scope[0]
    return hashlib.sha256(owner.encode("utf-8", "surrogatepass")).hexdigest()[:16]


# -- execution locks ------------------------------------------------------------------------------
# Locks that show to other processes of this host what a process is doing.
#
# A lock is one byte of a file, at an offset derived from the hash of its name. These are fcntl(2)
# record locks (F_SETLK): the kernel frees them when their process ends, so none is ever stale. They
# have no effect within one process.


class Locks:
    """The locks of one file, which is created on demand and opened once.

    Closing the file would free every lock. With `file` None, or on a file system without locks,
    every lock counts as free; then `work` is False.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._descriptor = -1
        self._mine: set[str] = set()
        self._holders: Counter[str] = Counter()
        self.work = True

    def take(self, name: str) -> bool:
        """Take a lock and return True; return False if another process holds it."""
        if self._set(name, fcntl.LOCK_EX | fcntl.LOCK_NB):
            self._mine.add(name)
            return True
        return False

    def free(self, name: str) -> None:
        """Release a lock of this process."""
        if name in self._mine:
            self._mine.discard(name)
            self._set(name, fcntl.LOCK_UN)

    @contextlib.contextmanager
    def share(self, name: str) -> Iterator[bool]:
        """Hold a lock with others of this process. Yield whether nobody else holds it."""
        self._holders[name] += 1
        try:
            yield self.take(name) and self._holders[name] == 1
        finally:
            self._holders[name] -= 1
            if not self._holders[name]:
                del self._holders[name]
                self.free(name)

    def is_held(self, name: str) -> bool:
        """Return whether another process holds this lock."""
        if name in self._mine:
            return False
        free = self.take(name)
        self.free(name)
        return not free

    def close(self) -> None:
        """Release all locks of this process."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        self._mine.clear()

    def _set(self, name: str, how: int) -> bool:
        if self._file is None:
            return True
        if self._descriptor < 0:
            try:
                self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
            except OSError:
                self.work = False
                return True
        try:
            fcntl.lockf(self._descriptor, how, 1, _byte_offset(name))
        except (BlockingIOError, PermissionError):  # EAGAIN or EACCES; POSIX allows both
            return False
        except OSError:
            self.work = False
        return True


def _byte_offset(name: str) -> int:
    """Return the offset of a lock's byte, out of 2^62; collisions are negligible."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8]) >> 2
