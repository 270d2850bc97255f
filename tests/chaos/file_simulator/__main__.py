"""`python3 -m tests.chaos.file_simulator --stories 2000 --seed 7`: play stories of folders.

Each seed makes one story in each mode. A failure prints its seed and a shortened story.
"""

from __future__ import annotations

import argparse
import random
import sys

from .oracle import CLASSES
from .steps import MODES, story
from .stories import play_many


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m tests.chaos.file_simulator")
    parser.add_argument("--stories", type=int, default=300, help="in all modes together")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--mode", choices=MODES, help="else each seed in all")
    parser.add_argument("--only", choices=CLASSES, default="", help="mistakes of this class")
    parser.add_argument("--show", type=int, default=1, help="stories of each class that are told")
    parser.add_argument("--whole", action="store_true", help="print the story of --seed first")
    options = parser.parse_args()
    modes = (options.mode,) if options.mode else MODES
    if options.whole:
        print(*(story(str(options.seed), mode) for mode in modes), sep="\n\n")
    number = -(-options.stories // len(modes))
    seeds = [str(options.seed + each) for each in range(number)]
    print(f"--seed {options.seed}", flush=True)
    count = play_many(seeds, modes, options.show, options.only)
    print(*count.shown, count, sep="\n")
    return min(count.wrong_stories, 1)


if __name__ == "__main__":
    sys.exit(main())
