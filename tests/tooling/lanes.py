"""The lanes: what is checked, in which order, and how each is run as a child that may not hang.

Three kinds. A lane of checks is commands that must exit 0, one check each. A suite is a folder of
unittest modules, run by tooling/suite.py. The `node` lane is Node's own test runner. What the lanes
have to do is one queue, and three things of it run at a time. Nothing is run twice: a test that
fails has failed. Ctrl-C ends what runs, and nothing begins any more.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from . import budget, command, quick, tools
from .command import Command
from .report import Console, Outcome, Skip
from .suite import BEGINS

AT_ONCE = 3  # on two processors: browsers, peers and servers that are killed wait half of the time
SHARES = 5  # of a lane whose modules take up to minutes
TEST_S = 540

# Suites beside the unit tests, by the lane that runs them.
OWN_FOLDERS = {
    "system": ("sandbox", "chaos"),
    "interop": ("interop",),
    "browser": ("browser",),
    "bench": ("bench",),
}

Job = Callable[[Console, Outcome, float], None]


@dataclass(frozen=True)
class Lane:
    name: str
    about: str
    jobs: Callable[[], Sequence[Job]]
    limit_s: float  # of silence of a child: of each test in a suite


class _Run:
    """A lane on its way: what its jobs came to so far, and how many are left."""

    def __init__(self, lane: Lane, console: Console) -> None:
        self.lane, self.console = lane, console
        self.jobs = lane.jobs()
        self.outcome = Outcome(lane.name)
        self._left = len(self.jobs)
        self._lock = threading.Lock()
        self._began = 0.0

    def do(self, job: Job) -> None:
        with self._lock:
            if not self._began:
                self._began = time.monotonic()
                self.console.line(self.lane.name, f"begins: {self.lane.about}")
        found = Outcome(self.lane.name)
        found.dearness.append(budget.dearness())
        try:
            job(self.console, found, self.lane.limit_s)
        except Exception as error:  # of this file, or of the machine: nothing has been checked
            found.failures.append(f"could not be run: {error!r}")
        found.dearness.append(budget.dearness())
        with self._lock:
            self.outcome.add(found)
            self._left -= 1
            if not self._left:
                self.outcome.seconds = time.monotonic() - self._began
                self._account()

    def _account(self) -> None:
        found = self.outcome
        self.console.line(
            self.lane.name,
            f"{'FAILED' if found.failures else 'ok'}: {found.passed} passed, "
            f"{len(found.failures)} failed, {found.skipped} skipped in {found.seconds:.1f} s, "
            f"CPU {found.cpu_s:.1f} s",
        )


def run(lanes: list[Lane], console: Console) -> list[Outcome]:
    """Runs the lanes, some jobs at a time and in their order; outcomes in the order given."""
    command.begin()
    runs = [_Run(lane, console) for lane in lanes]
    waiting = deque((run, job) for run in runs for job in run.jobs)

    def work() -> None:
        while not command.interrupted():
            try:
                run, job = waiting.popleft()
            except IndexError:
                return
            run.do(job)

    workers = [threading.Thread(target=work) for _ in range(AT_ONCE)]
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    except KeyboardInterrupt:
        command.interrupt()
        for worker in workers:  # each command ends by itself, or is killed soon
            worker.join()
        raise
    return [run.outcome for run in runs]


def run_whole(lanes: list[Lane], console: Console) -> list[Outcome]:
    """As `run`. Ctrl-C, SIGTERM and SIGHUP end all that it has started, wherever that is by now,
    and raise KeyboardInterrupt."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, signal.default_int_handler)
    mark = str(os.getpid())
    os.environ[command.MARK] = f"{os.environ.get(command.MARK, '')} {mark}"
    try:
        return run(lanes, console)
    except KeyboardInterrupt:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # once is enough
        left = command.end_survivors(mark)
        what = f"interrupted: what ran has been told to end, {left} had to be killed"
        console.line("tests", what)
        raise


# -- checks ---------------------------------------------------------------------------------------


def _format(console: Console, outcome: Outcome, limit_s: float) -> None:
    _check(console, outcome, limit_s, "ruff", ["format", "--check", "."])


def _lint(console: Console, outcome: Outcome, limit_s: float) -> None:
    _check(console, outcome, limit_s, "ruff", ["check", "--output-format=concise", "."])


def _types(console: Console, outcome: Outcome, limit_s: float) -> None:
    _check(console, outcome, limit_s, "mypy", [])


def _client_types(console: Console, outcome: Outcome, limit_s: float) -> None:
    typescript = tools.package("typescript")
    if typescript.path is None:
        outcome.skips.append(Skip("tsc -p client/jsconfig.json", typescript.why))
        return
    program = str(typescript.path / "bin" / "tsc")
    arguments = ["node", program, "-p", "client/jsconfig.json"]
    expect_zero(console, outcome, limit_s, "tsc", arguments)


def _check(
    console: Console, outcome: Outcome, limit_s: float, program: str, arguments: list[str]
) -> None:
    """A command of the tests' own environment."""
    path = tools.VENV / "bin" / program
    if not path.exists():
        why = f"{program} is not in the tests' environment: {tools.BY_COMMAND}"
        outcome.skips.append(Skip(" ".join([program, *arguments]), why))
        return
    expect_zero(console, outcome, limit_s, program, [str(path), *arguments])


def expect_zero(
    console: Console, outcome: Outcome, limit_s: float, name: str, arguments: list[str]
) -> None:
    child = Command(arguments, limit_s)
    said = list(child.lines())
    outcome.cpu_s += child.cpu_s
    if child.problem():
        console.line(outcome.lane, "\n".join(said[-200:]))
        outcome.failures.append(f"{name}: {child.problem()}; {said[-1] if said else 'no output'}")
    else:
        outcome.passed += 1


# -- suites ---------------------------------------------------------------------------------------


def modules(lane: str = "unit") -> list[str]:
    """Test modules of a lane: those in folders of its names, or of no other lane's."""
    owners = {folder: name for name, folders in OWN_FOLDERS.items() for folder in folders}
    names = []
    for path in sorted((tools.ROOT / "tests").rglob("test_*.py")):
        parts = path.relative_to(tools.ROOT).with_suffix("").parts
        if "node_modules" in parts or not all(part.isidentifier() for part in parts):
            continue
        if next((owners[part] for part in parts[1:-1] if part in owners), "unit") == lane:
            names.append(".".join(parts))
    return names


def _unit() -> list[Job]:
    """As many children as run at a time."""
    out, shares = quick.left_out(), quick.shares(modules(), AT_ONCE)
    return [partial(run_suite, names=share, out=out) for share in shares]


def _quick() -> list[Job]:
    """As many children as there are processors, none of them of the tests' own environment."""
    out, python = quick.left_out(), Path(sys.executable)
    shares = quick.shares(quick.chosen(modules(), out), os.cpu_count() or 1)
    return [partial(run_suite, names=share, out=out, python=python) for share in shares if share]


def _shared(lane: str) -> list[Job]:
    """Few children, because each loads the tests and the server anew; a long module keeps only
    those of its own share waiting."""
    shares = quick.shares(modules(lane), SHARES)
    return [partial(run_suite, names=share) for share in shares if share]


def _browsers() -> list[Job]:
    """One child for each browser, which it starts once; another for what needs neither."""
    either = "|".join(tools.BROWSERS)
    parts = [*(rf"\.test_{name}$" for name in tools.BROWSERS), rf"\.test_(?!({either})$)\w+$"]
    return [partial(run_suite, names=modules("browser"), tests=part) for part in parts]


def run_suite(
    console: Console,
    outcome: Outcome,
    limit_s: float,
    names: Sequence[str],
    tests: str = "",
    *,
    out: dict[str, str] | None = None,
    python: Path | None = None,
    results: list[dict[str, Any]] | None = None,
) -> None:
    """Runs modules in one child, which says in `results` what each came to. One that dies or hangs
    has failed the module it was in; another child goes on with the next.

    tests  a pattern: of their tests, those whose whole names it finds
    out    the modules that may start programs, of all unit tests; None if all may (quick.py)
    """
    left = list(names)
    with tempfile.TemporaryDirectory(prefix="yaa-suite-") as folder:
        file = Path(folder) / "result.jsonl"
        arguments = [str(python or tools.python()), "-W", "error", "-m", "tests.tooling.suite"]
        arguments += ["--result", str(file), *(["--tests", tests] if tests else [])]
        while left and not command.interrupted():
            file.touch()
            said = _child(console, outcome, limit_s, [*arguments, *left])
            done = [json.loads(line) for line in file.read_text().splitlines()]
            file.unlink()
            for found in done:
                outcome.passed += found["passed"]
                outcome.failures += found["failures"]
                outcome.spend(found["module"], found["cpu_s"])
                outcome.skips += [Skip(name, why) for name, why in found["skips"]]
                if out is not None and (complaint := quick.complaint(found, out)):
                    outcome.failures.append(complaint)
            if results is not None:
                results += done
            left = left[len(done) :]
            if left:
                outcome.failures.append(f"{left.pop(0)}: {said}")


def _child(console: Console, outcome: Outcome, limit_s: float, arguments: list[str]) -> str:
    """Runs it, and says why it ended early, if it did."""
    child = Command(arguments, limit_s)
    test = last = ""
    for line in child.lines():
        if line.startswith(BEGINS):
            test = line.removeprefix(BEGINS)
        else:
            console.line(outcome.lane, last := line)
    outcome.cpu_s += child.cpu_s
    return f"no result: {child.problem() or 'it ended early'} in {test or 'no test'}; {last}"


# -- node -----------------------------------------------------------------------------------------

_TAP = re.compile(r"\s*(?P<no>not )?ok \d+ - (?P<name>.*?)(?P<skip> # (SKIP|TODO).*)?$")


TOGETHER = "tests/client/together.js"


def node_arguments(files: Sequence[Path]) -> list[list[str]]:
    """The arguments of Node for files of tests: those that set nothing global share a process."""
    alone = [each for each in files if "globalThis" in each.read_text()]
    rest = [each for each in files if each not in alone]
    return [
        ["--test-reporter=tap", *begin, *map(str, some)]
        for begin, some in (([TOGETHER], rest), (["--test"], alone))
        if some
    ]


def _node() -> list[Job]:
    files = sorted((tools.ROOT / "tests" / "client").rglob("*.test.js"))
    return [partial(run_node, arguments=each) for each in node_arguments(files) or [[]]]


def run_node(console: Console, outcome: Outcome, limit_s: float, arguments: Sequence[str]) -> None:
    """Runs files of tests with Node's own runner."""
    node = tools.program_node()
    if node.path is None:
        files = [each for each in arguments if each.endswith(".test.js")]
        outcome.skips.append(Skip("tests/client", node.why, len(files)))
        return
    if not arguments:
        outcome.failures.append("tests/client has no *.test.js")
        return
    child = Command([str(node.path), *arguments], limit_s)
    said = list(child.lines())
    outcome.cpu_s += child.cpu_s
    counts = dict(
        re.findall(r"^# (tests|pass|fail|skipped|todo|cancelled) (\d+)$", "\n".join(said), re.M)
    )
    failed = [found["name"] for line in said if (found := _TAP.match(line)) and found["no"]]
    outcome.passed += int(counts.get("pass", 0))
    skipped = int(counts.get("skipped", 0)) + int(counts.get("todo", 0))
    if skipped:
        outcome.skips.append(Skip("tests/client", "skipped by the tests themselves", skipped))
    if child.problem():
        console.line("node", "\n".join(said))
        outcome.failures += failed or [f"node --test: {child.problem()}"]


LANES = [
    Lane("format", "ruff format --check", lambda: [_format], 300),
    Lane("lint", "ruff check", lambda: [_lint], 300),
    # The two browsers take longest, so they begin first.
    Lane("browser", "Chromium and Firefox, from disk and served", _browsers, TEST_S),
    Lane("unit", "unit tests, -W error", _unit, TEST_S),
    Lane(
        "system",
        "the sandbox under attack, servers that are killed",
        lambda: _shared("system"),
        TEST_S,
    ),
    Lane("interop", "real peers: models, AG-UI, OpenAI, MCP", lambda: _shared("interop"), TEST_S),
    Lane("types", "mypy --strict", lambda: [_types], 900),
    Lane("tsc", "types of the client, tsc", lambda: [_client_types], 600),
    Lane("node", "unit tests of the client, node --test", _node, 900),
    Lane("bench", "the benchmark, tiny: does it run", lambda: _shared("bench"), TEST_S),
]

QUICK = Lane("quick", "unit tests that start no program and are done in a moment", _quick, TEST_S)
