"""The tools of AutoAi (seed 000) and Anahata (seed 002): toolkits, schemas. Their own definitions,
in Python."""

from __future__ import annotations

import asyncio
import copy
import json
import tempfile
import textwrap
import unittest
from pathlib import Path
from typing import Any

from server.api.auth import Keys
from server.app import App, routes
from server.config import Config
from server.lib.http.listener import BaseServer, ServerLimits

from .. import proofs
from ..fakes import DEFAULTS
from ..models.fakes import STOP, Server, answer, said, serving, sse
from ..tooling import turns
from ..tooling.api import Api

Json = dict[str, Any]

KEY = "a-key-of-this-test-1234"
DONE = answer(sse(said("Done."), STOP))
NOTES = '''
    from dataclasses import dataclass
    from typing import Annotated
    from yaa import tool, toolkit

    @dataclass
    class Address:
        street: str
        zip: int | None = None

    @dataclass
    class Person:
        name: str
        homes: list[Address]

    @toolkit(stateful=True)
    class Notes:
        """Keeps notes of one conversation. Call Notes_list before you add one."""

        def __init__(self) -> None:
            self.notes: list[str] = []

        @tool(read_only=True)
        def add(self, text: Annotated[str, "The note"]) -> int:
            "Add a note."
            self.notes.append(text)
            print("kept", len(self.notes))
            return len(self.notes)

        @tool(read_only=True)
        def list(self) -> list[str]:
            "All notes."
            return self.notes

        @tool(read_only=True)
        def crash(self) -> None:
            "End badly."
            import os, signal
            os.kill(os.getpid(), signal.SIGKILL)

    @tool(read_only=True)
    def move(who: Person, to: Address, tags: dict[str, int]) -> list[Person]:
        "Move a person."
        who.homes.append(to)
        return [who]
'''


def calls(*wanted: tuple[str, Json]) -> bytes:
    """A model's answer that calls tools."""
    deltas = [
        {
            "index": index,
            "id": f"c{index}-{name}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(args)},
        }
        for index, (name, args) in enumerate(wanted)
    ]
    delta = {"index": 0, "delta": {"tool_calls": deltas}, "finish_reason": None}
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    return answer(sse({"choices": [delta]}, end))


class Case(unittest.IsolatedAsyncioTestCase):
    """`self.home` is the owner's folder."""

    def setUp(self) -> None:
        self.home = self.folder()

    def folder(self) -> Path:
        """A new folder that another user may read, too."""
        made = Path(self.enterContext(tempfile.TemporaryDirectory()))
        made.chmod(0o755)
        return made

    def write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))

    async def start(self, *scripts: Any, **settings: Any) -> Api:
        """A server with these settings, and a model that answers so."""
        self.model: Server = await self.enterAsyncContext(serving(*(scripts or (DONE,))))
        server = copy.deepcopy(DEFAULTS["server"])
        server |= {"discover": False, "api_keys": [KEY], "default_provider": "main"}
        server["providers"] = {"main": {"api_url": self.model.url, "model_name": "m"}}
        server["client_providers"] = {"allow": True, "hosts": ["127.0.0.1"]}
        server["sandbox"] |= {"require": "none"}
        for name, value in settings.items():
            server[name] = {**server[name], **value} if isinstance(value, dict) else value
        proof = proofs.known(server["sandbox"])
        self.app = App(Config(server, DEFAULTS["session"], self.home), {}, proof=proof)
        await self.app.open()
        proofs.keep(server["sandbox"], self.app.toolbox.proof)
        self.addAsyncCleanup(self.app.close)
        listener = BaseServer(
            routes(self.app, Keys(server["api_keys"])), ServerLimits.of(server["limits"])
        )
        await listener.listen("127.0.0.1", 0)
        self.addAsyncCleanup(listener.close)
        self.api = Api(f"http://127.0.0.1:{listener.port}", KEY)
        return self.api

    async def run_session(self, session: Json | None = None, **tools: Json) -> Json:
        document = session or {"messages": []}
        document["messages"].append({"role": "user", "content": "Hello"})
        document.setdefault("config", {})["tool"] = tools
        return await asyncio.to_thread(self.api.run, document)

    async def get(self, path: str) -> Json:
        status, body = await asyncio.to_thread(self.api.request, "GET", path)
        self.assertEqual(status, 200, body)
        assert isinstance(body, dict)
        return body

    async def tools(self) -> dict[str, Json]:
        return {tool["name"]: tool for tool in (await self.get("/info"))["tools"]}

    def offered(self) -> dict[str, Json]:
        """What the model was told in its last request."""
        return {each["function"]["name"]: each["function"] for each in self._sent()["tools"]}

    def _sent(self) -> Json:
        found: Json = self.model.requests[-1].json
        return found

    def results(self, session: Json) -> list[Json]:
        return [m for m in session["messages"] if m["role"] == "tool"]


@turns.tests(3)
class HelloWorlds(Case):
    async def test_002_a_toolkit_with_its_tools_and_parameters(self) -> None:
        self.write(self.home / "tools" / "notes.py", NOTES)
        await self.start(calls(("Notes_add", {"text": "买茶 🍵"})), DONE)
        session = await self.run_session()
        self.assertEqual(self.app.toolbox.problems, [])
        (result,) = self.results(session)
        self.assertEqual((result["content"], result["result"]["status"]), ("1", "ok"))
        schema = self.offered()["Notes_add"]["parameters"]
        self.assertEqual(schema["properties"]["text"]["description"], "The note")


@turns.tests(3)
class Stateful(Case):
    async def asyncSetUp(self) -> None:
        self.write(self.home / "tools" / "notes.py", NOTES)

    async def test_116_a_toolkit_keeps_its_state_from_call_to_call(self) -> None:
        one, two, three = (calls(("Notes_add", {"text": str(n)})) for n in range(3))
        both = calls(("Notes_add", {"text": "a"}), ("Notes_list", {}))
        await self.start(one, DONE, two, three, DONE, both, DONE)
        session = await self.run_session(await self.run_session(await self.run_session()))
        results = self.results(session)
        self.assertEqual([each["content"] for each in results[:4]], ["1", "2", "3", "4"])
        self.assertEqual(json.loads(results[4]["content"]), ["0", "1", "2", "a"])
        self.assertEqual({each["result"]["process"]["id"] for each in results},
                         {results[0]["result"]["process"]["id"]})  # fmt: skip
        self.assertTrue((await self.tools())["Notes_add"]["stateful"])

    async def test_116_sessions_and_keys_share_nothing(self) -> None:
        await self.start(calls(("Notes_add", {"text": "x"})), DONE, calls(("Notes_list", {})), DONE)
        first = await self.run_session()
        other = await self.run_session()
        self.assertNotEqual(first["id"], other["id"])
        self.assertEqual(self.results(other)[0]["content"], "[]")

    async def test_116_a_process_that_ended_is_started_again_and_that_is_said(self) -> None:
        add = calls(("Notes_add", {"text": "x"}))
        await self.start(add, calls(("Notes_crash", {})), add, DONE)
        added, crashed, again = self.results(await self.run_session())
        self.assertEqual(crashed["result"]["status"], "error")
        self.assertNotEqual(added["result"]["process"]["id"], again["result"]["process"]["id"])
        self.assertIn("ended without a result", again["result"]["process"]["restarted"])
        self.assertIn("1\n[notes.py was started anew, without what it had kept:", again["content"])

    async def test_116_a_session_that_goes_back_does_not_meet_what_came_later(self) -> None:
        add = calls(("Notes_add", {"text": "x"}))
        await self.start(add, DONE, add, DONE, add, DONE)
        first = await self.run_session()
        earlier = copy.deepcopy(first)
        later = await self.run_session(first)
        self.assertEqual(self.results(later)[-1]["content"], "2")
        branched = await self.run_session(earlier)
        self.assertTrue(self.results(branched)[-1]["content"].startswith("1\n["))
        self.assertIn("another place", self.results(branched)[-1]["result"]["process"]["restarted"])

    async def test_116_there_are_only_so_many_processes(self) -> None:
        add = calls(("Notes_add", {"text": "x"}))
        await self.start(add, DONE, limits={"stateful_processes": 1})
        first = await self.run_session()
        self.model.scripts[:] = [*self.model.scripts, add, DONE, add, DONE]
        await self.run_session()
        again = await self.run_session(first)
        process = self.results(again)[-1]["result"]["process"]
        self.assertEqual(process["restarted"], "others needed its place")


@turns.tests(3)
class Schemas(Case):
    async def asyncSetUp(self) -> None:
        self.write(self.home / "tools" / "notes.py", NOTES)
        self.write(
            self.home / "tools" / "shop.py", NOTES.replace("Notes", "Shop").replace("move", "ship")
        )

    async def test_115_what_a_toolkit_says_reaches_the_model_and_info(self) -> None:
        await self.start()
        await self.run_session()
        of_all = "Keeps notes of one conversation. Call Notes_list before you add one."
        kit = {"name": "Notes", "description": of_all}
        self.assertEqual((await self.tools())["Notes_list"]["toolkit"], kit)
        told = [n for n, each in self.offered().items() if of_all in each["description"]]
        self.assertEqual(len(told), 1, "once is enough")
        self.assertTrue(told[0].startswith("Notes_"))
        denied: Any = {told[0]: {"deny": True}}
        await self.run_session(**denied)
        others = [n for n, each in self.offered().items() if of_all in each["description"]]
        self.assertEqual(len(others), 1, "another one says it then")

    async def test_119_the_real_names_of_types_everywhere(self) -> None:
        await self.start()
        await self.run_session()
        tools = await self.tools()
        for schema in (
            tools["move"]["parameters"],
            tools["move"]["result_schema"]["properties"]["result"],
            self.offered()["move"]["parameters"],
        ):
            with self.subTest(schema):
                self.assertEqual([*untitled(schema)], [])
        move = tools["move"]["parameters"]["properties"]
        self.assertEqual(move["to"]["title"], "tools.notes.Address")
        self.assertEqual(move["who"]["properties"]["homes"]["title"], "list[tools.notes.Address]")
        self.assertEqual(move["to"]["properties"]["zip"]["title"], "int | None")
        self.assertEqual(move["tags"]["additionalProperties"]["title"], "int")
        ship = tools["ship"]["parameters"]["properties"]
        self.assertEqual(
            ship["to"]["title"], "tools.shop.Address", "and not that of the other file"
        )


def untitled(schema: Json, top: bool = True) -> Any:
    """Schemas of properties, items and objects that say no type's name."""
    if not top and "title" not in schema and "$ref" not in schema:
        yield schema
    for key in ("properties", "$defs"):
        for each in schema.get(key, {}).values():
            yield from untitled(each, False)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from untitled(schema[key], False)
    for each in schema.get("anyOf", ()):
        yield from untitled(each, False)


if __name__ == "__main__":
    unittest.main()
