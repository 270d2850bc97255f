"""Prints the benchmark's table: `python3 -m tests.bench [--tiny] [--rounds N] [--only NAME…]`."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys

from .measures import MEASURES, TINY, Figures, Size, cold_starts, hang_up
from .peers import Peer, running

COLUMNS = ("direct", "relay", "yaa")
Table = dict[str, dict[str, list[float]]]  # figure -> peer -> one value a round


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m tests.bench", description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="only show that it runs")
    parser.add_argument("--rounds", type=int, default=3)
    names = [*MEASURES, "hang_up", "cold_starts"]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    options = parser.parse_args()
    size, rounds = (TINY, 1) if options.tiny else (Size(), options.rounds)
    print(render(run(size, rounds, options.only)))


def run(size: Size, rounds: int, only: list[str]) -> Table:
    """All measures, round by round, the peers in turns."""
    table: Table = {}
    with running() as peers:
        provider = peers[0].url
        for number in range(rounds):
            for name in only:
                print(f"round {number + 1} of {rounds}: {name}", file=sys.stderr, flush=True)
                if name == "cold_starts":
                    for peer_name, figures in cold_starts(size, provider).items():
                        add(table, peer_name, figures)
                    continue
                for peer in peers:
                    add(table, peer.name, asyncio.run(measure(name, peer, size, provider)))
    return table


async def measure(name: str, peer: Peer, size: Size, provider: str) -> Figures:
    if name == "hang_up":
        return await hang_up(peer, size, provider)
    return await MEASURES[name](peer, size)


def add(table: Table, peer: str, figures: Figures) -> None:
    for figure, value in figures.items():
        table.setdefault(figure, {}).setdefault(peer, []).append(value)


def render(table: Table) -> str:
    """Medians over the rounds; what yaa adds to the direct way, and its ratio to the relay."""
    rows = [f"{'':<38}{'direct':>10}{'relay':>10}{'yaa':>10}{'- direct':>10}{'/ relay':>9}"]
    for figure, values in table.items():
        medians = {name: statistics.median(found) for name, found in values.items()}
        direct, relay, yaa = (medians.get(name) for name in COLUMNS)
        cells = [short(direct), short(relay), short(yaa)]
        cells.append("" if yaa is None or direct is None else short(yaa - direct))
        cells.append(f"{yaa / relay:.2f}" if yaa is not None and relay else "")
        rows.append(f"{figure:<38}" + "".join(f"{c:>10}" for c in cells[:4]) + f"{cells[4]:>9}")
    return "\n".join(rows)


def short(value: float | None) -> str:
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"


if __name__ == "__main__":
    main()
