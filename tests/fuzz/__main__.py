"""`python3 -m tests.fuzz parser --seconds 600 --seed 7`; `--trial N` repeats a single one."""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path

from ..extensions import rows_for
from . import answers, intake, parser

TARGETS: dict[str, Callable[[random.Random], str]] = {
    "answers": answers.trial,
    "intake": intake.trial,
    "parser": parser.trial,
}
ADDED = {name: row for added in rows_for("FUZZ") for name, row in added.items()}
TARGETS |= {name: trial for name, (trial, _) in ADDED.items()}
TOLD_EVERY_S = 60.0


def main() -> int:
    options = _options()
    trial = TARGETS[options.target]
    if options.trial is not None:
        print(trial(chance(options.seed, options.trial)))
        return 0
    outcomes: Counter[str] = Counter()
    finds, number = 0, 0
    begin = told = time.monotonic()
    print(f"{options.target} with --seed {options.seed} for {options.seconds:g} s", flush=True)
    for number in count():
        now = time.monotonic()
        if now - begin >= options.seconds or finds >= options.most:
            break
        if now - told > TOLD_EVERY_S:
            told = now
            print(f"  {number} trials, {finds} finds", flush=True)
        try:
            outcomes[trial(chance(options.seed, number))] += 1
        except Exception as error:
            finds += 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            print(f"FOUND --seed {options.seed} --trial {number}", end=" ")
            print(f"{Path(where.filename).name}:{where.lineno} {error!r:.1500}", flush=True)
    for outcome, times in outcomes.most_common(30):
        print(f"{times:>10}  {outcome}")
    print(f"{number} trials in {time.monotonic() - begin:.0f} s, {finds} finds")
    return min(finds, 1)


def chance(seed: int, number: int) -> random.Random:
    """A trial's own, so that it can be repeated alone."""
    return random.Random(f"{seed}/{number}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m tests.fuzz")
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--trial", type=int, help="only this one, whose failure is not caught")
    parser.add_argument("--most", type=int, default=10, help="finds before it stops")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
