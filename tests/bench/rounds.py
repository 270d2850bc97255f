"""The server, whose event loop notes the processor time that goes by between two of its rounds.

`python3 -m tests.bench.rounds …` starts as `python3 -m server …` does. While it counts, the loop
has a round at once behind each round, so what goes by is spent by a long step of the loop, or by a
thread that does not let go. On a busy machine this says more than how long anybody waits.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from server import __main__ as server
from server.lib.runtime import event_loop

FILE = "BENCH_ROUNDS_FILE"  # environment: where the longest time is written, in seconds
BEGIN, TELL = signal.SIGUSR1, signal.SIGUSR2
PAUSE_S, PATIENCE_S = 0.005, 60.0


class Loop(event_loop.Loop):
    """Counts from BEGIN, and writes the file at TELL."""

    longest_s = before_s = 0.0
    counts = False

    def run_forever(self) -> None:
        signal.signal(BEGIN, self._begin)
        signal.signal(TELL, self._tell)
        super().run_forever()

    def _run_once(self) -> None:
        if self.counts:
            now_s = time.process_time()
            self.longest_s = max(self.longest_s, now_s - self.before_s)
            self.before_s = now_s
            self.call_soon(int)
        run: Callable[[], None] = vars(asyncio.BaseEventLoop)["_run_once"].__get__(self)
        run()

    def _begin(self, *_: Any) -> None:
        self.longest_s, self.before_s, self.counts = 0.0, time.process_time(), True
        self._write("0")

    def _tell(self, *_: Any) -> None:
        self.counts = False
        self._write(str(self.longest_s))

    @staticmethod
    def _write(text: str) -> None:
        file = Path(os.environ[FILE])
        draft = file.with_suffix(".draft")
        draft.write_text(text)
        draft.replace(file)


class Rounds:
    """Asks such a server: `begin`, then `tell`, as `beside.Beside`."""

    def __init__(self, pid: int, file: Path) -> None:
        self._pid, self._file = pid, file

    def longest(self, work: Callable[[], object]) -> float:
        """The longest time between two rounds, in seconds, while the work was done."""
        self._ask(BEGIN)
        work()
        return self._ask(TELL)

    def _ask(self, number: signal.Signals) -> float:
        self._file.unlink(missing_ok=True)
        os.kill(self._pid, number)
        end = time.monotonic() + PATIENCE_S
        while not self._file.exists():
            if time.monotonic() > end:
                raise RuntimeError(f"no answer from process {self._pid}")
            time.sleep(PAUSE_S)
        return float(self._file.read_text())


if __name__ == "__main__":
    vars(event_loop)["Loop"] = Loop
    server.main()
