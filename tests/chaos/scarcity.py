"""`python3 -m tests.chaos.scarcity`: a server without descriptors, threads, processes or memory.

For each resource, the first call that asks for it fails, then the second, and so on for all calls
that two requests make: one without a key, and a run with a tool. Then again with all calls failing
from that one on. For `handler` an accepted connection, the event loop's handler of exceptions and
the log fail in a row. Each resource has a server of its own. What must hold: the server goes on,
every request gets an answer or a closed connection, and afterwards a run with a tool is complete.

Memory is asked for everywhere: there the first call of each pair of functions fails, once. A run
whose wake-up is lost then may get no answer, but it ends when its client leaves.
"""

from __future__ import annotations

import argparse
import errno
import http.client
import json
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..tooling import patience
from ..tooling.api import Api
from ..tooling.child import Yaa
from . import processes

KINDS: dict[str, tuple[int, ...]] = {
    "accept": (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EPERM),
    "descriptor": (errno.EMFILE, errno.ENFILE, errno.ENOMEM),
    "disk": (errno.ENOSPC, errno.EDQUOT, errno.EROFS),
    "thread": (errno.EAGAIN,),
    "process": (errno.EAGAIN, errno.ENOMEM),
    "memory": (errno.ENOMEM,),
    "handler": (errno.ENOMEM,),
}
# Then nobody is answered while all calls fail, or the first failure ends the counting.
ONCE = ("accept", "memory")
PAIRS = 8  # of so many pairs of functions one call fails
ANSWER_S = 120.0  # for a request of a starved server; a loaded machine included
LEAVES_S = 5.0  # then a client gives up whose request had no memory to go on
FOREVER = 1_000_000_000
IN_A_ROW = 3  # a connection that was accepted, what tells of its failure, and what tells of that
LIMITS = {"max_runs": 2, "tool": {"wall_s": 10}}  # a call whose end is missed ends by its limit
LOG = {"file": "log"}  # it needs descriptors and the disk, too
CONFIG: dict[str, Any] = {"server": {"discover": False, "limits": LIMITS, "log": LOG}}


def session(name: str) -> Any:
    return {
        "id": name,
        "messages": [{"id": "u1", "role": "user", "content": "shell echo fine"}],
        "config": {"tool": {"shell": {"auto_approve": True}}},
    }


class Scarce:
    """A server, and the faults that it is to have. `findings`: what was wrong, in words."""

    def __init__(self, yaa: Yaa, control: Path) -> None:
        self._yaa, self._control = yaa, control
        self._api = Api(yaa.url, yaa.key)
        assert yaa.child is not None
        self._child, self._number, self._where = yaa.child, 0, ""
        self.findings: list[str] = []

    @contextmanager
    def fault(self, kind: str, number: int, first: int, size: int) -> Iterator[list[int]]:
        """Inside, calls fail. Afterwards the list holds how many there were."""
        calls: list[int] = []
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self._control))
            control.sendall(f"{kind} {number} {first} {size}".encode())
            assert control.recv(10) == b"ready\n"
            try:
                yield calls
            finally:
                control.shutdown(socket.SHUT_WR)
                count, _, self._where = control.recv(1000).decode().strip().partition(" ")
                if not count:
                    raise RuntimeError(f"{kind}, {first}: it ended\n{self._child.output}")
                calls.append(int(count))

    def attempt(self, kind: str, number: int, first: int, count: int) -> int:
        """Fail those calls of two requests. Return how many calls there were."""
        what = f"{kind} {errno.errorcode[number]} call {first}"
        what += " and all later ones" if count == FOREVER else ""
        limit_s = LEAVES_S if kind == "memory" else ANSWER_S
        with self.fault(kind, number, first, count) as calls:
            hung = self.ask("GET", "/health", None, "", limit_s)
            hung += self.ask("POST", "/session", session("nobody"), "", limit_s)
            self._number += 1
            mine = session(f"s{self._number}")
            hung += self.ask("POST", "/session", mine, self._yaa.key, limit_s)
        what += f", at {self._where}" if self._where else ""
        if kind != "memory":
            self.findings += [f"{what}: {each} had no answer" for each in hung]
        elif hung:
            processes.until(self.rests, patience.seconds(ANSWER_S))
        self.check(what)
        return calls[0]

    def ask(self, method: str, path: str, body: Any, key: str, limit_s: float) -> list[str]:
        """Ask once; any answer will do, and a connection that is closed. Return what had none."""
        place = urlsplit(self._yaa.url)
        connection = http.client.HTTPConnection(place.netloc, timeout=limit_s)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        try:
            connection.request(method, path, body and json.dumps(body), headers)
            connection.getresponse().read()
        except TimeoutError:
            return [f"{method} {path}"]
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
        return []

    def check(self, what: str) -> None:
        """See that the server goes on as if nothing had been. Raises RuntimeError if it ended."""
        if wrong := self.wrong():
            self.findings.append(f"{what}: afterwards {wrong}")
        if wrong and self._child.process.poll() is not None:
            raise RuntimeError(f"{what}: it ended\n{self._child.output}")

    def rests(self) -> bool:
        """Whether nothing runs."""
        return not self._api.request("GET", "/settings/runs")[1]["active"]

    def wrong(self) -> str:
        """Run a session with a tool; return what is wrong with it."""
        self._number += 1
        try:
            done = self._api.run(session(f"s{self._number}"))
        except (OSError, http.client.HTTPException, RuntimeError) as error:
            return repr(error)
        last = done["messages"][-1]
        well = done["status"] == "completed" and "**shell**: fine" in str(last.get("content"))
        return "" if well else f"{done['status']}, {last}"

    def starve(self, kind: str, number: int, stride: int) -> int:
        """Fail every `stride`-th call in turn, alone and with all later ones."""
        attempts = 0
        counts = (IN_A_ROW,) if kind == "handler" else (1,) if kind in ONCE else (1, FOREVER)
        for count in counts:
            first = 1
            while self.attempt(kind, number, first, count) >= first:
                first += stride
                attempts += 1
        return attempts


@contextmanager
def scarce() -> Iterator[Scarce]:
    with tempfile.TemporaryDirectory(prefix="yaa-scarce-") as folder:
        control = Path(folder) / "control"
        command = [sys.executable, "-m", "tests.chaos.scarce_server", str(control)]
        with Yaa(CONFIG, command=command) as yaa:
            Api(yaa.url).request("GET", "/health")  # after that it has said all about its start
            yield Scarce(yaa, control)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--stride", type=int, default=1, help="try every n-th call")
    parser.add_argument("--brief", action="store_true", help="with one error for each resource")
    options = parser.parse_args()
    stride, wrong = options.stride, 0
    for kind in options.kinds:
        for number in KINDS[kind][: 1 if options.brief else None]:
            began = time.monotonic()
            with scarce() as server:  # a new one, whose first request asks for the most
                step = stride * (PAIRS if kind == "memory" else 1)
                attempts = server.starve(kind, number, step)
            seconds = time.monotonic() - began
            print(f"{kind} {errno.errorcode[number]}: {attempts} attempts, {seconds:.0f} s")
            for finding in server.findings:
                print(f"  {finding}")
            sys.stdout.flush()
            wrong += len(server.findings)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
