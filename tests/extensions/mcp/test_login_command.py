"""`mcp login`, `logout` and `list` as processes, with a browser that is played here."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import tempfile
import unittest
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from server.lib.http.client import Client, ClientError

from ...tooling import ports, tools
from ...tools.mcp_sign_in_server import World

PATIENCE_S = 120


class Login(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.world = World()
        await self.world.start()
        self.addAsyncCleanup(self.world.close)
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()), "home")
        self.home.mkdir(mode=0o700)
        self.entry = {"url": self.world.url}
        self.client = Client()
        self.addAsyncCleanup(self.client.close)

    async def start(self, *arguments: str) -> Process:
        servers = {"notes": self.entry, "files": {"command": "true"}}
        text = json.dumps({"server": {"mcpServers": servers, "discover": False}})
        (self.home / "config.json").write_text(text)
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-W", "error", "-m", "server", "mcp", *arguments),
            cwd=tools.ROOT,
            env={**os.environ, "YAA_HOME": str(self.home)},
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
        )

    async def end(self, process: Process) -> tuple[int | None, str, str]:
        async with asyncio.timeout(PATIENCE_S):
            out, err = await process.communicate()
        self.assertNotIn(b"Traceback", err)
        return process.returncode, out.decode(), err.decode()

    async def link(self, process: Process) -> str:
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            while line := (await process.stdout.readline()).decode().strip():
                self.assertTrue(line.startswith("Sign in at"), line)
            return (await process.stdout.readline()).decode().strip()

    async def get(self, url: str) -> tuple[int, str]:
        async with await self.client.request("GET", url) as response:
            return response.status, (await response.read(10_000)).decode()

    async def test_the_browser_of_this_machine(self) -> None:
        process = await self.start("login", "notes")
        answer = await self.world.browse(await self.link(process))
        forged = answer.replace("state=", "state=x")
        self.assertEqual((await self.get(forged))[0], 400, "somebody else's, it waits on")
        self.assertEqual((await self.get(answer.replace("/callback", "/other")))[0], 404)
        status, page = await self.get(answer)
        self.assertEqual(status, 200)
        self.assertIn("Signed in. You can close this page.", page)
        code, out, err = await self.end(process)
        self.assertEqual(code, 0, err)
        self.assertIn("It has 2 tools", out)
        for token in (*self.world.valid, *self.world.refreshable):
            self.assertNotIn(token, out + err)
        listed = await self.end(await self.start("list"))
        self.assertIn(f"signed in at {urlsplit(self.world.url).netloc}", listed[1])
        self.assertIn(f"by {self.world.issuer} (read)", listed[1])
        self.assertIn("files: no sign-in", listed[1])
        gone = await self.end(await self.start("logout", "notes"))
        self.assertEqual(gone[:2], (0, "notes: signed out\n"))
        again = await self.end(await self.start("logout", "notes"))
        self.assertEqual(again[1], "notes: was not signed in\n")

    async def test_the_browser_of_another_machine(self) -> None:
        process = await self.start("login", "notes")
        answer = await self.world.browse(await self.link(process))
        assert process.stdin is not None
        process.stdin.write(f"nonsense\n\n  {answer}\n".encode())
        await process.stdin.drain()
        code, out, err = await self.end(process)
        self.assertEqual((code, "Signed in at notes." in out), (0, True), err)
        self.assertIn("still waiting", err)

    async def test_a_person_who_refuses(self) -> None:
        process = await self.start("login", "notes")
        url = await self.link(process)
        params = dict(parse_qsl(urlsplit(url).query))
        told = f"state={params['state']}&iss={self.world.issuer}&error=access_denied"
        status, page = await self.get(f"{params['redirect_uri']}?{told}&error_description=%3Cb%3E")
        self.assertEqual(status, 400)
        self.assertIn("access_denied (&lt;b&gt;)", page)
        code, _, err = await self.end(process)
        self.assertEqual(code, 1)
        self.assertIn("yaa: notes: the authorization server refused: access_denied", err)

    async def test_a_port_of_the_configuration(self) -> None:
        (port,) = self.enterContext(ports.held(1))
        with socket.create_server(("127.0.0.1", port)):
            self.entry["oauth"] = {"callbackPort": port}  # type: ignore[assignment]
            process = await self.start("login", "notes")
            code, _, err = await self.end(process)
            self.assertEqual(code, 1)
            self.assertIn(f"the port {port} of oauth.callbackPort", err)
        process = await self.start("login", "notes")
        params = dict(parse_qsl(urlsplit(await self.link(process)).query))
        self.assertEqual(params["redirect_uri"], f"http://127.0.0.1:{port}/callback")
        process.kill()
        await self.end(process)

    async def test_names_that_do_not_sign_in(self) -> None:
        for name, code, words in (
            ("other", 2, "server.mcpServers has no 'other'; those it has: notes, files"),
            ("files", 1, "no MCP server 'files' takes a sign-in"),
        ):
            with self.subTest(name):
                found, _, err = await self.end(await self.start("login", name))
                self.assertEqual(found, code, err)
                self.assertIn(words, err)

    async def test_a_server_that_is_away(self) -> None:
        await self.world.mcp.close()
        code, _, err = await self.end(await self.start("login", "notes"))
        self.assertEqual(code, 1)
        self.assertIn("yaa: notes: ", err)

    async def test_nobody_listens_afterwards(self) -> None:
        process = await self.start("login", "notes")
        answer = await self.world.browse(await self.link(process))
        await self.get(answer)
        await self.end(process)
        with self.assertRaises(ClientError):
            await self.get(answer)
