"""Tries seeded mistakes: `python3 -m tests.mutants [list | map | try | types | table]`.

Without a word it makes the list, the map of which tests reach it, and the trials, and prints the
table. All of it goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

from ..tooling import command, tools
from . import sites, trial


def main() -> None:
    options = _parse()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _interrupt)
    git = ["git", "-C", str(tools.ROOT), "rev-parse", "--short=10", options.commit]
    commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    folder = options.folder / f"{commit}-{options.seed}-{options.count}-{options.reverts}"
    folder.mkdir(parents=True, exist_ok=True)
    tree = trial.Tree(folder, commit)
    tree.clean()
    everything, sizes = sites.of_tree(tree.root)
    if liked := options.like and trial.rows(options.like):
        found = trial.like(liked, everything)
        known = {site.id: tests for site, tests in found.items()}
        chosen = [*found]
    else:
        known = {}
        chosen = sites.choose(everything, sizes, options.count, options.seed)
    chosen = sites.parse(tree.root, chosen)
    trials = trial.mutants(tree, chosen, known)
    until, same = options.until or commit, [str(row["id"]) for row in liked or ()]
    backs = trial.reverts(tree, options.reverts, until, everything, same)
    near = {name for one in backs for name in one.sites} - {site.id for site in chosen}
    reachable = [*chosen, *(site for site in everything if site.id in near)]
    map_file, results = folder / "map.jsonl", folder / "results.jsonl"
    if options.what == "list":
        for one in [*trials, *backs]:
            print(one.id, one.about)
    if options.what in ("map", "all"):
        trial.reach(tree, reachable, map_file, re.compile(options.tests))
    wanted = [*trials[: options.take], *backs]
    if options.what in ("try", "all"):
        _try(tree, wanted, trial.rows(map_file), results, options.minutes)
    if options.what in ("types", "all"):
        _types(tree, wanted, results)
    if options.what in ("table", "all"):
        _table(trial.rows(results))


def _interrupt(number: int, frame: object) -> None:
    """End what runs, which is in groups of its own."""
    command.interrupt()
    raise KeyboardInterrupt


def _try(
    tree: trial.Tree,
    wanted: list[trial.Trial],
    reached: list[dict[str, object]],
    results: Path,
    minutes: float,
) -> None:
    ends = time.monotonic() + minutes * 60
    done = {row["id"]: row for row in trial.rows(results)}
    for at, one in enumerate(wanted, 1):
        earlier = done.get(one.id)
        if time.monotonic() > ends or (earlier and earlier["how"] not in ("survived", "types")):
            continue
        row = trial.attempt(tree, one, reached, earlier)
        if row is None:
            continue
        trial.add(results, row)
        done[one.id] = row
        took = f"{len(row['tried'])} of {row['reached_by']} modules, CPU {row['cpu_s']:.1f} s"
        print(f"{at}/{len(wanted)} {one.id} {one.about[:120]}")
        print(f"    {row['how']} {row['by'][:120]} ({took})", flush=True)


def _types(tree: trial.Tree, wanted: list[trial.Trial], results: Path) -> None:
    done = {row["id"]: row for row in trial.rows(results)}
    for one in wanted:
        found = done.get(one.id, {})
        if found.get("how") == "survived" and "typed" not in found:
            trial.add(results, row := trial.judge(tree, one, found))
            print(f"{one.id} {one.about[:120]}\n    {row['how']} {row['by'][:120]}", flush=True)


def _table(results: list[dict[str, object]]) -> None:
    kinds = {False: "mutants", True: "mends taken back"}
    for back, name in kinds.items():
        some = [row for row in results if str(row["id"]).startswith("revert-") is back]
        how = Counter(str(row["how"]) for row in some)
        print(f"{name}: {len(some)} tried, {dict(how)}")
        for row in some:
            if row["how"] in ("survived", "types"):
                print(f"  {row['how']} {row['id']} {row['about']} ({row['reached_by']} modules)")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m tests.mutants", description=__doc__)
    words = ["list", "map", "try", "types", "table", "all"]
    parser.add_argument("what", nargs="?", choices=words, default="all")
    parser.add_argument("--commit", default="HEAD", help="whose product and tests are tried")
    parser.add_argument("--seed", type=int, default=39)
    parser.add_argument("--count", type=int, default=150, help="how many mutants are chosen")
    parser.add_argument("--take", type=int, help="and how many of them are tried; all")
    parser.add_argument("--reverts", type=int, default=0, help="mends that are taken back")
    parser.add_argument("--until", default="", help="the last commit of those mends")
    parser.add_argument(
        "--like", type=Path, help="the results of another tree: its mutants, its tests first"
    )
    parser.add_argument("--tests", default="", help="a pattern: which modules are mapped")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="none begins later")
    parser.add_argument("--folder", type=Path, default=tools.CACHE.parent / "mutants")
    return parser.parse_args()


if __name__ == "__main__":
    main()
