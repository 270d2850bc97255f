"""The event loop of a process, which no name server can hold up.

asyncio looks names up in its few threads (six on two processors), in which large bodies are parsed
and tools are fed too, and a process that ends waits for all of them. A name server that does not
answer keeps a thread for ten seconds and more. The rule of the file: each name has a thread of its
own, for which nobody waits who does not want that name.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


class Loop(asyncio.SelectorEventLoop):
    look = staticmethod(socket.getaddrinfo)

    async def getaddrinfo(
        self,
        host: bytes | str | None,
        port: bytes | str | int | None,
        *,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> list[Any]:
        found: asyncio.Future[list[Any]] = self.create_future()

        def look_up() -> None:
            try:
                addresses = self.look(host, port, family, type, proto, flags)
            except (OSError, OverflowError, ValueError) as error:  # UnicodeError is one
                tell(found.set_exception, error)
            else:
                tell(found.set_result, addresses)

        def tell(how: Callable[[Any], None], what: Any) -> None:
            with suppress(RuntimeError):  # the loop is closed
                self.call_soon_threadsafe(lambda: None if found.done() else how(what))

        try:
            threading.Thread(target=look_up, name="name", daemon=True).start()
        except RuntimeError:  # there are as many threads as there may be
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
        return await found


def run(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` in such a loop."""
    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(main)
