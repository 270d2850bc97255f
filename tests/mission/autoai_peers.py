"""What AutoAi's rows need around the server: a model that does as the last message says, and an
application whose REST API is called. Both keep what they were sent."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from ..tooling import patience

Json = dict[str, Any]
ORDER = re.compile(r"call (\w+) (\{.*\})")


class Peer:
    """An HTTP server in threads of this process. `seen`: (line, headers, body) of each request."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, str], bytes]] = []
        peer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _any(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                sent = {name.lower(): value for name, value in self.headers.items()}
                peer.seen.append((f"{self.command} {self.path}", sent, body))
                status, headers, answer = peer.answer(self.path, sent, body)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST = do_PUT = do_DELETE = _any

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def answer(
        self, path: str, sent: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        raise NotImplementedError

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


class Model(Peer):
    """Calls what the user's last message orders (`call name {…}`, any number), then says `done`."""

    def answer(
        self, path: str, sent: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        if not body:
            return 200, JSON, b'{"object": "list", "data": [{"id": "scripted"}]}'
        messages = json.loads(body)["messages"]
        said = [str(m["content"]) for m in messages if m["role"] == "user"][-1]
        orders = ORDER.findall(said) if messages[-1]["role"] == "user" else []
        calls = [
            {
                "index": index,
                "id": f"call_{len(self.seen)}_{index}",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for index, (name, arguments) in enumerate(orders)
        ]
        delta: Json = {"tool_calls": calls} if calls else {"content": "done"}
        whole = {"role": "assistant", **delta}
        end = "tool_calls" if calls else "stop"
        if not json.loads(body).get("stream"):
            choice = {"index": 0, "message": {"content": None, **whole}, "finish_reason": end}
            return 200, JSON, json.dumps({"choices": [choice], "usage": USAGE}).encode()
        chunks = (
            {"choices": [{"index": 0, "delta": whole, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": USAGE},
        )
        text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        return 200, {"Content-Type": "text/event-stream"}, text.encode()

    @property
    def asked(self) -> list[list[Json]]:
        """The messages of each request."""
        return [json.loads(body)["messages"] for _, _, body in self.seen if body]


class Echo(Peer):
    """An application that repeats all that it is told of its caller; `moved`: where it redirects
    to, if it does; `together`: how many requests it answers at once, and not before."""

    def __init__(self, moved: str = "", together: int = 1) -> None:
        super().__init__()
        self.moved = moved
        self._all = threading.Barrier(together)

    def answer(
        self, path: str, sent: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        if path.startswith("/away"):
            return 307, {"Location": self.moved}, b""
        self._all.wait(patience.seconds(60))
        pairs = [pair.partition("=")[2] for pair in sent.get("cookie", "").split("; ")]
        return 200, JSON, json.dumps({"you": sent, "cookies": pairs, "orders": [1, 2]}).encode()


JSON = {"Content-Type": "application/json"}
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def config(model: Model, **server: Any) -> Json:
    main = {"api_url": f"{model.url}/v1", "api_key": "k", "model_name": "s"}
    return {
        "server": {
            "providers": {"main": main},
            "default_provider": "main",
            "discover": False,
            **server,
        }
    }
