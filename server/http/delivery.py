"""Check whether an answer has arrived, by the TCP acknowledgements of the client's system.

Used by `api` before it deletes the record kept for a repeated request, and before a tool call
starts that may not run twice. Behind a proxy the acknowledgements are those of the proxy.
"""

from __future__ import annotations

import asyncio
import fcntl
import sys
import termios
import time
from typing import Any

from .exchange import Exchange

LOOKS = (0, 0.01, 0.04, 0.2, 1.0)  # s to wait before each check of `arrived`
SOONEST_S, LATEST_S = 0.001, 0.05  # first and longest interval between two checks of `reached`


async def arrived(exchange: Exchange) -> bool:
    """Return whether the whole answer is acknowledged, after at most 1.25 s.

    False where it cannot be determined. Cancelled, like any handler, if the client disconnects.
    """
    await exchange.flush()
    for wait in LOOKS:
        await asyncio.sleep(wait)  # also lets a lost connection cancel this task first
        if unconfirmed(exchange.socket) == 0:
            return True
    return False


async def reached(exchange: Exchange, within_s: float) -> bool:
    """Wait until all bytes handed to the kernel are acknowledged. Return whether they were.

    False if that takes longer than `within_s`, for instance with a sleeping client. True where it
    cannot be determined. Cancelled, like any handler, if the client disconnects.
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
    """Return the number of unacknowledged bytes (tcp(7), SIOCOUTQ); 1 if it is not known."""
    if sys.platform != "linux" or sock is None or sock.fileno() < 0:
        return 1
    found = fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4))
    return int.from_bytes(found, sys.byteorder)
