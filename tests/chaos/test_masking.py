"""Every secret of the corpus goes through a real server, from all sides, with everything switched
on that is written down: not one is in its log."""

from __future__ import annotations

import json
import re
import threading
import unittest
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ..telemetry.test_redact import corpus
from ..tooling import patience
from ..tooling.child import Yaa

TRACE = "4b" * 16
PARENT = f"00-{TRACE}-{'0a' * 8}-01"
SECONDS = 60


class Model:
    """Says back what it was told last, in pieces of five characters; begins with a call that has
    all of it in its arguments."""

    def __init__(self) -> None:
        model = self
        self.headers: list[dict[str, str]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.headers.append({k.lower(): v for k, v in self.headers.items()})
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                for delta in model.deltas(asked["messages"]):
                    choice = {"index": 0, "delta": delta, "finish_reason": None}
                    self.wfile.write(b"data: " + json.dumps({"choices": [choice]}).encode())
                    self.wfile.write(b"\n\n")
                last = {"index": 0, "delta": {}, "finish_reason": "stop"}
                self.wfile.write(b"data: " + json.dumps({"choices": [last]}).encode() + b"\n\n")
                self.wfile.write(b"data: [DONE]\n\n")

            def log_message(self, format: str, *args: Any) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def deltas(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        told = next(m["content"] for m in reversed(messages) if m["role"] == "user")
        if messages[-1]["role"] == "tool":
            return [{"content": told[n : n + 5]} for n in range(0, len(told), 5)]
        arguments = json.dumps({"expression": told})
        call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "calculator"}}
        pieces = [arguments[n : n + 5] for n in range(0, len(arguments), 5)]
        more = [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
        return [{"tool_calls": [each]} for each in (call, *more)]

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def together(texts: list[str]) -> Iterator[str]:
    """Some texts a run, for time; a key without an end would hide what follows it."""
    short = [text for text in texts if "BEGIN" not in text]
    yield from ("\n".join(short[n : n + 8]) for n in range(0, len(short), 8))
    yield from (text for text in texts if "BEGIN" in text)


class Walk(unittest.TestCase):
    def test_no_secret_is_written_down(self) -> None:
        model = Model()
        self.addCleanup(model.close)
        server = {
            "discover": False,
            "log": {"level": "debug"},
            "providers": {"m": {"api_url": model.url, "api_key": "k-canary-k", "model_name": "m"}},
            **self.more(),
        }
        with Yaa({"server": server}) as yaa:
            texts = list(corpus())
            told = list(together([text for text, _ in texts]))
            for text in told:
                self.post(yaa, text)
            assert yaa.child is not None
            yaa.child.stop()
            logged = yaa.child.output.replace(yaa.link, "")
            written = {"log": logged, **self.written(yaa.home)}
        self.assertGreaterEqual(logged.count("yaa.model"), 50 * len(told))
        self.assertEqual(logged.count("yaa.run "), len(told))
        for text, secrets in texts:
            for secret in (*secrets, "k-canary-k", yaa.key):
                for where, seen in written.items():
                    if secret in seen:
                        at = seen.index(secret)
                        near = seen[max(0, at - 150) : at + 100]
                        self.fail(f"{secret} of {text!r} is in the {where}: {near}")
        self.assertIn(f" trace={TRACE} ", logged)
        self.check(model, len(told))

    def more(self) -> dict[str, Any]:
        """Settings beside those of the log."""
        return {}

    def written(self, home: Path) -> dict[str, str]:
        """What is written down beside the log."""
        return {}

    def check(self, model: Model, runs: int) -> None:
        """Look at the requests to the model: they pass the trace on."""
        self.assertEqual({h["traceparent"] for h in model.headers}, {PARENT})

    def post(self, yaa: Yaa, text: str) -> None:
        session = {"messages": [{"role": "user", "content": text}]}
        heads = {
            "Authorization": f"Bearer {yaa.key}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Cookie": re.sub(r"[^ -~]", "", text),
            "traceparent": PARENT,
        }
        place = f"{yaa.url.rstrip('/')}/session?api_key=Zq9canaryZq9"
        request = urllib.request.Request(place, json.dumps(session).encode(), heads)
        with urllib.request.urlopen(request, timeout=patience.seconds(SECONDS)) as answer:
            self.assertEqual(json.load(answer)["status"], "completed")


if __name__ == "__main__":
    unittest.main()
