"""Every limit, breached at every tier that keeps it (limits.py), in turns: the result names it,
what it allows and what was seen. And while that goes on, the server answers as ever."""

from __future__ import annotations

import http.client
import json
import math
import os
import subprocess
import sys
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from server.lib.sandbox.probe import closed_to_others

from ..chaos import processes
from ..tooling import patience, turns
from ..tooling.api import Api
from ..tooling.child import Yaa
from .limits import CASES, NAMES, Case
from .test_battery import ROOT, SECONDS, STRANGER, reachable_python

ANSWERS_WITHIN_S = 1.0
TIMEOUT_S = 300


@unittest.skipUnless(sys.platform == "linux", "the sandbox is Linux's")
class Breaches(unittest.TestCase):
    def check(self, tier: str, user: int | None, python: str | None) -> None:
        if python is None or closed_to_others((), ROOT):
            self.skipTest("no interpreter or checkout that another user can read")
        names = turns.share([name for name, case in CASES.items() if tier in case.tiers], 3)
        done = subprocess.run(
            [python, "-B", "-m", "tests.sandbox.limits", tier, json.dumps(names)],
            cwd=ROOT,
            env={"PATH": "/usr/bin:/bin", "HOME": "/tmp"},
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            capture_output=True,
            timeout=patience.seconds(SECONDS),
        )
        self.assertEqual(done.returncode, 0, done.stderr.decode()[-2000:])
        found = json.loads(done.stdout)
        if found["sandbox"]["tier"] != tier:
            self.skipTest(f"tier {tier} does not exist here: {found['sandbox']['tried']}")
        for name in names:
            with self.subTest(name, tier=tier):
                self.judge(CASES[name], found[name])

    def judge(self, case: Case, found: dict[str, Any]) -> None:
        if case.said == "result":
            self.assertEqual(found["status"], "ok", found)
            details = found["result"]["limit"]
            self.assertNotEqual(found["result"]["exit_code"], 0)
        else:
            status = "timeout" if case.limit == "wall_s" else "limit"
            self.assertEqual(found["status"], status, found)
            details = found["error"]["details"]
            self.assertIn(case.limit, found["error"]["message"])
            if "begun" in case.command:
                self.assertIn("begun", found["error"]["message"])
        self.assertEqual((details["limit"], details["allowed"]), (case.limit, case.allowed))
        self.assertTrue(details["observed"])
        if isinstance(details["observed"], float | int):
            self.assertGreater(details["observed"], case.allowed * 0.99)

    def test_tier_a(self) -> None:
        self.check("A", None, sys.executable)

    def test_tier_b(self) -> None:
        self.check("B", None, reachable_python() if os.geteuid() == 0 else sys.executable)

    def test_plain_child(self) -> None:
        self.check("none", None, sys.executable)

    @unittest.skipIf(os.name != "posix" or os.geteuid(), "only root can become somebody else")
    def test_as_a_normal_user(self) -> None:
        for tier in ("A", "B"):
            self.check(tier, STRANGER, reachable_python())


class Model(BaseHTTPRequestHandler):
    """Calls `shell` with the user's own words, then ends."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        last = request["messages"][-1]
        delta: dict[str, Any] = {"content": "done"}
        if last["role"] == "user":
            about = {"name": "shell", "arguments": json.dumps({"command": last["content"]})}
            delta = {"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": about}]}
        reason = "tool_calls" if "tool_calls" in delta else "stop"
        chunks: list[dict[str, Any]] = [{"delta": delta}, {"delta": {}, "finish_reason": reason}]
        lines = [
            f"data: {json.dumps({'choices': [{'index': 0, **chunk}]})}\n\n" for chunk in chunks
        ]
        body = "".join([*lines, "data: [DONE]\n\n"]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Asking(threading.Thread):
    """Asks for /health at once and again and again, and notes how long each answer took, without
    what the server and this thread stood in line for a processor; none that is right is as bad as
    one that takes for ever."""

    def __init__(self, url: str, server: int) -> None:
        super().__init__(name="health")
        self.place, self.server = url.removeprefix("http://"), server
        self.took: list[float] = []
        self.enough = threading.Event()

    def run(self) -> None:
        while True:  # a breach may be over in 20 ms
            began, stood = time.monotonic(), self.stood_s()
            connection = http.client.HTTPConnection(self.place, timeout=TIMEOUT_S)
            try:
                connection.request("GET", "/health")
                right = connection.getresponse().status == 200
            except OSError:
                right = False
            finally:
                connection.close()
            took = time.monotonic() - began - (self.stood_s() - stood)
            self.took.append(took if right else math.inf)
            if self.enough.wait(0.02):
                return

    def stood_s(self) -> float:
        return processes.stood_s(self.server) + processes.stood_s(threading.get_native_id())


class Health(unittest.TestCase):
    def test_the_server_answers_while_limits_are_breached(self) -> None:
        """One real server, one run with a shell call for each limit."""
        with ThreadingHTTPServer(("127.0.0.1", 0), Model) as model:
            thread = threading.Thread(target=model.serve_forever)
            thread.start()
            try:
                url = f"http://127.0.0.1:{model.server_port}/v1"
                provider = {"api_url": url, "model_name": "m", "api_key": "k"}
                config = {"server": {"providers": {"main": provider}, "discover": False}}
                with Yaa(config) as yaa:
                    assert yaa.child is not None
                    self.breach_all(Api(yaa.url, yaa.key), yaa.child.process.pid)
            finally:
                model.shutdown()
                thread.join()

    def breach_all(self, api: Api, server: int) -> None:
        tier = api.request("GET", "/info")[1]["sandbox"]["tier"]
        if tier not in ("A", "B"):
            self.skipTest("no sandbox here")
        cases = {
            name: case
            for name, case in CASES.items()
            if tier in case.tiers and case.command not in NAMES
        }
        for name, case in turns.share(cases.items(), 4):
            limits = {"wall_s": patience.seconds(60), case.limit: case.allowed}
            session: dict[str, Any] = {
                "messages": [{"role": "user", "content": case.command}],
                "config": {"tool": {"shell": {"auto_approve": True}}, "limits": {"tool": limits}},
            }
            asking = Asking(api.url, server)
            with self.subTest(name):
                asking.start()
                try:
                    answer = api.run(session)
                finally:
                    asking.enough.set()
                    asking.join()
                result = next(m for m in answer["messages"] if m["role"] == "tool")["result"]
                details = result.get("error", {}).get("details") or result["result"]["limit"]
                self.assertEqual((details["limit"], details["allowed"]), (case.limit, case.allowed))
                self.assertEqual(result["sandbox"]["tier"], tier)
                self.assertLess(max(asking.took), patience.seconds(ANSWERS_WITHIN_S))


if __name__ == "__main__":
    unittest.main()
