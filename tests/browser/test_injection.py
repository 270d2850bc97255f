"""What a model wrote stays words: the injection corpus and the preview's frame, in both browsers.

The sink is a server that remembers every path it is asked for. Nothing may ask.
"""

from __future__ import annotations

import threading
import unittest
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ..tooling.child import Yaa
from . import walks

QUIET = {"words stay words", "streamed, the page is the same as at once", "a preview"}


class Sink:
    """An address of the loopback network that is neither the page's nor the server's."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        heard = self.heard

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                heard.append(self.path)
                self.send_response(204)
                self.end_headers()

            do_POST = do_HEAD = do_OPTIONS = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Sink:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class Injection(walks.Both):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            yaa = stack.enter_context(Yaa({"server": {"discover": False}}, at_once=True))
            sink = stack.enter_context(Sink())
            url = walks.PAGE.as_uri() if browser == "firefox" else yaa.link
            job = {"url": url, "sink": sink.url}
            asks = {"sink": lambda: sink.heard}
            self.walk("injection", browser, job, asks, no_server if browser == "firefox" else tries)


def tries(complaint: walks.Complaint) -> bool:
    """What the frame tries is refused loudly."""
    return complaint["step"] not in QUIET


def no_server(complaint: walks.Complaint) -> bool:
    """And from disk there is none to talk to."""
    return tries(complaint) or "/health" in complaint["text"]


if __name__ == "__main__":
    unittest.main()
