"""`python3 -m tests.chaos.simulator --share 1/8 --seed 7`: play a share of all small worlds.

`--all FILE` plays all of them, those that end alike only once. It can be stopped: with the same
file it goes on. `--share 3/20` is then the third of every twenty groups. A failure prints the
world, the seed and the last lines of its story.
"""

from __future__ import annotations

import argparse
import gc
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from .oracle import WRONG
from .spec import MODES, Spec
from .whole import STORY, count, play_all
from .world import silence
from .worlds import (
    SHARED_MEMORY,
    play,
    random_worlds,
    share_of,
    small_worlds,
)


def main() -> None:
    """Play, and print what was found."""
    parser = argparse.ArgumentParser(prog="python3 -m tests.chaos.simulator", description=__doc__)
    parser.add_argument("--share", help="which part of the small worlds, 1/200 or with --all 1/1")
    parser.add_argument("--random", type=int, default=0, help="how many random large worlds")
    parser.add_argument("--seed", default="", help="of the order in which processes go on")
    parser.add_argument("--mode", action="append", choices=MODES, help="only these disturbances")
    parser.add_argument("--wire", help="only these clients")
    parser.add_argument("--action", help="only this action")
    parser.add_argument("--count", action="store_true", help="only count the worlds")
    parser.add_argument(
        "--all", type=Path, metavar="FILE", help="all small worlds, those that end alike only once"
    )
    parser.add_argument("--stories", type=int, default=3, help="how many failures are told whole")
    options = parser.parse_args()
    silence()
    gc.disable()
    root = Path(tempfile.mkdtemp(prefix="simulator", dir=SHARED_MEMORY))
    try:
        modes = tuple(options.mode or MODES)
        if options.count:
            print(count(root, modes))
            return
        if options.all:
            sys.exit(play_all(root, options.all, options.share or "1/1", options.stories))
        specs = share_of(small_worlds(root, modes), options.share or "1/200", options.seed)
        if options.random:
            specs = random_worlds(options.seed, options.random)
        chosen = (
            spec
            for spec in specs
            if (not options.wire or spec.wire in options.wire.split(","))
            and (not options.action or spec.disturbances[0].action in options.action.split(","))
        )
        sys.exit(_report(chosen, root, options.seed, options.stories))
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _report(specs: Iterator[Spec], root: Path, seed: str, stories: int) -> int:
    counts: Counter[str] = Counter()
    rows: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    began_s = time.process_time()
    for spec in specs:
        counts["worlds"] += 1
        if (outcome := play(spec, root, seed)) is None:
            continue
        counts["played"] += 1
        counts["posts"] += outcome.client.posts
        if counts["played"] % 500 == 0:
            gc.collect()
        first = spec.disturbances[0]
        row = rows[first.mode, first.action]
        row["played"] += 1
        kinds = {name for name in WRONG if any(text.startswith(name) for text in outcome.wrong)}
        row.update(kinds)
        counts.update(kinds)
        if outcome.wrong:
            counts["wrong worlds"] += 1
            if counts["wrong worlds"] <= stories:
                print(f"{spec}\nseed {seed!r}", *outcome.story[-STORY:], sep="\n")
    spent_s = time.process_time() - began_s
    for (mode, action), row in sorted(rows.items()):
        wrong = {name: count for name, count in row.items() if name != "played"}
        if wrong:
            print(f"{mode} {action}, {row['played']} worlds: {wrong}")
    print(
        dict(counts), f"{counts['played'] / max(spent_s, 0.01):.0f} a CPU second, {spent_s:.0f} s"
    )
    return 1 if counts["wrong worlds"] else 0


if __name__ == "__main__":
    main()
