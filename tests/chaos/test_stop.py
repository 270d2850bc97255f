"""A shell command that runs on in a real server: stopped, and come back to, on any worker."""

from __future__ import annotations

import http.client
import json
import tempfile
import threading
import unittest
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from server.lib.http.sse import Decoder
from server.session.fold import Folder
from server.tools.runner import ToolRunner

from ..fakes import user
from ..tooling import patience, turns
from ..tooling.child import Yaa
from .test_kill import Model


class Loops(Model):
    """Its one command prints, and writes a line every tenth of a second until it may end."""

    runs = "echo begun; while [ ! -e end ]; do echo ran >> shell; sleep 0.1; done; echo over"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        done = any(message["role"] == "tool" for message in request["messages"])
        function = {"name": "shell", "arguments": json.dumps({"command": self.runs})}
        call = {"index": 0, "id": "call_0", "type": "function", "function": function}
        delta = {"content": "Done."} if done else {"tool_calls": [call]}
        chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        body = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@turns.tests(2)
class Running(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.home = Path(holder.name) / "home"
        self.model = ThreadingHTTPServer(("127.0.0.1", 0), Loops)
        threading.Thread(target=self.model.serve_forever, daemon=True).start()
        self.addCleanup(self.model.server_close)
        self.addCleanup(self.model.shutdown)
        provider = {"api_url": f"http://127.0.0.1:{self.model.server_port}/v1", "model_name": "m"}
        self.grace_s = patience.seconds(2)
        limits = {"disconnect_grace_s": self.grace_s}
        config = {
            "server": {
                "discover": False,
                "providers": {"main": {**provider, "api_key": "k"}},
                "limits": limits,
            }
        }
        self.yaa = self.enterContext(Yaa(config, home=self.home, arguments=("--workers", "2")))
        self.session: Any = {
            "id": "loops",
            "messages": [user("go")],
            "config": {"tool": {"shell": {"auto_approve": True}}},
        }

    def post(self, path: str, body: Any) -> http.client.HTTPResponse:
        """POST over a connection of its own, which any worker may get; again while the run that was
        cut is still ending."""
        while (response := self.answered(path, body)).status == 409:
            response.read()
        self.assertEqual(response.status, 200)
        return response

    def answered(self, path: str, body: Any) -> http.client.HTTPResponse:
        place = self.yaa.url.removeprefix("http://")
        connection = http.client.HTTPConnection(place, timeout=patience.seconds(60))
        self.addCleanup(connection.close)
        self.connection = connection
        headers = {"Authorization": f"Bearer {self.yaa.key}", "Content-Type": "application/json"}
        if path == "/session":
            headers["Accept"] = "text/event-stream"
        connection.request("POST", path, json.dumps(body), headers)
        return connection.getresponse()

    def fold(self, response: http.client.HTTPResponse, until: str = "") -> list[dict[str, Any]]:
        """Fold the events into the session, until one of this type if one is named."""
        found: list[Any] = []
        folder, decoder = Folder(self.session), Decoder()
        while not found or found[-1]["type"] != until:
            if not (data := response.read1()):
                break
            for frame in decoder.feed(data):
                found.append(json.loads(frame.data))
                folder.apply(found[-1])
                if found[-1]["type"] == until:
                    break
        folder.flush()
        return found

    @property
    def written(self) -> int:
        file = ToolRunner(self.home).folder("loops") / "shell"
        return len(file.read_text().split()) if file.exists() else 0

    def begin(self) -> http.client.HTTPResponse:
        response = self.post("/session", self.session)
        self.fold(response, "ACTIVITY_SNAPSHOT")
        return response

    def check_stopped(self) -> None:
        result = [each for each in self.session["messages"] if each["role"] == "tool"][-1]
        self.assertEqual(result["result"]["status"], "stopped", result)
        self.assertIn("begun", result["content"])
        self.assertGreater(result["result"]["duration_ms"], 0)
        self.assertGreater(result["result"]["error"]["details"]["lines"], 0)
        before = self.written
        threading.Event().wait(1)
        self.assertEqual(self.written, before, "it writes on")

    def test_stopped_while_its_stream_is_read(self) -> None:
        response = self.begin()
        answer = json.loads(self.post("/session/stop", {"id": "loops"}).read())
        self.assertEqual(answer, {"id": "loops", "stopped": True, "running": False})
        last = self.fold(response)[-1]
        self.check_stopped()
        self.assertEqual((last["type"], last["code"]), ("RUN_ERROR", "stopped"), "else it goes on")
        self.assertEqual(self.session["messages"][-1]["code"], "stopped", "and the session says so")

    def test_stopped_when_its_line_is_lost(self) -> None:
        self.begin().close()
        self.connection.close()
        self.post("/session/stop", {"id": "loops"}).read()
        found = self.fold(self.post("/session", self.session), "TOOL_CALL_RESULT")
        self.assertEqual(found[-1]["type"], "TOOL_CALL_RESULT")
        self.check_stopped()

    def test_what_does_not_run_costs_nothing(self) -> None:
        for number in range(50):
            answer = json.loads(self.post("/session/stop", {"id": f"none {number}"}).read())
            wanted = {"id": f"none {number}", "stopped": False, "running": False}
            self.assertEqual(answer, wanted)
        self.assertFalse((self.home / "stops").exists(), "a file for what nobody runs")

    def test_come_back_to_for_longer_than_its_grace(self) -> None:
        self.begin().close()
        self.connection.close()
        response = self.post("/session", self.session)
        threading.Event().wait(2 * self.grace_s)
        (ToolRunner(self.home).folder("loops") / "end").touch()
        self.fold(response)
        self.assertEqual(self.session["status"], "completed", self.session["interrupts"])
        (result,) = [m for m in self.session["messages"] if m["role"] == "tool"]
        self.assertIn("over", result["content"])


if __name__ == "__main__":
    unittest.main()
