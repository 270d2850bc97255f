"""Real server processes killed with SIGKILL, at each event of a conversation, in turns.

What a tool did is counted where no server can lose it or bring it along: in a file of the session's
folder that is ignored, so that it is no part of the files that follow the session. The model is a
scripted provider that speaks Chat Completions and numbers its calls from zero in every answer,
as some do.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from server.json_types import Event, Session
from server.lib.http.sse import Decoder
from server.lib.strict_json import canonical
from server.session.fold import Folder, digest
from server.tools.runner import ToolRunner

from ..agent.test_loop import Client, complete
from ..tooling import patience, turns
from ..tooling.child import Yaa

# Asks first, and never runs twice; beside others of its kind it may.
OWNED = """
from yaa import tool

@tool(destructive=False, parallel_safe=True)
def mark(name: str) -> str:
    "Leave a mark."
    with open(".gitignore", "w") as file:
        file.write("*")
    with open(name, "a") as file:
        file.write("ran ")
    return name
"""
PAGE_TOOL: Any = {"name": "page_title", "description": "The page's title", "parameters": {}}


class Provider(BaseHTTPRequestHandler):
    """A scripted provider that says nothing in the log."""

    def stream(self, chunks: list[Any]) -> None:
        """Answer with these chunks of Chat Completions."""
        body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        with contextlib.suppress(OSError):  # its server was killed
            self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Model(Provider):
    """Six calls, two of them side by side, then an answer that says how many results it got."""

    runs = "echo '*' > .gitignore; echo ran >> shell"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        results = [m for m in request["messages"] if m["role"] == "tool"]
        if results:
            deltas: list[Any] = [{"content": f"Done: {len(results)} results."}]
        else:
            calls = [
                ("calculator", '{"expression": "6*7"}'),
                ("shell", json.dumps({"command": self.runs})),
                ("mark", '{"name": "one"}'),
                ("mark", '{"name": "two"}'),
                ("page_title", "{}"),
                ("ask_user", '{"question": "Sure?"}'),
            ]
            deltas = [{"reasoning_content": "hm"}, {"content": "I "}, {"content": "look"}]
            for index, (name, arguments) in enumerate(calls):
                half = len(arguments) // 2
                head = {"index": index, "id": f"call_{index}", "type": "function"}
                deltas += [
                    {"tool_calls": [{**head, "function": {"name": name, "arguments": ""}}]},
                    {"tool_calls": [{"index": index, "function": {"arguments": arguments[:half]}}]},
                    {"tool_calls": [{"index": index, "function": {"arguments": arguments[half:]}}]},
                ]
        chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        reason = "stop" if results else "tool_calls"
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        self.stream(chunks)


def post(server: Yaa, session: Session, most: int | None, folder: Folder) -> Outcome:
    """Fold at most so many events of a run of this session."""
    place = server.url.removeprefix("http://")
    connection = http.client.HTTPConnection(place, timeout=patience.seconds(60))
    headers = {
        "Authorization": f"Bearer {server.key}",
        "Accept": "text/event-stream",
        "Content-Type": "application/json",
    }
    with contextlib.closing(connection):
        connection.request("POST", "/session", json.dumps(session), headers)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        decoder, seen = Decoder(), 0
        end: dict[str, Any] = {}
        while (most is None or seen < most) and (data := response.read1()):
            for frame in decoder.feed(data):
                if most is not None and seen >= most:
                    break
                event: Event = json.loads(frame.data)
                folder.apply(event)
                seen += 1
                if event["type"] in ("RUN_FINISHED", "RUN_ERROR"):
                    end = event["metadata"]["yaa"]
        folder.flush()
    return Outcome(seen, end)


class Outcome(NamedTuple):
    """How many events arrived, and what the run's end says of itself, {} without one."""

    seen: int
    end: dict[str, Any]


class Killed(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.homes = 0
        self.model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
        threading.Thread(target=self.model.serve_forever, daemon=True).start()
        self.addCleanup(self.model.server_close)
        self.addCleanup(self.model.shutdown)
        url = f"http://127.0.0.1:{self.model.server_port}/v1"
        provider = {"api_url": url, "api_key": "k", "model_name": "m"}
        self.config = {
            "server": {"discover": False, "providers": {"main": provider}},
        }
        self.other = self.enterContext(self.server())

    def server(self) -> Yaa:
        self.homes += 1
        home = self.folder / f"home-{self.homes}"
        (home / "tools").mkdir(parents=True)
        (home / "tools" / "mark.py").write_text(OWNED)
        return Yaa(self.config, home=home)

    def converse(self, number: int, cut: int | None) -> tuple[Any, int]:
        """A conversation with one server, which is killed after `cut` events, and gone on with at
        another one. Returns the session and how many events there were."""
        client, total = Client(), 0
        client.kept |= {"id": f"conversation-{number}", "tools": [PAGE_TOOL]}
        with contextlib.ExitStack() as stack:
            first = stack.enter_context(self.server()) if cut is not None else self.other
            for _ in range(8):
                server = self.other if cut is None else first
                left = None if cut is None else cut - total
                outcome = post(server, client.sends(), left, Folder(client.kept))
                total += outcome.seen
                if cut is not None and total >= cut:
                    first.kill()
                    cut = None
                if not outcome.end:
                    continue
                self.assertEqual(digest(client.kept, outcome.end["since"]), outcome.end["digest"])
                if client.kept["status"] == "completed":
                    return client.kept, total
                complete(client.kept)
        raise AssertionError(canonical(client.kept))

    def executions(self, number: int) -> list[int]:
        """How often the command and each mark of a conversation ran, on all hosts together."""
        folders = [
            ToolRunner(self.folder / f"home-{home}").folder(f"conversation-{number}")
            for home in range(1, self.homes + 1)
        ]
        files = [[folder / name for folder in folders] for name in ("shell", "one", "two")]
        return [sum(len(f.read_text().split()) for f in each if f.exists()) for each in files]

    def test_killed_after_an_event(self) -> None:
        session, total = self.converse(0, None)
        self.assertEqual(session["messages"][-1]["content"], "Done: 6 results.")
        self.assertEqual(self.executions(0), [1, 1, 1])
        self.assertGreaterEqual(total, 50)
        for cut in turns.share(range(1, total), 12):
            with self.subTest(cut=cut):
                session, _ = self.converse(cut, cut)
                self.assertEqual(session["messages"][-1]["content"], "Done: 6 results.")
                whole = [m for m in session["messages"] if not m.get("open")]
                calls = sorted(c["id"] for m in whole for c in m.get("tool_calls") or ())
                results = sorted(m["tool_call_id"] for m in whole if m["role"] == "tool")
                self.assertEqual(calls, results)
                self.assertLessEqual(max(self.executions(cut)), 1, "something ran twice")


if __name__ == "__main__":
    unittest.main()
