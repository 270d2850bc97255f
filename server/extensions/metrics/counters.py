"""Counters of all server processes, and their text for Prometheus.

Every process has a row of numbers in anonymous shared memory, which is made before the fork, and
writes only there, so counting takes no lock. The process that is asked sums the rows. The set of
series is fixed: no label contains text from a request, session, model or key, so nothing can leak
or grow.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from ...json_types import Usage
from ..declaration import ProcessPart

ENDS = ("completed", "awaiting", "limit", "failed", "cut")
STATES = ("done", "failed", "denied", "skipped")
TOKENS = ("prompt", "completion", "reasoning", "cached")
STATUSES = tuple(f"{group}xx" for group in range(2, 6)) + ("401", "429", "499", "503")
BUCKETS = (0.1, 0.5, 1, 5, 10, 30, 60, 300, 600)  # s; the last bucket is +Inf


class Family(NamedTuple):
    """A metric: its name, type, help text, and the values of its label."""

    name: str
    kind: str  # counter, gauge, histogram
    help: str
    label: str = ""
    values: tuple[str, ...] = ("",)


FAMILIES = (
    Family("yaa_requests_total", "counter", "Requests answered.", "status", STATUSES),
    Family("yaa_connections", "gauge", "Clients connected."),
    Family("yaa_runs", "gauge", "Runs going on."),
    Family("yaa_runs_total", "counter", "Runs that ended.", "end", ENDS),
    Family("yaa_run_seconds_total", "counter", "Seconds that ended runs took."),
    Family(
        "yaa_run_duration_seconds",
        "histogram",
        "Of ended runs.",
        "le",
        (*map(str, BUCKETS), "+Inf"),
    ),
    Family("yaa_tool_results_total", "counter", "Results of tool calls.", "state", STATES),
    Family("yaa_tokens_total", "counter", "Tokens that providers reported.", "kind", TOKENS),
    Family("yaa_process_starts_total", "counter", "Starts of serving processes."),
)
PID = ("pid", "")  # the first number of a row, to find the process's memory
PLACES = {
    key: place
    for place, key in enumerate(
        [PID, *((family.name, value) for family in FAMILIES for value in family.values)]
    )
}


class Metrics:
    """The rows of all processes, made once, before the fork. `rows`: the number of processes."""

    def __init__(self, rows: int = 1) -> None:
        self._rows = rows
        shared = mmap.mmap(-1, rows * len(PLACES) * 8)  # doubles: a write is atomic
        self._numbers = memoryview(shared).cast("d")

    def row(self, number: int) -> Row:
        """Return the row of a process. Call it when that process starts."""
        at = number * len(PLACES)
        return Row(self, self._numbers[at : at + len(PLACES)])

    def text(self) -> str:
        """Return all metrics in the Prometheus text format 0.0.4."""
        rows = [self._numbers[i * len(PLACES) : (i + 1) * len(PLACES)] for i in range(self._rows)]
        return "\n".join([*self._lines(rows), *_memory(rows), ""])

    def _lines(self, rows: list[memoryview[float]]) -> Iterator[str]:
        for family in FAMILIES:
            yield f"# HELP {family.name} {family.help}"
            yield f"# TYPE {family.name} {family.kind}"
            sums = [sum(r[PLACES[family.name, value]] for r in rows) for value in family.values]
            name = family.name
            if family.kind == "histogram":
                sums, name = list(accumulate(sums)), f"{name}_bucket"
            for value, number in zip(family.values, sums, strict=True):
                label = f'{{{family.label}="{value}"}}' if family.label else ""
                yield f"{name}{label} {number:.15g}"
            if family.kind == "histogram":
                yield f"{family.name}_count {sums[-1]:.15g}"
                seconds = sum(row[PLACES["yaa_run_seconds_total", ""]] for row in rows)
                yield f"{family.name}_sum {seconds:.15g}"


def share(processes: int) -> Callable[[int], Row]:
    """Make the memory of all processes; (number of one) -> its row."""
    return Metrics(processes).row


class Row(ProcessPart):
    """The counters of one process.

    The counters of an earlier process in this row go on. Its gauges return to 0, and the runs that
    it had open count as cut.
    """

    def __init__(self, whole: Metrics, numbers: memoryview[float]) -> None:
        self.text = whole.text
        self._numbers = numbers
        self._add("yaa_runs_total", "cut", by=numbers[PLACES["yaa_runs", ""]])
        for family in FAMILIES:
            if family.kind == "gauge":
                numbers[PLACES[family.name, ""]] = 0
        numbers[PLACES[PID]] = os.getpid()
        self._add("yaa_process_starts_total")

    def count_response(self, status: int) -> None:
        """Count a response by its status."""
        exact = str(status)
        self._add("yaa_requests_total", exact if exact in STATUSES else f"{exact[0]}xx")

    def add_connections(self, by: int) -> None:
        """Add `by` to the number of open connections."""
        self._add("yaa_connections", by=by)

    def count_run_start(self) -> None:
        """Count a run as going on."""
        self._add("yaa_runs")

    def count_run_end(
        self,
        session: Mapping[str, Any],
        results: Iterable[str],
        before: Usage,
        seconds: float,
        stop_code: str = "",
    ) -> None:
        """Count a run that ended.

        `results`: the states of its tool calls. `before`: the session's usage when the run began.
        `seconds`: its duration. `stop_code`: of the error in which it was stopped.
        """
        self._add("yaa_runs", by=-1)
        end = session.get("finish_reason") if session.get("status") != "in_progress" else "cut"
        end = "cut" if stop_code and end == "failed" else end
        self._add("yaa_runs_total", end if end in ENDS else "cut")
        self._add("yaa_run_seconds_total", by=seconds)
        over = next((str(most) for most in BUCKETS if seconds <= most), "+Inf")
        self._add("yaa_run_duration_seconds", over)
        for state in results:
            self._add("yaa_tool_results_total", state if state in STATES else "failed")
        usage = session.get("usage", {})
        for kind in TOKENS:
            spent = usage.get(f"{kind}_tokens", 0) - before.get(f"{kind}_tokens", 0)
            self._add("yaa_tokens_total", kind, max(0, spent))

    def _add(self, name: str, value: str = "", by: float = 1) -> None:
        self._numbers[PLACES[name, value]] += by


def _memory(rows: list[memoryview[float]]) -> Iterator[str]:
    """Yield the lines on the memory of each process (Linux only)."""
    yield "# HELP yaa_resident_bytes Memory of a serving process."
    yield "# TYPE yaa_resident_bytes gauge"
    for number, row in enumerate(rows):
        try:
            pages = Path(f"/proc/{int(row[PLACES[PID]])}/statm").read_text().split()[1]
        except OSError:  # the process has ended, or this is not Linux
            continue
        yield f'yaa_resident_bytes{{worker="{number}"}} {int(pages) * mmap.PAGESIZE}'
