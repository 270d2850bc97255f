"""Runs unittest modules in this process, a line for each: `python -m tests.tooling.suite`.

A child of the test command, so that a crash or a hang is one module's failure: each test is named
as it begins (after `BEGINS`), and each module's result is written as it ends, a line of JSON:
`{"module", "passed", "failures": [text], "skips": [[name, why]], "cpu_s", "starts"}`. A failure's
text is the name of the test and the first lines of its error; `cpu_s` counts all that ran meanwhile
in the control group of this process, if it has one; `starts` is the first program that the module
started, or "". Beyond what unittest counts, a module fails when something it left behind raises
later, where nobody could catch it: a socket that was never closed, a task that was never awaited.
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import gc
import json
import os
import re
import resource
import signal
import sys
import time
import traceback
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import forks, groups

BEGINS = "\x1e"
STARTS = frozenset(
    ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system")
)
ERROR_LINES, LINE_CHARACTERS = 3, 200  # of an error, in the account
MOST_KEPT = 300_000  # objects: each look of the collector at all of them takes 0.1 s
_started: list[str] = []


class Result(unittest.TestResult):
    """Counts, and says at once what begins and what failed."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0
        self.names: list[str] = []  # of tests that failed, with the first lines of their errors
        self.unraisable: list[str] = []

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        print(f"{BEGINS}{test.id()}", flush=True)
        undebug(test)
        self._wrong = len(self.names)

    def stopTest(self, test: unittest.TestCase) -> None:
        skipped = bool(self.skipped) and self.skipped[-1][0] is test
        if len(self.names) == self._wrong and not skipped:
            self.passed += 1
        super().stopTest(test)

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        self._failed(test, "ERROR", self.errors[-1][1], err[1])

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self._failed(test, "FAIL", self.failures[-1][1], err[1])

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._failed(subtest, "FAIL", "".join(traceback.format_exception(*err)), err[1])

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        super().addUnexpectedSuccess(test)
        self._failed(test, "UNEXPECTED SUCCESS", "")

    def catch_unraisable(self, hook: Any) -> None:
        """For sys.unraisablehook: under -W error a forgotten resource raises in its finaliser."""
        self.unraisable.append(f"{hook.err_msg or 'Exception ignored in'}: {hook.object!r:.200}")
        trace = "".join(traceback.format_exception(hook.exc_type, hook.exc_value, None))
        print(f"LEFT BEHIND {self.unraisable[-1]}\n{trace}", flush=True)

    def _failed(
        self, test: unittest.TestCase, word: str, trace: str, error: Exception | None = None
    ) -> None:
        said = "".join(traceback.format_exception_only(error)) if error else ""
        lines = [line[:LINE_CHARACTERS] for line in said.splitlines() if line.strip()]
        self.names.append("\n    ".join([test.id(), *lines[:ERROR_LINES]]))
        print(f"{word} {test.id()}\n{trace}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--result", type=Path, required=True)
    parser.add_argument("--tests", type=re.compile, help="run those whose whole name this finds")
    parser.add_argument("modules", nargs="+")
    options = parser.parse_args()
    # Of a shell in the background and of nohup, which ignore them, as children of theirs do.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    sys.addaudithook(notice)
    faulthandler.enable()  # SIGABRT prints all stacks
    forks.use_always()
    failed = False
    with options.result.open("a") as file:
        for name in options.modules:
            found = run_module(name, options.tests)
            failed = failed or bool(found["failures"])
            file.write(json.dumps(found) + "\n")
            file.flush()
    sys.exit(failed)


def run_module(name: str, wanted: re.Pattern[str] | None = None) -> dict[str, Any]:
    """Runs its tests, or the wanted ones of them, and prints a line; what the result file says."""
    result = Result()
    sys.unraisablehook = result.catch_unraisable
    started, before, around = time.monotonic(), cpu_s(), groups.around_s()
    of_children = cpu_s(resource.RUSAGE_CHILDREN)
    _started.clear()
    folder = Path.cwd()
    loaded = unittest.defaultTestLoader.loadTestsFromName(name)
    chosen(loaded, wanted).run(result)
    gc.collect()
    more = len(gc.get_objects())  # without those that are frozen
    gc.freeze()  # what modules keep is not looked through again after each
    if more > MOST_KEPT:
        result.names.append(f"{name} keeps {more} objects, for as long as this process runs")
    if Path.cwd() != folder:
        result.names.append(f"{name} left the current folder for {Path.cwd()}")
        os.chdir(folder)
    if result.unraisable:
        result.names.append(f"{name} left something behind: {result.unraisable[0]}")
    spent = max(cpu_s() - before, groups.around_s() - around)
    if not _started and cpu_s(resource.RUSAGE_CHILDREN) > of_children:
        _started.append("a child")  # of multiprocessing, which audits nothing
    if result.testsRun or result.names or result.skipped:
        word = "FAIL" if result.names else "ok" if result.passed else "skip"
        skipped = f", {len(result.skipped)} skipped" if result.skipped else ""
        times = f"{time.monotonic() - started:.2f} s, CPU {spent:.2f} s"
        print(f"{word:<4} {name}  {result.testsRun} tests{skipped}  {times}", flush=True)
    return {
        "module": name,
        "passed": result.passed,
        "failures": result.names,
        "skips": [[test.id(), why] for test, why in result.skipped],
        "cpu_s": spent,
        "starts": _started[0] if _started else "",
    }


def undebug(test: unittest.TestCase) -> None:
    """Turn off the debug mode of its event loop, which costs half of the CPU of an async test.
    No release of Python before 3.13 has a public way to the loop before `asyncSetUp`.
    """
    runner: asyncio.Runner | None = getattr(test, "_asyncioRunner", None)
    if runner is not None:
        runner.get_loop().set_debug(False)


def notice(event: str, arguments: tuple[Any, ...]) -> None:
    """For sys.addaudithook: notes programs that are started."""
    if event in STARTS:
        _started.append(str(arguments[0] if arguments else event))


def chosen(suite: unittest.TestSuite, wanted: re.Pattern[str] | None) -> unittest.TestSuite:
    """The tests whose names are wanted; None wants all. A module that cannot be loaded is."""
    if wanted is None:
        return suite
    broken = "unittest.loader."
    return type(suite)(
        test for test in each(suite) if wanted.search(test.id()) or test.id().startswith(broken)
    )


def each(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from each(part)
        else:
            yield part


def cpu_s(*who: int) -> float:
    """Processor time: of this process and of the children that it waited for, or of one of both."""
    kinds = who or (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    spent = [resource.getrusage(kind) for kind in kinds]
    return sum(usage.ru_utime + usage.ru_stime for usage in spent)


if __name__ == "__main__":
    main()
