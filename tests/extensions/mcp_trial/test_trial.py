"""MCP servers that are tried: their tools, what is wrong with them, and that nothing stays."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from server.extensions.mcp_trial.trial import try_server
from server.lib.http.client import Client

from ...tools.mcp_sign_in_server import World
from ..mcp.test_servers import Case, gone

PARROT = str(Path(__file__).parents[2] / "tools" / "mcp_parrot.py")
TOKEN = "tok-A1b2C3d4E5f6G7h8I9"


class Trials(Case):
    async def attempt(self, entry: Any, name: str = "s") -> Any:
        client = Client()
        try:
            return await try_server(name, entry, client, self.home)
        finally:
            await client.close()

    async def test_a_server_that_works(self) -> None:
        for manners, more in (
            (("modern",), {}),
            (("legacy",), {"disabled": True}),
            (("modern", "stubborn"), {"timeout": 5}),
        ):
            with self.subTest(manners, **more):
                self.notes.unlink(missing_ok=True)
                found = await self.attempt(self.entry(*manners, **more))
                self.assertEqual((found["ok"], found["sign_in"]), (True, False))
                names = [tool["name"] for tool in found["tools"]]
                self.assertEqual(len(names), 9)
                self.assertIn("odd.name", names, "as the server calls it")
                self.assertNotIn("problem", found)
                remarks = "\n".join(found["remarks"])
                for words in ("remote: the schema can't be used", "shapeless: its inputSchema"):
                    self.assertIn(words, remarks)
                for line in self.noted():
                    if line.startswith("start "):
                        self.assertTrue(gone(int(line.split()[1])), "its process has ended")

    async def test_a_credential_that_is_repeated_in_every_text(self) -> None:
        entry = {"command": sys.executable, "args": [PARROT], "env": {"SERVICE_TOKEN": TOKEN}}
        found = await self.attempt({**entry, "skills": ["*"]})
        self.assertTrue(found["ok"])
        self.assertIn("***", json.dumps(found))
        self.assertNotIn(TOKEN, json.dumps(found))

    async def test_what_its_entry_leaves_out(self) -> None:
        found = await self.attempt(self.entry("modern", allowedTools=["echo", "a*"]))
        self.assertEqual([tool["name"] for tool in found["tools"]], ["again", "ask", "echo"])

    async def test_what_does_not_work(self) -> None:
        missing = {"command": "/no/such/program"}
        for entry, words in (
            (missing, "program"),
            ({}, "either a `command`"),
            ({"command": "x", "url": "http://x"}, "either a `command`"),
            ({"command": 5}, "command"),
            ({"url": "http://127.0.0.1:1/mcp"}, "cannot be reached"),
            ({"type": "sse", "url": "http://x"}, "sse"),
            ({"command": sys.executable, "nonsense": 1}, "unknown key nonsense"),
            (self.entry("dead"), ""),
            (self.entry("stuck", start_timeout=0.3), "in time"),
            (self.entry("modern", start_timeout="soon"), "start_timeout"),
        ):
            with self.subTest(words, entry=str(entry)[:60]):
                found = await self.attempt(entry)
                self.assertEqual((found["ok"], found["tools"]), (False, []))
                self.assertEqual(found["problem"]["code"], "mcp_failed")
                self.assertIn(words, found["problem"]["detail"])
                self.assertNotIn("mcpServers.", found["problem"]["detail"])

    async def test_no_secret_is_in_what_is_told(self) -> None:
        hidden = "s3cretS3cretS3cret"
        code = f"import sys; sys.stderr.write({hidden!r}[:9] + {hidden!r}[9:]); sys.exit(3)"
        entry = {"command": sys.executable, "args": ["-c", code], "env": {"API_TOKEN": hidden}}
        self.assertNotIn(hidden, json.dumps(await self.attempt(entry)))

    async def test_one_that_wants_a_sign_in(self) -> None:
        world = World()
        await world.start()
        self.addAsyncCleanup(world.close)
        found = await self.attempt({"url": world.url})
        self.assertEqual((found["ok"], found["sign_in"]), (False, True))
        self.assertEqual(found["problem"]["code"], "sign_in_needed")
        self.assertEqual(world.clients, {}, "nobody has begun one")
