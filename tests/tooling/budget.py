"""What each lane may cost: seconds of processor time on an idle machine, in `budget.json`.

A run divides what a lane took by `dearness`, measured as its jobs begin and end: what a second is
worth differs by machine, and on one that is busy by the minute. A lane over its budget is named in
the account, and fails nothing: what other work on the machine costs is not known well enough to
refuse a commit for it. `--lower-budget` writes what is less.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Iterable
from pathlib import Path

from .patience import STEPS, USUAL_S
from .report import Outcome

FILE = Path(__file__).with_name("budget.json")
ROOM = 1.1  # above what was measured
ROUNDS = 4  # of the work by which `dearness` is measured


def dearness() -> float:
    """How many times more processor time work takes now than on an idle machine of the usual kind,
    as other work on the same processor and other machines make it."""
    began = time.thread_time()
    total = 0
    for number in range(ROUNDS * STEPS):
        total += number
    return (time.thread_time() - began) / (ROUNDS * USUAL_S)


def cost(outcome: Outcome) -> float:
    """What the lane took, in seconds of an idle machine."""
    return outcome.cpu_s / statistics.median(outcome.dearness or [1.0])


def read(file: Path = FILE) -> dict[str, float]:
    found: dict[str, float] = json.loads(file.read_text())
    return found


def judge(outcomes: Iterable[Outcome], table: dict[str, float]) -> list[str]:
    """What to say of each lane that has a budget, and of all."""
    lines, whole = [], 0.0
    for outcome in outcomes:
        if (limit := table.get(outcome.lane)) is None:
            continue
        whole += (took := cost(outcome))
        line = f"{outcome.lane}: {took:.0f} s of an idle machine, its budget is {limit:.0f}"
        lines.append(line + (": OVER IT" if took > limit else ""))
    return [*lines, f"all: {whole:.0f} s of an idle machine"] if lines else []


def lower(outcomes: Iterable[Outcome], file: Path = FILE) -> None:
    """Write what these outcomes came to where that is less than what is written."""
    table = read(file)
    for outcome in outcomes:
        if outcome.lane in table and outcome.passed and not outcome.failures:
            found = float(math.ceil(cost(outcome) * ROOM))
            table[outcome.lane] = min(table[outcome.lane], found)
    file.write_text(json.dumps(table, indent=2) + "\n")
