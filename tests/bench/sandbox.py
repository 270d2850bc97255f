"""`python3 -m tests.bench.sandbox [--calls N] [--pause MS]`: what a sandboxed call costs, beside a
plain process and bubblewrap, in turns on one machine: p50, p99 and the least of each, in ms.

A call is measured as the toolbox makes it, through Runner.run, from the job to its outcome: the
asyncio side, the worker, the tool, the supervisor and the pipes. The others are what a script would
write: subprocess.run of the same command. The shell tool runs `bash -c` itself, so its command is
`true`: every row with bash starts exactly one. Before each call is a pause, in which what the one
before it left to do is done: its processes go, and a worker is made for the next call. With
`--pause 0` calls pay for that. The rule of the file: interleaved, so that all see the same machine;
the least is what the path itself costs, the rest is also what else was going on.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from server.tools.runner import Job, ToolRunner

LIMITS: dict[str, float] = {
    "wall_s": 20,
    "cpu_s": 20,
    "memory_mb": 512,
    "file_mb": 64,
    "disk_mb": 256,
    "output_kb": 256,
    "processes": 64,
    "open_files": 256,
}
OPTIONS = {"network": "off", "run_as": 61321, "idle_s": 300}
NOTHING = ("module", "server.tools.builtin.clock", "datetime")
SHELL = ("module", "server.tools.builtin.shell", "shell")
BASH = ["bash", "-c", "true"]
BUBBLEWRAP = (
    "bwrap --unshare-all --die-with-parent --new-session --ro-bind /usr /usr --symlink usr/bin /bin"
    " --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp"
).split()
Way = Callable[[], Awaitable[None]]


async def called(runner: ToolRunner, where: tuple[str, str, str], args: dict[str, str]) -> None:
    outcome = await runner.run(Job(where, args, "bench", LIMITS))
    if outcome.status != "ok":
        raise RuntimeError(f"{where}: {outcome.error}")


async def ran(command: list[str]) -> None:
    await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)


def ways(runner: ToolRunner) -> dict[str, Way]:
    """Name → one call. What is not on this machine is left out, loudly."""
    tier = runner.sandbox["tier"]
    found: dict[str, Way] = {
        "subprocess bash -c true": lambda: ran(BASH),
        f"tier {tier} no-op": lambda: called(runner, NOTHING, {}),
        f"tier {tier} bash -c true": lambda: called(runner, SHELL, {"command": "true"}),
        "plain child no-op": lambda: called(ToolRunner(runner.workspaces.parent), NOTHING, {}),
    }
    if tier == "none":
        print(f"NO SANDBOX on this machine: {runner.sandbox['tried']}", file=sys.stderr)
    if shutil.which("bwrap") is None:
        print("bubblewrap is NOT INSTALLED: nothing to compare with", file=sys.stderr)
    else:
        found["bubblewrap bash -c true"] = lambda: ran([*BUBBLEWRAP, *BASH])
        python = shutil.which("python3", path="/usr/bin")
        if python:
            found["bubblewrap python -c pass"] = lambda: ran(
                [*BUBBLEWRAP, python, "-I", "-S", "-c", "pass"]
            )
    return found


async def measure(calls: int, pause_s: float = 0.02) -> dict[str, list[float]]:
    """Milliseconds of every call."""
    with tempfile.TemporaryDirectory(prefix="yaa-") as name:
        runner = ToolRunner(Path(name))
        await runner.open(OPTIONS)
        try:
            found: dict[str, list[float]] = {}
            everyone = ways(runner)
            for number in range(calls + 3):
                for way, one in everyone.items():
                    await asyncio.sleep(pause_s)
                    began = time.perf_counter()
                    await one()
                    if number >= 3:  # what is done once is not a call's
                        took = (time.perf_counter() - began) * 1000
                        found.setdefault(way, []).append(took)
            return found
        finally:
            runner.close()


def render(found: dict[str, list[float]]) -> str:
    rows = [f"{'ms':<30}{'least':>8}{'p50':>8}{'p99':>8}"]
    for way, values in found.items():
        ordered = sorted(values)
        p99 = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
        rows.append(f"{way:<30}{ordered[0]:>8.2f}{statistics.median(ordered):>8.2f}{p99:>8.2f}")
    return "\n".join(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python3 -m tests.bench.sandbox", description=__doc__)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--pause", type=float, default=20, help="ms before each call")
    asked = parser.parse_args()
    print(render(asyncio.run(measure(asked.calls, asked.pause / 1000))))
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
