"""`/settings/agents`: the owner's agent files, edited from the page."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.api.auth import Keys
from server.api.router import Router
from server.extensions.agents.registry import AgentRegistry
from server.extensions.agents.routes import SettingsAgents
from server.session.agent_definition import MAX_FILE

from ...api import fakes
from ...api.fakes import KEYS, TYPE, nothing

AGENT: Any = {"description": "talks like a pirate", "systemPrompt": "Arr.\n", "mode": "react"}


class Agents(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.folder = self.home / "agents"
        self.router = Router(SettingsAgents(self.folder).routes(), nothing, Keys(KEYS))

    async def ask(self, method: str, name: str = "", body: Any = None, key: str = "a") -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        path = "/settings/agents" + (f"/{name}" if name else "")
        fields = {**TYPE, "Authorization": f"Bearer {key * 20}"} if key else {}
        call = fakes.Call(method, path, fields, data)
        await self.router(call.exchange)
        return call

    async def put(self, name: str, agent: Any = None, **more: Any) -> Any:
        return await self.ask("PUT", name, {"agent": AGENT if agent is None else agent, **more})

    async def listed(self) -> dict[str, Any]:
        found = (await self.ask("GET")).json["agents"]
        return {each["name"]: each for each in found}

    async def test_create_edit_delete(self) -> None:
        self.assertEqual((await self.put("pirate")).status, 200)
        pirate = (await self.listed())["pirate"]
        self.assertEqual((pirate["agent"], pirate["problems"]), (AGENT, []))
        self.assertEqual(json.loads(pirate["text"]), AGENT)
        self.assertFalse(pirate["built_in"])
        file = self.folder / "pirate.json"
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        registry = AgentRegistry(self.folder)
        self.assertEqual(registry.resolve({"agent": "pirate"})["mode"], "react")
        await self.put("pirate", {**AGENT, "mode": "plain"})
        self.assertEqual(registry.resolve({"agent": "pirate"})["mode"], "plain", "at once")
        self.assertEqual((await self.ask("DELETE", "pirate")).status, 200)
        self.assertFalse(file.exists())
        self.assertEqual((await self.ask("DELETE", "pirate")).status, 404)
        self.assertEqual([*self.folder.iterdir()], [])

    async def test_a_built_in_one_is_covered_and_comes_back(self) -> None:
        self.assertTrue((await self.listed())["coder"]["built_in"])
        await self.put("coder")
        self.assertFalse((await self.listed())["coder"]["built_in"])
        await self.ask("DELETE", "coder")
        self.assertTrue((await self.listed())["coder"]["built_in"])
        self.assertEqual((await self.ask("DELETE", "coder")).status, 404)

    async def test_two_edits_of_one_file(self) -> None:
        self.assertEqual((await self.put("pirate", revision="x")).status, 409)
        self.assertEqual((await self.put("pirate", revision="")).status, 200)
        seen = (await self.listed())["pirate"]["revision"]
        self.assertEqual((await self.put("pirate", {**AGENT, "mode": "plain"})).status, 200)
        late = await self.put("pirate", revision=seen)
        self.assertEqual((late.status, late.json["code"]), (409, "revision_changed"))
        self.assertEqual((await self.listed())["pirate"]["agent"]["mode"], "plain")
        self.assertEqual((await self.put("pirate", revision="")).status, 409)

    async def test_names(self) -> None:
        for name in (
            "..",
            "%2e%2e%2fx",
            "..%2fconfig",
            "a%2fb",
            "%20",
            ".x",
            "x.json",
            "-x",
            "a%00",
        ):
            for method, body in (("PUT", {"agent": AGENT}), ("DELETE", None)):
                with self.subTest(name, method=method):
                    call = await self.ask(method, name, body)
                    self.assertEqual((call.status, call.json["code"]), (422, "request_invalid"))
        self.assertEqual([*self.home.iterdir()], [])
        self.assertEqual((await self.put("__proto__")).status, 422)
        self.assertEqual((await self.put("constructor")).status, 200)

    async def test_what_is_no_agent(self) -> None:
        await self.put("pirate")
        agents: list[Any] = [
            *({"mode": "quick"}, {"systemPrompt": 5}, {"nonsense": 1}, {"tools": {}}),
            *({"systemPrompt": "@missing.md"}, {"systemPrompt": "@../secret.md"}),
            {"description": "x" * (MAX_FILE + 1)},
        ]
        for agent in agents:
            with self.subTest(str(agent)[:40]):
                call = await self.put("pirate", agent)
                self.assertIn(call.status, (400, 413, 422))
                self.assertEqual((await self.listed())["pirate"]["agent"], AGENT)
        bodies: list[Any] = [{}, {"agent": []}, {"agent": AGENT, "other": 1}]
        for body in bodies:
            with self.subTest(body):
                self.assertEqual((await self.ask("PUT", "pirate", body)).status, 400)

    async def test_links_are_not_followed(self) -> None:
        secret = self.home / "secret.json"
        secret.write_text('{"description": "hidden"}')
        self.folder.mkdir()
        (self.folder / "a.json").symlink_to(secret)
        os.mkfifo(self.folder / "b.json")
        (self.folder / "c.json").mkdir()
        (self.folder / "d.json").write_bytes(b"\xff{")
        (self.folder / "e.json").write_text("{")
        found = await self.listed()
        for name in "abcde":
            with self.subTest(name):
                self.assertTrue(found[name]["problems"])
        self.assertNotIn("hidden", json.dumps(found))
        self.assertEqual((await self.put("a")).status, 200)
        self.assertEqual(secret.read_text(), '{"description": "hidden"}')
        self.assertFalse((self.folder / "a.json").is_symlink())
        self.assertEqual((await self.put("c")).json["code"], "settings_invalid")

    async def test_only_owners(self) -> None:
        for key, status in (("b", 403), ("c", 401), ("", 401)):
            for method, name, body in (
                *(("GET", "", None), ("PUT", "pirate", {"agent": AGENT})),
                ("DELETE", "pirate", None),
            ):
                with self.subTest(method, key=key):
                    self.assertEqual((await self.ask(method, name, body, key)).status, status)
        self.assertFalse(self.folder.exists())


if __name__ == "__main__":
    unittest.main()
