"""What the keeper has in a process, whatever the configuration becomes: light, for every start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..declaration import ProcessPart


class Seat(ProcessPart):
    """The place of the process's `Keeper` (driver.py), once one is made."""

    keeper: Any = None


def share(processes: int) -> Callable[[int], Seat]:
    """Return what makes the seat of a process."""
    return lambda number: Seat()
