"""An event loop that goes on when resources run out, and resolves names in threads of their own.

asyncio ends its loop if anything raises in the handler of its own exceptions, or between two
callbacks. Without memory or descriptors both can: the server would end, and with it every run.

asyncio resolves names in its default executor, which has few threads (six on two processors), also
used to parse large bodies and to feed tools, and which must be empty before the process ends. A
name server that does not answer blocks a thread for ten seconds and more. Here it delays only the
caller that needs the name.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.ENOSPC, errno.EAGAIN)
PAUSE_S = 0.01  # after such a failure, since the next turn would fail at once


def is_scarce(error: BaseException) -> bool:
    """Return whether an exception says that the system has run out of something for now."""
    return isinstance(error, MemoryError) or getattr(error, "errno", None) in SCARCE


class Loop(asyncio.SelectorEventLoop):
    """Event loop that lasts, and whose `getaddrinfo` does not use the executor."""

    look = staticmethod(socket.getaddrinfo)

    def run_forever(self) -> None:
        """Run until `stop`, also when a turn of the loop fails for want of a resource."""
        while True:
            try:
                return super().run_forever()
            except (OSError, MemoryError) as error:
                if not is_scarce(error):
                    raise
            time.sleep(PAUSE_S)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Log an exception that nothing has caught; never raise."""
        with suppress(Exception):
            self._run_timer_again(context)
            super().call_exception_handler(context)

    def _run_timer_again(self, context: dict[str, Any]) -> None:
        """Run a timer of asyncio again that found no memory: else its `sleep` never returns."""
        timer: Any = context.get("handle")
        is_timer = isinstance(context.get("handle"), asyncio.TimerHandle)
        starved = isinstance(context.get("exception"), MemoryError)
        if starved and is_timer and not timer.cancelled():
            if timer._callback.__module__.startswith("asyncio."):
                self.call_later(PAUSE_S, lambda: timer.cancelled() or timer._run())

    def _timer_handle_cancelled(self, handle: Any) -> None:
        """Free the context of a cancelled timer, which asyncio may keep until its time comes.

        A run has timers of hours, and its context refers to the whole session.
        """
        super()._timer_handle_cancelled(handle)  # type: ignore[misc]
        handle._context = None

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
        """Resolve a host name. Raises OSError, also when no thread can be started."""
        found: asyncio.Future[list[Any]] = self.create_future()

        def look_up() -> None:
            """Resolve the name in the thread."""
            try:
                addresses = self.look(host, port, family, type, proto, flags)
            except (OSError, OverflowError, ValueError) as error:  # ValueError: also UnicodeError
                tell(found.set_exception, error)
            else:
                tell(found.set_result, addresses)

        def tell(how: Callable[[Any], None], what: Any) -> None:
            """Set the future's result or exception, unless it is done or the loop is closed."""
            with suppress(RuntimeError):  # the loop is closed
                self.call_soon_threadsafe(lambda: None if found.done() else how(what))

        try:
            threading.Thread(target=look_up, name="name", daemon=True).start()
        except RuntimeError:  # the limit of threads is reached
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
        return await found


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine as `asyncio.run` does, in a `Loop`."""
    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(main)
