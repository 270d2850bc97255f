"""`python3 -m tests`: everything that is checked, from a fresh clone on, in one command.

`python3 -m tests quick` runs the unit tests that need nothing and take a moment, `python3 -m tests
soak` what takes too long to wait for. The whole run
makes its own environment (git-ignored, pinned, used again while the pins stay), runs every
lane to its end whatever fails, and closes with what was not run and why. The exit code is 0 only
when nothing failed. The unit tests need none of this: `python3 -m unittest discover -t . -s tests`.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from .tooling import budget, environment, lanes, quick, soak, tools, turns
from .tooling.report import Console, Outcome, account


def main() -> int:
    options = _parse()
    if options.list:
        for lane in lanes.LANES:
            print(f"{lane.name:<9} {lane.about}")
        return 0
    console = Console()
    if options.what == "quick":
        return _measure(console) if options.measure else _quick(console)
    environment.prepare(console, offline=options.offline)
    chosen = [lane for lane in lanes.LANES if not options.only or lane.name in options.only]
    if options.what == "soak":
        parts = [each for each in soak.PARTS if not options.part or each.name in options.part]
        chosen = [soak.lane(options.minutes, options.turn, parts)]
        os.environ.pop(turns.TURN, None)
    else:
        os.environ[turns.TURN] = str(options.turn)
        print(f"turn {options.turn}: `--turn {options.turn}` plays the same shares of what is long")
    outcomes = lanes.run_whole(chosen, console)
    if options.bench:
        subprocess.run([sys.executable, "-m", "tests.bench"], cwd=tools.ROOT, check=False)
    costs = budget.judge(outcomes, {} if options.what == "soak" else budget.read())
    code = account(outcomes, console.seconds(), costs)
    if options.lower_budget:
        budget.lower(outcomes)
    return code


def _quick(console: Console) -> int:
    code = account(lanes.run_whole([lanes.QUICK], console), console.seconds())
    if console.seconds() > quick.WHOLE_S:
        print(f"quick took more than {quick.WHOLE_S:.0f} s; `--measure` finds what to leave out")
    return code


def _measure(console: Console) -> int:
    """Runs all unit tests and writes down which of them `quick` leaves out."""
    outcome, results = Outcome("unit"), list[dict[str, Any]]()
    python = Path(sys.executable)
    names = lanes.modules()
    lanes.run_suite(console, outcome, lanes.TEST_S, names, python=python, results=results)
    if len(results) == len(names):
        quick.write(results)
    return account([outcome], console.seconds())


def _parse() -> argparse.Namespace:
    names = [lane.name for lane in lanes.LANES]
    parser = argparse.ArgumentParser(prog="python3 -m tests", description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["all", "quick", "soak"], default="all")
    parser.add_argument("--measure", action="store_true", help="with quick: what it leaves out")
    soaks = [each.name for each in soak.PARTS]
    parser.add_argument("--part", nargs="+", metavar="PART", choices=soaks, help=", ".join(soaks))
    parser.add_argument(
        "--minutes",
        type=float,
        nargs="?",
        default=math.inf,
        const=soak.MINUTES,
        help=f"of soak: none begins later; {soak.MINUTES:g} without a number",
    )
    parser.add_argument(
        "--turn", type=int, help="which shares are played, of soak: its first part, and the seed"
    )
    parser.add_argument("--only", nargs="+", metavar="LANE", choices=names, help=", ".join(names))
    parser.add_argument(
        "--lower-budget", action="store_true", help="write what lanes took, where that is less"
    )
    parser.add_argument("--list", action="store_true", help="name the lanes and stop")
    parser.add_argument("--offline", action="store_true", help="install nothing")
    parser.add_argument("--bench", action="store_true", help="also print the whole benchmark")
    options = parser.parse_args()
    if options.turn is None:
        options.turn = turns.of_commit()
    return options


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
