"""Counters: of several processes together, kept when one is replaced, and readable."""

from __future__ import annotations

import os
import re
import unittest
from typing import Any

from server.agent.loop import BaseAgent
from server.extensions.metrics.counters import ENDS, FAMILIES, Metrics
from server.extensions.metrics.parts import RunCounter

from ...fakes import CountingToolbox, ScriptedModel, agent, user
from ...test_docs import first_column
from ...test_main import SECONDS
from ...tooling.api import Api
from ...tooling.child import Yaa
from ...tooling.tools import ROOT

LINE = re.compile(r'[a-z_]+(\{[a-z]+="[^"\\\n]*"\})? -?[0-9.e+]+')


def numbers(text: str) -> dict[str, float]:
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if not line.startswith("#")
    }


class Runs(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.row = Metrics().row(0)

    def agent(self, script: Any, tools: dict[str, str]) -> BaseAgent:
        parts = [lambda session, about: RunCounter(self.row, session)]
        return agent(ScriptedModel(script), CountingToolbox(tools, {}), parts=parts)

    async def test_a_run_is_counted_by_its_events(self) -> None:
        def script(messages: list[Any]) -> list[tuple[Any, ...]]:
            if any(m["role"] == "tool" for m in messages):
                return [("text", ["sorry"])]
            return [("call", "nope", ["{}"]), ("call", "time", ["{}"])]

        run = self.agent(script, {"time": "read"}).prepare({"messages": [user("go")]})
        async for event in run.events():
            runs = int(event["type"] != "RUN_FINISHED")  # it is told once the session is free
            self.assertEqual(numbers(self.row.text())["yaa_runs"], runs)
        found = numbers(self.row.text())
        self.assertEqual(found['yaa_tool_results_total{state="failed"}'], 1)
        self.assertEqual(found['yaa_tool_results_total{state="done"}'], 1)
        self.assertEqual(found['yaa_runs_total{end="completed"}'], 1)
        self.assertEqual((found["yaa_runs"], found['yaa_tokens_total{kind="prompt"}']), (0, 22))

    async def test_results_that_stand_before_what_was_new_count_too(self) -> None:
        def script(messages: list[Any]) -> list[tuple[Any, ...]]:
            asked = any(m["role"] == "tool" for m in messages)
            return [("text", ["fine"])] if asked else [("call", "rm", ["{}"])] * 2

        host = self.agent(script, {"rm": "write"})
        run = host.prepare({"messages": [user("go")]})
        async for _ in run.events():
            pass
        later: Any = run.session
        later["messages"].append(user("never mind", "u2"))
        async for _ in host.prepare(later).events():
            pass
        found = numbers(self.row.text())
        self.assertEqual(found['yaa_tool_results_total{state="skipped"}'], 2)
        self.assertEqual(found['yaa_runs_total{end="awaiting"}'], 1)

    async def test_a_run_that_somebody_stopped_is_cut_and_no_failure(self) -> None:
        host = self.agent(lambda messages: [("call", "time", ["{}"])], {"time": "read"})
        run = host.prepare({"messages": [user("go")]})
        async for event in run.events():
            if event["type"] == "TOOL_CALL_RESULT":
                run.stop("stopped")
        found = numbers(self.row.text())
        self.assertEqual(found['yaa_runs_total{end="cut"}'], 1)
        self.assertEqual(found['yaa_runs_total{end="failed"}'], 0)


class Counting(unittest.TestCase):
    def session(self, status: str, reason: str) -> dict[str, object]:
        return {
            "status": status,
            "finish_reason": reason,
            "usage": {"prompt_tokens": 30, "completion_tokens": 5},
        }

    def test_a_run(self) -> None:
        metrics = Metrics()
        row = metrics.row(0)
        row.count_run_start()
        self.assertEqual(numbers(metrics.text())["yaa_runs"], 1)
        ended = ["done", "denied", 'x"} 1\nevil 1']
        row.count_run_end(self.session("completed", "completed"), ended, {"prompt_tokens": 10}, 7.5)
        row.count_run_start()
        row.count_run_end(
            self.session("in_progress", "completed"), ended, {"prompt_tokens": 99}, 900
        )
        found = numbers(metrics.text())
        for name, value in (
            ("yaa_runs", 0),
            ('yaa_runs_total{end="completed"}', 1),
            ('yaa_runs_total{end="cut"}', 1),
            ("yaa_run_seconds_total", 907.5),
            ("yaa_run_duration_seconds_sum", 907.5),
            ("yaa_run_duration_seconds_count", 2),
            ('yaa_run_duration_seconds_bucket{le="5"}', 0),
            ('yaa_run_duration_seconds_bucket{le="10"}', 1),
            ('yaa_run_duration_seconds_bucket{le="600"}', 1),
            ('yaa_run_duration_seconds_bucket{le="+Inf"}', 2),
            ('yaa_tool_results_total{state="done"}', 2),
            ('yaa_tool_results_total{state="denied"}', 2),
            ('yaa_tool_results_total{state="failed"}', 2),
            ('yaa_tokens_total{kind="prompt"}', 20),
            ('yaa_tokens_total{kind="completion"}', 10),
        ):
            with self.subTest(name=name):
                self.assertEqual(found[name], value)
        self.assertNotIn("evil", metrics.text())

    def test_every_line_is_of_the_format(self) -> None:
        metrics = Metrics(3)
        for number in range(3):
            row = metrics.row(number)
            for status in (200, 204, 304, 401, 404, 429, 499, 500, 503):
                row.count_response(status)
            row.add_connections(1)
        lines = metrics.text().splitlines()
        wrong = [x for x in lines if not x.startswith("# ") and not LINE.fullmatch(x)]
        self.assertEqual(wrong, [])
        self.assertEqual(sum(x.startswith("# TYPE") for x in lines), len(FAMILIES) + 1)
        found = numbers(metrics.text())
        self.assertEqual(found['yaa_requests_total{status="401"}'], 3)
        self.assertEqual(found['yaa_requests_total{status="4xx"}'], 3)
        self.assertEqual(found['yaa_requests_total{status="2xx"}'], 6)

    def test_processes_count_together_and_a_replaced_one_goes_on(self) -> None:
        metrics = Metrics(2)
        metrics.row(0).count_response(200)
        for _ in range(2):  # the second time in the place of the first
            pid = os.fork()
            if not pid:
                row = metrics.row(1)
                row.count_response(200)
                row.add_connections(1)
                row.count_run_start()
                os._exit(0)
            os.waitpid(pid, 0)
        metrics.row(1)
        found = numbers(metrics.text())
        self.assertEqual(found['yaa_requests_total{status="2xx"}'], 3)
        self.assertEqual(found["yaa_connections"], 0)
        self.assertEqual((found["yaa_runs"], found['yaa_runs_total{end="cut"}']), (0, 2))
        self.assertEqual(found["yaa_process_starts_total"], 4)


class Page(unittest.TestCase):
    def test_each_metric_has_its_row(self) -> None:
        page = (ROOT / "docs" / "reference" / "extension-metrics.md").read_text()
        names = [*(family.name for family in FAMILIES), "yaa_resident_bytes"]
        self.assertEqual(first_column(page, "Metric"), names)


class Served(unittest.TestCase):
    def test_with_a_key(self) -> None:
        with Yaa({"server": {"discover": False}}) as yaa:
            self.assertEqual(Api(yaa.url).request("GET", "/metrics")[0], 401)
            api = Api(yaa.url, yaa.key)
            asked = {"messages": [{"role": "user", "content": "calc 6*7"}]}
            self.assertEqual(api.run(asked)["status"], "completed")
            status, text = api.request("GET", "/metrics", accept="text/plain")
            found = numbers(text)
        self.assertEqual(status, 200)
        ends = {end: found[f'yaa_runs_total{{end="{end}"}}'] for end in ENDS}
        self.assertEqual(ends, dict.fromkeys(ENDS, 0) | {"completed": 1})
        self.assertEqual(found['yaa_tool_results_total{state="done"}'], 1)
        self.assertEqual(found['yaa_requests_total{status="401"}'], 1)
        self.assertEqual(found["yaa_connections"], 1)
        self.assertLess(found['yaa_run_duration_seconds_bucket{le="600"}'], SECONDS)
        self.assertNotIn(yaa.key, text)


if __name__ == "__main__":
    unittest.main()
