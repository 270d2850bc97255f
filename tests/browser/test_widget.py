"""The widget on a page of another origin, which has an ordinary policy of its own."""

from __future__ import annotations

import threading
import unittest
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ..bench import peers
from ..tooling.child import Yaa
from . import walks

TOOL = "page_time"
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>A shop</title>
<style>button { background: red !important; color: black } * { font: 30px serif }</style>
<main><h1>A shop</h1><button id="own">Buy</button>
<div id="here" style="height: 30rem"></div></main>
<script src="SERVER/yaa.js"></script>
<script>
heard = { calls: [], headers: 0 }
given = {
  server: "SERVER", container: "#here", title: "Ask the shop",
  headers: async () => { heard.headers += 1; return { Authorization: "Bearer KEY" } },
  environment: ["The shop sells shoes."],
  tools: [{
    name: "TOOL", description: "The time", parameters: { type: "object", properties: {} },
    run(args) { heard.calls.push(args); return { time: "noon" } },
  }],
}
widget = new YaaWidget(given)
</script>"""


class Shop:
    """A web page somewhere else. Its policy names the server for scripts and requests, no more."""

    def __init__(self, server: str, key: str) -> None:
        page = PAGE.replace("SERVER", server).replace("KEY", key).replace("TOOL", TOOL).encode()
        policy = (
            f"default-src 'self'; script-src 'unsafe-inline' {server}; "
            f"style-src 'unsafe-inline'; img-src 'self' data:; connect-src {server}"
        )

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                known = self.path == "/"
                self.send_response(200 if known else 204)
                if known:
                    self.send_header("Content-Type", "text/html")
                    self.send_header("Content-Security-Policy", policy)
                self.end_headers()
                self.wfile.write(page if known else b"")

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://localhost:{self._http.server_address[1]}/"

    def __enter__(self) -> Shop:
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


class Widget(walks.Both):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            config = peers.config(peers.start(stack, "tests.bench.provider"))
            config["server"]["tools"] = {"datetime": {"ceiling": "ask"}}
            yaa = stack.enter_context(Yaa(config, at_once=True))
            shop = stack.enter_context(Shop(yaa.url, yaa.key))
            job = {"url": shop.url, "server": yaa.url, "tool": TOOL}
            self.walk("widget", browser, job, expected=expected)


def expected(complaint: walks.Complaint) -> bool:
    """A wrong key is refused; and a run that was stopped or left may still be ending when the next
    one is sent, which waits."""
    step, text = complaint["step"], complaint["text"]
    ended = step.startswith(("Enter stops", "an answer on its way"))
    return (ended and "409" in text) or step == "wrong key"


if __name__ == "__main__":
    unittest.main()
