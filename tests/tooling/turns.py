"""A share of a list that is too long for one run: another share with each commit.

`python3 -m tests` sets TESTS_TURN to the number of commits, or to that of `--turn`, and prints it.
Where it is not set every row is played: by hand, and in `soak`, which lists the modules (soak.py).
"""

from __future__ import annotations

import os
import subprocess
import unittest
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from . import tools

TURN = "TESTS_TURN"
ELSEWHEN = "another turn, or `python3 -m tests soak` plays it"
Row = TypeVar("Row")
Case = TypeVar("Case", bound=unittest.TestCase)


def whole() -> bool:
    """Return whether every row is played."""
    return TURN not in os.environ


def share(rows: Iterable[Row], parts: int) -> list[Row]:
    """Return each `parts`-th row, beginning with one that the turn chooses."""
    found = list(rows)
    if whole() or not found:
        return found
    return found[number() % min(parts, len(found)) :: parts]


def plays(name: str, parts: int, costs: Mapping[str, float] | None = None) -> bool:
    """Return whether the turn is that of a name: one of `parts`, or each where all is played.

    The names in `costs` are spread so that each turn takes about as much processor time.
    """
    spread = _spread(costs, parts) if costs else {}
    place = spread[name] if name in spread else zlib.crc32(name.encode())
    return whole() or (place + number()) % parts == 0


def _spread(costs: Mapping[str, float], parts: int) -> dict[str, int]:
    """Return the part of each name: the dearest first, each into the cheapest part so far."""
    sums, places = [0.0] * parts, {}
    for name in sorted(costs, key=lambda each: (-costs[each], each)):
        places[name] = sums.index(min(sums))
        sums[places[name]] += costs[name]
    return places


def tests(parts: int) -> Callable[[type[Case]], type[Case]]:
    """Decorate a class of tests of which a share is played, also of those that it inherits."""

    def decorate(case: type[Case]) -> type[Case]:
        names = [name for name in dir(case) if name.startswith("test_")]
        for name in set(names) - set(share(names, parts)):
            setattr(case, name, unittest.skip(ELSEWHEN)(getattr(case, name)))
        return case

    return decorate


def number() -> int:
    """Return the turn, or that of the commit where every row is played."""
    return of_commit() if whole() else int(os.environ[TURN])


def of_commit(root: Path = tools.ROOT) -> int:
    """Return how many commits led here; 0 without git or a history. In a clone without the older
    ones it is a number by the commit's name, as their count would always be the same."""
    try:
        shallow, name = _git(root, "rev-parse", "--is-shallow-repository", "HEAD").split()
        if shallow == "true":
            return int(name[:6], 16)
        return int(_git(root, "rev-list", "--count", "HEAD"))
    except (OSError, ValueError):
        return 0


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True).stdout
