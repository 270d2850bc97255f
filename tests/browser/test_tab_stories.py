"""What three tabs of a browser do at once is there at the end: random stories, as in Node.

    python3 -m tests.browser.test_tab_stories chromium --stories 100 --seed 1

prints those that end wrong. A sample of them is a test.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack

from ..bench import peers
from ..tooling.child import Yaa
from . import walks

SAMPLE = 2
STORY_S = 60.0


class TabStories(walks.Both):
    def check(self, browser: str) -> None:
        wrong, error = play(browser, SAMPLE, 1)
        self.assertEqual(error, "")
        self.assertEqual(len(wrong), SAMPLE)
        self.assertEqual({name: words for name, words in wrong.items() if words}, {})


def play(browser: str, stories: int, seed: int) -> tuple[dict[str, list[str]], str]:
    """Return what is wrong at the end of each story, and what stopped them."""
    with ExitStack() as stack:
        config = peers.config(peers.start(stack, "tests.bench.provider"))
        yaa = stack.enter_context(Yaa(config, at_once=True))
        job = {"url": yaa.link, "stories": stories, "seed": seed, "label": f"{browser}-tab-stories"}
        job["limit_s"] = walks.LIMIT_S + STORY_S * stories
        walked = walks.walk("tab-stories.mjs", browser, job, {})
    return {name: step["wrong"] for name, step in walked.steps.items()}, walked.error


def main() -> int:
    """Play stories, and print what is wrong at their end."""
    parser = argparse.ArgumentParser(prog="python3 -m tests.browser.test_tab_stories")
    parser.add_argument("browser", choices=("chromium", "firefox"))
    parser.add_argument("--stories", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    wrong, error = play(options.browser, options.stories, options.seed)
    red = {name: words for name, words in wrong.items() if words}
    for name, words in red.items():
        print(f"{name}: {'; '.join(words)}")
    if error:
        print(f"the walk ended: {error}")
    print(f"{len(wrong)} stories, {len(red)} of them wrong")
    return bool(red or error or len(wrong) < options.stories)


if __name__ == "__main__":
    sys.exit(main())
