"""Memory that is not counted any more is not held any more: a real server, and bodies given up."""

from __future__ import annotations

import socket
import unittest
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..tooling import turns
from ..tooling.api import Api
from ..tooling.child import Yaa
from . import processes

MB = 1024 * 1024
SENT = 24 * MB  # of each body
ANNOUNCED = 31 * MB
TIMES = 6
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


@unittest.skipUnless(Path("/proc/self/statm").exists(), "reads what Linux says of memory")
class Bodies(unittest.TestCase):
    yaa: Yaa

    @classmethod
    def setUpClass(cls) -> None:
        cls.yaa = cls.enterClassContext(Yaa(CONFIG))

    def used(self) -> int:
        """Resident bytes of the server."""
        assert self.yaa.child is not None
        status = Path(f"/proc/{self.yaa.child.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024

    def begin(self, method: str, path: str, kind: str, length: int = ANNOUNCED) -> socket.socket:
        place = urlsplit(self.yaa.url)
        one = socket.create_connection((place.hostname or "", place.port or 0), timeout=60)
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


if __name__ == "__main__":
    unittest.main()
