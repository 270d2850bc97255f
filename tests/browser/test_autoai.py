"""The chat under /auto-ai: its two pages as served and from disk, and a page that imports it."""

from __future__ import annotations

import threading
import unittest
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ..extensions import needs
from ..mission.autoai_peers import Echo, Model, config
from ..tooling import tools
from ..tooling.child import Yaa
from . import walks

# A page as AutoAi's readers have it, on another origin. The application's own token goes along.
SHOP = """<!doctype html><html lang="en"><meta charset="utf-8"><title>A shop</title>
<main><h1>A shop</h1><div id="chat" style="height: 24rem"></div></main>
<script type="module">
import { AutoAiChatWidget } from "SERVER/auto-ai/autoai-chat.js";
globalThis.heard = [];
globalThis.chatWidget = new AutoAiChatWidget({
  container: document.getElementById("chat"),
  baseUrl: "SERVER/auto-ai",
  headers: () => ({ "YAA-API-KEY": "@KEY@", "X-User-Id": "user-123",
    "Authorization": "Bearer xxx" }),
  environmentContext: () => ["Current user: user-123"],
  title: "Shop assistant",
  frontendTools: [{
    name: "getUsername",
    description: "Get the username of the currently logged in user",
    parameters: { type: "object", properties: { format: { type: "string" } }, required: [] },
    fn: async (args) => { heard.push(args); return { username: "Anna" } },
  }],
});
</script>"""


class Shop:
    def __init__(self, server: str, key: str) -> None:
        page = SHOP.replace("SERVER", server).replace("@KEY@", key).encode()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                known = self.path == "/"
                self.send_response(200 if known else 204)
                self.send_header("Content-Type", "text/html")
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


@needs("autoai", "rest")
class AutoAi(walks.OneEngine):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            model, app = stack.enter_context(Model()), stack.enter_context(Echo())
            orders = {"name": "getAllOrders", "method": "GET", "path": "/api/orders"}
            shop = {
                "base_url": app.url,
                "forward": ["X-User-Id", "Authorization"],
                "tools": [orders],
            }
            yaa = stack.enter_context(Yaa(config(model, rest={"shop": shop})))
            page = stack.enter_context(Shop(yaa.url, yaa.key))
            disk = (tools.ROOT / "client" / "auto-ai" / "index.html").as_uri()
            job = {"server": yaa.url, "key": yaa.key, "shop": page.url, "disk": disk}
            self.walk("autoai", browser, job, expected=expected)
            callers = [(sent["x-user-id"], sent["authorization"]) for _, sent, _ in app.seen]
            self.assertEqual(callers, [("user-123", "Bearer xxx")])
            system = str(model.asked[-1][0]["content"])
            self.assertIn("Current user: user-123", system)


def expected(complaint: walks.Complaint) -> bool:
    """Of a key that is missing or wrong a browser says so itself, and of a server that is none."""
    return complaint["step"].startswith("no chat") and walks.failed(complaint)


if __name__ == "__main__":
    unittest.main()
