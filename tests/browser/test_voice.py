"""Dictation and reading aloud, in two browsers with a microphone that hums.

One scripted server answers the chat and the recordings; what it says to the next recording, and
what it has heard, is asked for by the walk.
"""

from __future__ import annotations

import json
import threading
import unittest
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ..tooling.child import Yaa
from . import walks

ANSWER = (
    "# Cats\n\nA **cat** sleeps. See [the guide](https://cats.example/long/way).\n\n"
    "```js\nlet secretCode = 1\n```\n\nThat is all."
)


class Provider(ThreadingHTTPServer):
    """`reply`: status and body for the next recordings. `heard`: (content type, bytes) of each."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply: tuple[int, Any] = (200, {"text": "spoken words"})
        self.heard: list[tuple[str, int]] = []

    def so_far(self) -> list[tuple[str, int]]:
        return self.heard

    def says(self, status: int, body: Any) -> None:
        self.reply = (status, body)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Provider

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/audio/transcriptions"):
            kind = body.partition(b"Content-Type: ")[2].partition(b"\r\n")[0].decode()
            self.server.heard.append((kind, len(body)))
            status, said = self.server.reply
            self.send(status, "application/json", json.dumps(said).encode())
        else:
            delta = {"choices": [{"index": 0, "delta": {"content": ANSWER}}]}
            stop = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
            frames = [json.dumps(each) for each in (delta, stop)] + ["[DONE]"]
            text = "".join(f"data: {frame}\n\n" for frame in frames)
            self.send(200, "text/event-stream", text.encode())

    def send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""


class Voice(walks.Both):
    def check(self, browser: str) -> None:
        provider = Provider()
        thread = threading.Thread(target=provider.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(provider.server_close)
        self.addCleanup(provider.shutdown)
        entry = {
            "api_url": f"http://127.0.0.1:{provider.server_port}/v1",
            "api_key": "sk-0123456789",
        }
        entry |= {"model_name": "m", "transcription": "w"}
        asks: dict[str, Callable[..., Any]] = {"says": provider.says, "heard": provider.so_far}
        with Yaa({"server": {"discover": False, "providers": {"voice": entry}}}) as yaa:
            asks["gone"] = yaa.kill
            self.walk("voice", browser, {"url": yaa.link}, asks, expected=refused)


def refused(complaint: walks.Complaint) -> bool:
    """The provider's refusal is an answer that no browser likes, and at the end nobody answers."""
    return complaint["step"].startswith(("a provider that refuses", "a server that is gone"))


if __name__ == "__main__":
    unittest.main()
