"""A store of this host's recent answers, in files, so that later requests may refer to them.

Each owner has a folder of at most `max_bytes` and MAX_FILES files; beyond that the oldest are
deleted, and so are files older than `ttl_s`. Processes that share the folder see each other's
files. Losing a file is harmless: the client gets an error that asks for the whole conversation.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...strict_json import JSONError, dumps, loads

MAX_FILES = 2048
MAX_DEPTH = 200
FILE_SHARE = 4  # one file has at most 1/4 of max_bytes
SWEEP_FILES, SWEEP_SHARE = 64, 8  # sweep a folder after 64 new files or 1/8 of max_bytes
SWEEP_ALL_S = 3600.0  # between two sweeps of all owners' folders


class ResponseStore:
    """The store. `folder` is created on demand. A `ttl_s` of 0 keeps nothing."""

    def __init__(
        self,
        folder: Path,
        ttl_s: float,
        max_bytes: int,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder, self.ttl_s, self.max_bytes = folder, ttl_s, max_bytes
        self._clock = clock
        self._files: Counter[Path] = Counter()  # folder -> files written since the last sweep
        self._bytes: Counter[Path] = Counter()
        self._all_at: float | None = None  # time of the last sweep of all folders

    @property
    def keeps(self) -> bool:
        """Return whether anything is kept at all."""
        return self.ttl_s > 0

    def store(self, owner: str, name: str, value: dict[str, Any]) -> None:
        """Store a value atomically. It is dropped if it is too large or writing fails."""
        if not self.keeps or len(data := dumps(value).encode()) * FILE_SHARE > self.max_bytes:
            return
        place = self._place(owner)
        path = place / _hash_name(name)
        draft = path.with_suffix(f".{secrets.token_hex(4)}")
        with contextlib.suppress(OSError):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                with open(draft, "xb", opener=_private) as file:
                    file.write(data)
                draft.replace(path)
            finally:
                draft.unlink(missing_ok=True)
            self._make_room(place, len(data))

    def fetch(self, owner: str, name: str, most: int) -> tuple[dict[str, Any], int] | None:
        """Return (value, its bytes); None if it is not kept.

        The value is empty if it is larger than `most` bytes.
        """
        path = self._place(owner) / _hash_name(name)
        try:
            found = path.stat()
            if self._clock() - found.st_mtime > self.ttl_s:
                return None
            if found.st_size > most:
                return {}, found.st_size
            value = loads(path.read_bytes(), max_depth=MAX_DEPTH)
        except (OSError, JSONError):
            return None
        return (value, found.st_size) if isinstance(value, dict) else None

    def _make_room(self, place: Path, size: int) -> None:
        now = self._clock()
        if self._all_at is None or not 0 <= now - self._all_at < SWEEP_ALL_S:
            self._all_at = now
            for entry in list(os.scandir(self.folder)):
                self._sweep(Path(entry.path), now)
            return
        self._files[place] += 1
        self._bytes[place] += size
        if self._files[place] >= SWEEP_FILES or self._bytes[place] * SWEEP_SHARE >= self.max_bytes:
            self._sweep(place, now)

    def _sweep(self, place: Path, now: float) -> None:
        """Delete what is too old or too much. Another process may do the same at the same time."""
        del self._files[place], self._bytes[place]
        total = 0
        newest_first = sorted(
            ((found.st_mtime, found.st_size, path) for path, found in _files(place)), reverse=True
        )
        for number, (changed_at, size, path) in enumerate(newest_first):
            total += size
            if now - changed_at > self.ttl_s or total > self.max_bytes or number >= MAX_FILES:
                with contextlib.suppress(OSError):
                    path.unlink()
        with contextlib.suppress(OSError):
            place.rmdir()  # fails unless it is empty

    def _place(self, owner: str) -> Path:
        return self.folder / _hash_name(owner)


def _files(place: Path) -> list[tuple[Path, os.stat_result]]:
    found = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(place):
            with contextlib.suppress(OSError):
                found.append((Path(entry.path), entry.stat()))
    return found


def _hash_name(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
