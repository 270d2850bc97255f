"""What the runs of each person have used in a month: tokens, and money where a price is known.

A file for each month (UTC) in one folder, shared by the processes of a home folder. What was not
written, because that was done just before or the disk is full, waits in memory: for a later run,
for who asks, or for the end of the process. A run never waits, and never fails.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..json_types import Json
from ..lib.runtime import private_files
from ..lib.runtime.descriptors import open_fd
from ..lib.strict_json import LARGEST_COUNT, dumps, loads

KEPT = 13  # months
PAUSE_S = 10  # between two times that runs are written
MOST_UNITS = 8  # of money, of one person in one month: a session may name any for its own prices
UNIT = 16  # characters
# Reading a file with other content raises one of these.
UNFIT = (OSError, ValueError, TypeError, LookupError, AttributeError)


class MonthlyUsage:
    """The sums of a home folder. `folder` is made when needed; None keeps nothing."""

    def __init__(
        self, folder: Path | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder, self._clock = folder, clock
        self._waiting: dict[str, Json] = {}  # by month
        self._lock = threading.Lock()  # of what waits
        self._written = 0.0  # when

    def add(self, person: str, usages: Iterable[Mapping[str, Any]]) -> None:
        """Count a run of a person, with the usage of each of its model calls. Raises nothing."""
        if self._folder is None:
            return
        now = self._clock()
        spent: Json = {"runs": 1, "tokens": 0, "cost_micro": {}}
        for usage in usages:
            spent["tokens"] += usage.get("total_tokens", 0)
            if cost := usage.get("cost_micro"):
                _count(spent["cost_micro"], (usage.get("cost_unit") or "")[:UNIT], cost)
        month = time.strftime("%Y-%m", time.gmtime(now))
        more = {"since": round(now * 1000), "people": {person: spent}}
        self._keep({month: more})
        if abs(now - self._written) >= PAUSE_S:
            self.write()

    def write(self) -> None:
        """Write what waits, unless another process writes just now. Raises nothing."""
        folder = self._folder
        if folder is None or not self._waiting:
            return
        self._written = self._clock()
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            with open_fd(folder / "lock", os.O_RDWR | os.O_CREAT) as descriptor:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for month, more in [*waiting.items()]:
                    path = folder / f"{month}.json"
                    total = _read(path)
                    _merge(total, more)
                    private_files.write(path, dumps(total).encode())
                    del waiting[month]
                for path in sorted(folder.glob("*.json"))[:-KEPT]:
                    path.unlink()
        except OSError:  # for the next time
            self._keep(waiting)

    def _keep(self, waiting: Mapping[str, Json]) -> None:
        with self._lock:
            for month, more in waiting.items():
                _merge(self._waiting.setdefault(month, {}), more)

    def months(self, person: str | None = None) -> list[Json]:
        """Return {month, since, people: [{person, runs, tokens, cost_micro}]}, the last first.

        `since`: when the first run of the month was counted, in ms since 1970. `person`: only what
        this one has used; None: everybody.
        """
        self.write()
        if self._folder is None:
            return []
        listing: list[Json] = []
        for path in sorted(self._folder.glob("*.json"), reverse=True):
            if total := _read(path):
                people = [
                    {"person": each, **spent}
                    for each, spent in total["people"].items()
                    if person in (None, each)
                ]
                listing.append({"month": path.stem, "since": total["since"], "people": people})
        return listing


def _read(path: Path) -> Json:
    """Return the content of a file; {} for one that is missing or holds something else."""
    total: Json = {}
    with suppress(*UNFIT):
        _merge(total, loads(path.read_bytes()))
        return total
    return {}


def _merge(total: Json, more: Mapping[str, Any]) -> None:
    total["since"] = min(int(more["since"]), total.get("since", LARGEST_COUNT))
    people = total.setdefault("people", {})
    for person, spent in more["people"].items():
        sums = people.setdefault(person, {"runs": 0, "tokens": 0, "cost_micro": {}})
        _count(sums, "runs", spent["runs"])
        _count(sums, "tokens", spent["tokens"])
        for unit, cost in spent["cost_micro"].items():
            _count(sums["cost_micro"], unit, cost)


def _count(sums: dict[str, Any], name: str, more: int) -> None:
    """Add to one of the sums; to "" if there are too many names."""
    name = name if name in sums or len(sums) < MOST_UNITS else ""
    sums[name] = min(sums.get(name, 0) + int(more), LARGEST_COUNT)
