"""What a person does on a bad line: a table of action × route × fault, each row with four checks.

All of it, or one action, or only some faults, in one browser:

    python3 -m tests.browser.bad_line chromium [ACTION] [--fault LABEL]

With --walk a person works for --seconds on a line that changes its fault every five seconds, and
the session at the end is that of a good line.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..tooling import tools
from . import walks
from .fault_proxy import Fault, FaultProxy
from .test_server_settings import OwnServer

SPEED = 10  # of the page's clock
ROW_S = 30.0  # most that a row may take
LIBRARY = Path(__file__).parents[1] / "tools" / "mcp_library.py"
EVERY_S = 5  # a line changes
OVER = r" /(session|info|health|workspaces|settings)"
ACTIONS = (
    *("upload", "upload, the agent writes, Undo", "delete", "rename", "open a file"),
    *("open two folders", "look at the files", "look at a change", "discard", "apply"),
    *("save a setting", "save an agent", "make a key", "send a message", "answer a question"),
    *("answer a question, first", "send while every call asks", "send a file", "open the page"),
    *("stop", "open the page, its script", "open the page, its language"),
    *("open the page, send, its script", "send in one of two tabs", "send and close the tab"),
    *("choose a server", "choose a model", "import", "read a skill", "name a resource"),
    *("send what may run once", "stop before a word", "edit and send again", "answer in words"),
    *("open the page, a late part", "open the page and look", "open the page, give it files"),
)
FAULTS: dict[str, dict[str, Any]] = {
    "delay 0.3 s": {"kind": "delay", "seconds": 0.3},
    "delay 3 s": {"kind": "delay", "seconds": 3, "hold": 400},
    "delay 30 s": {"kind": "delay", "seconds": 30, "hold": 3300},
    "late by 30 s": {"kind": "late", "seconds": 30, "hold": 3300},
    **{f"status {code}": {"kind": "status", "status": code} for code in (500, 501, 502, 503, 504)},
    "502 once": {"kind": "status", "status": 502, "times": 1},
    "429": {"kind": "busy"},
    "portal": {"kind": "portal"},
    "hang": {"kind": "hang", "hold": 4000},
    "deaf": {"kind": "deaf", "hold": 4000},
    "answer lost once, 504": {"kind": "lost", "status": 504, "times": 1},
    "answer lost once, cut": {"kind": "lost", "status": 0, "times": 1},
    "answers lost, 504": {"kind": "lost", "status": 504},
    "answers lost, cut": {"kind": "lost", "status": 0},
    "cut in the head": {"kind": "head"},
    "cut in the body": {"kind": "body", "bytes": 20},
    "cut in an event": {"kind": "body", "bytes": 700},
    "stands in an event": {"kind": "stand", "bytes": 700, "hold": 4000},
    "throttled": {"kind": "throttle", "bytes": 2000, "hold": 1500},
    "restarted": {"kind": "restart", "hold": 1000},
}
SAMPLE = (
    ("upload", "answer lost once, 504"),
    ("upload, the agent writes, Undo", "delay 3 s"),
    ("delete", "answers lost, 504"),
    ("rename", "answer lost once, cut"),
    ("open a file", "delay 3 s"),
    ("open two folders", "delay 3 s"),
    ("look at the files", "hang"),
    ("look at a change", "502 once"),
    ("save a setting", "answer lost once, 504"),
    ("make a key", "answers lost, 504"),
    ("send a message", "cut in an event"),
    ("send while every call asks", "502 once"),
    ("send a file", "hang"),
    ("answer a question", "429"),
    ("answer a question, first", "delay 30 s"),
    ("stop", "hang"),
    ("open the page", "502 once"),
    ("open the page", "cut in the head"),
    ("open the page, its script", "hang"),
    ("open the page, its language", "hang"),
    ("open the page, send, its script", "hang"),
    ("send in one of two tabs", "502 once"),
    ("read a skill", "hang"),
    ("name a resource", "delay 3 s"),
    ("import", "502 once"),
)

Row = dict[str, Any]


def table() -> list[tuple[str, str]]:
    """All rows: the action, and the label of the fault."""
    return list(itertools.product(ACTIONS, FAULTS))


class Line:
    """A server with a folder behind a line, and what the walk may ask for."""

    def __init__(self, stack: ExitStack, speed: float = SPEED, tree: Path = tools.ROOT) -> None:
        notes = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-notes-")))
        notes.chmod(0o777)
        (notes / "README.md").write_text("# Notes\n")
        folders = {"notes": {"path": str(notes), "mode": "overlay"}}
        config: Row = {"folders": folders, "offline_page": False}  # what is kept is not asked for
        calls = stack.enter_context(tempfile.NamedTemporaryFile(prefix="yaa-calls-")).name
        library = {"command": sys.executable, "args": [str(LIBRARY), calls, "modern"]}
        config["mcpServers"] = {"library": library}
        self.server = OwnServer(stack, {"server": config}, tree)
        self.chosen = self.server.home / "chosen.txt"
        self.chosen.write_text("in chosen.txt")
        skill = self.server.home / "skills" / "pdf" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text("---\nname: pdf\ndescription: Reads PDF files\n---\nPay it back.\n")
        place = urlsplit(self.server.url)
        self.proxy = FaultProxy(place.hostname or "", place.port or 0, speed)
        stack.enter_context(self.proxy)
        self._names = 0

    def job(self, rows: list[tuple[str, str]]) -> Row:
        """The job of a walk through these rows."""
        faults = {label: {"hold": 500, **fault, "label": label} for label, fault in FAULTS.items()}
        return {
            "url": f"{self.proxy.url}/#key={self.server.key}",
            "direct": self.server.url,
            "key": self.server.key,
            "site": str(self.server.site),
            "chosen": str(self.chosen),
            "speed": SPEED,
            "rows": [{"action": action, "fault": faults[label]} for action, label in rows],
        }

    def fault(self, given: Row) -> None:
        """Have a fault from now on."""
        self.proxy.use([fault_of(given, given["path"])])

    def heal(self) -> None:
        """Have a good line."""
        self.proxy.use([])

    def posts(self) -> int:
        """Return how often a session has been sent."""
        return self.proxy.log.count("POST /session")

    def restart(self) -> None:
        """Start the server anew, with another configuration."""
        self._start_anew({})

    def deny(self) -> None:
        """Start the server anew: it denies a tool until it is started anew once more."""
        self._start_anew({"datetime": {"ceiling": "deny"}})

    def _start_anew(self, ceilings: Row) -> None:
        self.server.stop()
        self._names += 1
        self.server.change(f"other{self._names}")
        file = self.server.home / "config.json"
        document = json.loads(file.read_text())
        document["server"]["tools"] = ceilings
        file.write_text(json.dumps(document))
        self.server.start()


FIELDS = set(Fault.__dataclass_fields__)


def fault_of(given: Row, path: str) -> Fault:
    """Return the fault of a row of FAULTS, of requests that match `path`."""
    return Fault(**{key: given[key] for key in given if key in FIELDS} | {"path": path})


def print_red(row: str, broken: list[str]) -> None:
    """Print what was broken in a row."""
    for words in broken:
        print(f"{row}: {words}", flush=True)


def go(
    browser: str, rows: list[tuple[str, str]], tree: Path = tools.ROOT
) -> tuple[dict[str, list[str]], str]:
    """Walk through rows, print red ones; return what was broken, and what stopped the walk."""
    with ExitStack() as stack:
        line = Line(stack, tree=tree)
        asks: dict[str, Callable[..., Any]] = {"fault": line.fault, "heal": line.heal}
        asks |= {"restart": line.restart, "red": print_red, "posts": line.posts, "deny": line.deny}
        job = {"label": f"{browser}-bad-line", "limit_s": 60 + ROW_S * len(rows), **line.job(rows)}
        walked = walks.walk("bad-line.mjs", browser, job, asks)
        steps = {name: step.get("broken", []) for name, step in walked.steps.items()}
        steps.pop("open", None)
        return steps, walked.error


class ChangingLine:
    """A line whose fault changes every `EVERY_S`, by a seed."""

    def __init__(self, proxy: FaultProxy, seed: int) -> None:
        self._proxy, self._chance, self._over = proxy, random.Random(seed), threading.Event()
        self._thread = threading.Thread(target=self._change, name="changing-line")
        self.faults: list[str] = []

    def begin(self) -> None:
        """Begin with the faults."""
        self._thread.start()

    def end(self) -> list[str]:
        """Have a good line again; return the faults that there were."""
        self._over.set()
        self._thread.join()
        self._proxy.use([])
        return self.faults

    def _change(self) -> None:
        labels = [label for label in FAULTS if FAULTS[label]["kind"] != "restart"]
        while True:
            label = self._chance.choice([*labels, ""])
            self.faults.append(label or "none")
            self._proxy.use([fault_of(FAULTS[label], OVER)] if label else [])
            if self._over.wait(EVERY_S):
                return


def work(browser: str, seconds: float, seed: int) -> walks.Walked:
    """Walk for so long on a line that changes."""
    with ExitStack() as stack:
        line = Line(stack, speed=1)
        changing = ChangingLine(line.proxy, seed)
        job = {**line.job([]), "label": f"{browser}-bad-line-walk", "seconds": seconds}
        job["limit_s"] = 2 * seconds + 240
        asks: dict[str, Callable[..., Any]] = {"begin": changing.begin, "end": changing.end}
        return walks.walk("bad-line-walk.mjs", browser, job, asks)


def main() -> int:
    """Walk through the table, and print its red rows."""
    parser = argparse.ArgumentParser(prog="python3 -m tests.browser.bad_line")
    parser.add_argument("browser", choices=("chromium", "firefox"))
    parser.add_argument("action", nargs="*", help="all, if none is named")
    parser.add_argument("--fault", action="append", choices=FAULTS)
    parser.add_argument("--sample", action="store_true", help="a row of each kind")
    parser.add_argument("--tree", type=Path, default=tools.ROOT, help="another checkout")
    parser.add_argument("--walk", action="store_true", help="not the table, but the long walk")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.walk:
        walked = work(options.browser, options.seconds, options.seed)
        print(walked.error or f"the sessions are the same; {walked.steps['on the bad line']}")
        return bool(walked.error)
    groups = [[row for row in table() if row[0] == action] for action in options.action or ACTIONS]
    red = total = 0
    for group in [list(SAMPLE)] if options.sample else groups:
        rows = [row for row in group if options.sample or row[1] in (options.fault or FAULTS)]
        steps, error = go(options.browser, rows, options.tree)
        total += len(steps)
        red += sum(map(bool, steps.values()))
        print(f"{group[0][0] if not options.sample else 'sample'}: {len(steps)} rows", flush=True)
        if error:
            red += 1
            print(f"the walk ended: {error}", flush=True)
    print(f"{total} rows, {red} red")
    return bool(red)


if __name__ == "__main__":
    sys.exit(main())
