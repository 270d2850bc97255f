"""A command of a lane, run as a child: read line by line, ended with what it has started."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from . import tools
from .groups import Group
from .patience import Watch

LEAVE_S = 20.0  # how long one that is interrupted may take to end what it has started
GONE_S = 60.0  # for those that were killed to be gone
PAUSE_S = 0.01
MARK = "TESTS_RUN"  # the runs that a process is of, one in another
STACKS_S = 2.0  # for Python to print where it hangs

_interrupted = threading.Event()
_running: set[Command] = set()


class Command:
    """A process in a group of its own, which hangs when it says nothing for `limit_s`.

    limit_s  seconds of an idle machine (patience.py)
    env      beside the variables of this process
    cpu_s    processor time of it and of what it started, without a control group (groups.py) of
             what was waited for; 0.0 until it has ended
    """

    def __init__(
        self,
        command: list[str],
        limit_s: float,
        *,
        cwd: Path = tools.ROOT,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._limit_s = limit_s
        self._late = False
        self._lock = threading.RLock()  # a handler of signals may interrupt it
        self._code: int | None = None
        self.cpu_s = 0.0
        self._group = Group()
        self._process = subprocess.Popen(
            self._group.entering(command),
            cwd=cwd,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self.pid = self._process.pid
        _running.add(self)
        if _interrupted.is_set():
            self.interrupt()

    def lines(self) -> Iterator[str]:
        """What it prints, until it ends or is ended."""
        assert self._process.stdout is not None
        with Watch(self._limit_s, self._expire) as watch:
            try:
                with self._process.stdout as output:
                    for line in output:
                        watch.restart()
                        yield line.rstrip("\n")
            finally:
                self._wait()
                _running.discard(self)

    def problem(self) -> str:
        """Why it is not a success; empty when it is one."""
        if self._late:
            return f"ended after {self._limit_s:g} s of silence, its limit"
        assert self._code is not None
        if self._code < 0:
            return f"died of {signal.Signals(-self._code).name}"
        return f"exit code {self._code}" if self._code else ""

    def interrupt(self) -> None:
        self._tell(signal.SIGINT)
        self._later(LEAVE_S)

    def _expire(self) -> None:
        """The leader alone hears of it first: a suite then prints all stacks."""
        self._late = True
        with self._lock:
            if self._code is None:
                os.kill(self.pid, signal.SIGABRT)
        self._later(STACKS_S)

    def _later(self, delay_s: float) -> None:
        timer = threading.Timer(delay_s, self._tell, [signal.SIGKILL])
        timer.daemon = True
        timer.start()

    def _tell(self, number: signal.Signals) -> None:
        with self._lock:
            if self._code is None:
                os.killpg(self.pid, number)

    def _wait(self) -> None:
        """Keeps the exit code and the processor time. Its pid is its own until then."""
        if self._late:
            self._tell(signal.SIGKILL)
        while self._code is None:
            with self._lock:
                pid, status, usage = os.wait4(self.pid, os.WNOHANG)
                if pid:
                    self._code = self._process.returncode = os.waitstatus_to_exitcode(status)
                    self.cpu_s = max(usage.ru_utime + usage.ru_stime, self._group.cpu_s())
                    self._group.close()
            if self._code is None:
                time.sleep(PAUSE_S)


def end_survivors(run: str) -> int:
    """Kill the processes of a run, on Linux, by the `MARK` that they inherited, and what they start
    meanwhile, until none is left or `GONE_S` are over; return how many."""
    ended, ends = set[int](), time.monotonic() + GONE_S
    while (left := marked(MARK, run)) and time.monotonic() < ends:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        ended |= left
        time.sleep(PAUSE_S)
    return len(ended)


def marked(name: str, value: str) -> set[int]:
    """The other processes, on Linux, that have this variable with this word in its value."""
    is_wanted = re.compile(rf"\0{name}=([^\0]* )?{re.escape(value)}[ \0]".encode()).search
    found = set[int]()
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            if is_wanted(b"\0" + (place / "environ").read_bytes()):
                found.add(int(place.name))
    return found - {os.getpid()}


def begin() -> None:
    _interrupted.clear()


def interrupted() -> bool:
    return _interrupted.is_set()


def interrupt() -> None:
    """Ends what runs as Ctrl-C does: children are in groups of their own, and hear of it here."""
    _interrupted.set()
    for child in list(_running):
        child.interrupt()
