"""Real MCP servers as tools: the official Python package of three lines, before and after the
protocol's second era, and two servers of the official TypeScript package, over both transports."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import os
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from server.extensions.mcp.library import McpLibrary
from server.extensions.mcp.servers import McpServers, McpTool
from server.lib.http.client import Client
from server.tools.base import ToolQuestion
from server.tools.runner import Outcome

from ....chaos import processes
from ....fakes import call_server
from ....tooling import patience, ports, tools, turns

SIGN_IN_PEER = str(Path(__file__).with_name("mcp_sign_in_peer.py"))
REDIRECT = "http://127.0.0.1:33418/callback"  # nobody listens: the address alone is read
SCRIPT = str(Path(__file__).with_name("mcp_peer.py"))
START_S = 30.0
LIMITS = {"wall_s": 30.0, "output_kb": 64.0}
LEGACY = {"PYTHONPATH": str(tools.MCP_LEGACY)}
SERVERS = {"PYTHONPATH": str(tools.MCP_SERVERS)}
SILENT = {"PYTHONPATH": f"{tools.MCP_SILENT}:{tools.MCP_LEGACY}"}
EVERYTHING = tools.package("@modelcontextprotocol/server-everything")
FILESYSTEM = tools.package("@modelcontextprotocol/server-filesystem")
MEMORY = tools.package("@modelcontextprotocol/server-memory")
PAGE = (
    b"<html><head><title>Fjords</title></head><body><article><h1>Fjords</h1>"
    b"<p>Fjords are deep, and the water in them is salt; ships go far inland.</p></article></body>"
)
NODE = str(tools.program_node().path)


class Case(unittest.IsolatedAsyncioTestCase):
    async def start(self, entry: dict[str, Any], *left_out: str) -> dict[str, McpTool]:
        """The tools of this server, by its own names, but for those that run as tasks."""
        client = Client()
        self.addAsyncCleanup(client.close)
        self.servers = McpServers({"p": {**entry, "timeout": 30}}, client)
        self.library = McpLibrary(self.servers)
        self.addAsyncCleanup(self.library.close)
        found: list[McpTool] = []
        await self.servers.load(lambda _, listed: found.extend(listed))
        why = "it runs as a task only, which is not supported"
        problems = [f"mcpServers.p: {name}: {why}" for name in left_out]
        self.assertEqual(self.servers.problems, problems)
        return {tool.listed_name or "read_resource": tool for tool in found}

    async def call(self, tool: McpTool, args: Any = None, question: Any = None) -> list[Any]:
        return await call_server(self.servers, tool, args or {}, question, LIMITS)

    async def listen(self, command: list[str], env: dict[str, str]) -> None:
        """Start a server that listens, and wait until it does."""
        log = self.enterContext(tempfile.TemporaryFile())
        environ = {**os.environ, **env}
        process = subprocess.Popen(command, env=environ, stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)


@turns.tests(2)
class Python(Case):
    async def check(self, entry: dict[str, Any], *, modern: bool, in_order: bool = True) -> None:
        listed = await self.start(entry)
        self.assertEqual(set(listed), {"add", "boom", "steps"} | ({"greet"} if modern else set()))
        [added] = await self.call(listed["add"], {"point": {"x": 1}})
        self.assertEqual(added.text, "3")
        [failed] = await self.call(listed["boom"])
        self.assertEqual(failed.status, "error")
        self.assertIn("boom", failed.error["message"])
        live = (await self.call(listed["steps"]))[:-1]
        told = [line.split()[0] for line in live]
        self.assertIn(told, [["1/2", "2/2"]] + ([] if in_order else [["1/2"], []]))
        if modern:
            await self.check_question(listed["greet"])

    async def check_question(self, greet: McpTool) -> None:
        [asked] = await self.call(greet)
        self.assertIsInstance(asked, ToolQuestion)
        self.assertEqual(asked.input["message"], "Your name?")
        answered = {**asked.input, "answer": {"name": "Ann"}}
        [greeted] = await self.call(greet, {}, answered)
        self.assertEqual(greeted.text, "hello Ann")
        for how in ("decline", "cancel"):
            [refused] = await self.call(greet, {}, {**asked.input, "refused": how})
            self.assertEqual(refused.status, "error", "the package makes an error of it")
            self.assertNotIn("forgotten", refused.error["message"])
        [lost] = await self.call(greet, {}, {**answered, "state": answered["state"] + "x"})
        self.assertIsInstance(lost, Outcome)
        self.assertIn("call the tool again", lost.error["message"])

    async def over_http(self, env: dict[str, str], **wanted: Any) -> None:
        (port,) = self.enterContext(ports.held(1))
        await self.listen([sys.executable, SCRIPT, "streamable-http", str(port)], env)
        await asyncio.to_thread(listening, port)
        await self.check({"url": f"http://127.0.0.1:{port}/mcp"}, **wanted)

    async def over_stdio(self, env: dict[str, str], *, modern: bool) -> None:
        entry = {"command": sys.executable, "args": [SCRIPT, "stdio"], "env": env}
        await self.check(entry, modern=modern)

    @tools.needs(tools.module("mcp"))
    async def test_modern(self) -> None:
        await self.over_stdio({}, modern=True)

    @tools.needs(tools.module("mcp"))
    async def test_modern_over_http(self) -> None:
        await self.over_http({}, modern=True)

    @unittest.skipUnless((tools.MCP_LEGACY / "mcp").is_dir(), tools.BY_COMMAND)
    async def test_legacy(self) -> None:
        await self.over_stdio(LEGACY, modern=False)

    @unittest.skipUnless((tools.MCP_LEGACY / "mcp").is_dir(), tools.BY_COMMAND)
    async def test_legacy_over_http(self) -> None:
        await self.over_http(LEGACY, modern=False)

    @unittest.skipUnless((tools.MCP_SILENT / "mcp").is_dir(), tools.BY_COMMAND)
    async def test_silent(self) -> None:
        await self.over_stdio(SILENT, modern=False)

    @unittest.skipUnless((tools.MCP_SILENT / "mcp").is_dir(), tools.BY_COMMAND)
    async def test_silent_over_http(self) -> None:
        # It tells steps in another stream than its answer, which may overtake them.
        await self.over_http(SILENT, modern=False, in_order=False)


class SignIn(Case):
    """The official package as a server with a sign-in, which is its own authorization server."""

    async def listed(self) -> dict[str, McpTool]:
        found: list[McpTool] = []
        await self.servers.load(lambda _, listed: found.extend(listed))
        return {tool.listed_name: tool for tool in found}

    async def sign_in(self) -> None:
        begun = await self.servers.accounts.begin("p", REDIRECT)
        async with await self.client.request("GET", begun.url) as response:
            answer = response.headers["location"]
        await self.servers.accounts.finish(answer)

    @tools.needs(tools.module("mcp"))
    async def test_tokens_end_and_a_person_signs_in_again(self) -> None:
        (port,) = self.enterContext(ports.held(1))
        await self.listen([sys.executable, SIGN_IN_PEER, str(port)], {})
        await asyncio.to_thread(listening, port)
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.client = Client()
        self.addAsyncCleanup(self.client.close)
        home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        entry = {"p": {"url": f"http://127.0.0.1:{port}/mcp", "timeout": 30}}
        self.servers = McpServers(entry, self.client, home=home)
        self.addAsyncCleanup(self.servers.close)
        self.assertEqual(await self.listed(), {})
        await self.sign_in()
        listed = await self.listed()
        self.assertEqual(self.servers.problems, [])
        [noted] = await self.call(listed["note"], {"text": "one"})
        self.assertEqual(noted.text, "noted one")
        await self.call(listed["expire"])
        [renewed] = await self.call(listed["note"], {"text": "two"})
        self.assertEqual(renewed.text, "noted two")
        await self.call(listed["revoke"])
        [asked] = await self.call(listed["note"], {"text": "three"})
        self.assertIsInstance(asked, ToolQuestion)
        self.assertEqual(asked.input["sign_in"], "p")
        await self.sign_in()
        answered = {**asked.input, "answer": {"action": "retry"}}
        [done] = await self.call(listed["note"], {"text": "three"}, answered)
        self.assertEqual(done.text, "noted three")


@turns.tests(2)
class TypeScript(Case):
    async def check_everything(self, entry: dict[str, Any]) -> dict[str, McpTool]:
        listed = await self.start(entry, "simulate-research-query")
        self.assertGreater(len(listed), 8)
        [said] = await self.call(listed["echo"], {"message": "Grüße"})
        self.assertEqual(said.text, "Echo: Grüße")
        [added] = await self.call(listed["get-sum"], {"a": 2, "b": 3})
        self.assertIn("5", added.text)
        [weather] = await self.call(listed["get-structured-content"], {"location": "Chicago"})
        self.assertIn("temperature", weather.result["structuredContent"])
        [picture] = await self.call(listed["get-tiny-image"])
        self.assertIn("image/png", picture.text)
        [wrong] = await self.call(listed["get-sum"], {"a": "no number"})
        self.assertEqual(wrong.status, "error")
        steps = {"duration": 0.2, "steps": 2}
        *live, done = await self.call(listed["trigger-long-running-operation"], steps)
        self.assertEqual([line.split()[0] for line in live], ["1/2", "2/2"])
        self.assertEqual(done.status, "ok")
        return listed

    async def check_library(self) -> None:
        """Resources, prompts and a question of the server that has everything."""
        [about] = await self.library.lists("resources", "templates")
        uris = {each["uri"] for each in about["resources"]}
        self.assertIn("demo://resource/static/document/features.md", uris)
        templates = {each["uriTemplate"] for each in about["templates"]}
        text = "demo://resource/dynamic/text/{resourceId}"
        self.assertIn(text, templates)
        [read] = await self.library.read("p", "demo://resource/dynamic/text/7")
        self.assertIn("Resource 7", read["text"])
        [read] = await self.library.read("p", "demo://resource/dynamic/blob/7")
        self.assertIn(b"Resource 7", base64.b64decode(read["blob"]))
        [about] = await self.library.lists("prompts")
        by_name = {each["name"]: each for each in about["prompts"]}
        self.assertEqual(by_name["args-prompt"]["arguments"][0]["name"], "city")
        found = await self.library.prompt("p", "args-prompt", {"city": "Oslo"})
        self.assertIn("Oslo", found["messages"][0]["text"])
        ref = {"type": "ref/prompt", "name": "completable-prompt"}
        argument = {"name": "department", "value": "Eng"}
        found = await self.library.complete("p", ref, argument, {})
        self.assertEqual(found["values"], ["Engineering"])

    async def check_question(self, listed: dict[str, McpTool]) -> None:
        """Its question comes in the middle of the call, which waits for the answer."""
        tool = listed["trigger-elicitation-request"]
        [asked] = await self.call(tool)
        self.assertIsInstance(asked, ToolQuestion)
        properties = asked.input["response_schema"]["properties"]
        self.assertIn("name", properties)
        [done] = await self.call(tool, {}, {**asked.input, "answer": {"name": "Ann"}})
        self.assertEqual(done.status, "ok", done)
        self.assertIn("Ann", done.text)
        [asked] = await self.call(tool)
        [done] = await self.call(tool, {}, {**asked.input, "refused": "decline"})
        self.assertIn("declined", done.text)

    async def check_updates(self, listed: dict[str, McpTool]) -> None:
        """A resource that was read is subscribed to, and the list says when it changed."""
        uri = "demo://resource/static/document/features.md"
        await self.library.read("p", uri)
        await self.call(listed["toggle-subscriber-updates"])
        async with asyncio.timeout(patience.seconds(START_S)):
            while True:
                [about] = await self.library.lists("resources")
                [entry] = [each for each in about["resources"] if each["uri"] == uri]
                if "updated" in entry:
                    return
                await asyncio.sleep(0.05)

    @tools.needs(EVERYTHING)
    async def test_everything(self) -> None:
        entry = {"command": NODE, "args": [self.program(EVERYTHING), "stdio"]}
        listed = await self.check_everything(entry)
        await self.check_library()
        await self.check_question(listed)
        await self.check_updates(listed)

    @tools.needs(EVERYTHING)
    async def test_everything_over_http(self) -> None:
        (port,) = self.enterContext(ports.held(1))
        command = [NODE, self.program(EVERYTHING), "streamableHttp"]
        await self.listen(command, {"PORT": str(port)})
        await asyncio.to_thread(listening, port)
        entry = {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}
        listed = await self.check_everything(entry)
        await self.check_library()
        await self.check_question(listed)
        await self.check_updates(listed)

    @tools.needs(FILESYSTEM)
    async def test_filesystem(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        entry = {"command": NODE, "args": [self.program(FILESYSTEM), str(folder)], "trust": True}
        listed = await self.start(entry)
        self.assertTrue(listed["read_text_file"].read_only)
        self.assertFalse(listed["write_file"].read_only)
        file = str(folder / "a.txt")
        [written] = await self.call(listed["write_file"], {"path": file, "content": "one\ntwo"})
        self.assertEqual(written.status, "ok", written)
        [read] = await self.call(listed["read_text_file"], {"path": file, "head": 1})
        self.assertEqual(read.text, "one")
        [outside] = await self.call(listed["read_text_file"], {"path": "/etc/passwd"})
        self.assertEqual(outside.status, "error")

    @tools.needs(MEMORY)
    async def test_memory(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        env = {"MEMORY_FILE_PATH": f"{folder}/memory.jsonl"}
        listed = await self.start({"command": NODE, "args": [self.program(MEMORY)], "env": env})
        entity = {"name": "Ann", "entityType": "person", "observations": ["likes Oslo"]}
        [made] = await self.call(listed["create_entities"], {"entities": [entity]})
        self.assertEqual(made.status, "ok", made)
        [found] = await self.call(listed["search_nodes"], {"query": "oslo"})
        self.assertIn("likes Oslo", found.text)
        graph = "memory://knowledge-graph"
        outcome = await self.library.outcome("p", {"uri": graph}, LIMITS)
        self.assertIn("likes Oslo", outcome.text)
        [made] = await self.call(listed["create_entities"], {"entities": [{**entity, "name": "B"}]})
        async with asyncio.timeout(patience.seconds(START_S)):
            while not (await self.library.lists("resources"))[0]["resources"][0].get("updated"):
                await asyncio.sleep(0.05)

    def program(self, package: tools.Tool) -> str:
        return str((package.path or Path()) / "dist" / "index.js")


@turns.tests(3)
@unittest.skipUnless((tools.MCP_SERVERS / "mcp_server_git").is_dir(), tools.BY_COMMAND)
class PythonServers(Case):
    """Servers of the protocol's makers, in Python."""

    def entry(self, module: str, *args: str) -> dict[str, Any]:
        return {"command": sys.executable, "args": ["-m", module, *args], "env": SERVERS}

    async def test_time(self) -> None:
        listed = await self.start(self.entry("mcp_server_time", "--local-timezone=Asia/Tokyo"))
        self.assertEqual(set(listed), {"get_current_time", "convert_time"}, "it has no resources")
        times = {"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Kolkata"}
        [told] = await self.call(listed["convert_time"], times)
        self.assertIn("18:00", told.text)
        [wrong] = await self.call(listed["get_current_time"], {"timezone": "Nowhere/None"})
        self.assertEqual(wrong.status, "error")

    async def test_git(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        (folder / "größe.txt").write_text("eins\n")
        git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "the first"]):
            subprocess.run([*git, *command], check=True)
        listed = await self.start(self.entry("mcp_server_git", "--repository", str(folder)))
        (folder / "größe.txt").write_text("zwei\n")
        place = {"repo_path": str(folder)}
        [status] = await self.call(listed["git_status"], place)
        self.assertIn("modified", status.text)
        [diff] = await self.call(listed["git_diff_unstaged"], place)
        self.assertIn("+zwei", diff.text)
        [log] = await self.call(listed["git_log"], place)
        self.assertIn("the first", log.text)
        [wrong] = await self.call(listed["git_status"], {"repo_path": "/"})
        self.assertEqual(wrong.status, "error")

    async def test_fetch(self) -> None:
        class Page(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                robots = self.path == "/robots.txt"
                body = b"User-agent: *\nDisallow: /no\n" if robots else PAGE
                self.send_response(200)
                self.send_header("Content-Type", "text/plain" if robots else "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        pages = ThreadingHTTPServer(("127.0.0.1", 0), Page)
        thread = threading.Thread(target=pages.serve_forever, name="pages")
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(pages.server_close)
        self.addCleanup(pages.shutdown)
        url = f"http://127.0.0.1:{pages.server_address[1]}"
        listed = await self.start(self.entry("mcp_server_fetch", "--allow-private-ips"))
        [read] = await self.call(listed["fetch"], {"url": f"{url}/page"})
        self.assertIn("Fjords are deep", read.text)
        [denied] = await self.call(listed["fetch"], {"url": f"{url}/no"})
        self.assertEqual(denied.status, "error")
        [about] = await self.library.lists("prompts")
        self.assertEqual([each["name"] for each in about["prompts"]], ["fetch"])
        found = await self.library.prompt("p", "fetch", {"url": f"{url}/page"})
        self.assertIn("Fjords are deep", found["messages"][0]["text"])


def listening(port: int) -> None:
    def answers() -> bool:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        return False

    assert processes.until(answers, START_S), f"nobody listens on {port}"
