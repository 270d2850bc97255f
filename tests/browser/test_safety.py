"""What a model wrote stays words: the injection corpus and the preview's frame, in both browsers.

The sink is a server that remembers every path it is asked for. Nothing may ask.
"""

from __future__ import annotations

import threading
import unittest
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.tooling import tools
from tests.tooling.child import Yaa

from .walks import NEEDED, walk

PAGE = tools.ROOT / "client" / "index.html"


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


class Safety(unittest.TestCase):
    maxDiff = None

    def check(self, browser: str, place: str) -> None:
        with ExitStack() as stack:
            yaa = stack.enter_context(Yaa({"server": {"discover": False}}))
            sink = stack.enter_context(Sink())
            url = PAGE.as_uri() if place == "file" else yaa.link
            job = {"url": url, "sink": sink.url, "label": f"{browser}-{place}-safety"}
            walked = walk("safety.mjs", browser, job, {"sink": lambda: sink.heard})
        self.assertEqual(walked.error, "", walked.complaints[:5])
        # the frame's tries are refused loudly, and from disk there is no server to talk to
        quiet = [
            item
            for item in walked.complaints
            if item["step"] in QUIET and not (place == "file" and "/health" in item["text"])
        ]
        self.assertEqual(quiet, [], "the console is quiet")

    @tools.needs(*NEEDED, tools.browser("chromium"))
    def test_chromium_served(self) -> None:
        self.check("chromium", "served")

    @tools.needs(*NEEDED, tools.browser("firefox"))
    def test_firefox_from_disk(self) -> None:
        self.check("firefox", "file")


QUIET = {"words stay words", "streamed, the page is the same as at once", "a preview"}


if __name__ == "__main__":
    unittest.main()
