"""A provider in this process, over real sockets, that answers as a test says.

`script(body)` returns what the model does with this request: ("text", str), ("think", str),
("call", name, arguments as JSON text), ("finish", reason), ("status", number) for a refusal,
("cut",) for a connection that ends in the middle, ("wait", event) for what is waited for,
("delta", object) for a chunk with that delta.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ..tooling import patience

Json = dict[str, Any]
Script = Callable[[Json], list[tuple[Any, ...]]]
USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 7,
    "total_tokens": 18,
    "prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


class Scripted:
    """`with Scripted(script) as provider`: `url` is its base, `requests` what it was asked."""

    def __init__(self, script: Script) -> None:
        self.script, self.requests = script, list[Json]()
        self._calls = 0
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer._lock:
                    outer.requests.append(body)
                    parts = outer.script(body)
                outer._answer(self, parts)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing: the test says what matters."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Scripted:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def config(self) -> Json:
        """A server's configuration whose only model this is."""
        main = {"api_url": f"{self.url}/v1", "api_key": "k", "model_name": "s"}
        return {
            "server": {
                "providers": {"main": main},
                "default_provider": "main",
                "discover": False,
                "log": {"level": "warning"},
            },
            "session": {"config": {"llm_api": {"retry": {"times": 0}}}},
        }

    def _answer(self, handler: BaseHTTPRequestHandler, parts: list[tuple[Any, ...]]) -> None:
        if parts and parts[0][0] == "status":
            body = json.dumps({"error": {"message": "the provider says no"}}).encode()
            handler.send_response(parts[0][1])
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
            return
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        with contextlib.suppress(ConnectionError):  # nobody listens any more
            for chunk in self._chunks(parts):
                handler.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            if parts and parts[-1][0] != "cut":
                handler.wfile.write(b"data: [DONE]\n\n")

    def _chunks(self, parts: list[tuple[Any, ...]]) -> Iterator[Json]:
        reason, index = "stop", 0
        for kind, *values in parts:
            if kind == "text":
                for letter in values[0]:
                    yield _chunk({"content": letter})
            elif kind == "delta":
                yield _chunk(values[0])
            elif kind == "wait":
                values[0].wait(patience.seconds(20))
            elif kind == "think":
                yield _chunk({"reasoning_content": values[0]})
            elif kind == "call":
                with self._lock:
                    self._calls += 1
                    call_id = f"call_{self._calls}"
                function = {"name": values[0], "arguments": values[1]}
                call = {"index": index, "id": call_id, "type": "function", "function": function}
                yield _chunk({"tool_calls": [call]})
                index, reason = index + 1, "tool_calls"
            elif kind == "finish":
                reason = values[0]
        if parts and parts[-1][0] != "cut":
            yield _chunk({}, reason)
            yield {"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": USAGE}


def _chunk(delta: Json, reason: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion.chunk", "choices": [choice]}
