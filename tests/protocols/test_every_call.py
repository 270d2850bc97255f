"""A session that asks before every call, on every protocol: nothing runs unasked."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..extensions import EASY, rows_for
from ..tooling import forks, patience
from ..tooling.api import Api
from ..tooling.child import Yaa

Json = dict[str, Any]

ORDER = "calc 6*7"  # the demo model calls the calculator, which only reads
USER = {"id": "u1", "role": "user", "content": ORDER}
ALLOWED: Json = {
    "grants": [{"tool": "calculator", "decision": "allow"}],
    "config": {"tool": {"calculator": {"auto_approve": True}}},
}
ASKS: Json = {**ALLOWED, "config": {**ALLOWED["config"], "yaa": {"ask": "every_call"}}}
AGENT: Json = {"description": "d", "policy": {"calculator": "auto"}}


def bodies(session: Json, order: str = ORDER) -> list[tuple[str, Json]]:
    """Requests that carry a session, by the protocol's path."""
    others = [each for carrying in rows_for("carrying") for each in carrying(session, order)]
    return [("/session", {**session, "messages": [{**USER, "content": order}]}), *others]


class EveryCall(unittest.TestCase):
    def serve(self, config: Json) -> Api:
        stack = self.enterContext(ExitStack())
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (home / "agents").mkdir()
        (home / "agents" / f"{EASY}.json").write_text(json.dumps(AGENT))
        server = {"discover": False, **config.get("server", {})}
        yaa = stack.enter_context(Yaa({**config, "server": server}, home=home))
        return Api(yaa.url, yaa.key)

    def test_where_the_session_says_it(self) -> None:
        api = self.serve({})
        for session, runs in ((ALLOWED, True), (ASKS, False)):
            for path, body in bodies(session):
                with self.subTest(path, runs=runs):
                    status, text = api.request("POST", path, body, accept="text/event-stream")
                    self.assertEqual(status, 200, text)
                    self.assertIn("calculator", str(text))
                    self.assertEqual("TOOL_CALL_RESULT" in text or '"role":"tool"' in text, runs)
        done = api.run({**ASKS, "agent": EASY, "messages": [USER]})
        (asked,) = done["interrupts"]
        self.assertEqual(
            (asked["tool"], asked["ask"], asked["always"]), ("calculator", "every_call", True)
        )
        asked["answer"] = {"status": "resolved", "payload": {"approved": True}}
        done = api.run(done)
        self.assertEqual([m["content"] for m in done["messages"] if m["role"] == "tool"], ["42"])
        self.assertEqual(done["grants"], ASKS["grants"], "they wait")

    def test_a_word_that_this_server_does_not_know_is_refused_by_name(self) -> None:
        api = self.serve({})
        for word in ("sometimes", None, True):
            status, text = api.request(
                "POST", "/session", {"messages": [USER], "config": {"yaa": {"ask": word}}}
            )
            self.assertEqual(status, 422)
            self.assertEqual(text["errors"][0]["pointer"], "/config/yaa/ask")

    def test_where_the_owner_says_it(self) -> None:
        """Also for protocols whose requests bring no session; nobody can be asked there."""
        api = self.serve({"session": {"config": {"yaa": {"ask": "every_call"}}}})
        for path, body in (each for bare in rows_for("bare") for each in bare(ORDER)):
            with self.subTest(path):
                status, answer = api.request("POST", path, body)
                self.assertEqual(status, 200, answer)
                self.assertIn("`calculator` is not offered", json.dumps(answer))
        for path, body in bodies(ALLOWED):
            with self.subTest(path):
                _, text = api.request("POST", path, body, accept="text/event-stream")
                self.assertNotIn("TOOL_CALL_RESULT", text)

    def test_a_permission_mode_counts_where_the_server_says_so(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        Path(folder).chmod(0o777)  # tools may have a user of their own
        api = self.serve({"server": {"folders": {"real": {"path": folder, "mode": "write"}}}})
        modes = api.request("GET", "/info", None)[1]["permission_modes"]
        confines = not modes["own"]["copy_runs"]
        code = modes["write"]["copy_runs"]["code"]
        self.assertEqual(code, "final" if confines else "tier")
        mode = {"config": {"yaa": {"ask": "copy_runs"}}}
        for path, body in bodies(mode, "shell ls"):
            with self.subTest(path):
                _, text = api.request("POST", path, body, accept="text/event-stream")
                self.assertIn("shell", text)
                ran = "TOOL_CALL_RESULT" in text or '"role":"tool"' in text
                self.assertEqual(ran, confines)
        real: Json = {**mode, "workspace": {"folder": "real"}}
        done = api.run({**real, "messages": [{**USER, "content": "shell ls"}]})
        (asked,), (warning,) = done["interrupts"], done["run"]["warnings"]
        self.assertEqual((asked["tool"], "permission" in asked), ("shell", False))
        self.assertEqual(warning["code"], "permission_mode")

    def test_on_the_command_line(self) -> None:
        with tempfile.TemporaryDirectory() as home:
            for more, results in (([], ["42"]), (["--permission", "every_call"], [])):
                line = [sys.executable, "-m", "server", "run", "--home", home, "--say", ORDER]
                run = forks.run([*line, *more], os.environ, timeout=patience.seconds(60))
                done = json.loads(run.stdout)
                found = [m["content"] for m in done["messages"] if m["role"] == "tool"]
                self.assertEqual(found, results, run.stderr)
