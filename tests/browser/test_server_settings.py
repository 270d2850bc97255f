"""A model connected in the page from an empty home, and the server's settings, by its owner."""

from __future__ import annotations

import json
import stat
import sys
import tempfile
import threading
import unittest
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from server.extensions import present

from ..tooling import tools
from ..tooling.child import Child
from . import walks
from .folder_servers import OrderedModel

KEY = "sk-scripted-0123456789abcdef0123456789"
MODELS = ["scripted-large", "scripted-small"]
GUEST = "a-key-of-a-guest-0123456789"
# A server of two people, with the demo alone.
SHARED = {
    "server": {
        "discover": False,
        "api_keys": [
            {"name": "ann", "key": "a-key-of-the-owner-0123456789", "owner": True},
            {"name": "bob", "key": GUEST},
        ],
    }
}
# One that does not know vendors, with the demo alone.
PLAIN = {"server": {"discover": False, "extensions": [*({*present()} - {"vendors", "key_trial"})]}}
MCP = """
import json, sys
for line in sys.stdin:
    said = json.loads(line)
    if "id" not in said:
        continue
    tool = {"name": "count_words", "description": "Counts words", "inputSchema": {"type": "object"}}
    info = {"name": "words", "version": "1"}
    start = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    found = {"initialize": start, "tools/list": {"tools": [tool]}}.get(said["method"])
    error = {"error": {"code": -32601, "message": "no such method"}}
    answer = error if found is None else {"result": found}
    print(json.dumps({"jsonrpc": "2.0", "id": said["id"], **answer}), flush=True)
"""


class KeyedModel(OrderedModel):
    """A provider that wants a key and names its models. While `silent`, it answers nothing."""

    def __init__(self, stack: ExitStack) -> None:
        super().__init__(stack)
        self.keys: list[str] = []
        self.asked, self.silent = threading.Event(), threading.Event()
        self.silent.set()
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self._allowed():
                    self._send(200, "text/event-stream", model.answer(json.loads(body)["messages"]))

            def do_GET(self) -> None:
                model.asked.set()
                model.silent.wait()
                if self._allowed():
                    found = {"object": "list", "data": [{"id": name} for name in MODELS]}
                    self._send(200, "application/json", json.dumps(found).encode())

            def _allowed(self) -> bool:
                given = self.headers.get("Authorization", "").removeprefix("Bearer ")
                model.keys.append(given)
                if given != KEY:
                    error = {"error": {"message": "Incorrect API key provided", "code": "bad_key"}}
                    self._send(401, "application/json", json.dumps(error).encode())
                return given == KEY

            def _send(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with suppress(ConnectionError):  # who asked may be dead by now
                    self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, name="keyed-model")
        thread.start()
        stack.callback(thread.join)
        stack.callback(server.server_close)
        stack.callback(server.shutdown)
        stack.callback(self.silent.set)
        self.url = f"http://127.0.0.1:{server.server_address[1]}"


class OwnServer:
    """A server with an empty home, or with `config` in it, and with what it needs beside it.

    `tree`: the checkout that it is started from.
    """

    def __init__(self, stack: ExitStack, config: Any = None, tree: Path = tools.ROOT) -> None:
        self._tree = tree
        self.top = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-own-")))
        self.home, self.site = self.top / "home", self.top / "site"
        self.second, self.closed = self.top / "second", self.top / "closed"
        for folder, mode in ((self.site, 0o777), (self.second, 0o777), (self.closed, 0o555)):
            folder.mkdir()
            folder.chmod(mode)  # for the user of tools, if this one is root
        if config is not None:
            self.home.mkdir(mode=0o700)
            (self.home / "config.json").write_text(json.dumps(config))
        (self.site / "AGENTS.md").write_text("Use tabs.\n")
        self.top.chmod(0o755)
        self.mcp = self.top / "words.py"
        self.mcp.write_text(MCP)
        self.model = KeyedModel(stack)
        self._child: Child | None = None
        stack.callback(self.stop)
        self.port = 0
        self.start()

    def start(self) -> None:
        """Start the server; at the port of before, if it ran before."""
        command = [sys.executable, "-m", "server", "--home", str(self.home)]
        env = {"HOME": str(self.top), "YAA_SERVER__DISCOVER": "false"}
        self._child = Child([*command, "--port", str(self.port)], cwd=self._tree, env=env)
        found = self._child.wait_for(r"(https?://[^/\s]+:(\d+))/", 60)
        self._child.wait_for(r"^  ready ", 60)
        self.url, self.port = found[1], int(found[2])
        key = self.home / "key"
        self.key = key.read_text().strip() if key.exists() else ""

    def stop(self) -> None:
        """Stop the server."""
        if self._child:
            self._child.stop()
        self._child = None

    def kill(self) -> None:
        """Kill the server once the provider was asked, which answers afterwards."""
        assert self._child is not None
        self.model.asked.wait()
        self._child.kill()
        self._child = None
        self.model.silent.set()

    def silence(self) -> None:
        """Have the provider answer nothing."""
        self.model.asked.clear()
        self.model.silent.clear()

    def file(self) -> Any:
        """Return the configuration file as JSON, with its mode under "mode"; None without one."""
        file = self.home / "config.json"
        if not file.exists():
            return None
        mode = oct(stat.S_IMODE(file.stat().st_mode))
        return {**json.loads(file.read_text()), "mode": mode}

    def change(self, name: str) -> None:
        """Add a folder to the file as another tab of the owner would."""
        file = self.home / "config.json"
        document = json.loads(file.read_text())
        folders = document["server"].setdefault("folders", {})
        folders[name] = {"path": str(self.site), "mode": "read"}
        new = file.with_suffix(".new")
        new.write_text(json.dumps(document))
        new.replace(file)

    @property
    def asks(self) -> Mapping[str, Callable[..., Any]]:
        return {
            "order": self.model.order,
            "file": self.file,
            "change": self.change,
            "silence": self.silence,
            "kill": self.kill,
            "start": self.start,
        }


class ServerSettings(walks.OneEngine):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            server, shared, plain = (OwnServer(stack, each) for each in (None, SHARED, PLAIN))
            job = {
                "url": f"{server.url}/#key={server.key}",
                "provider": server.model.url,
                "key": KEY,
                "site": str(server.site),
                "second": str(server.second),
                "closed": str(server.closed),
                "mcp": f"{sys.executable} {server.mcp}",
                "guest": f"{shared.url}/#key={GUEST}",
                "plain": f"{plain.url}/#key={plain.key}",
            }
            self.walk("server-settings", browser, job, server.asks, expected=walks.failed)
            self.assertIn(KEY, server.model.keys)


if __name__ == "__main__":
    unittest.main()
