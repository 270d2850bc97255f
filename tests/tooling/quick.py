"""What `python3 -m tests quick` runs: unit tests that start no program and are done in a moment.

The modules that it leaves out are in left-out.json, each with the reason; `python3 -m tests quick
--measure` runs all unit tests and writes that file. A module that is not in it is run, so that no
new one is forgotten. One that starts a program and is not in it has failed, here and in the lane of
all unit tests.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

MOST_S = 0.7  # processor time of a module
WHOLE_S = 30.0  # of all of them, elapsed
FILE = Path(__file__).with_name("left-out.json")
STARTS = "starts a program"


def left_out(file: Path = FILE) -> dict[str, str]:
    """`{module: reason}`."""
    found: dict[str, str] = json.loads(file.read_text())
    return found


def chosen(names: Iterable[str], out: dict[str, str]) -> list[str]:
    return [name for name in names if name not in out]


def shares(names: list[str], count: int) -> list[list[str]]:
    """The names in `count` parts that are about the same."""
    return [names[at::count] for at in range(count)]


def reason(found: dict[str, Any]) -> str:
    """Why a module with this result (suite.py) is left out; empty if it is not."""
    if found["starts"]:
        return STARTS
    return f"takes {found['cpu_s']:.1f} s" if found["cpu_s"] > MOST_S else ""


def complaint(found: dict[str, Any], out: dict[str, str]) -> str:
    """What is wrong about a result: that it should be left out for what it started, or nothing."""
    if not found["starts"] or found["module"] in out:
        return ""
    by = "`python3 -m tests quick --measure` leaves it out"
    return f"{found['module']}: starts a program, {found['starts']}, and is run by quick: {by}"


def write(results: Iterable[dict[str, Any]], file: Path = FILE) -> None:
    """Writes the table that these results of all modules come to."""
    table = {found["module"]: why for found in results if (why := reason(found))}
    file.write_text(json.dumps(dict(sorted(table.items())), indent=0) + "\n")
