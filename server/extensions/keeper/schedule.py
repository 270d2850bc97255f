"""Find the moments of a schedule: a cron line or an RRULE, in a time zone. Pure.

A local time that a change of the clocks skips is due as much later as was skipped (RFC 5545,
3.3.5); one that comes twice is due the first time. A cron line whose hour begins with `*` is due by
elapsed time instead: twice, and not at all.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

YEARS = 50  # how far ahead a moment is searched
SHIFT = timedelta(hours=3)  # clocks are changed by less
Times = Callable[[datetime], Iterator[datetime]]  # local times from the day of a local time on


def find_zone(name: str) -> tzinfo:
    """Return the time zone of this name. Raises ValueError."""
    zones = importlib.import_module("zoneinfo")  # slow to import, and needed where one is set
    try:
        found: tzinfo = zones.ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        text = f"the time zone {name!r} is not known here; write one as Europe/Berlin or UTC"
        raise ValueError(text) from None
    return found


def read_time(value: Any) -> datetime | None:
    """Return an ISO 8601 time of 1970 to 2999, in UTC; None for what is none."""
    try:
        moment = datetime.fromisoformat(value)
        moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None
    return moment if 1970 <= moment.year < 3000 else None


@dataclass(frozen=True)
class Schedule:
    """The moments at which something is due.

    times       its local times, ascending, without a zone
    by_elapsed  a time that the clocks skip is not due, and one that they show twice is due twice
    last        the last local time that may be due; None: there is none
    """

    zone: tzinfo
    times: Times
    by_elapsed: bool = False
    last: datetime | None = None

    def after(self, moment: datetime) -> datetime | None:
        """Return the first moment after `moment`, in UTC; None: it is never due again."""
        shown = moment.astimezone(self.zone).replace(tzinfo=None, fold=0)
        soonest: datetime | None = None
        end = datetime.max
        for local in self.times(shown - SHIFT):
            if local > end or (self.last is not None and local > self.last):
                break
            for instant in self._instants(local) if local >= shown - SHIFT else ():
                if instant > moment and (soonest is None or instant < soonest):
                    soonest = instant
                    end = soonest.astimezone(self.zone).replace(tzinfo=None) + SHIFT
        return soonest

    def _instants(self, local: datetime) -> list[datetime]:
        """Return the moments at which it is due for this local time, in UTC."""
        first, second = (
            local.replace(tzinfo=self.zone, fold=fold).astimezone(UTC) for fold in (0, 1)
        )
        if first == second or not self.by_elapsed:
            return [first]
        return [first, second] if first < second else []
