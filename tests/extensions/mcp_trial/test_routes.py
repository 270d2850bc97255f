"""`/settings/try/mcp`: whose keys may try what, where secrets go, and where they never do."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Any

from server.api.auth import Keys

from ..settings.served_trials import SECRET, Case

SCRIPT = str(Path(__file__).parents[2] / "tools" / "mcp_server.py")
MCP = "/settings/try/mcp"


class McpServers(Case):
    @property
    def notes(self) -> Path:
        return self.home / "notes"

    async def test_only_owners_try_anything(self) -> None:
        await self.start()
        for key, status in (("b", 403), ("", 401), ("c", 401)):
            with self.subTest(key):
                call = await self.ask(MCP, {"name": "x", "entry": {}}, key)
                self.assertEqual(call.status, status)

    async def test_bodies_that_say_nothing(self) -> None:
        await self.start()
        bodies: tuple[Any, ...] = ({}, {"name": "x", "entry": []}, {"name": "x" * 201, "entry": {}})
        for body in bodies:
            with self.subTest(body=str(body)[:60]):
                await self.refused(MCP, body, "request_invalid")

    async def test_a_program_that_embeds_yaa_has_none(self) -> None:
        """What an owner's key could start belongs to that program."""
        await self.start(live=None)
        call = await self.ask(MCP, {"name": "x", "entry": self.entry()})
        self.assertEqual((call.status, self.notes.exists()), (404, False))

    def entry(self, **more: Any) -> Any:
        return {"command": sys.executable, "args": [SCRIPT, str(self.notes), "modern"], **more}

    async def test_an_entry_and_a_saved_one(self) -> None:
        await self.start({"server.mcpServers": {"notes": self.entry()}})
        for body in ({"name": "new", "entry": self.entry()}, {"name": "notes"}):
            call = await self.ask(MCP, body)
            with self.subTest(body):
                self.assertEqual((call.status, call.json["ok"]), (200, True))
                self.assertIn("echo", [tool["name"] for tool in call.json["tools"]])
        await self.refused(MCP, {"name": "other"}, "not_found", "no MCP server 'other'")

    async def test_who_may_start_programs(self) -> None:
        loose = Keys([], required=False)
        entry = self.entry()
        await self.start({"server.auth_required": False}, loose)
        call = await self.ask(MCP, {"name": "x", "entry": entry}, "")
        self.assertEqual((call.status, call.json["code"]), (403, "forbidden"))
        self.assertFalse(self.notes.exists(), "nothing was started")

    async def test_over_the_network_only_what_is_configured_starts(self) -> None:
        saved = self.entry(env={"A_TOKEN": "token-0123456789"})
        await self.start({"server.host": "0.0.0.0", "server.mcpServers": {"notes": saved}})
        started = self.notes.read_text()
        for changed in (
            {"args": ["-c", "open('x', 'w')"]},
            {"command": "/bin/sh"},
            {"env": {"LD_PRELOAD": "/tmp/x.so"}},
            {"cwd": "/tmp"},
        ):
            with self.subTest(changed):
                body = {"name": "notes", "entry": {**saved, **changed}}
                call = await self.ask(MCP, body)
                self.assertEqual((call.status, call.json["code"]), (403, "forbidden"))
        self.assertEqual(self.notes.read_text(), started, "nothing more was started")
        for more in ({}, {"entry": {**saved, "timeout": 5}}):
            self.assertTrue((await self.ask(MCP, {"name": "notes", **more})).json["ok"])

    async def test_over_the_network_nothing_of_the_machine_is_tried(self) -> None:
        await self.start({"server.host": "0.0.0.0", "server.hosts": ["me.example"]})
        inner = self.other.url
        signing = {"grant": "jwt_bearer", "clientId": "c", "assertionFile": "/etc/passwd"}
        for body in (
            {"name": "x", "entry": {"url": inner}},
            {"name": "x", "entry": {"httpUrl": inner}},
            {"name": "x", "entry": {"url": "https://8.8.8.8/mcp", "oauth": signing}},
            {"name": "x", "entry": {"url": "https://8.8.8.8", "oauth": {"issuer": inner}}},
        ):
            with self.subTest(body):
                call = await self.refused(MCP, body, "forbidden")
                self.assertNotIn("root:", call.answer.decode())
        self.assertEqual(self.other.requests, [])

    async def test_a_kept_secret_stays_with_its_server(self) -> None:
        url = self.model.url
        saved: dict[str, Any] = {
            "notes": self.entry(env={"A_TOKEN": "token-0123456789"}),
            "web": {"url": url, "headers": {"X-Token": "token-0123456789"}},
            "keyed": {"command": "true", "args": ["-v", "--api-key", "token-0123456789"]},
        }
        await self.start({"server.mcpServers": saved})
        env = {"A_TOKEN": SECRET}
        call = await self.ask(MCP, {"name": "notes", "entry": self.entry(env=env)})
        self.assertTrue(call.json["ok"])
        self.assertIn("A_TOKEN=token-0123456789", self.notes.read_text())
        started = self.notes.read_text()
        kept = {"headers": {"X-Token": SECRET}}
        for name, entry in (
            ("notes", {**self.entry(env=env), "command": "/usr/bin/env"}),
            ("notes", {**self.entry(env=env), "args": [SCRIPT, "x"]}),
            ("keyed", {"command": "/usr/bin/env", "args": ["-v", "--api-key", "***"]}),
            ("web", {"url": self.other.url, **kept}),
            ("web", {"serverUrl": self.other.url, **kept}),
            ("web", {"url": url, **kept, "oauth": {"issuer": self.other.url}}),
        ):
            with self.subTest(name, entry=str(entry)[:80]):
                call = await self.refused(MCP, {"name": name, "entry": entry}, "request_invalid")
                self.assertIn("saved secrets belong", call.json["detail"])
                self.assertNotIn("token-0123456789", call.answer.decode())
        for entry in ({"url": self.other.url, "headers": {"X": "${HOME}"}}, self.entry(env=env)):
            body = {"name": "new", "entry": entry}
            await self.refused(MCP, body, "request_invalid")
        self.assertEqual(self.other.requests, [])
        self.assertEqual(self.notes.read_text(), started)


if __name__ == "__main__":
    unittest.main()
