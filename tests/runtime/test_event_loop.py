"""Names are looked up where nothing else waits."""

from __future__ import annotations

import asyncio
import socket
import threading
import unittest
from typing import Any

from server.http.client import Client, ClientError, Timeouts
from server.runtime.event_loop import Loop, run

MANY = 40  # more than there are threads for anything else


class Silent(Loop):
    """As with a name server that does not answer."""

    asked = threading.Semaphore(0)
    for_good = threading.Event()

    @staticmethod
    def look(*_: Any) -> list[Any]:
        Silent.asked.release()
        Silent.for_good.wait()
        return []


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
