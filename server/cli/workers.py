"""Several processes that serve the same sockets: forked, watched, started again, ended together.

In the walk: between the command line and `door`, where `server.workers` is more than one. The
parent serves nothing: it holds the sockets open, so that nobody is refused while a worker is
replaced, and passes signals on. The rules of the file: a worker that dies is started again, later
each time when it dies young; workers end when their parent does, however it ended; nothing is
shared but the sockets, the counters and what is in the home folder (claims.py, locks.py).
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

YOUNG_S = 10.0  # a worker that dies sooner than this died of its start
FIRST_PAUSE_S = 0.5  # before it is started again; doubled each time ...
LONGEST_PAUSE_S = 30.0  # ... up to this
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
BAD_CONFIGURATION = 2  # a worker's exit code: starting it again would not help

_log = log.get("workers")


def hears_hangup() -> bool:
    """Whether the end of its terminal is to end the server: not where `nohup` started it."""
    return signal.getsignal(signal.SIGHUP) != signal.SIG_IGN


class Worker(NamedTuple):
    """What a worker knows of itself. `lifeline`: readable once the parent has ended."""

    number: int
    first: bool  # this number was never started before
    lifeline: int


@dataclass
class _Place:
    number: int
    pid: int = 0
    began: float = 0.0
    pause: float = 0.0  # before it is started again
    due: float = 0.0  # when to start it

    def rest(self, now: float, why: str, *, young: bool) -> None:
        """Before it is started again."""
        self.pause = min(2 * self.pause or FIRST_PAUSE_S, LONGEST_PAUSE_S) if young else 0.0
        self.due = now + self.pause
        _log.warning("worker %d %s; it is started again in %g s", self.number, why, self.pause)


class Workers:
    """`run` returns the exit code, in the parent and, as the last thing there, in each worker.

    `sockets`: bound ones, closed in the parent once it is told to stop. `patience_s`: what workers
    get then, before they are killed.
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
        """`work(worker)` is what a worker does until it ends, and returns its exit code."""
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
                self._tell(signal.SIGKILL)
                self._ends = now + self._patience_s
            for heard in self._heard(now):
                self._obey(heard)

    @property
    def _stopping(self) -> bool:
        return self._ends != float("inf")

    def _heard(self, now: float) -> list[int]:
        """Signals, waited for as long as nothing is to be done."""
        idle = [] if self._stopping else [p.due for p in self._places if not p.pid]
        until = min([self._ends, *idle])
        timeout = None if until == float("inf") else max(0.0, until - now)
        if not select.select([self._ear], [], [], timeout)[0]:
            return []
        return list(self._ear.recv(4096))

    def _obey(self, number: int) -> None:
        if number == signal.SIGCHLD:
            self._bury()
        elif number != signal.SIGHUP or not self._stopping:  # a shell may say it once more
            self._stop(0)  # the first time workers drain, the second time they end at once

    def _stop(self, code: int) -> None:
        if not self._stopping:
            self._code = code
            for sock in self._sockets:
                sock.close()
            self._ends = time.monotonic() + self._patience_s
        self._tell(signal.SIGTERM)

    def _tell(self, number: int) -> None:
        for place in self._places:
            if place.pid:
                os.kill(place.pid, number)  # ours until it is waited for

    def _bury(self) -> None:
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
            if code == BAD_CONFIGURATION:  # it has said why
                self._stop(code)
                continue
            how = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
            place.rest(now, f"({pid}) ended {how}", young=now - place.began < YOUNG_S)

    def _fork(self, place: _Place, now: float) -> Worker | None:
        """In the child what it is, in the parent None. No signal may come in between: the child
        would tell it to the parent."""
        first = not place.began
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            try:
                pid = os.fork()
            except OSError as error:  # as many processes as there may be: the others go on
                place.rest(now, f"cannot be started ({error.strerror})", young=True)
                return None
            if pid:
                place.pid, place.began = pid, now
                return None
            signal.set_wakeup_fd(-1)
            for number in SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            for number in (signal.SIGINT, signal.SIGHUP):  # they reach all: the parent says it
                signal.signal(number, signal.SIG_IGN)
            self._ear.close()
            self._mouth.close()
            os.close(self._life)
            return Worker(place.number, first, self._lifeline)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
