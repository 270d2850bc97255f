"""Ports for programs that must be told one."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def held(count: int) -> Iterator[list[int]]:
    """Ports that the system gives to nobody else meanwhile: they are bound, and nobody listens, so
    that a program which names one, with SO_REUSEADDR, may listen on it."""
    with ExitStack() as stack:
        found = []
        for _ in range(count):
            one = stack.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("127.0.0.1", 0))
            found.append(int(one.getsockname()[1]))
        yield found
