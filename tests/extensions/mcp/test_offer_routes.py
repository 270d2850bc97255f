"""`/mcp/…`: resources and prompts of MCP servers, for a page with a key."""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.api.auth import Keys
from server.app import App, routes
from server.config import load

from ...api import fakes

KIND = {"Content-Type": "application/json"}
SCRIPT = str(Path(__file__).parents[2] / "tools" / "mcp_library.py")


class Case(unittest.IsolatedAsyncioTestCase):
    async def start(self, **flags: Any) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.notes = folder / "notes"
        servers = {
            name: {"command": sys.executable, "args": [SCRIPT, f"{self.notes}{name}", era, *how]}
            for name, era, how in (
                ("old", "legacy", []),
                ("new", "modern", ["bare"]),
                ("bad", "legacy", ["refusing"]),
            )
        }
        given = {"server.discover": False, "server.sandbox.require": "none"}
        given |= {"server.mcpServers": servers, **flags}
        app = await self.enterAsyncContext(App(load(folder / "home", None, {}, given), {}))
        self.app, self.router = app, routes(app, Keys([], "k"))

    async def ask(self, path: str, body: Any = None, key: str = "k") -> Any:
        """(status, answer)"""
        head = {**KIND, "Authorization": f"Bearer {key}"}
        method = "GET" if body is None else "POST"
        data = b"" if body is None else json.dumps(body).encode()
        asked = fakes.Call(method, path, head, data)
        await self.router(asked.exchange)
        return asked.status, asked.json


class Offers(Case):
    async def test_lists_of_several_servers(self) -> None:
        await self.start()
        status, found = await self.ask("/mcp/resources")
        self.assertEqual(status, 200)
        by_name = {each["name"]: each for each in found["servers"]}
        self.assertEqual([*by_name], ["old", "new", "bad"], "in the order of the configuration")
        self.assertEqual(len(by_name["old"]["resources"]), 3)
        self.assertEqual(by_name["new"]["templates"][0]["uriTemplate"], "note:///{id}")
        self.assertEqual(by_name["bad"], {"name": "bad", "problem": "go away"})
        status, found = await self.ask("/mcp/prompts")
        names = [[each["name"] for each in one.get("prompts", ())] for one in found["servers"]]
        self.assertEqual(names, [["review", "plain"], ["review", "plain"], []])

    async def test_reading(self) -> None:
        await self.start()
        status, found = await self.ask("/mcp/resource", {"server": "new", "uri": "note:///one"})
        content = {"uri": "note:///one", "mimeType": "text/plain", "text": "content of note:///one"}
        wanted = {"server": "new", "uri": "note:///one", "contents": [content]}
        self.assertEqual((status, found), (200, wanted))
        status, found = await self.ask("/mcp/resource", {"server": "old", "uri": "note:///half"})
        self.assertEqual((status, found["contents"][0]["text"]), (200, "half \ufffd pair"))
        arguments = {"what": "it"}
        body: Any = {"server": "old", "name": "review", "arguments": arguments}
        status, found = await self.ask("/mcp/prompt", body)
        self.assertEqual(found["messages"][0], {"role": "user", "text": "Review it, kindly."})
        body = {"server": "old", "argument": "tone", "value": "k", "arguments": arguments}
        for more in ({"prompt": "review"}, {"template": "note:///{id}"}):
            status, found = await self.ask("/mcp/complete", {**body, **more})
            self.assertEqual((status, found["values"]), (200, ["kly", "kness", "it"]))

    async def test_refusals(self) -> None:
        await self.start()
        read = {"server": "old", "uri": "note:///one"}
        ask = {"server": "old", "argument": "tone", "value": "k"}
        wrong: list[tuple[str, Any, int, str]] = [
            ("/mcp/resource", {**read, "uri": "note:///missing"}, 502, "mcp_failed"),
            ("/mcp/resource", {**read, "server": "bad"}, 502, "mcp_failed"),
            ("/mcp/resource", {**read, "server": "other"}, 404, "not_found"),
            ("/mcp/resource", {**read, "uri": "no scheme"}, 422, "request_invalid"),
            ("/mcp/resource", {**read, "uri": 5}, 400, "request_invalid"),
            ("/mcp/resource", {**read, "url": "http://10.0.0.1"}, 400, "request_invalid"),
            ("/mcp/resource", {"server": "old"}, 400, "request_invalid"),
            ("/mcp/prompt", {"server": "old", "name": "review"}, 502, "mcp_failed"),
            ("/mcp/prompt", {"server": "other", "name": "review"}, 404, "not_found"),
            ("/mcp/prompt", {"server": "old", "name": "", "arguments": {}}, 400, "request_invalid"),
            ("/mcp/prompt", {"server": "old", "name": "a", "arguments": {"a": 5}}, 400, ""),
            ("/mcp/complete", ask, 422, "request_invalid"),
            ("/mcp/complete", {**ask, "prompt": "a", "template": "b:c"}, 422, "request_invalid"),
        ]
        for path, body, status, code in wrong:
            with self.subTest(path, body=body):
                found, answer = await self.ask(path, body)
                self.assertEqual((found, answer["code"]), (status, code or "request_invalid"))
        for path in ("/mcp/resources", "/mcp/prompts"):
            status, _ = await self.ask(path, key="wrong")
            self.assertEqual(status, 401)
        status, _ = await self.ask("/mcp/resource", read, key="wrong")
        self.assertEqual(status, 401)

    async def test_what_the_policy_denies_is_not_read(self) -> None:
        await self.start(**{"server.tools": {"mcp__old__read_resource": {"ceiling": "deny"}}})
        _, found = await self.ask("/mcp/resources")
        self.assertEqual([each["name"] for each in found["servers"]], ["new", "bad"])
        read = {"server": "old", "uri": "note:///one"}
        status, answer = await self.ask("/mcp/resource", read)
        self.assertEqual((status, answer["code"]), (404, "not_found"))
        template = {"server": "old", "template": "a:b", "argument": "a", "value": ""}
        status, _ = await self.ask("/mcp/complete", template)
        self.assertEqual(status, 404)
        asked = Path(f"{self.notes}old").read_text()
        self.assertNotIn("resources/read", asked)
        self.assertNotIn("completion/", asked)


if __name__ == "__main__":
    unittest.main()
