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
import contextvars
import errno
import logging
import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

_log = logging.getLogger("yaa.loop")

SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.ENOSPC, errno.EAGAIN)
PAUSE_S = 0.01  # after such a failure, since the next turn would fail at once
SPARE = 64  # wake-ups that can be scheduled without memory
# Their callbacks set a future, unless it is done: they may run again.
REPEATABLE = ("asyncio.futures", "asyncio.tasks", "asyncio.timeouts", "asyncio.taskgroups")


def is_scarce(error: BaseException) -> bool:
    """Return whether an exception says that the system has run out of something for now."""
    return isinstance(error, MemoryError) or getattr(error, "errno", None) in SCARCE


class Loop(asyncio.SelectorEventLoop):
    """Event loop that lasts, and whose `getaddrinfo` does not use the executor."""

    look = staticmethod(socket.getaddrinfo)
    _closed: bool  # of asyncio
    _debug: bool
    _ready: deque[asyncio.Handle]
    _signal_handlers: dict[int, Any]

    def __init__(self, selector: selectors.BaseSelector | None = None) -> None:
        self._spare: list[Any] = []
        super().__init__(selector)
        self._add_spare()

    def run_forever(self) -> None:
        """Run until `stop`, also when a turn of the loop fails for want of a resource."""
        while True:
            try:
                return super().run_forever()
            except (OSError, MemoryError) as error:
                if not is_scarce(error):
                    raise
            time.sleep(PAUSE_S)

    def close(self) -> None:
        """Close the loop after its signal handlers: asyncio closes first what they write to."""
        for number in list(self._signal_handlers):
            self.remove_signal_handler(number)
        super().close()

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> Any:  # type: ignore[override]
        """Schedule a callback, also without memory: what is not woken now never is."""
        if self._closed or self._debug:
            return super().call_soon(callback, *args, context=context)
        try:
            self._ready.append(handle := asyncio.Handle(callback, args, self, context))
        except MemoryError:
            return self._call_soon(callback, args, context)
        return handle

    def _call_soon(self, callback: Any, args: Any, context: Any) -> Any:
        """Schedule a callback by a spare handle, if there is no memory for another one."""
        try:
            handle: Any = asyncio.Handle(callback, args, self, context)
        except MemoryError:
            if not self._spare:
                raise
            handle = self._spare.pop()
            handle._callback, handle._args = callback, args
            handle._context = handle._context if context is None else context
        self._ready.append(handle)
        return handle

    def _add_spare(self) -> None:
        while len(self._spare) < SPARE:
            # With a context of its own, for wake-ups by threads, which give none.
            self._spare.append(asyncio.Handle(print, (), self, contextvars.Context()))

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Log an exception that nothing has caught; never raise."""
        with suppress(Exception):
            self._run_again(context)
            super().call_exception_handler(context)

    def _run_again(self, context: dict[str, Any]) -> None:
        """Run a callback of asyncio again that found no memory: else its future is never done."""
        handle: Any = context.get("handle")
        if isinstance(context.get("exception"), MemoryError) and handle and not handle.cancelled():
            if getattr(handle._callback, "__module__", "") in REPEATABLE:
                self.call_later(PAUSE_S, lambda: handle.cancelled() or handle._run())

    def _timer_handle_cancelled(self, handle: Any) -> None:
        """Free the context of a cancelled timer, which asyncio may keep until its time comes.

        A run has timers of hours, and its context refers to the whole session.
        """
        super()._timer_handle_cancelled(handle)  # type: ignore[misc]
        handle._context = None
        self._add_spare()  # here, since timers are cancelled all the time

    async def getaddrinfo(self, host: Any, port: Any, **wanted: Any) -> list[Any]:
        """Resolve a host name. Raises OSError, also when no thread can be started."""
        found: asyncio.Future[list[Any]] = self.create_future()

        def look_up() -> None:
            """Resolve the name in the thread."""
            try:
                addresses = self.look(host, port, **wanted)
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


async def repeat(every_s: float, what: str, work: Callable[[], Awaitable[object]]) -> None:
    """Do work again and again, until this is cancelled; what fails is logged, and tried again."""
    while True:
        try:
            await work()
        except (OSError, MemoryError, RuntimeError):  # no thread is a RuntimeError
            _log.exception("%s failed, and is tried again in %g s", what, every_s)
        await asyncio.sleep(every_s)


async def cancel_all(tasks: Collection[asyncio.Future[Any]]) -> None:
    """Cancel tasks and wait until all have ended, however they do."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine as `asyncio.run` does, in a `Loop`."""
    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(main)
