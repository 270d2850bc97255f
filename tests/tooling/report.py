"""What the test command prints: a line as things happen, and the account at the end.

`Console` may be used from several threads. An `Outcome` is what one lane came to; the account
lists every failure, and every skip with what would have to be there for it to run.
"""

from __future__ import annotations

import sys
import textwrap
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

DEAREST = 10  # modules that are printed


@dataclass(frozen=True)
class Skip:
    """Something that did not run: its name, how many tests that is, and why."""

    name: str
    why: str
    count: int = 1


@dataclass
class Outcome:
    """One lane's result; `failures` has the name of each failed test and its error's first lines.
    `cpu_s` is the processor time of its commands (command.py)."""

    lane: str
    passed: int = 0
    failures: list[str] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    seconds: float = 0.0
    cpu_s: float = 0.0
    modules: dict[str, float] = field(default_factory=dict)  # processor time of each
    dearness: list[float] = field(default_factory=list)  # of a second, by its jobs: budget.py

    def add(self, part: Outcome) -> None:
        """What one job of the lane came to."""
        self.passed += part.passed
        self.failures += part.failures
        self.skips += part.skips
        self.cpu_s += part.cpu_s
        self.dearness += part.dearness
        for name, cpu_s in part.modules.items():
            self.spend(name, cpu_s)

    def spend(self, module: str, cpu_s: float) -> None:
        """Add the processor time of a module, which may run in several children."""
        self.modules[module] = self.modules.get(module, 0.0) + cpu_s

    @property
    def skipped(self) -> int:
        return sum(skip.count for skip in self.skips)


class Console:
    """Lines with the time since the start and the part they come from."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._lock = threading.Lock()

    def line(self, part: str, text: str) -> None:
        seconds = time.monotonic() - self._started
        with self._lock:
            for row in text.splitlines() or [""]:
                print(f"{seconds:7.1f}s  {part:<8} {row}".rstrip(), flush=True)

    def seconds(self) -> float:
        return time.monotonic() - self._started


def account(outcomes: list[Outcome], seconds: float, costs: Iterable[str] = ()) -> int:
    """Prints the summary, its last line `N passed, N failed, N skipped`; returns the exit code.

    costs  a line for each lane that has a budget
    """
    print(f"\n{'lane':<10}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}{'CPU s':>9}")
    for item in outcomes:
        counts = f"{item.passed:>8}{len(item.failures):>8}{item.skipped:>9}"
        print(f"{item.lane:<10}{counts}{item.seconds:>9.1f}{item.cpu_s:>9.1f}")
    print(f"{'all':<35}{seconds:>9.1f}{sum(item.cpu_s for item in outcomes):>9.1f}")
    _print_dearest(outcomes)
    if lines := list(costs):
        print("\n" + "\n".join(lines))
    _print_skips(outcomes)
    failures = [f"{item.lane}: {failure}" for item in outcomes for failure in item.failures]
    if failures:
        print("\nFAILED")
        print(textwrap.indent("\n".join(failures), "  "))
    passed = sum(item.passed for item in outcomes)
    skipped = sum(item.skipped for item in outcomes)
    print(f"\n{passed} passed, {len(failures)} failed, {skipped} skipped")
    sys.stdout.flush()
    return 1 if failures or not passed else 0


def _print_dearest(outcomes: Iterable[Outcome]) -> None:
    """Print the modules that took most processor time."""
    whole = Outcome("all")
    for item in outcomes:
        whole.add(item)
    dearest = sorted(whole.modules.items(), key=lambda row: -row[1])[:DEAREST]
    if dearest:
        print(f"\n{'the dearest modules':<55}{'CPU s':>9}")
        print("\n".join(f"{name:<55}{cpu_s:>9.1f}" for name, cpu_s in dearest))


def _print_skips(outcomes: Iterable[Outcome]) -> None:
    """Skips by their reason, so that one missing tool is one paragraph."""
    reasons: dict[str, list[str]] = defaultdict(list)
    for item in outcomes:
        for skip in item.skips:
            times = f" ({skip.count} tests)" if skip.count > 1 else ""
            reasons[skip.why].append(f"{item.lane}: {skip.name}{times}")
    if not reasons:
        return
    print("\n" + "!" * 78 + "\nNOT RUN: the result below says nothing about these")
    for why, names in reasons.items():
        print(f"\n  {why}")
        print("\n".join(f"    - {name}" for name in names[:12]))
        if len(names) > 12:
            print(f"    - and {len(names) - 12} more")
    print("!" * 78)
