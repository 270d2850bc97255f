"""Take the moving picture of the README and its saved session: `python3 -m
tests.browser.kill_and_continue`.

A real run: a person allows a call, the server is killed with -9 in the middle of the answer, and
another one, with an empty home folder, goes on with the session that the page has. Only the model
is scripted. Run by hand when the screens change; test_kill_and_continue.py does the same without
pictures.
"""

from __future__ import annotations

import base64
import json
import re
import tempfile
import threading
import time
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..tooling import tools
from ..tooling.animated_webp import Frame, animate
from ..tooling.child import Yaa
from .walks import Walked, walk

PICTURES = tools.ROOT / "docs" / "images"
PAGE = tools.ROOT / "docs" / "examples" / "session.html"
ASK = "Book a table for two on Friday at eight, and plan the evening around it."
CALL = {"restaurant": "Trattoria Lupo", "guests": 2, "at": "Friday 20:00"}
TITLE = "Friday evening for two"
ANSWER = """Booked: **Trattoria Lupo**, Friday at 20:00, for two. The number is **L-4417**.

| When | What |
|---|---|
| 18:30 | A walk along the river |
| 19:30 | A drink at the old harbour |
| 20:00 | Dinner at Trattoria Lupo |
| 22:15 | The late film at the Rex |

Line 4 takes you home until midnight. The restaurant wants to know by noon if you cannot come.
"""
NUMBER = {"number": "L-4417"}
# A tool of both servers: a request to an HTTP API, which counts.
BOOK = {
    "name": "book_table",
    "description": "Book a table.",
    "method": "POST",
    "path": "/bookings",
    "parameters": {
        "restaurant": {"type": "string"},
        "guests": {"type": "integer"},
        "at": {"type": "string"},
    },
}


class Outside(BaseHTTPRequestHandler):
    """A scripted model behind the Chat Completions API, and a restaurant that takes bookings.

    The model makes a call, then answers word by word.
    """

    pace_s = 0.0
    asked = 0  # requests for the answer
    bookings: list[Any]

    def do_POST(self) -> None:
        """Stream the next answer, or take a booking."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == BOOK["path"]:
            self.bookings.append(request)
            body = json.dumps(NUMBER).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        results = [message for message in request["messages"] if message["role"] == "tool"]
        if not request.get("tools"):  # the page wants a title
            deltas: list[Any] = [{"content": TITLE}]
        elif results:
            type(self).asked += 1
            deltas = [{"content": word} for word in re.findall(r"\s*\S+|\s+", ANSWER)]
        else:
            call = {"name": "restaurant_book_table", "arguments": json.dumps(CALL)}
            deltas = [{"content": word} for word in ("I ", "book ", "the ", "table ", "first.")]
            deltas.append({"tool_calls": [{"index": 0, "id": "call_1", "function": call}]})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        reason = "tool_calls" if "tool_calls" in deltas[-1] else "stop"
        try:
            for delta in deltas:
                self._send({"index": 0, "delta": delta})
                time.sleep(self.pace_s)
            self._send({"index": 0, "delta": {}, "finish_reason": reason})
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            pass  # the server was killed

    def _send(self, choice: dict[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Story:
    """Two servers, one after the other at the same address, and what is outside of them."""

    def __init__(self, stack: ExitStack, pace_s: float) -> None:
        self._stack = stack
        self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-story-")))
        self.outside: Any = type("Paced", (Outside,), {"pace_s": pace_s, "bookings": []})
        outside = ThreadingHTTPServer(("127.0.0.1", 0), self.outside)
        outside.daemon_threads = True
        serving = threading.Thread(target=outside.serve_forever)
        serving.start()
        stack.callback(serving.join)
        stack.callback(outside.server_close)
        stack.callback(outside.shutdown)
        self._url = f"http://127.0.0.1:{outside.server_port}"
        self.homes = [self._home("one"), self._home("two")]
        self.first = self._start(self.homes[0], "0")

    def _home(self, name: str) -> Path:
        home = self._folder / name
        home.mkdir(mode=0o700)
        return home

    def _start(self, home: Path, port: str) -> Yaa:
        main = {"api_url": f"{self._url}/v1", "model_name": "scripted-model", "api_key": "none"}
        rest = {"restaurant": {"base_url": self._url, "tools": [BOOK]}}
        config = {"server": {"discover": False, "providers": {"main": main}, "rest": rest}}
        return self._stack.enter_context(Yaa(config, home=home, arguments=("--port", port)))

    def kill(self) -> int:
        """Kill the first server with SIGKILL and return what its process id was."""
        assert self.first.child is not None
        pid = self.first.child.process.pid
        self.first.kill()
        return pid

    def start(self) -> int:
        """Start another server at the same address, which knows the same key and nothing else."""
        key = self.homes[1] / "key"
        key.write_bytes((self.homes[0] / "key").read_bytes())
        key.chmod(0o600)
        second = self._start(self.homes[1], str(urlsplit(self.first.url).port))
        assert second.child is not None
        return second.child.process.pid

    def bookings(self) -> list[Any]:
        """Return what was booked, on behalf of either server."""
        return list(self.outside.bookings)


def tell(browser: str, pace_s: float, **more: Any) -> tuple[Walked, Story]:
    """Walk through the story and return what came of it."""
    with ExitStack() as stack:
        story = Story(stack, pace_s)
        asks = {"kill": story.kill, "start": story.start, "bookings": story.bookings}
        job = {"url": story.first.link, "words": ASK, "label": f"{browser}-kill", **more}
        return walk("kill-and-continue.mjs", browser, job, asks), story


def developed(film: dict[str, Any]) -> bytes:
    """Return the moving picture of what film.mjs has developed."""
    taken = [Frame(**{**each, "still": base64.b64decode(each["still"])}) for each in film["frames"]]
    return animate(film["width"], film["height"], taken)


def main() -> None:
    for theme in ("light", "dark"):
        with tempfile.TemporaryDirectory() as name:
            walked, _ = tell("chromium", 0.055, theme=theme, frames=name)
            if walked.error:
                raise SystemExit(walked.error)
            film = json.loads((Path(name) / "film.json").read_text())
            if theme == "light":
                PAGE.write_text((Path(name) / "session.html").read_text())
        target = PICTURES / f"kill-and-continue-{theme}.webp"
        target.write_bytes(developed(film))
        size = target.stat().st_size >> 10
        print(f"{target}: {len(film['frames'])} frames, {size} KiB")
    print(f"{PAGE}: {PAGE.stat().st_size >> 10} KiB")


if __name__ == "__main__":
    main()
