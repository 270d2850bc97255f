"""A task of 20 calls that nobody looks at: killed twice, the clock set, allowed by a phone, whole.

Real processes; once over HTTP, and once with two browsers.
"""

from __future__ import annotations

import json
import sys
import unittest
import urllib.request
from contextlib import ExitStack
from typing import Any

from server.tools.runner import ToolRunner

from ...browser import walks
from ...tooling import ports, turns
from ...tooling.child import Yaa
from . import test_alerts, test_runs

CALLS = 20
AHEAD_S = 5 * 3600
EDIT = {"path": "mark0", "old": "ran ", "new": "ran once, and was looked at"}


class Model(test_runs.Model):
    """Marks that need no answer, then a change of a file that asks."""

    def call(self, results: int) -> tuple[str, Any]:
        if results == CALLS - 1:
            return "edit_file", EDIT
        return super().call(results)


class Night(test_alerts.Notified):
    """One server after the other at one address."""

    model_type = Model

    def setUp(self) -> None:
        super().setUp()
        self.model.calls = CALLS
        stack = self.enterContext(ExitStack())
        (self.port,) = stack.enter_context(ports.held(1))
        self.config["keeper"]["notices"]["address"] = f"http://127.0.0.1:{self.port}"
        self.yaa: Any = None
        for results in (7, 14):
            self.hold(results)

    def start(self, ahead_s: int = 0) -> None:
        """Start a server, whose clock may be wrong."""
        whole = self.whole()
        whole["session"]["config"]["tool"] = {"mark": {"auto_approve": True}}
        command = [sys.executable, "-m", "tests.extensions.keeper.ahead_server", str(ahead_s)]
        arguments = ("--port", str(self.port))
        self.yaa = self.enterContext(
            Yaa(whole, home=self.home, arguments=arguments, command=command)
        )

    def kill_twice(self) -> str:
        """Kill the server after 7 and after 14 calls; return the link of the notice."""
        for results, ahead_s in ((7, AHEAD_S), (14, 0)):
            self.until_reached(results)
            self.yaa.kill()
            self.model.holds.pop(results).set()
            self.start(ahead_s)
        notice = self.notice(1)
        self.assertEqual(notice["message"], "Tool: edit_file")
        return str(notice["click"])

    def check(self, session: Any) -> None:
        """No call twice, nothing lost."""
        self.assertEqual(session["status"], "completed")
        self.assertEqual(session["messages"][-1]["content"], f"Done: {CALLS} results.")
        results = [m["tool_call_id"] for m in session["messages"] if m["role"] == "tool"]
        calls = [c["id"] for m in session["messages"] for c in m.get("tool_calls") or ()]
        self.assertEqual((results, len({*results})), (calls, CALLS))
        self.assertEqual({each["state"] for each in session["calls"].values()}, {"done"})
        folder = ToolRunner(self.home).folder(session["id"])
        marks = {file.name: file.read_text() for file in folder.glob("mark*")}
        self.assertEqual(marks.pop("mark0"), EDIT["new"])
        self.assertEqual(marks, {f"mark{number}": "ran " for number in range(1, CALLS - 1)})
        self.assertEqual([*(self.home / "keeper").rglob("*.journal")], [])
        self.assertEqual(len([*(self.home / "keeper").rglob("*.json")]), 1, "and no branch")

    def test_over_http(self) -> None:
        self.start()
        self.keep(self.yaa, "task")
        self.ask(self.yaa, "POST", "task/run")
        link = self.kill_twice()
        self.assertEqual(self.executions("task"), [1] * (CALLS - 1))
        status, page = self.press(self.yaa, link)
        self.assertEqual(status, 200, page)
        self.assertIn(f"<del>- {EDIT['old']}</del><ins>+ {EDIT['new']}</ins>", page)
        self.assertEqual(self.press(self.yaa, link, "POST", "decision=allow")[0], 200)
        self.until(lambda: len(self.inbox.notices) == 2)
        self.check(self.rest(self.yaa, "task"))


@turns.tests(2)
class TwoBrowsers(walks.OneEngine):
    def check(self, browser: str) -> None:
        night = Night("test_over_http")
        night.setUp()
        self.addCleanup(night.doCleanups)
        night.start()

        def device() -> str:
            """Return a link that signs a phone in, with a key of its own."""
            headers = {"Authorization": f"Bearer {night.yaa.key}"}
            headers["Content-Type"] = "application/json"
            request = urllib.request.Request(f"{night.yaa.url}/sign-in/link", b"{}", headers)
            with urllib.request.urlopen(request) as answer:
                return f"{night.yaa.url}{json.load(answer)['link']}"

        def stored() -> Any:
            (file,) = (night.home / "keeper").rglob("*.json")
            return json.loads(file.read_text())

        asks = {"kill twice": night.kill_twice, "device": device, "stored": stored}
        job = {"label": f"{browser}-night", "firefox": browser == "firefox", **self.job(night)}
        self.walk("../extensions/keeper/night", browser, job, asks, walks.failed)
        night.check(stored())

    def job(self, night: Night) -> dict[str, Any]:
        return {"url": night.yaa.link, "calls": CALLS, **EDIT}


if __name__ == "__main__":
    unittest.main()
