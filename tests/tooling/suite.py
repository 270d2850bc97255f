"""Runs unittest modules in this process, a line for each: `python -m tests.tooling.suite`.

A child of the test command, so that a crash or a hang is one lane's failure. Beyond what unittest
counts, a module fails when something it left behind raises later, where nobody could catch it: a
socket that was never closed, a task that was never awaited. The last thing it does is to write
the result as JSON: `{"passed", "failures": [name], "skips": [[name, why]]}`.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import json
import signal
import sys
import time
import traceback
import unittest
from pathlib import Path
from typing import Any

HANG_S = 540  # of one test, after which all stacks are printed and the process ends


class Result(unittest.TestResult):
    """Counts, prints a failure at once, and watches for hangs."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0
        self.names: list[str] = []
        self.unraisable: list[str] = []

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        faulthandler.dump_traceback_later(HANG_S, exit=True)
        self._wrong = len(self.names)

    def stopTest(self, test: unittest.TestCase) -> None:
        faulthandler.cancel_dump_traceback_later()
        skipped = bool(self.skipped) and self.skipped[-1][0] is test
        if len(self.names) == self._wrong and not skipped:
            self.passed += 1
        super().stopTest(test)

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        self._failed(test, "ERROR", self.errors[-1][1])

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self._failed(test, "FAIL", self.failures[-1][1])

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._failed(subtest, "FAIL", "".join(traceback.format_exception(*err)))

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        super().addUnexpectedSuccess(test)
        self._failed(test, "UNEXPECTED SUCCESS", "")

    def catch_unraisable(self, hook: Any) -> None:
        """For sys.unraisablehook: under -W error a forgotten resource raises in its finaliser."""
        self.unraisable.append(f"{hook.err_msg or 'Exception ignored in'}: {hook.object!r:.200}")
        trace = "".join(traceback.format_exception(hook.exc_type, hook.exc_value, None))
        print(f"LEFT BEHIND {self.unraisable[-1]}\n{trace}", flush=True)

    def _failed(self, test: unittest.TestCase, word: str, trace: str) -> None:
        self.names.append(test.id())
        print(f"{word} {test.id()}\n{trace}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--result", type=Path, required=True)
    parser.add_argument("modules", nargs="+")
    options = parser.parse_args()
    # A shell starts what it puts into the background with SIGINT ignored, and children inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    total: dict[str, list[Any]] = {"failures": [], "skips": []}
    passed = 0
    for name in options.modules:
        result = _run_module(name)
        passed += result.passed
        total["failures"] += result.names
        total["skips"] += [[test.id(), why] for test, why in result.skipped]
    options.result.write_text(json.dumps({"passed": passed, **total}))
    sys.exit(bool(total["failures"]))


def _run_module(name: str) -> Result:
    result = Result()
    sys.unraisablehook = result.catch_unraisable
    started = time.monotonic()
    unittest.defaultTestLoader.loadTestsFromName(name).run(result)
    gc.collect()
    if result.unraisable:
        result.names.append(f"{name} left something behind: {result.unraisable[0]}")
    word = "FAIL" if result.names else "ok" if result.passed else "skip"
    skipped = f", {len(result.skipped)} skipped" if result.skipped else ""
    took = time.monotonic() - started
    print(f"{word:<4} {name}  {result.testsRun} tests{skipped}  {took:.2f} s", flush=True)
    return result


if __name__ == "__main__":
    main()
