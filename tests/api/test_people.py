"""Several people on one server: what one holds leaves room for others, an owner sees and ends runs
of all, and a key that is gone ends its own at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import tempfile
import unittest
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from server.api.auth import Keys
from server.api.sessions import Runs
from server.app import App, routes
from server.config import load
from server.json_types import Event
from server.lib.http.connection import ServerLimits
from server.lib.http.listener import BaseServer

from ..extensions import needs
from ..fakes import ScriptedModel, user
from ..tooling import patience

FLAGS: dict[str, Any] = {
    "server.discover": False,
    "server.sandbox.require": "none",
    "server.limits.max_connections": 16,
    "server.limits.max_memory": 1_000_000,
}
KEYS: list[Any] = [
    {"name": "ann", "key": "a" * 20, "owner": True},
    {"name": "mal", "key": "m" * 20},
    {"name": "mal", "key": "n" * 20},
]
SECONDS = 10


class Endless(ScriptedModel):
    """Says one piece, and the next one never."""

    def __init__(self) -> None:
        super().__init__(lambda _: [("text", "Hi")])

    async def stream(self, messages: Any, tools: Any, options: Any) -> AsyncGenerator[Event, None]:
        async for event in super().stream(messages, tools, options):
            yield event
            if event["type"] == "TEXT_MESSAGE_START":
                await asyncio.Event().wait()


class Stream:
    """An open run of a key."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()

    async def ends(self) -> bool:
        """Whether it is cut, or ends, soon."""
        try:
            async with asyncio.timeout(patience.seconds(SECONDS)):
                await self.reader.read()
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        finally:
            self.writer.close()
        return True


class Revoked(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        home = Path(self.enterContext(tempfile.TemporaryDirectory()), "home")
        config = load(home, None, {}, FLAGS)
        live: Any = object()  # of which runs need nothing
        self.app = App(config, {}, live=live)
        agent: Any = self.app.agent
        agent.models = Endless()
        await self.enterAsyncContext(self.app)
        router = routes(self.app, Keys(KEYS))
        limits = ServerLimits.of(config.server["limits"])
        self.server = BaseServer(router, limits, accounts=self.app.accounts)
        await self.server.listen("127.0.0.1", 0)
        self.addAsyncCleanup(self.server.close)

    async def send(
        self, key: str, method: str, path: str, body: Any = None, missing: int = 0
    ) -> Stream:
        """Ask; `missing` bytes of the body do not come."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body else b""
        head = (
            f"{method} {path} HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {key * 20}\r\n"
            "Content-Type: application/json\r\nAccept: */*\r\n"
            f"Content-Length: {len(data) + missing}\r\n\r\n"
        )
        writer.write(head.encode() + data)
        stream = Stream(reader, writer)
        self.addAsyncCleanup(stream.close)
        return stream

    async def ask(self, key: str, method: str, path: str, body: Any = None) -> Any:
        stream = await self.send(key, method, path, body)
        answer = await stream.reader.read()
        stream.writer.close()
        return json.loads(answer.partition(b"\r\n\r\n")[2])

    async def begin(self, key: str, session_id: str) -> Stream:
        """A run that has said something and goes on."""
        document = {"id": session_id, "messages": [user("go")]}
        stream = await self.send(key, "POST", "/session", document)
        async with asyncio.timeout(patience.seconds(SECONDS)):
            await stream.reader.readuntil(b"TEXT_MESSAGE_START")
        return stream

    async def active(self) -> dict[str, Any]:
        runs = Runs(self.app.agent, self.app.config.server["limits"], None, self.app.accounts)
        return {each["session"]: each for each in runs.active()}

    async def status(self, stream: Stream) -> int:
        """The status of an answer, which may never come while its body is missing."""
        return int((await stream.reader.readuntil(b"\r\n")).split()[1])

    async def test_slow_requests_of_one_person(self) -> None:
        """Half of the connections is left for others, whatever one of them opens."""
        head = ("m", "POST", "/session", None, 10)
        slow = [await self.send(*head) for _ in range(15)]
        answers = [asyncio.create_task(self.status(stream)) for stream in slow]
        async with asyncio.timeout(patience.seconds(SECONDS)):
            while sum(answer.done() for answer in answers) < 7:
                await asyncio.sleep(0.01)
        self.assertEqual((await self.ask("a", "GET", "/info"))["owner"], True)
        self.assertEqual([each.result() for each in answers if each.done()], [429] * 7)
        for answer in answers:
            answer.cancel()
        await asyncio.gather(*answers, return_exceptions=True)
        for stream in slow:
            stream.writer.close()

    async def test_bodies_of_one_person(self) -> None:
        """They take half of the memory; the first may be larger. Others are served beside them."""
        memory = self.app.accounts.pools["memory"]
        for first, second in ((400_000, 200_000), (600_000, 100_000)):
            with self.subTest(first=first):
                slow = await self.send("m", "POST", "/session", b"x" * first, 10)
                async with asyncio.timeout(patience.seconds(SECONDS)):
                    while memory.total < first:
                        await asyncio.sleep(0.01)
                refused = await self.send("m", "POST", "/session", b"x" * second, 10)
                async with asyncio.timeout(patience.seconds(SECONDS)):
                    self.assertEqual(await self.status(refused), 429)
                told = await self.ask("a", "POST", "/session", b'"%b"' % (b"x" * 100_000))
                self.assertEqual(told["code"], "session_invalid", "it was read")
                await slow.close()
                async with asyncio.timeout(patience.seconds(SECONDS)):
                    while memory.total:
                        await asyncio.sleep(0.01)

    @needs("settings")
    async def test_an_owner_sees_and_ends_runs_of_others(self) -> None:
        stream = await self.begin("m", "s1")
        found = (await self.active())["s1"]
        self.assertEqual(found["key_name"], "mal")
        told = await self.ask("a", "POST", "/session/stop", {"id": "s1"})
        self.assertFalse(told["stopped"])
        self.assertIn(found["run"], told["detail"])
        refused = await self.ask("n", "DELETE", f"/settings/runs/{found['run']}")
        self.assertEqual(refused["code"], "forbidden")
        self.assertIn("s1", await self.active())
        ended = await self.ask("a", "DELETE", f"/settings/runs/{found['run']}")
        self.assertEqual(ended, {"run": found["run"], "stopped": True})
        said = await stream.reader.read()
        self.assertIn(b'"code":"stopped_by_owner"', said, "else its page would go on with it")
        self.assertEqual(await self.active(), {})
        again = await self.ask("a", "DELETE", f"/settings/runs/{found['run']}")
        self.assertEqual(again["code"], "not_found")

    async def test_a_key_that_is_gone_ends_what_it_runs(self) -> None:
        """And another key of the same person goes on."""
        gone, other, owner = [await self.begin(key, f"s-{key}") for key in "mna"]
        self.app.take_over(Keys([KEYS[0], KEYS[2]]))
        self.assertTrue(await gone.ends())
        self.assertEqual(set(await self.active()), {"s-n", "s-a"})
        self.app.take_over(Keys([KEYS[0]]))
        self.assertTrue(await other.ends())
        self.assertEqual(set(await self.active()), {"s-a"})
        self.assertEqual(dict(self.app.accounts.pools["runs"].held), {"ann": 1})
        owner.writer.close()


if __name__ == "__main__":
    unittest.main()
