"""Names are looked up where nothing else waits."""

from __future__ import annotations

import asyncio
import contextvars
import errno
import gc
import logging
import os
import selectors
import signal
import socket
import sys
import threading
import unittest
import weakref
from types import FrameType
from typing import Any, ClassVar

from server.lib.http.client import Client, ClientError, Timeouts
from server.lib.runtime.event_loop import SCARCE, Loop, repeat, run

MANY = 40  # more than there are threads for anything else


class Silent(Loop):
    """As with a name server that does not answer."""

    asked = threading.Semaphore(0)
    for_good = threading.Event()

    @staticmethod
    def look(*_: Any, **wanted: Any) -> list[Any]:
        Silent.asked.release()
        Silent.for_good.wait()
        return []


class Timers(unittest.TestCase):
    def test_a_cancelled_timer_keeps_nothing(self) -> None:
        """A limit of hours that was not reached: what its run refers to is free at once."""
        session: contextvars.ContextVar[Any] = contextvars.ContextVar("session")

        async def limited() -> weakref.ref[Any]:
            document = threading.Event()
            session.set(document)
            async with asyncio.timeout(3600):
                await asyncio.sleep(0)
            return weakref.ref(document)

        async def main() -> None:
            # asyncio drops cancelled timers once they are first of all.
            first = asyncio.get_running_loop().call_later(60, Silent.for_good.set)
            found = await asyncio.create_task(limited())
            await asyncio.sleep(0)  # until then the loop has the task that has ended
            gc.collect()
            self.assertIsNone(found())
            first.cancel()

        run(main())


class Starved(selectors.DefaultSelector):
    """As of a system that cannot wait for events for a while."""

    errors: ClassVar[list[Exception]] = []

    def select(self, timeout: float | None = None) -> Any:
        if self.errors:
            raise self.errors.pop()
        return super().select(timeout)


class Scarcity(unittest.TestCase):
    def run_with(self, *errors: Exception) -> str:
        def fail(*_: Any) -> None:
            Starved.errors.extend(errors)
            raise MemoryError

        async def main() -> str:
            loop = asyncio.get_running_loop()
            loop.set_exception_handler(fail)
            loop.call_soon(lambda: 1 // 0)
            await asyncio.sleep(0)
            await asyncio.to_thread(int)
            return "went on"

        with asyncio.Runner(loop_factory=lambda: Loop(Starved())) as runner:
            return runner.run(main())

    def test_the_loop_goes_on(self) -> None:
        """Also if the handler of exceptions fails, and if the log fails that this is written to."""

        class Broken(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                raise MemoryError

        logger, handler = logging.getLogger("asyncio"), Broken()
        logger.addHandler(handler)
        self.addCleanup(logger.removeHandler, handler)
        self.addCleanup(setattr, logger, "propagate", logger.propagate)
        logger.propagate = False
        for number in SCARCE:
            with self.subTest(number=number):
                scarce = OSError(number, "scarce")
                self.assertEqual(self.run_with(scarce, MemoryError(), scarce), "went on")

    def test_a_wake_up_that_finds_no_memory_comes(self) -> None:
        """Else a run that sleeps, its limit, or what waits for a thread is never heard of again."""
        places = (
            ("_set_result_unless_cancelled", "_run"),  # of a timer
            ("_on_timeout", "_run"),
            ("_set_state", "_run"),  # of what a thread has done
            ("__init__", "call_soon"),  # a new wake-up of any kind
        )

        async def limited() -> None:
            with self.assertRaises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await asyncio.Event().wait()

        async def everything() -> None:
            await asyncio.sleep(0.01)
            await asyncio.to_thread(int)
            await asyncio.gather(asyncio.sleep(0.01), limited())

        def run_starved(place: tuple[str, str]) -> bool:
            starved = False

            def starve(frame: FrameType, event: str, _: object) -> None:
                """Fail once: Python takes a profiler away that raises."""
                nonlocal starved
                came_from = frame.f_back.f_code.co_name if frame.f_back else ""
                if event == "call" and (frame.f_code.co_name, came_from) == place:
                    starved = True
                    raise MemoryError

            async def main() -> None:
                for _ in range(2):
                    sys.setprofile(starve)
                    await everything()

            with asyncio.Runner(loop_factory=Loop) as runner:
                runner.run(main())
            return starved

        self.addCleanup(sys.setprofile, sys.getprofile())
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        for place in places:
            with self.subTest(place=place):
                self.assertTrue(run_starved(place))

    def test_a_wake_up_by_a_thread_that_finds_no_memory_comes(self) -> None:
        """It gives no context, and a copy of the thread's needs memory."""
        starved = False

        def starve(frame: FrameType, event: str, _: object) -> None:
            nonlocal starved
            if event == "call" and frame.f_code is asyncio.Handle.__init__.__code__:
                starved = True
                raise MemoryError  # once: then Python takes the profiler away

        async def main() -> None:
            loop, woken = asyncio.get_running_loop(), asyncio.Event()

            def wake() -> None:
                for _ in range(2):  # contexts cannot be entered twice, if they were shared
                    sys.setprofile(starve)
                    loop.call_soon_threadsafe(woken.set)

            await asyncio.to_thread(wake)
            await woken.wait()

        run(main())
        self.assertTrue(starved)

    def test_other_failures_end_it(self) -> None:
        logger = logging.getLogger("asyncio")
        self.addCleanup(setattr, logger, "disabled", logger.disabled)
        logger.disabled = True
        with self.assertRaises(OSError):
            self.run_with(OSError(errno.EBADF, "closed"))


class Repeated(unittest.IsolatedAsyncioTestCase):
    async def test_what_fails_is_tried_again(self) -> None:
        """Else a configuration is never read again after one look without a thread."""
        left: list[Exception] = [RuntimeError("can't start new thread"), OSError(errno.EMFILE, "")]
        done = asyncio.Event()

        async def work() -> None:
            if left:
                raise left.pop()
            done.set()

        with self.assertLogs("yaa.loop") as logged:
            task = asyncio.create_task(repeat(0, "looking", work))
            await done.wait()
        self.assertEqual(len(logged.output), 2)
        task.cancel()


class Signals(unittest.TestCase):
    def test_one_that_comes_while_the_loop_closes_is_not_heard(self) -> None:
        class Signalled(Loop):
            def _close_self_pipe(self) -> None:
                super()._close_self_pipe()  # type: ignore[misc]
                os.kill(os.getpid(), signal.SIGCHLD)

        async def main() -> None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, print)

        unraisable: list[Any] = []
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = unraisable.append
        with asyncio.Runner(loop_factory=Signalled) as runner:
            runner.run(main())
        self.assertEqual(unraisable, [])


class Names(unittest.TestCase):
    def tearDown(self) -> None:
        Silent.for_good.set()

    def test_nothing_else_waits_for_them_and_no_end(self) -> None:
        async def main() -> tuple[str, set[str]]:
            client, limits = Client(), Timeouts(connect=0.05)
            asking = [
                asyncio.create_task(client.request("GET", "http://a.example", timeouts=limits))
                for _ in range(MANY)
            ]
            for _ in asking:  # each of them has begun
                while not Silent.asked.acquire(blocking=False):
                    await asyncio.sleep(0)
            done = await asyncio.to_thread(str, "done")
            found = await asyncio.gather(*asking, return_exceptions=True)
            return done, {each.kind if isinstance(each, ClientError) else "?" for each in found}

        with asyncio.Runner(loop_factory=Silent) as runner:
            self.assertEqual(runner.run(main()), ("done", {"timeout"}))

    def test_what_is_found(self) -> None:
        async def main() -> None:
            loop = asyncio.get_running_loop()
            found = await loop.getaddrinfo("localhost", 80, type=socket.SOCK_STREAM)
            self.assertIn("127.0.0.1", {entry[4][0] for entry in found})
            for name, port, error in (
                ("no.such.name.invalid", 80, (socket.gaierror,)),
                ("a" * 70, 80, (UnicodeError,)),
                ("localhost", 1 << 70, (OverflowError, socket.gaierror)),  # by version
            ):
                with self.subTest(name), self.assertRaises(error):
                    await loop.getaddrinfo(name, port)

        run(main())


if __name__ == "__main__":
    unittest.main()
