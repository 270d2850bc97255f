"""`python -m tests.tooling.samples.interrupted LANE…`: runs lanes that never end as the suite does:
unit, node, chromium, firefox."""

import signal
import sys
from functools import partial
from pathlib import Path

from .. import lanes
from ..lanes import Job, Lane
from ..report import Console

WAITS = Path(__file__).with_name("waits.mjs")


def jobs(lane: str) -> list[Job]:
    if lane == "node":
        return [partial(lanes.run_node, arguments=["--test", str(WAITS)])]
    name, tests = ("serves", "") if lane == "unit" else ("walks", rf"\.test_{lane}$")
    return [partial(lanes.run_suite, names=[f"{__package__}.{name}"], tests=tests)]


if __name__ == "__main__":
    chosen = [Lane(name, "never ends", partial(jobs, name), 600) for name in sys.argv[1:]]
    try:
        lanes.run_whole(chosen, Console())
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
