"""Changes on a bad line, without a browser: the page's own modules in Node, a server, a line.

    python3 -m tests.browser.test_bad_line_routes table [--tree FOLDER]

prints the red rows of the whole table; with the client and the server of another checkout if one is
named. A sample of it is a test.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import unittest
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from ..tooling import patience, tools
from .bad_line import FAULTS, Line

SPEED = 5
LIMIT_S = 180.0
ACTIONS = (
    *("upload", "upload in pieces", "upload, while the agent writes", "delete", "rename"),
    *("restore", "apply", "discard", "save a setting", "make a key", "delete a key"),
    *("save an agent", "delete an agent"),
)
LABELS = [label for label in FAULTS if label != "restarted"]
SCRIPT = Path(__file__).with_name("bad-line-routes.js")
SAMPLE = [(action, label) for action in ACTIONS for label in ("502 once", "answers lost, 504")]


def go(
    rows: list[tuple[str, str]],
    tree: Path = tools.ROOT,
    note: Callable[[str], object] = lambda line: None,
) -> dict[str, list[str]]:
    """Return what was broken in each row; `note` is called with each red line."""
    node = tools.program_node().path
    assert node is not None
    found: dict[str, list[str]] = {}
    with ExitStack() as stack:
        line = Line(stack, SPEED, tree)
        job = {**line.job(rows), "modules": str(tree / "tests" / "client"), "speed": SPEED}
        job["url"] = line.proxy.url
        for row in job["rows"]:
            row["fault"] = {**row["fault"], "hold": row["fault"]["hold"] / 2}
        process = stack.enter_context(
            subprocess.Popen(
                [str(node), str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )
        assert process.stdin is not None
        assert process.stdout is not None
        stack.callback(process.kill)
        with patience.Watch(LIMIT_S + 8 * len(rows), process.kill):
            print(json.dumps(job), file=process.stdin, flush=True)
            for text in process.stdout:
                message = json.loads(text)
                if "row" in message:
                    found[message["row"]] = message["broken"]
                    for words in message["broken"]:
                        note(f"{message['row']}: {words}")
                    continue
                if message["ask"] == "fault":
                    line.fault(*message["given"])
                else:
                    line.heal()
                print("{}", file=process.stdin, flush=True)
    return found


class Changes(unittest.TestCase):
    maxDiff = None

    @tools.needs(tools.program_node())
    def test_a_sample(self) -> None:
        found = go(SAMPLE)
        self.assertEqual({row: broken for row, broken in found.items() if broken}, {})
        self.assertEqual(len(found), len(SAMPLE))


def main() -> int:
    """Print the red rows of the table."""
    parser = argparse.ArgumentParser(prog="python3 -m tests.browser.test_bad_line_routes")
    parser.add_argument("--tree", type=Path, default=tools.ROOT)
    parser.add_argument("--action", action="append", choices=ACTIONS)
    parser.add_argument("--fault", action="append", choices=LABELS)
    options = parser.parse_args()
    rows = list(itertools.product(options.action or ACTIONS, options.fault or LABELS))
    found = go(rows, options.tree, partial(print, flush=True))
    print(f"{len(found)} of {len(rows)} rows, {sum(map(bool, found.values()))} red")
    return any(found.values()) or len(found) < len(rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["table"]:
        del sys.argv[1]
        sys.exit(main())
    unittest.main()
