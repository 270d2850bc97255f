"""The lanes: what is checked, in which order, and how each is run as a child with a time limit.

Three kinds. A lane of checks is commands that must exit 0, one check each. A suite is a folder of
unittest modules, run by tooling/suite.py. The `node` lane is Node's own test runner. What the lanes
have to do is one queue, and three things of it run at a time. The few tests that failed are run
once more when nothing else does: one that passes then is told as unsteady, in capitals. Ctrl-C ends
what runs, and nothing begins any more.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from . import tools
from .report import Console, Outcome, Skip

AT_ONCE = 3  # on two processors: browsers, peers and servers that are killed wait half of the time
FEW = 6  # failures that may be accidents; more are a fault
AGAIN_S = 300  # for one test
LEAVE_S = 20.0  # how long a child that is interrupted may take to end what it has started

_interrupted = threading.Event()
_running: set[_Child] = set()

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
    limit_s: float  # of each job


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
        try:
            job(self.console, found, self.lane.limit_s)
        except Exception as error:  # of this file, or of the machine: nothing has been checked
            found.failures.append(f"could not be run: {error!r}")
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
            f"{len(found.failures)} failed, {found.skipped} skipped in {found.seconds:.1f} s",
        )


def run(lanes: list[Lane], console: Console) -> list[Outcome]:
    """Runs the lanes, some jobs at a time and in their order; outcomes in the order given."""
    _interrupted.clear()
    runs = [_Run(lane, console) for lane in lanes]
    waiting = deque((run, job) for run in runs for job in run.jobs)

    def work() -> None:
        while not _interrupted.is_set():
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
        found = [run.outcome for run in runs]
        _look_again(found, console)
    except KeyboardInterrupt:
        interrupt()
        raise
    return found


def interrupt() -> None:
    """Ends what runs as Ctrl-C does: children are in groups of their own, and hear of it here."""
    _interrupted.set()
    for child in list(_running):
        child.interrupt()


def _look_again(outcomes: list[Outcome], console: Console) -> None:
    """Runs the tests that failed once more, alone, if they are few: a browser beside another on a
    small machine can be late without being wrong. A module or a check that failed stays failed."""
    failed = [(outcome, name) for outcome in outcomes for name in outcome.failures]
    if len(failed) > FEW:
        return
    verdicts: dict[str, bool] = {}
    for outcome, name in failed:
        match = _TEST.match(name)
        if match is None:
            continue
        if match[0] not in verdicts:
            console.line(outcome.lane, f"once more, alone: {match[0]}")
            again = Outcome(outcome.lane)
            _suite(console, again, AGAIN_S, names=[match[0]])
            verdicts[match[0]] = not again.failures and again.passed > 0
        if verdicts[match[0]]:
            outcome.failures.remove(name)
            outcome.unsteady.append(name)


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
    command = ["node", str(typescript.path / "bin" / "tsc"), "-p", "client/jsconfig.json"]
    expect_zero(console, outcome, limit_s, "tsc", command)


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
    console: Console, outcome: Outcome, limit_s: float, name: str, command: list[str]
) -> None:
    child = _Child(command, limit_s)
    said = list(child.lines())
    if child.problem():
        console.line(outcome.lane, "\n".join(said[-200:]))
        outcome.failures.append(f"{name}: {child.problem()}; {said[-1] if said else 'no output'}")
    else:
        outcome.passed += 1


# -- suites ---------------------------------------------------------------------------------------


def modules(lane: str = "unit") -> list[str]:
    """Test modules of a lane: those of its own folders, or of no other lane's."""
    owners = {folder: name for name, folders in OWN_FOLDERS.items() for folder in folders}
    names = []
    for path in sorted((tools.ROOT / "tests").rglob("test_*.py")):
        parts = path.relative_to(tools.ROOT).with_suffix("").parts
        if "node_modules" in parts or not all(part.isidentifier() for part in parts):
            continue
        if owners.get(parts[1], "unit") == lane:
            names.append(".".join(parts))
    return names


def _whole(lane: str) -> list[Job]:
    """All modules in one child."""
    return [partial(_suite, names=modules(lane))]


def _each(lane: str) -> list[Job]:
    """Each module in a child of its own. What takes longest is at the end of the alphabet."""
    return [partial(_suite, names=[name]) for name in reversed(modules(lane))]


def _suite(console: Console, outcome: Outcome, limit_s: float, names: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="yaa-suite-") as folder:
        result = Path(folder) / "result.json"
        command = [str(tools.python()), "-W", "error", "-m", "tests.tooling.suite"]
        child = _Child([*command, "--result", str(result), *names], limit_s)
        last = ""
        for last in child.lines():
            console.line(outcome.lane, last)
        if not result.exists():
            outcome.failures.append(f"no result: {child.problem() or 'it ended early'}; {last}")
            return
        found = json.loads(result.read_text())
    outcome.passed += found["passed"]
    outcome.failures += found["failures"]
    outcome.skips += [Skip(name, why) for name, why in found["skips"]]


# -- node -----------------------------------------------------------------------------------------

_TEST = re.compile(r"tests(\.\w+)+\.test_\w+(?=$| [(\[])")  # and the parameters of a subTest
_TAP = re.compile(r"\s*(?P<no>not )?ok \d+ - (?P<name>.*?)(?P<skip> # (SKIP|TODO).*)?$")


def _node(console: Console, outcome: Outcome, limit_s: float) -> None:
    files = sorted((tools.ROOT / "tests" / "client").rglob("*.test.*js"))
    node = tools.program_node()
    if node.path is None:
        outcome.skips.append(Skip("tests/client", node.why, len(files)))
        return
    if not files:
        outcome.failures.append("tests/client has no *.test.js")
        return
    command = [str(node.path), "--test", "--test-reporter=tap", *map(str, files)]
    child = _Child(command, limit_s)
    said = list(child.lines())
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


# -- children -------------------------------------------------------------------------------------


class _Child:
    """A command in a process group of its own, read line by line, ended with its children."""

    def __init__(self, command: list[str], limit_s: float) -> None:
        self._limit_s = limit_s
        self._late = False
        self._process = subprocess.Popen(
            command,
            cwd=tools.ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        _running.add(self)
        if _interrupted.is_set():
            self.interrupt()

    def lines(self) -> Iterator[str]:
        """What it prints, until it ends or its time is up."""
        timer = threading.Timer(self._limit_s, self._expire)
        timer.start()
        try:
            assert self._process.stdout is not None
            with self._process.stdout as output:
                for line in output:
                    yield line.rstrip("\n")
        finally:
            timer.cancel()
            self._process.wait()
            _running.discard(self)

    def problem(self) -> str:
        """Why it is not a success; empty when it is one."""
        if self._late:
            return f"ended after {self._limit_s:.0f} s, its limit"
        code = self._process.returncode
        if code < 0:
            return f"died of {signal.Signals(-code).name}"
        return f"exit code {code}" if code else ""

    def interrupt(self) -> None:
        self._tell(signal.SIGINT)
        timer = threading.Timer(LEAVE_S, self._tell, [signal.SIGKILL])
        timer.daemon = True
        timer.start()

    def _expire(self) -> None:
        self._late = True
        self._tell(signal.SIGKILL)

    def _tell(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, number)


LANES = [
    Lane("format", "ruff format --check", lambda: [_format], 300),
    Lane("lint", "ruff check", lambda: [_lint], 300),
    Lane("unit", "unit tests, -W error", lambda: _whole("unit"), 3600),
    Lane("browser", "Chromium and Firefox, from disk and served", lambda: _each("browser"), 1800),
    Lane(
        "system", "the sandbox under attack, servers that are killed", lambda: _each("system"), 1800
    ),
    Lane("interop", "real peers: models, AG-UI, OpenAI, MCP", lambda: _each("interop"), 1800),
    Lane("types", "mypy --strict", lambda: [_types], 900),
    Lane("tsc", "types of the client, tsc", lambda: [_client_types], 600),
    Lane("node", "unit tests of the client, node --test", lambda: [_node], 900),
    Lane("bench", "the benchmark, tiny: does it run", lambda: _each("bench"), 900),
]
