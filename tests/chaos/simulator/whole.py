"""All small worlds, those that go on alike only once."""

from __future__ import annotations

import gc
import itertools
import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

from .merged import Merged, place_of
from .spec import MODES, Spec
from .worlds import groups, play, twin, worlds_of

STORY = 10  # lines of a failure


def count(root: Path, modes: tuple[str, ...]) -> dict[str, int]:
    """Return how many worlds there are, and how many of them are distinct."""
    counts: Counter[str] = Counter()
    equal = Counter(map(twin, groups()))
    for group, mode in itertools.product(equal, modes):
        merged = Merged(root)
        for _ in merged.distinct(worlds_of(group, root, (mode,))):
            pass
        counts.update(_of_all(merged.counts, equal[group]))
        gc.collect()
    return dict(counts)


def _of_all(counts: Any, equal: int) -> dict[str, int]:
    """Return the counts of a group for all groups that are equal to it."""
    many = {name: equal * counts[name] for name in ("worlds", "possible")}
    return {"groups": equal, **many, "distinct": counts["distinct"], "played": counts["played"]}


def some_of(specs: list[Spec], most: int, seed: int) -> list[Spec]:
    """Return about `most` worlds: all of each n-th disturbance, as what goes on alike is there."""
    places = list(dict.fromkeys(map(place_of, specs)))
    parts = min(-(-len(specs) // most), len(places))
    chosen = {*places[random.Random(seed).randrange(parts) :: parts]}
    return [spec for spec in specs if place_of(spec) in chosen]


def play_all(root: Path, file: Path, share: str, stories: int, most: int | None = None) -> int:
    """Play the distinct small worlds of each group and mode without a line in the file; add it.

    So it can be stopped, and goes on with the mode that it was stopped in. `most`: about how many
    of a group and mode. Return 0 if none was wrong, an exit code.
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
        specs = [*worlds_of(group, root, (mode,))]
        for spec in merged.distinct(some_of(specs, most, number) if most else specs):
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
