"""The server's side of the workers: the zygote, and a few workers that wait for a call.

`take` returns the control socket of a worker, `warm` has some wait for the next calls, `release`
ends all processes. A pool belongs to no event loop and never waits, except in `close`; a zygote or
worker that died is replaced at the next `take`. Start it from the main thread: the kernel ends the
zygote when the thread that started it ends.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from collections import deque
from dataclasses import asdict
from pathlib import Path

from ..runtime import programs
from ..runtime.start_folder import NEUTRAL
from .policy import PRELOAD, SandboxPolicy

PACKAGE = __package__
ROOT = Path(__file__).resolve().parents[len(PACKAGE.split("."))]
BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    " import importlib; zygote = importlib.import_module(sys.argv[2] + '.zygote');"
    " zygote.main(int(sys.argv[3]), sys.argv[4])"
)
WAITING = 3  # workers; after a call took one, the next is ready in 6 ms
STOP_S = 5.0
NO_WORKER = "the sandbox's workers do not start"
WATCHES = " watches"  # behind a network: the worker may use inotify


class WorkerPool:
    """The workers of one policy. The zygote is started by the first `take` or `warm`."""

    def __init__(self, policy: SandboxPolicy, interpreter: str = sys.executable) -> None:
        self.policy, self._interpreter = policy, interpreter
        self._zygote: subprocess.Popen[bytes] | None = None
        self._door: socket.socket | None = None
        self._waiting: deque[socket.socket] = deque()
        self._taken: set[socket.socket] = set()
        self._preloaded = False

    def take(self, network: str | None = None) -> socket.socket:
        """Return the control socket of a worker, for one call; `forget` it later. Raises OSError.

        If none waits, and for another network than the policy's, one is made, which takes 4 ms, and
        50 ms with the zygote.
        """
        self._start()
        network = network or self.policy.network
        worker = self._waiting_worker() if network == self.policy.network else None
        worker = worker or self._order_worker(network)
        self._taken.add(worker)
        return worker

    def forget(self, worker: socket.socket) -> None:
        """Count a worker that was taken as no longer in use, and leave its socket to the caller."""
        self._taken.discard(worker)

    def _waiting_worker(self) -> socket.socket | None:
        while self._waiting:
            worker = self._waiting.popleft()
            if is_usable(worker):
                return worker
            worker.close()
        return None

    def warm(self, count: int = WAITING) -> None:
        """Have `count` workers wait for the next calls, and what tools import loaded.

        Do not call it while a call begins: making a worker takes as long as a short call (p50 of
        one: 15 ms against 10).
        """
        with contextlib.suppress(OSError):  # the zygote cannot be started, or has just ended
            self._start()
            assert self._door is not None
            if not self._preloaded:
                self._door.send(PRELOAD)
                self._preloaded = True
            while len(self._waiting) < count:
                self._waiting.append(self._order_worker(self.policy.network))

    def renew(self) -> None:
        """Discard the waiting workers.

        If one failed because, for instance, the workspaces folder was replaced, the others will
        fail too.
        """
        while self._waiting:
            self._waiting.popleft().close()

    @property
    def is_in_use(self) -> bool:
        """Return whether a worker was taken and not forgotten."""
        return bool(self._taken)

    def release(self) -> subprocess.Popen[bytes] | None:
        """Begin to end the zygote and every waiting worker; running calls have ENDING_S.

        Returns the zygote, for `reap`, None if there was none. The pool can be used again at once.
        """
        self.renew()
        if self._door is not None:
            self._door.close()
        zygote, self._zygote, self._door = self._zygote, None, None
        self._preloaded = False
        return zygote

    def close(self) -> None:
        """Release everything and wait until it has ended."""
        if zygote := self.release():
            reap(zygote)

    @property
    def pid(self) -> int:
        """Return the zygote's pid; 0 without one."""
        return self._zygote.pid if self._zygote else 0

    def _start(self) -> None:
        """Start the zygote, unless there is one that lives."""
        if self._zygote is not None and self._zygote.poll() is None:
            return
        self.close()
        self._door, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        options = json.dumps(asdict(self.policy))
        with theirs:
            self._zygote = programs.start(
                [self._interpreter, "-I", "-S", "-B", "-c", BOOT, str(ROOT), PACKAGE]
                + [str(theirs.fileno()), options],
                NEUTRAL,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )

    def _order_worker(self, network: str) -> socket.socket:
        """Return the socket of a worker that the zygote now makes. Raises OSError."""
        try:
            try:
                return self._send_order(network)
            except (BrokenPipeError, ConnectionResetError):
                # The zygote is ending, which `_start` could not see yet.
                self.close()
                self._start()
                return self._send_order(network)
        except OSError:
            raise OSError(0, NO_WORKER) from None

    def _send_order(self, network: str) -> socket.socket:
        assert self._door is not None
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._door, [network.encode()], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        return ours


def reap(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process that was told to end has done so, and kill it after STOP_S."""
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def is_usable(worker: socket.socket) -> bool:
    """Return whether a worker can be used, or has left an error message to read.

    One that failed to prepare is kept, so that the call can report why.
    """
    try:
        return bool(worker.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    except BlockingIOError:
        return True
    except OSError:
        return False
