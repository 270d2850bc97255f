"""Servers with real folders, and a model that calls what it is told to, for the walk of the files.

The first server stands behind a relay, so that another one, with a home and folders of its own, can
take its place at the same address.
"""

from __future__ import annotations

import base64
import json
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..bench import peers
from ..tooling.child import Yaa
from ..tooling.relay import Relay

MODES = {"notes": "overlay", "shared": "write", "library": "read", "site": "write", "gone": "read"}
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNkYPhfDw"
    "AChwGA60e6kgAAAABJRU5ErkJggg=="
)
APP = (
    'import sys\n\n\ndef main():\n    print("hello")\n    return 0\n\n\n'
    'if __name__ == "__main__":\n    sys.exit(main())\n'
)
CONTENTS: dict[str, dict[str, bytes]] = {
    "notes": {
        "README.md": b"# Notes\n\nSome **notes** of a person.\n",
        "data/table.csv": b'name,amount\nAnn,12\n"Bob, jr",7\n',
        "src/app.py": APP.replace("\n", "\r\n").encode(),  # a model writes line feeds
        "src/lib/tools.py": b"def double(x):\n    return 2 * x\n",
        "draft.txt": b"one\ntwo\nthree\n",
        "evil\u202egnp.txt": b"what is shown is not what is there\n",
        "dot.png": base64.b64decode(PIXEL),
    },
    "shared": {"plan.txt": b"first\n"},
    "library": {"book.txt": b"a book\n"},
    "site": {"index.html": b"<p>hello</p>\n"},
}


class OrderedModel:
    """A model that does the calls of `orders`, one at each beginning of a turn."""

    def __init__(self, stack: ExitStack) -> None:
        self.orders: list[tuple[str, Any]] = []
        self.done = ""
        self.may_answer = threading.Event()
        self.may_answer.set()
        stack.callback(self.may_answer.set)
        self._count = 0
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = model.answer(json.loads(body)["messages"])
                model.may_answer.wait()
                self._send("text/event-stream", answer)

            def do_GET(self) -> None:
                self._send("application/json", b'{"object": "list", "data": [{"id": "s"}]}')

            def _send(self, kind: str, body: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, name="ordered-model")
        thread.start()
        stack.callback(thread.join)
        stack.callback(server.server_close)
        stack.callback(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_address[1]}"

    def order(self, tool: str, arguments: Any, done: str = "It is done.") -> None:
        self.orders.append((tool, arguments))
        self.done = done

    def answer(self, messages: list[Any]) -> bytes:
        """The events of one answer."""
        called = messages[-1]["role"] == "tool"
        reason, delta = "stop", {"content": self.done if called else "Understood."}
        if not called and self.orders:
            name, arguments = self.orders.pop(0)
            self._count += 1
            function = {"name": name, "arguments": json.dumps(arguments)}
            call = {"index": 0, "id": f"c{self._count}", "type": "function", "function": function}
            reason, delta = "tool_calls", {"content": "Let me do that.", "tool_calls": [call]}  # type: ignore[dict-item]
        choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "s"}
        whole = {**chunk, "choices": choices, "usage": peers.USAGE}
        return f"data: {json.dumps(whole)}\n\ndata: [DONE]\n\n".encode()


class FolderServers:
    """A server behind a relay, with folders in each mode; `url` is the relay's, with the key."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.model = OrderedModel(stack)
        self._start()
        self.key = self._yaa.key
        self.relay = stack.enter_context(Relay(*self._place()))
        self.url = f"{self.relay.url}/#key={self.key}"

    @property
    def asks(self) -> Mapping[str, Callable[..., Any]]:
        """What a walk may ask for."""
        return {
            "order": self.model.order,
            "hold": self.model.may_answer.clear,
            "let go": self.model.may_answer.set,
            "folder": self.contents,
            "write": self.write,
            "another server": self.another,
        }

    def contents(self, name: str) -> dict[str, str]:
        """Path → text of the files in a real folder."""
        top = self._folders[name]
        files = [path for path in top.rglob("*") if path.is_file()]
        return {str(path.relative_to(top)): path.read_text(errors="replace") for path in files}

    def write(self, name: str, path: str, text: str) -> None:
        """Change a file as a person would who does not know of the session."""
        (self._folders[name] / path).write_text(text)

    def another(self) -> None:
        """Kill the server, and put one in its place that has nothing of it but the key."""
        self._yaa.kill()
        home = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-home-")))
        (home / "key").write_text(self.key)
        self._start(home)
        self.relay.target = self._place()

    def _start(self, home: Path | None = None) -> None:
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-folders-"))
        self._folders = {name: Path(folder) / name for name in MODES}
        fill(Path(folder))
        config = peers.config(self.model.url)
        config["server"]["folders"] = {
            name: {"path": str(self._folders[name]), "mode": mode} for name, mode in MODES.items()
        }
        config["session"] = {"config": {"tool": {"shell": {"auto_approve": True}}}}
        self._yaa = self._stack.enter_context(Yaa(config, home=home))

    def _place(self) -> tuple[str, int]:
        place = urlsplit(self._yaa.url)
        return place.hostname or "", place.port or 0


def fill(top: Path) -> None:
    """Write the folders, so that tools may use them whoever they run as."""
    for name, files in CONTENTS.items():
        for path, content in files.items():
            file = top / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    top.chmod(0o755)
    for file in top.rglob("*"):
        file.chmod(0o777 if file.is_dir() else 0o666)
