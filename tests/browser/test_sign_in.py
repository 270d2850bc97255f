"""Links that sign in: codes, keys, and who may have a browser take them."""

from __future__ import annotations

import tempfile
import threading
import unittest
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from server.api.sign_in_codes import SignInCodes

from ..tooling.child import Yaa
from . import walks

BOB = "the-key-of-bob-0123456789"
STRANGER = "the-key-of-mallory-0123456789"


class Foreign(BaseHTTPRequestHandler):
    """A page of another site, which gives away nothing of itself."""

    def do_GET(self) -> None:
        body = b"<!doctype html><title>elsewhere</title><link rel=icon href=data:,>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class SignIn(walks.Both):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-home-")))
            keys = [{"name": "bob", "key": BOB}, {"name": "mallory", "key": STRANGER}]
            config = {"server": {"discover": False, "api_keys": keys, "home_key": True}}
            yaa = stack.enter_context(Yaa(config, home=home, at_once=True))
            foreign = ThreadingHTTPServer(("127.0.0.1", 0), Foreign)
            stack.callback(foreign.server_close)
            threading.Thread(target=foreign.serve_forever, daemon=True).start()
            stack.callback(foreign.shutdown)
            known = {"home": yaa.key, "bob": BOB, "mallory": STRANGER}
            job = {
                "url": yaa.url,
                "file": walks.PAGE.as_uri(),
                "foreign": f"http://localhost:{foreign.server_port}/",
                "keys": known,
            }
            codes = SignInCodes(home)
            self.walk(
                "sign-in",
                browser,
                job,
                {"code": lambda who: codes.make(known[who])},
                expected=walks.failed,
            )


if __name__ == "__main__":
    unittest.main()
