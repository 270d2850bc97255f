"""Fork and supervise worker processes that serve the same sockets (`server.workers` above 1).

The parent does not serve. It keeps the sockets open, so that no connection is refused while a
worker is replaced, and forwards signals. A worker that ends is started again, after growing pauses
if it ends soon after its start. Workers end when their parent ends for any reason. They share only
the sockets, the counters and the home folder.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..telemetry import log

YOUNG_S = 10.0  # a worker that ends sooner counts as failed at start
FIRST_PAUSE_S = 0.5  # before such a worker is started again; doubled each time ...
LONGEST_PAUSE_S = 30.0  # ... up to this
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
BAD_CONFIGURATION = 2  # a worker's exit code: starting it again would not help

_log = log.get("workers")


def hears_hangup() -> bool:
    """Return whether SIGHUP should end the server: not if it was started by `nohup`."""
    return signal.getsignal(signal.SIGHUP) != signal.SIG_IGN


class Worker(NamedTuple):
    """The identity of a worker. `lifeline`: descriptor that is readable once the parent ended."""

    number: int
    first: bool  # this number was never started before
    lifeline: int


@dataclass
class _Place:
    """The state of one worker number in the parent; times in seconds of `time.monotonic`."""

    number: int
    pid: int = 0  # 0: not running
    began: float = 0.0
    pause: float = 0.0  # before the next start
    due: float = 0.0  # time of the next start

    def rest(self, now: float, why: str, *, young: bool) -> None:
        """Schedule the next start; `young`: with a longer pause than the last time."""
        self.pause = min(2 * self.pause or FIRST_PAUSE_S, LONGEST_PAUSE_S) if young else 0.0
        self.due = now + self.pause
        _log.warning("worker %d %s; it is started again in %g s", self.number, why, self.pause)


class Workers:
    """The parent of `count` workers.

    `sockets`: bound sockets, closed in the parent when it stops. `patience_s`: seconds until
    workers are killed after that.
    """

    def __init__(self, count: int, sockets: Sequence[socket.socket], patience_s: float) -> None:
        self._places = [_Place(number) for number in range(count)]
        self._sockets = sockets
        self._patience_s = patience_s
        self._ends = float("inf")  # when workers are killed; finite once it stops
        self._code = 0
        self._ear, self._mouth = socket.socketpair()  # signals, as bytes (signal.set_wakeup_fd)
        self._lifeline, self._life = os.pipe()

    def run(self, work: Callable[[Worker], int]) -> int:
        """Start the workers and return the exit code, in the parent and in each worker.

        A worker calls `work(worker)`, which returns its exit code.
        """
        for end in (self._ear, self._mouth):
            end.setblocking(False)
        signal.set_wakeup_fd(self._mouth.fileno(), warn_on_full_buffer=False)
        for number in SIGNALS:
            if number != signal.SIGHUP or hears_hangup():
                signal.signal(number, lambda *_: None)
        with self._ear, self._mouth:
            return self._watch(work)

    def _watch(self, work: Callable[[Worker], int]) -> int:
        while True:
            now = time.monotonic()
            for place in self._places:
                if not place.pid and place.due <= now and not self._stopping:
                    worker = self._fork(place, now)
                    if worker is not None:
                        return work(worker)
            if self._stopping and not any(place.pid for place in self._places):
                return self._code
            if now >= self._ends:
                self._signal_workers(signal.SIGKILL)
                self._ends = now + self._patience_s
            for heard in self._wait_for_signals(now):
                self._handle_signal(heard)

    @property
    def _stopping(self) -> bool:
        return self._ends != float("inf")

    def _wait_for_signals(self, now: float) -> list[int]:
        """Wait until a signal arrives or something is due. Return the numbers of the signals."""
        idle = [] if self._stopping else [p.due for p in self._places if not p.pid]
        until = min([self._ends, *idle])
        timeout = None if until == float("inf") else max(0.0, until - now)
        if not select.select([self._ear], [], [], timeout)[0]:
            return []
        return list(self._ear.recv(4096))

    def _handle_signal(self, number: int) -> None:
        if number == signal.SIGCHLD:
            self._reap_workers()
        elif number != signal.SIGHUP or not self._stopping:  # a shell may repeat SIGHUP
            self._stop(0)  # the first signal lets workers drain, the second ends them at once

    def _stop(self, code: int) -> None:
        if not self._stopping:
            self._code = code
            for sock in self._sockets:
                sock.close()
            self._ends = time.monotonic() + self._patience_s
        self._signal_workers(signal.SIGTERM)

    def _signal_workers(self, number: int) -> None:
        for place in self._places:
            if place.pid:
                os.kill(place.pid, number)  # the pid is valid until waitpid

    def _reap_workers(self) -> None:
        for place in self._places:
            if not place.pid:
                continue
            pid, status = os.waitpid(place.pid, os.WNOHANG)
            if not pid:
                continue
            place.pid, now = 0, time.monotonic()
            code = os.waitstatus_to_exitcode(status)
            if self._stopping:
                continue
            if code == BAD_CONFIGURATION:  # the worker has printed the reason
                self._stop(code)
                continue
            how = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
            place.rest(now, f"({pid}) ended {how}", young=now - place.began < YOUNG_S)

    def _fork(self, place: _Place, now: float) -> Worker | None:
        """Fork a worker. Return its identity in the child, None in the parent.

        Signals are blocked meanwhile: the child would report them to the parent.
        """
        first = not place.began
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            try:
                pid = os.fork()
            except OSError as error:  # for instance too many processes; the others keep serving
                place.rest(now, f"cannot be started ({error.strerror})", young=True)
                return None
            if pid:
                place.pid, place.began = pid, now
                return None
            signal.set_wakeup_fd(-1)
            for number in SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            for number in (signal.SIGINT, signal.SIGHUP):  # the parent sends SIGTERM instead
                signal.signal(number, signal.SIG_IGN)
            self._ear.close()
            self._mouth.close()
            os.close(self._life)
            return Worker(place.number, first, self._lifeline)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
