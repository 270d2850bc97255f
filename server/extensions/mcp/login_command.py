"""The command `mcp`: sign in at MCP servers, sign out, and list them.

The answer of the browser comes to a port of this machine. If the browser runs on another machine,
its last address is pasted here instead.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import threading
from collections.abc import Mapping
from typing import Self, TextIO

from ...config import Config, ConfigError
from ...lib.http.client import Client
from ...lib.http.problem_page import HEADERS
from ...lib.runtime.event_loop import run
from ...telemetry import log
from .oauth.grants import read_response
from .oauth.metadata import OAuthError
from .oauth.sign_in import VALID_S, SignIn
from .servers import McpServers, McpTool
from .sign_in_routes import result_page

MAX_HEAD = 32_768  # bytes of a request to the port
HEAD_S = 10.0
PATH = "/callback"
STATES = {"signed_in": "signed in", "needed": "wants a sign-in", "": "not signed in"}


def perform(config: Config, env: Mapping[str, str], options: argparse.Namespace) -> int:
    """Perform `mcp list`, `mcp login NAME` or `mcp logout NAME`; return the exit code."""
    return run(_perform(config, env, options))


async def _perform(config: Config, env: Mapping[str, str], options: argparse.Namespace) -> int:
    log.setup("error")
    configured = config.server["mcpServers"]
    if options.action != "list" and options.name not in configured:
        names = ", ".join(configured) or "none"
        raise ConfigError(f"server.mcpServers has no {options.name!r}; those it has: {names}")
    only = configured if options.action == "list" else {options.name: configured[options.name]}
    client = Client(env)
    servers = McpServers(only, client, home=config.home)
    try:
        match options.action:
            case "list":
                _list(servers, configured)
            case "logout":
                known = await servers.accounts.forget(options.name)
                print(f"{options.name}: {'signed out' if known else 'was not signed in'}")
            case _:
                await _login(servers, options.name)
    except OAuthError as error:
        print(f"yaa: {options.name}: {error}", file=sys.stderr)
        return 1
    finally:
        await servers.close()
        await client.close()
    return 0


def _list(servers: McpServers, configured: Mapping[str, object]) -> None:
    known = {each["server"]: each for each in servers.accounts.info()}
    for name in configured:
        about = known.get(name)
        if about is None:
            print(f"{name}: no sign-in")
            continue
        more = f", by {about['issuer']}" if about.get("issuer") else ""
        scopes = f" ({' '.join(about['scopes'])})" if about.get("scopes") else ""
        print(f"{name}: {STATES[about['state']]} at {about['host']}{more}{scopes}")
    for problem in servers.problems:
        print(f"yaa: {problem}", file=sys.stderr)


async def _login(servers: McpServers, name: str) -> None:
    """Have a person sign in, then list the server's tools. Raises OAuthError."""
    async with Callbacks() as callbacks:
        port = await callbacks.listen(servers.accounts.callback_port(name))
        begun = await servers.accounts.begin(name, f"http://127.0.0.1:{port}{PATH}")
        print(f"Sign in at {begun.issuer} for the MCP server {name}:\n\n{begun.url}\n")
        print("If the browser is on another machine, its last page will not load: paste its")
        print("address here and press Enter. Waiting …", flush=True)
        callbacks.read_lines(sys.stdin)
        try:
            async with asyncio.timeout(VALID_S):
                await _finish(servers, begun, callbacks.answers)
        except TimeoutError:
            raise OAuthError(f"nobody signed in within {VALID_S / 60:g} minutes") from None
    print(f"Signed in at {name}.")
    tools: list[McpTool] = []
    await servers.load(lambda _, listed: tools.extend(listed))
    for problem in servers.problems:
        print(f"yaa: {problem}", file=sys.stderr)
    if not servers.problems:
        print(f"It has {len(tools)} tools. A running yaa takes them with one of its next runs.")


class Answer:
    """An answer of the browser: `text`, an address. `result`: what the browser is shown."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.result: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()


async def _finish(servers: McpServers, begun: SignIn, answers: asyncio.Queue[Answer]) -> None:
    """Take answers until one is of this sign-in; others may be anybody's. Raises OAuthError."""
    while True:
        answer = await answers.get()
        try:
            if read_response(answer.text)["state"] != begun.state:
                raise OAuthError("this is the address of another sign-in")
        except OAuthError as error:
            answer.result.set_result((400, str(error)))
            print(f"yaa: {error}; still waiting …", file=sys.stderr, flush=True)
            continue
        try:
            await servers.accounts.finish(answer.text)
        except OAuthError as error:
            answer.result.set_result((400, f"The sign-in failed: {error}"))
            raise
        answer.result.set_result((200, "Signed in. You can close this page."))
        return


class Callbacks:
    """The answers of browsers: requests to a port of this machine, and lines that are typed."""

    def __init__(self) -> None:
        self.answers: asyncio.Queue[Answer] = asyncio.Queue()
        self._listener: asyncio.Server | None = None
        self._pages: set[asyncio.Task[None]] = set()

    async def listen(self, port: int) -> int:
        """Take requests on a port, 0 for a free one, and return it. Raises OAuthError."""
        try:
            self._listener = await asyncio.start_server(
                self._take, "127.0.0.1", port, limit=MAX_HEAD
            )
        except OSError as error:
            raise OAuthError(f"the port {port} of oauth.callbackPort: {error.strerror}") from None
        found: int = self._listener.sockets[0].getsockname()[1]
        return found

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening once the pages that are due were sent."""
        if self._listener is not None:
            self._listener.close()
        while not self.answers.empty():
            self.answers.get_nowait().result.set_result((410, "This sign-in is over."))
        if self._pages:
            await asyncio.wait(self._pages, timeout=HEAD_S)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request of a browser."""
        try:
            async with asyncio.timeout(HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
            method, _, rest = head.split(b"\r\n")[0].decode("latin-1").partition(" ")
            target = rest.partition(" ")[0]
            answer = Answer(target)
            if method == "GET" and target.partition("?")[0] == PATH:
                self.answers.put_nowait(answer)
            else:
                answer.result.set_result((404, "There is nothing here."))
            page = asyncio.create_task(_send_page(writer, answer))
            self._pages.add(page)
            page.add_done_callback(self._pages.discard)
            await page
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    def read_lines(self, source: TextIO) -> None:
        """Take the lines that are typed. The thread ends with the program."""
        loop = asyncio.get_running_loop()

        def put(line: str) -> None:
            """Take one line, in the event loop."""
            self.answers.put_nowait(Answer(line))

        def read() -> None:
            """Read until the end of the input."""
            for line in source:
                if line.strip():
                    with contextlib.suppress(RuntimeError):  # the loop is closed
                        loop.call_soon_threadsafe(put, line)

        threading.Thread(target=read, name="stdin", daemon=True).start()


async def _send_page(writer: asyncio.StreamWriter, answer: Answer) -> None:
    """Send what came of an answer, once that is known."""
    status, text = await answer.result
    body = result_page(text)
    fields = {**HEADERS, "Content-Length": str(len(body)), "Connection": "close"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer.write(f"HTTP/1.1 {status} -\r\n{lines}\r\n".encode() + body)
    await writer.drain()
