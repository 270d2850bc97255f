"""Remove what a host keeps of sessions once it has expired, and count it.

Workspaces are removed after `server.keep_days` without a call; claims, results and records of runs
after times of their own. The server does this by itself (app.py), `python3 -m server kept` on
demand. A workspace in use is never removed: a call sets its folder's time when it begins, and a
folder expires only after the days plus the longest time of a call.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..telemetry import log
from .execution_claims import HORIZON, RESULT
from .session_files import STATES
from .trials import OWN

DAY_S = 86400
NAME = re.compile(r"[0-9a-f]{32}")  # name of a session's workspace

logger = log.get("kept")


class StorageFigures(NamedTuple):
    """Figures on one kind of kept data.

    `number`: items; `oldest_s`: age of the oldest, in seconds; `expired`: how many of them expired.
    """

    name: str
    number: int
    oldest_s: float
    expired: int


class Workspaces:
    """The workspaces of sessions.

    `days`: days without a call after which one is removed, 0 for never. `wall_s`: longest time of a
    call, in seconds.
    """

    def __init__(
        self, folder: Path, days: float, wall_s: float, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder, self._clock = folder, clock
        self._ttl_s = days * DAY_S + wall_s if days else None

    def sweep(self) -> int:
        """Remove expired workspaces and return their number. Slow."""
        if self._ttl_s is None:
            return 0
        gone = sum(self._remove(path) for path, age_s in self._ages() if age_s > self._ttl_s)
        if gone:
            logger.info("%d workspaces removed, unused for %.0f days", gone, self._ttl_s / DAY_S)
        return gone

    def kept(self) -> StorageFigures:
        """Return the figures on workspaces."""
        ages = [age_s for _, age_s in self._ages()]
        return _figures("workspaces", ages, self._ttl_s)

    def _ages(self) -> Iterator[tuple[Path, float]]:
        for entry in _entries(self._folder):
            with suppress(OSError):
                if NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                    age_s = self._clock() - entry.stat(follow_symlinks=False).st_mtime
                    yield Path(entry.path), age_s

    def _remove(self, folder: Path) -> bool:
        """Remove a folder and return whether it is gone.

        It is renamed first, so that a call which begins now finds it whole or not at all. If a call
        began just before, the folder is renamed back.
        """
        aside = folder.with_name(f"{OWN}{secrets.token_hex(16)}")
        try:
            folder.rename(aside)
        except OSError:
            return False
        with suppress(OSError):
            if self._ttl_s is None or self._clock() - aside.stat().st_mtime <= self._ttl_s:
                aside.rename(folder)
                return False
        state = self._folder.with_name(STATES) / folder.name  # of no use without the files
        for path in (state, aside):
            shutil.rmtree(path, ignore_errors=True)
        return not aside.exists()


def storage_figures(
    home: Path,
    claim_ttl_s: float,
    result_ttl_s: float,
    stop_ttl_s: float,
    *,
    clock: Callable[[], float] = time.time,
) -> list[StorageFigures]:
    """Return figures on claims, results, records of runs and requests to stop in this home."""
    found: dict[str, list[float]] = {"claims": [], "results": [], "runs": [], "stops": []}
    for folder in found.keys() - {"results"}:
        for path in (Path(at, name) for at, _, names in os.walk(home / folder) for name in names):
            with suppress(OSError):
                if path.name.startswith(HORIZON):
                    continue
                kind = "results" if folder == "claims" and path.suffix == RESULT else folder
                found[kind].append(clock() - path.lstat().st_mtime)
    ttls = {"claims": claim_ttl_s, "results": result_ttl_s, "runs": claim_ttl_s}
    return [_figures(name, ages, ttls.get(name, stop_ttl_s)) for name, ages in found.items()]


def _figures(name: str, ages: list[float], ttl_s: float | None) -> StorageFigures:
    expired = 0 if ttl_s is None else sum(age_s > ttl_s for age_s in ages)
    return StorageFigures(name, len(ages), max(ages, default=0.0), expired)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as entries:
        return list(entries)
    return []
