"""A process that asks `/health` again and again, and tells how long it had to wait at most."""

from __future__ import annotations

import http.client
import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from urllib.parse import urlsplit

PAUSE_S = 0.001  # between two questions


class Beside:
    """A process that asks `/health` on one connection, and tells the longest wait when told to."""

    def __init__(self, url: str) -> None:
        self._ours, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=_watch, args=(url, theirs))

    def __enter__(self) -> Beside:
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ours.send("end")
        self._process.join()

    def longest(self, work: Callable[[], object]) -> float:
        """The longest wait, in seconds, while the work was done."""
        self.begin()
        work()
        return self.tell()

    def begin(self) -> None:
        """Count from now."""
        self._ours.send("begin")
        self._ours.recv()

    def tell(self) -> float:
        """The longest wait, in seconds, since `begin`."""
        self._ours.send("tell")
        found = self._ours.recv()
        assert isinstance(found, float)
        return found


def _watch(url: str, pipe: Connection) -> None:
    api, longest = urlsplit(url), 0.0
    connection = http.client.HTTPConnection(api.hostname or "", api.port, timeout=600)
    while True:
        began = time.monotonic()
        connection.request("GET", "/health")
        connection.getresponse().read()
        longest = max(longest, time.monotonic() - began)
        if pipe.poll(PAUSE_S):
            word = pipe.recv()
            if word == "end":
                return connection.close()
            pipe.send(longest)
            if word == "begin":
                longest = 0.0
