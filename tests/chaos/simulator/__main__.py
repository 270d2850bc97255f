"""`python3 -m tests.chaos.simulator --share 1/8 --seed 7`: play a share of all small worlds.

`--all FILE` plays all of them, those that end alike only once. It can be stopped: with the same
file it goes on. `--share 3/20` is then the third of every twenty groups. A failure prints the
world, the seed and the last lines of its story.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .merged import Merged
from .oracle import WRONG
from .spec import MODES, Spec
from .world import silence
from .worlds import (
    SHARED_MEMORY,
    groups,
    play,
    random_worlds,
    share_of,
    small_worlds,
    twin,
    worlds_of,
)

STORY = 10  # lines of a failure


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
            _count(root, modes)
            return
        if options.all:
            sys.exit(_play_all(root, options.all, options.share or "1/1", options.stories))
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


def _count(root: Path, modes: tuple[str, ...]) -> None:
    """Print how many worlds there are, and how many of them are distinct."""
    counts: Counter[str] = Counter()
    equal = Counter(map(twin, groups()))
    for group, mode in itertools.product(equal, modes):
        merged = Merged(root)
        for _ in merged.distinct(worlds_of(group, root, (mode,))):
            pass
        counts.update(_of_all(merged.counts, equal[group]))
        gc.collect()
    print(dict(counts))


def _of_all(counts: Any, equal: int) -> dict[str, int]:
    """Return the counts of a group for all groups that are equal to it."""
    many = {name: equal * counts[name] for name in ("worlds", "possible")}
    return {"groups": equal, **many, "distinct": counts["distinct"], "played": counts["played"]}


def _play_all(root: Path, file: Path, share: str, stories: int) -> int:
    """Play the distinct small worlds of each group and mode without a line in the file; add it.

    So it can be stopped, and goes on with the mode that it was stopped in.
    """
    number, parts = map(int, share.split("/"))
    equal = Counter(map(twin, groups()))
    chosen = [*itertools.product(equal, MODES)]
    random.Random(0).shuffle(chosen)
    rows = [json.loads(text) for text in file.read_text().splitlines()] if file.exists() else []
    known = [row["group"] for row in rows]
    for group, mode in chosen[number - 1 :: parts]:
        name = f"{group[0]} {'+'.join(group[1])} {group[2]} {mode}"
        if name in known:
            continue
        began_s, merged, wrong = time.process_time(), Merged(root), []
        for spec in merged.distinct(worlds_of(group, root, (mode,))):
            if (outcome := play(spec, root)) is not None:
                merged.counts["played"] += 1
                if outcome.wrong:
                    wrong.append(repr(spec))
                    if len(wrong) <= stories:
                        print(f"{spec}", *outcome.story[-STORY:], sep="\n", flush=True)
            if merged.counts["distinct"] % 500 == 0:
                gc.collect()
        spent_s = round(time.process_time() - began_s, 1)
        counts = _of_all(merged.counts, equal[group])
        rows.append({"group": name, **counts, "wrong": wrong, "cpu_s": spent_s})
        with file.open("a") as lines:
            lines.write(json.dumps(rows[-1]) + "\n")
    numbers = ("groups", "worlds", "possible", "distinct", "played", "cpu_s")
    total = {name: round(sum(row[name] for row in rows)) for name in numbers}
    found = sum(len(row["wrong"]) for row in rows)
    print({**total, "of groups": len(MODES) * sum(equal.values()), "wrong": found})
    return 1 if found else 0


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
