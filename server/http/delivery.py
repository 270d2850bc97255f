"""Whether an answer has arrived: the client's system confirms what it gets, and ours knows of it.

In the walk: `protocols/openai/routes` asks, before it forgets what it has kept for a request that
may come again. A proxy between us and the client confirms in the client's place.
"""

from __future__ import annotations

import asyncio
import fcntl
import sys
import termios
import time
from typing import Any

from .exchange import Exchange

LOOKS = (0, 0.01, 0.04, 0.2, 1.0)  # s before each look
SOONEST_S, LATEST_S = 0.001, 0.05  # between two looks at what was announced


async def arrived(exchange: Exchange) -> bool:
    """Whether the whole answer is confirmed, which takes a round trip; False where nobody knows. A
    client that leaves meanwhile cancels this like any handler."""
    await exchange.flush()
    for wait in LOOKS:
        await asyncio.sleep(wait)  # a connection that was cut is noticed here first
        if unconfirmed(exchange.socket) == 0:
            return True
    return False


async def reached(exchange: Exchange, within_s: float) -> bool:
    """Wait until the client's machine has confirmed all that the kernel was given.

    False if that takes longer than `within_s`: it sleeps, or the network holds things back. True
    where it cannot be known. A client that leaves meanwhile cancels this like any handler.
    """
    sock = exchange.socket
    if sys.platform != "linux" or sock is None or sock.fileno() < 0:
        return True
    wait_s, until = SOONEST_S, time.monotonic() + within_s
    while unconfirmed(sock):
        if time.monotonic() > until:
            return False
        await asyncio.sleep(wait_s)
        wait_s = min(2 * wait_s, LATEST_S)
    return True


def unconfirmed(sock: Any) -> int:
    """Bytes that the peer's system has not confirmed (tcp(7), SIOCOUTQ); 1 where that is not to be
    known."""
    if sys.platform != "linux" or sock is None or sock.fileno() < 0:
        return 1
    found = fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4))
    return int.from_bytes(found, sys.byteorder)
