"""What the page costs: `python3 -m tests.bench.page`.

The budgets are goals for a machine at rest; the rows of "floor" say how far this one is from it:
the same work in a page with nothing but a field and a line of text. Each figure is that of the
best of three rounds (page.mjs).
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any

from ..browser.walks import walk
from ..tooling import tools
from ..tooling.child import Yaa
from . import peers

PAGE = tools.ROOT / "client" / "index.html"
BUDGETS = {
    ("cold start", "typable_ms"): 500,
    ("cold start", "requests"): 60,
    ("cold start", "kb"): 400,
    ("slow network", "slow_typable_ms"): 2000,
    ("long session", "open_ms"): 600,
    ("key", "key_ms_p99"): 8,
    ("streaming", "frame_ms_p99"): 8,
    ("streaming in a long session", "frame_ms_p99"): 8,
}


def measure(browser: str, rounds: int = 3) -> dict[tuple[str, str], float]:
    """The figures of one browser, by step and name. Raises RuntimeError if the page fails."""
    with ExitStack() as stack:
        yaa = stack.enter_context(Yaa(peers.config(peers.start(stack, "tests.bench.provider"))))
        job: dict[str, Any] = {"url": yaa.link, "label": f"{browser}-bench", "rounds": rounds}
        job["alone"] = True
        walked = walk("../bench/page.mjs", browser, job, {})
    if walked.error:
        raise RuntimeError(walked.error)
    return {
        (step, name): value
        for step, found in walked.steps.items()
        for name, value in found.items()
        if name not in ("step", "ms")
    }


def main() -> None:
    for browser in ("chromium", "firefox"):
        if tools.browser(browser).path is None:
            print(f"{browser}: {tools.browser(browser).why}", file=sys.stderr)
            continue
        for (step, name), value in measure(browser).items():
            budget = BUDGETS.get((step, name))
            verdict = f" (budget {budget})" if budget else ""
            over = "  over" if budget and value > budget else ""
            print(f"{browser:<9} {step:<28} {name:<14} {value:>8}{verdict}{over}")


if __name__ == "__main__":
    main()
