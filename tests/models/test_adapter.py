"""Adapters: what they may give, how they fail, and that a broken file costs nothing but itself."""

from __future__ import annotations

import asyncio
import tempfile
import threading
import unittest
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from server.errors import Problem
from server.json_types import Event
from server.lib.http.client import Client
from server.lib.runtime import waits
from server.models import Options
from server.models.adapter import MOST_STUCK, AdapterAPI, BaseAPI, ModelError, adapters
from server.models.registry import Models
from server.session.fold import Folder
from server.telemetry import log

from ..tooling.patience import seconds

ASKED: Any = [{"role": "system", "content": "s"}, {"role": "user", "content": "hé"}]
TOOL = {"type": "function", "function": {"name": "t", "description": "", "parameters": {}}}


class Gives(BaseAPI):
    """An adapter whose `request` is a function."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def request(self, session_data: dict[str, Any]) -> Any:
        return self.function(session_data)


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        log.setup("critical")
        self.addCleanup(log.setup, "error")

    def models(self, api: BaseAPI) -> Models:
        models = Models({}, Client({}), {})
        models.adopt({"mine": api})
        return models

    async def events(self, api: BaseAPI, **more: Any) -> list[Event]:
        model = self.models(api).resolve({"name": "mine"})
        numbers = iter(range(99))
        options = Options("m", "t", lambda kind: f"{kind}{next(numbers)}", **more)
        return [event async for event in model.api.stream(ASKED, [TOOL], options)]

    async def message(self, given: Any, **more: Any) -> dict[str, Any]:
        session: Any = {"messages": []}
        folder = Folder(session)
        for event in await self.events(Gives(lambda data: given), **more):
            self.assertNotEqual(event["type"], "RUN_ERROR", event)
            folder.apply(event)
        folder.flush()
        found: dict[str, Any] = session["messages"][-1]
        return found

    async def error(self, api: BaseAPI, **more: Any) -> Event:
        event = (await self.events(api, **more))[-1]
        self.assertEqual(event["type"], "RUN_ERROR")
        return event


class Giving(Case):
    async def test_text_messages_and_whole_answers(self) -> None:
        message = {"role": "assistant", "content": "hé"}
        for given in ("hé", message, {"choices": [{"message": message}]}, {"content": "hé"}):
            with self.subTest(given):
                self.assertEqual((await self.message(given))["content"], "hé")
        found = await self.message(
            {"content": "x", "reasoning": "hm", "usage": {"prompt_tokens": 9}}
        )
        self.assertEqual(found["reasoning"]["text"], "hm")
        self.assertEqual(found["meta"]["usage"]["prompt_tokens"], 9)
        self.assertEqual((await self.message(""))["content"], "")

    async def test_calls_in_every_usual_shape(self) -> None:
        function = {"name": "t", "arguments": '{"a": 1}'}
        calls = [{"name": "t", "arguments": {"a": 1}}, {"name": "t", "input": {"a": 1}}]
        given = {"tool_calls": [*calls, {"id": "x", "type": "function", "function": function}]}
        found = await self.message(given)
        self.assertEqual(len({call["id"] for call in found["tool_calls"]}), 3)
        self.assertEqual({c["function"]["name"] for c in found["tool_calls"]}, {"t"})
        self.assertEqual(found["meta"]["finish_reason"], "tool_calls")

    async def test_four_kinds_of_functions(self) -> None:
        class Plain(BaseAPI):
            def stream(self, session_data: dict[str, Any]) -> Iterator[Any]:
                yield from ("a", {"content": "b"}, {"choices": [{"delta": {"content": "c"}}]})

        class Later(BaseAPI):
            async def request(self, session_data: dict[str, Any]) -> Any:
                await asyncio.sleep(0)
                return "abc"

        class Streams(Later):
            async def stream(self, session_data: dict[str, Any]) -> AsyncIterator[Any]:
                for each in "abc":
                    yield each

        for api, deltas in ((Plain(), 3), (Later(), 1), (Streams(), 3)):
            found = await self.events(api)
            texts = [e["delta"] for e in found if e["type"] == "TEXT_MESSAGE_CONTENT"]
            self.assertEqual(("".join(texts), len(texts)), ("abc", deltas))
        found = await self.events(Streams(), stream=False)
        self.assertEqual(sum(e["type"] == "TEXT_MESSAGE_CONTENT" for e in found), 1)

    async def test_what_it_is_asked(self) -> None:
        seen: list[dict[str, Any]] = []

        def see(data: dict[str, Any]) -> str:
            seen.append(data)
            return "x"

        await self.events(Gives(see), session_id="ses", max_tokens=5)
        (data,) = seen
        self.assertEqual([m["content"] for m in data["messages"]], ["s", "hé"])
        self.assertEqual(data["tools"][0]["function"]["name"], "t")
        self.assertEqual((data["session_id"], data["model"], data["stream"]), ("ses", "mine", True))
        data["messages"].clear()  # its own copy
        self.assertEqual(len(ASKED), 2)

    async def test_a_pause_between_two_calls_is_said_and_given_back(self) -> None:
        said: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        waits.listener.set(said.set_result)
        api = self.models(Gives(lambda data: "x")).resolve({"name": "mine"}).api
        assert isinstance(api, AdapterAPI)

        async def ask() -> None:
            options = Options("m", "t", str, session_id="ses", interval=60)
            async for _ in api.stream(ASKED, [], options):
                pass

        await ask()
        second = asyncio.create_task(ask())
        wait = await asyncio.wait_for(said, seconds(5))
        self.assertEqual(wait["awaits"], "interval")
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        self.assertLessEqual(api._peer.pace.wait("ses", 60), 60)

    async def test_a_reader_that_leaves_ends_the_generator(self) -> None:
        closed = threading.Event()

        class Endless(BaseAPI):
            def stream(self, session_data: dict[str, Any]) -> Iterator[str]:
                try:
                    while True:
                        yield "word "
                finally:
                    closed.set()

        model = self.models(Endless()).resolve({"name": "mine"})
        stream = model.api.stream(ASKED, [], Options("m", "t", str))
        async for event in stream:
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                break
        await stream.aclose()
        await asyncio.to_thread(closed.wait)


class Failing(Case):
    async def test_what_people_are_told(self) -> None:
        def secret(data: Any) -> Any:
            raise ValueError("sk-secret /home/ann")

        event = await self.error(Gives(secret))
        self.assertNotIn("secret", event["message"])
        self.assertIn("mine failed: ValueError", event["message"])
        odd: tuple[Any, ...] = (
            5,
            None,
            [],
            {"tool_calls": [5]},
            {"content": object()},
            {"tool_calls": 5},
        )
        for given in odd:
            with self.subTest(given):
                event = await self.error(Gives(lambda data, given=given: given))
                self.assertEqual(event["code"], "upstream_error")

        def explained(data: Any) -> Any:
            raise ModelError("no\nmore credit", retryable=False)

        self.assertEqual((await self.error(Gives(explained)))["message"], "mine: no more credit")

    async def test_another_attempt(self) -> None:
        counts: list[int] = []

        def unsteady(data: Any) -> str:
            counts.append(1)
            if len(counts) < 3:
                raise ModelError("busy")
            return "x"

        found = await self.events(Gives(unsteady), retry_times=3)
        self.assertEqual((found[-1]["type"], len(counts)), ("TEXT_MESSAGE_END", 3))

    async def test_one_that_never_comes_back(self) -> None:
        held = threading.Event()
        self.addCleanup(held.set)
        api = Gives(lambda data: held.wait())
        for _ in range(MOST_STUCK):
            event = await self.error(api, request_timeout=0.001)
            self.assertEqual(event["code"], "upstream_timeout")
        event = await self.error(api, request_timeout=0.001)
        self.assertIn("have not come back", event["message"])


class Files(unittest.TestCase):
    def setUp(self) -> None:
        log.setup("critical")
        self.addCleanup(log.setup, "error")
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def file(self, name: str, source: str) -> Path:
        path = self.folder / name
        path.write_text(f"from yaa import BaseAPI\n{source}\n")
        path.chmod(0o600)
        return path

    def test_files_that_are_refused(self) -> None:
        fine = "class A(BaseAPI):\n    def request(self, d): return 'x'\n"
        for name, source, said in (
            ("syntax", "def (:", "SyntaxError in line 2"),
            ("leaves", "raise SystemExit", "SystemExit"),
            ("none", "", "wanted one class"),
            ("two", f"{fine}class B(A): pass", "got 2"),
            ("empty", "class A(BaseAPI): pass", "has neither request nor stream"),
            ("breaks", f"{fine}    def __init__(self): 1 / 0", "ZeroDivisionError"),
            ("costs", f"{fine}    costs = {{'total': -1}}", "is no price"),
            ("window", f"{fine}    max_context = 'all'", "wanted a number of tokens"),
            ("demo", fine, "there is a provider named demo"),
        ):
            path = self.file(f"{name}.py", source)
            with self.subTest(name):
                found, problems = adapters(self.folder, ["demo"])
                self.assertEqual(found, {})
                (problem,) = problems
                self.assertIn(f"models/{name}.py: ", problem)
                self.assertIn(said, problem)
            path.unlink()
        self.file("shared.py", fine).chmod(0o622)
        self.assertIn("can be written by others", adapters(self.folder, ())[1][0])

    def test_a_server_of_adapters(self) -> None:
        self.file(
            "mine.py",
            "class A(BaseAPI):\n    models = ('a', 'b')\n    def request(self, d): return 'x'\n",
        )
        models = Models({}, Client({}), {})
        models.adopt(adapters(self.folder, models.names())[0])
        self.assertEqual(models.resolve({"name": "auto", "model_name": "b"}).name, "mine")
        for wanted in ({"name": "mine", "model_name": "c"}, {"name": "min"}):
            with self.assertRaisesRegex(Problem, "mine"):
                models.resolve(wanted)


if __name__ == "__main__":
    unittest.main()
