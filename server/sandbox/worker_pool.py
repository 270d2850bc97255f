"""The server's side of the workers: the zygote, and a few workers that wait for a call.

`take` returns the control socket of a prepared worker, `refill` orders more. A pool belongs to no
event loop and never waits, except in `close`; a zygote or worker that died is replaced at the next
`take`. Start it from the main thread: the kernel ends the zygote when the thread that started it
ends.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections import deque
from dataclasses import asdict
from pathlib import Path

from .policy import SandboxPolicy

PACKAGE = __package__ or "server.sandbox"
ROOT = Path(__file__).resolve().parents[2]
BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    " import importlib; zygote = importlib.import_module(sys.argv[2] + '.zygote');"
    " zygote.main(int(sys.argv[3]), sys.argv[4])"
)
WAITING = 3  # workers; after a call took one, the next is ready in 6 ms
STOP_S = 5.0
NO_WORKER = "the sandbox's workers do not start"


class WorkerPool:
    """The workers of one policy. The zygote is started by the first `take`."""

    def __init__(self, policy: SandboxPolicy, interpreter: str = sys.executable) -> None:
        self.policy, self._interpreter = policy, interpreter
        self._zygote: subprocess.Popen[bytes] | None = None
        self._door: socket.socket | None = None
        self._waiting: deque[socket.socket] = deque()

    def take(self, network: str | None = None) -> socket.socket:
        """Return the control socket of a worker, for one call. Raises OSError.

        A worker with another network than the policy's is made on request, which takes 4 ms.
        """
        if self._zygote is None or self._zygote.poll() is not None:
            self.close()
            self._start()
        if network not in (None, self.policy.network):
            return self._order_worker(network)
        for _ in range(2 * WAITING):
            if not self._waiting:
                self.refill()
            if not self._waiting:
                break
            worker = self._waiting.popleft()
            if is_usable(worker):
                return worker
            worker.close()
        raise OSError(0, NO_WORKER)

    def refill(self) -> None:
        """Order workers for the next calls.

        Do not call it while a call begins: making a worker takes as long as a short call (p50 of
        one: 15 ms against 10).
        """
        while self._door is not None and len(self._waiting) < WAITING:
            try:
                self._waiting.append(self._order_worker(self.policy.network))
            except OSError:  # the zygote has just ended
                return

    def renew(self) -> None:
        """Discard the waiting workers.

        If one failed because, for instance, the workspaces folder was replaced, the others will
        fail too.
        """
        while self._waiting:
            self._waiting.popleft().close()

    def close(self) -> None:
        """End the zygote and every waiting worker; running calls end when their sockets close."""
        self.renew()
        if self._door is not None:
            self._door.close()
        if self._zygote is not None:
            try:
                self._zygote.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._zygote.kill()
                self._zygote.wait()
        self._zygote = self._door = None

    @property
    def pid(self) -> int:
        """Return the zygote's pid; 0 before the first call."""
        return self._zygote.pid if self._zygote else 0

    def _start(self) -> None:
        self._door, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        options = json.dumps(asdict(self.policy))
        with theirs:
            self._zygote = subprocess.Popen(
                [self._interpreter, "-I", "-S", "-B", "-c", BOOT, str(ROOT), PACKAGE]
                + [str(theirs.fileno()), options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                cwd="/",
                env={},
            )

    def _order_worker(self, network: str) -> socket.socket:
        assert self._door is not None
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._door, [network.encode()], [theirs.fileno()])
            except OSError:
                ours.close()
                raise OSError(0, NO_WORKER) from None
        return ours


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
