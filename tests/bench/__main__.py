"""Prints the table of the goals: `python3 -m tests.bench [--peers] [--tiny] [--rounds N]`.

`--peers` installs what people build of other libraries (others/) and measures it too.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import statistics
import sys
from collections.abc import Sequence

from . import others
from .measures import (
    ADDED,
    GOALS,
    MEASURES,
    OF_FLOOR,
    TINY,
    Figures,
    Size,
    cold_starts,
    hang_up,
)
from .peers import Peer, let_go, running

COLUMNS = ("direct", "relay", "floor", "yaa")
Table = dict[str, dict[str, list[float]]]  # figure -> peer -> one value a round


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m tests.bench", description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="only show that it runs")
    parser.add_argument("--peers", action="store_true", help="other libraries too")
    parser.add_argument("--rounds", type=int, default=3)
    names = [*MEASURES, "hang_up", "cold_starts"]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    options = parser.parse_args()
    size, rounds = (TINY, 1) if options.tiny else (Size(), options.rounds)
    peers = others.install() if options.peers else []
    print(render(run(size, rounds, options.only, peers), peers))
    load, cores = os.getloadavg()[0], os.cpu_count()
    print(f"\nPython {platform.python_version()}, {cores} processors, load {load:.1f} at the end")


def run(size: Size, rounds: int, only: list[str], names: Sequence[str] = ()) -> Table:
    """All measures, round by round, the peers in turns. Servers are fresh in each round."""
    table: Table = {}
    for number in range(rounds):
        with running(names) as peers:
            provider = peers[0].url
            for name in only:
                print(f"round {number + 1} of {rounds}: {name}", file=sys.stderr, flush=True)
                if name == "cold_starts":
                    for peer_name, figures in cold_starts(size, provider, names).items():
                        add(table, peer_name, figures)
                    continue
                for peer in peers:
                    add(table, peer.name, asyncio.run(measure(name, peer, size, provider)))
    return table


async def measure(name: str, peer: Peer, size: Size, provider: str) -> Figures:
    """Nothing of a peer that fails: it may be what the measure is for."""
    try:
        if name == "hang_up":
            return await hang_up(peer, size, provider)
        return await MEASURES[name](peer, size)
    except (RuntimeError, TimeoutError, OSError, IndexError) as error:
        if peer.name in COLUMNS:
            raise
        print(f"{peer.name} failed in {name}: {error!s:.200}", file=sys.stderr, flush=True)
        return {}
    finally:
        await let_go()


def add(table: Table, peer: str, figures: Figures) -> None:
    for figure, value in figures.items():
        table.setdefault(figure, {}).setdefault(peer, []).append(value)


def render(table: Table, names: Sequence[str] = ()) -> str:
    """Medians over the rounds, as a table in Markdown; what has a goal first. The last columns
    say how many times the floor's figure yaa's is, and how many times the best of the others."""
    columns = [*COLUMNS, *names]
    head = ["", "goal", *columns, "× floor", *(["× the best"] if names else [])]
    rows = [head, ["---", *["---:"] * (len(head) - 1)]]
    figures = [figure for figure in (*OF_FLOOR, *GOALS) if figure in table]
    figures += [figure for figure in table if figure not in figures]
    for figure in figures:
        medians = {name: statistics.median(found) for name, found in table[figure].items()}
        row = [figure, goal(figure), *(short(medians.get(name)) for name in columns)]
        row.append(times(figure, medians, ["floor"]))
        rows.append([*row, times(figure, medians, names)] if names else row)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def goal(figure: str) -> str:
    sign = "≥" if "/s" in figure else "≤"
    if figure in OF_FLOOR:
        share = OF_FLOOR[figure]
        return f"{sign} {f'{share:g} ×' if share >= 1 else f'1/{1 / share:.0f} of the'} floor"
    if figure not in GOALS:
        return ""
    return f"{sign} {'direct + ' if figure in ADDED else ''}{GOALS[figure]:,g}"


def times(figure: str, medians: dict[str, float], names: Sequence[str]) -> str:
    """What yaa takes as a multiple of the best of these, in the same run: "3.6"."""
    found = [medians[name] for name in names if name in medians]
    if "yaa" not in medians or not found:
        return ""
    below = medians.get("direct", 0.0) if figure in ADDED else 0.0
    best = (max(found) if "/s" in figure else min(found)) - below
    return f"{(medians['yaa'] - below) / best:.2g}" if best > 0 else "–"


def short(value: float | None) -> str:
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"


if __name__ == "__main__":
    main()
