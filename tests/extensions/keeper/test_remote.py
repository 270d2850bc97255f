"""Kept sessions whose runs are at another server: either of the two is killed, it goes on."""

from __future__ import annotations

import json
import socket
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.errors import Problem
from server.extensions.keeper.remote import RemoteRuns

from ...tooling.child import Yaa
from .test_runs import AUTO, ONCE, Case


class Elsewhere(Case):
    def setUp(self) -> None:
        super().setUp()
        self.model.calls = 6
        self.near = Path(self.enterContext(tempfile.TemporaryDirectory())) / "home"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def far(self) -> Yaa:
        """The server that runs: it has the tools and the model."""
        about: Any = {"server": self.config, "session": ONCE}
        return Yaa(about, home=self.home, arguments=("--port", str(self.port)))

    def keeper(self, key: str, **more: Any) -> Yaa:
        """The server that keeps: it has neither."""
        place = {"url": f"http://127.0.0.1:{self.port}/", "api_key": key}
        keeper = {"pause_s": 0.2, "attempts": 200, "server": place, **more}
        return Yaa({"server": {"discover": False, "keeper": keeper}}, home=self.near)

    def test_a_kill_of_either_side_loses_nothing_and_runs_nothing_twice(self) -> None:
        self.hold(2)
        self.hold(4)
        far = self.enterContext(self.far())
        with self.keeper(far.key) as yaa:
            self.keep(yaa, "task", **AUTO)
            self.assertTrue(self.ask(yaa, "POST", "task/run")["running"])
            self.until_reached(2)
            yaa.kill()
        self.model.holds.pop(2).set()
        with self.keeper(far.key) as yaa:
            self.until_reached(4)
            far.kill()
            self.model.holds.pop(4).set()
            with self.far():
                session = self.rest(yaa, "task")
        self.assertEqual(session["status"], "completed")
        self.assertEqual(session["messages"][-1]["content"], "Done: 6 results.")
        self.assertEqual(self.executions("task"), [1] * 6)

    def test_an_answer_goes_there_and_a_stop_ends_it_there(self) -> None:
        self.hold(1)
        with self.far() as far, self.keeper(far.key) as yaa:
            self.keep(yaa, "s")
            self.ask(yaa, "POST", "s/run")
            (question,) = self.rest(yaa, "s")["interrupts"]
            yes = {"status": "resolved", "payload": {"approved": True}}
            body = {"resume": [{"id": question["id"], "answer": yes}]}
            self.assertTrue(self.ask(yaa, "POST", "s/answers", body)["running"])
            self.until_reached(1)
            self.assertTrue(self.ask(yaa, "POST", "s/stop")["stopped"])
            self.assertEqual(self.executions("s"), [1])

    def test_one_that_refuses_or_is_not_there_is_said(self) -> None:
        with self.keeper("wrong", attempts=1) as yaa:
            self.keep(yaa, "absent")
            self.ask(yaa, "POST", "absent/run")
            self.assertIn("tried 2 times", self.rest(yaa, "absent")["messages"][-1]["content"])
            with self.far():
                self.keep(yaa, "s")
                answer = self.open(yaa, "POST", "s/run")
                self.assertEqual(answer.status, 401)
                self.assertEqual(json.loads(answer.read())["code"], "unauthorized")


class Owner(unittest.IsolatedAsyncioTestCase):
    async def test_only_the_owners_sessions_run_there(self) -> None:
        runs = RemoteRuns("http://127.0.0.1:9", "k")
        self.addAsyncCleanup(runs.close)
        for owner, code in (("ann", "forbidden"), ("", "keeper_server_absent")):
            with self.assertRaises(Problem) as caught:
                async with runs.begin(owner, {"id": "s"}, 9, lambda: None):
                    self.fail()
            self.assertEqual(caught.exception.code, code)


del Case

if __name__ == "__main__":
    unittest.main()
