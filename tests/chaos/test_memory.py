"""Memory that is not counted any more is not held any more: a real server, and bodies given up."""

from __future__ import annotations

import socket
import unittest
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..bench.peers import config, start
from ..bench.people import Target, document
from ..tooling import patience, turns
from ..tooling.api import Api
from ..tooling.child import Yaa
from . import processes

MB = 1024 * 1024
SENT = 24 * MB  # of each body
ANNOUNCED = 31 * MB
TIMES = 6
COUNT = 10_000  # messages of a session
# All connections are there before the bodies come, one after the other.
LIMITS = {"max_runs": 1, "body_grace_s": 300}
CONFIG: dict[str, Any] = {"server": {"discover": False, "limits": LIMITS}}
DIGEST = "0" * 64
# Each kind of route that reads a body: JSON of a session, of protocols and settings, and bytes.
ROUTES = (
    ("POST", "/session", "application/json"),
    ("POST", "/session/events", "application/json"),
    ("POST", "/v1/chat/completions", "application/json"),
    ("POST", "/v1/responses", "application/json"),
    ("POST", "/agui", "application/json"),
    ("POST", "/objects/missing", "application/json"),
    ("PUT", f"/objects/{DIGEST}", "application/octet-stream"),
    ("PUT", "/workspaces/s1/file?path=a", "application/octet-stream"),
)


def resident(pid: int) -> int:
    """Return the bytes of memory that a process has."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


@unittest.skipUnless(Path("/proc/self/statm").exists(), "reads what Linux says of memory")
class Bodies(unittest.TestCase):
    yaa: Yaa

    @classmethod
    def setUpClass(cls) -> None:
        cls.yaa = cls.enterClassContext(Yaa(CONFIG))

    def used(self) -> int:
        assert self.yaa.child is not None
        return resident(self.yaa.child.process.pid)

    def begin(self, method: str, path: str, kind: str, length: int = ANNOUNCED) -> socket.socket:
        place = urlsplit(self.yaa.url)
        one = socket.create_connection(
            (place.hostname or "", place.port or 0), timeout=patience.seconds(60)
        )
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
        head += f"Authorization: Bearer {self.yaa.key}\r\nContent-Length: {length}\r\n\r\n"
        one.sendall(head.encode())
        return one

    def settles(self, most: int) -> bool:
        """Whether the server soon uses no more than that."""
        Api(self.yaa.url).request("GET", "/health")
        return processes.until(lambda: self.used() <= most, 10)

    def test_what_is_given_up_is_free(self) -> None:
        """Bodies that are cut off, all there at once: a tenth of them may stay."""
        for method, path, kind in turns.share(ROUTES, 4):
            with self.subTest(path=path):
                before = self.used()
                with ExitStack() as stack:
                    for _ in range(TIMES):
                        one = stack.enter_context(self.begin(method, path, kind))
                        one.sendall(b"{" + bytes(SENT - 1))
                self.free_again(before, TIMES * SENT)

    def test_what_is_answered_is_free(self) -> None:
        """Bodies that come whole, all at once."""
        for method, path, kind in turns.share(ROUTES, 4):
            with self.subTest(path=path):
                before = self.used()
                with ExitStack() as stack:
                    ones = [
                        stack.enter_context(self.begin(method, path, kind, SENT))
                        for _ in range(TIMES)
                    ]
                    for one in ones:
                        one.sendall(b"{" + bytes(SENT - 1))
                    for one in ones:
                        self.assertTrue(one.recv(100))
                self.free_again(before, TIMES * SENT)

    def free_again(self, before: int, sent: int) -> None:
        self.assertTrue(self.settles(before + sent // 10), f"{(self.used() - before) // MB} MB")

    def test_what_is_counted_is_held(self) -> None:
        before = self.used()
        with ExitStack() as stack:
            for _ in range(8):
                one = stack.enter_context(self.begin(*ROUTES[0]))
                one.sendall(b"{" + bytes(SENT - 1))
            self.assertTrue(processes.until(lambda: self.used() > before + 6 * SENT, 60))
            self.assertTrue(self.settles(before + round(8 * SENT * 1.1)))
        self.free_again(before, 8 * SENT)


@unittest.skipUnless(Path("/proc/self/statm").exists(), "reads what Linux says of memory")
class Runs(unittest.TestCase):
    def test_what_was_cut_off_is_free(self) -> None:
        """Sessions whose clients left while the model spoke: none waits for a collection."""
        endless = document("bench tokens=100000 delay_us=20000", count=COUNT)
        with ExitStack() as stack:
            yaa = stack.enter_context(Yaa(config(start(stack, "tests.bench.provider"))))
            assert yaa.child is not None
            place = urlsplit(yaa.url)
            target = Target(place.hostname or "", place.port or 0, yaa.key)

            def cut() -> None:
                head = target.head("POST", "/session", len(endless))
                with target.open(head + endless) as one:
                    said = b""
                    while b"TEXT_MESSAGE_CONTENT" not in said[-10_000:]:
                        said += one.recv(65_536)

            cut()
            pid = yaa.child.process.pid
            used = resident(pid)
            for _ in range(TIMES):
                cut()
            bound = used + TIMES * len(endless)  # as objects each is several times as large
            small = processes.until(lambda: resident(pid) <= bound, 10)
            self.assertTrue(small, f"{used // MB} before, {resident(pid) // MB} after")


if __name__ == "__main__":
    unittest.main()
