"""Which model calls a run counts for its person: each that it made, once, with the server's key."""

from __future__ import annotations

import copy
import tempfile
import unittest
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from server.agent.loop import BaseAgent
from server.agent.run_records import RunRecords
from server.session.fold import find_message
from server.telemetry.monthly_usage import MonthlyUsage

from ..fakes import CountingToolbox, Ids, ScriptedModel, agent, user

PRICE = {"cost_micro": 30, "cost_unit": "USD"}
OWN = {"api_url": "https://models.example/v1", "api_key": "k" * 20, "model_name": "m"}


class Noted(MonthlyUsage):
    """What was counted, as (person, tokens, money) of each run."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[tuple[str, int, int]] = []

    def add(self, person: str, usages: Iterable[Mapping[str, Any]]) -> None:
        used = list(usages)
        sums = [sum(each.get(name, 0) for each in used) for name in ("total_tokens", "cost_micro")]
        self.runs.append((person, *sums))


class Counted(unittest.IsolatedAsyncioTestCase):
    def host(self, script: Any, **options: Any) -> BaseAgent:
        model = ScriptedModel(script)
        model.costs = PRICE
        made = agent(model, CountingToolbox({"send": "auto"}, {}), **options)
        made.usage = self.noted = Noted()
        return made

    async def post(self, host: BaseAgent, session: Any, until: str = "") -> Any:
        """Run a copy as `bob`, perhaps only until an event of this type; return the session."""
        run = host.prepare(copy.deepcopy(session), "laptop", "bob")
        async with aclosing(run.events()) as events:
            async for event in events:
                if event["type"] == until:
                    break
        return run.session

    async def test_answers_and_what_is_asked_beside_them(self) -> None:
        naming = "title"
        host = self.host(lambda seen: [("text", ["Named" if naming in str(seen[0]) else "hello"])])
        session = {"messages": [user("go")], "config": {"yaa": {"auto_title": True}}}
        ended = await self.post(host, session)
        self.assertEqual((ended["title"], self.noted.runs), ("Named", [("bob", 36, 60)]))
        self.assertEqual(ended["usage"]["total_tokens"], 36)

    async def test_a_failed_call_that_was_paid_for(self) -> None:
        paid = {"usage": {"total_tokens": 9, "cost_micro": 4}}
        host = self.host(lambda _: [("error", "broke off", "upstream_error", paid)])
        ended = await self.post(host, {"messages": [user("go")]})
        self.assertEqual(self.noted.runs, [("bob", 9, 4)])
        self.assertEqual(ended["usage"]["total_tokens"], 9)

    async def test_a_run_that_asks_no_model_is_none(self) -> None:
        host = self.host(lambda _: [("error", "refused", "upstream_rejected")])
        await self.post(host, {"messages": [user("go")]})
        self.assertEqual(self.noted.runs, [])

    async def test_a_sessions_own_key_is_not_the_servers_bill(self) -> None:
        host = self.host(lambda _: [("text", ["hello"])])
        config = {"llm_api": {"provider": OWN}}
        ended = await self.post(host, {"messages": [user("go")], "config": config})
        self.assertEqual((self.noted.runs, ended["usage"]["total_tokens"]), ([], 18))

    async def test_what_a_session_claims_to_have_used_hides_nothing(self) -> None:
        host = self.host(lambda _: [("text", ["hello"])])
        await self.post(host, {"messages": [user("go")], "usage": {"total_tokens": 2**53 - 1}})
        self.assertEqual(self.noted.runs, [("bob", 18, 30)])

    async def test_an_answer_of_an_earlier_run_is_counted_by_that_run(self) -> None:
        def script(messages: list[Any]) -> list[tuple[Any, ...]]:
            done = messages[-1]["role"] == "tool"
            return [("text", ["done"])] if done else [("call", "send", ["{}"])]

        folder = Path(self.enterContext(tempfile.TemporaryDirectory()), "runs")
        session = {"id": "s", "messages": [user("go")]}
        first = self.host(script, records=RunRecords(folder, 600), ids=Ids("first-"))
        cut = await self.post(first, session, "TOOL_CALL_RESULT")
        self.assertEqual(self.noted.runs, [("bob", 18, 30)])
        ended = await self.post(self.host(script, records=RunRecords(folder, 600)), session)
        self.assertIsNotNone(find_message(ended, cut["messages"][-2]["id"]), "it was caught up")
        self.assertEqual(ended["messages"][-1]["content"], "done")
        self.assertEqual(self.noted.runs, [("bob", 18, 30)])


if __name__ == "__main__":
    unittest.main()
