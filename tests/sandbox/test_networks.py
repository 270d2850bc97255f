"""The network of a call, from the configuration to what runs: a session only narrows, an approval
widens as far as the configuration lets it, and nothing else does anything."""

from __future__ import annotations

import copy
import json
import shutil
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.agent.call_decisions import pending_calls, plan_call
from server.config import Config
from server.session.answers import ANSWERS
from server.session.call_actions import Ask, Execute
from server.session.schema import check
from server.tools.toolbox import Toolbox

from ..fakes import DEFAULTS, events_of
from .test_netproxy import WithSite

NEEDS = """
from yaa import tool
@tool(required_resources={"network": "proxy"})
def fetches() -> str: return "x"
@tool(required_resources={"network": "everything"})
def odd() -> str: return "x"
@tool(required_resources={"horses": 2})
def strong() -> str: return "x"
@tool(required_resources={"wall_s": "long"})
def slow() -> str: return "x"
"""


@unittest.skipUnless(shutil.which("curl"), "curl is not on the PATH")
class Networks(WithSite):
    def setUp(self) -> None:
        super().setUp()
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.home = Path(holder.name)
        (self.home / "tools").mkdir()
        (self.home / "tools" / "needs.py").write_text(NEEDS)
        self.place = f"127.0.0.1:{self.port}"
        self.session: Any = {
            "id": "s",
            "config": copy.deepcopy(DEFAULTS["session"]["config"]),
            "grants": [],
            "messages": [],
            "calls": {},
            "interrupts": [],
        }

    async def toolbox(self, most: str = "A", require: str = "A", **sandbox: Any) -> Toolbox:
        server = copy.deepcopy(DEFAULTS["server"])
        server["sandbox"] |= {"require": require, **sandbox}
        toolbox = Toolbox(Config(server, DEFAULTS["session"], self.home))
        await toolbox.open(most)
        self.addAsyncCleanup(toolbox.close)
        await toolbox.load_owner_tools()
        if most == "A" and toolbox.sandbox()["tier"] != "A":
            self.skipTest("no tier A here")
        return toolbox

    def call(self) -> Any:
        command = f"curl -sS http://{self.place}/x"
        about = {"name": "shell", "arguments": json.dumps({"command": command})}
        return {"id": "c", "type": "function", "function": about}

    async def reached(self, toolbox: Toolbox, policy: Any = None) -> dict[str, Any]:
        """The result of the call when an approval has said this of its policy. Always the way of
        a real one: asked, answered, executed with the ledger entry that came of it."""
        call = self.call()
        message: Any = {"role": "assistant", "tool_calls": [call]}
        session: Any = {**self.session, "messages": [message]}
        asked = plan_call(*pending_calls(session, toolbox))
        assert isinstance(asked, Ask), asked
        payload = {"approved": True} | ({} if policy is None else {"policy": policy})
        self.offer: dict[str, Any] = asked.interrupt.get("policy", {})
        answered = asked.interrupt | {"answer": {"status": "resolved", "payload": payload}}
        session |= {"calls": {"c": asked.entry}, "interrupts": [answered]}
        job = plan_call(*pending_calls(session, toolbox))
        assert isinstance(job, Execute), job
        events = await events_of(toolbox, session, call, job.args, job.entry)
        found: dict[str, Any] = events[-1]["metadata"]["yaa"]["result"]
        return found

    def came(self, found: dict[str, Any]) -> bool:
        return found["status"] == "ok" and "/x of" in found["result"]["output"]

    async def test_nothing_is_offered_where_nothing_may_be_added(self) -> None:
        toolbox = await self.toolbox()
        found = await self.reached(toolbox)
        self.assertFalse(self.came(found))
        self.assertEqual(self.offer, {})
        self.assertEqual(found["sandbox"], {"tier": "A", "network": "off"})
        for policy in ({"network": "proxy", "hosts": [self.place]}, {"hosts": ["*"]}):
            found = await self.reached(toolbox, policy)
            self.assertEqual(found["status"], "policy_exceeded")
            self.assertEqual(found["error"]["type"], "policy_exceeded")

    async def test_an_approval_adds_a_host_for_one_call(self) -> None:
        toolbox = await self.toolbox(hosts_on_approval=[self.place, "*.packages.test"])
        found = await self.reached(toolbox, {"hosts": [self.place]})
        self.assertTrue(self.came(found), found)
        self.assertEqual(found["sandbox"], {"tier": "A", "network": "proxy"})
        self.assertEqual(self.offer["network"], "off")
        self.assertEqual(self.offer["hosts_on_approval"], [self.place, "*.packages.test"])
        self.assertFalse(self.came(await self.reached(toolbox)), "only for the call it was for")
        other = await self.reached(toolbox, {"hosts": ["a.packages.test"]})
        self.assertFalse(self.came(other))
        self.assertEqual(other["sandbox"]["refused"], [self.place])
        beyond: list[Any] = [
            {"hosts": [self.place, "127.0.0.1:22"]},
            {"hosts": ["0.0.0.0/0"]},
            {"hosts": ["*"]},
            {"network": "full"},
            {"network": "full", "hosts": [self.place]},
            {"network": "proxy"},
            {"hosts": 7},
        ]
        for policy in beyond:
            with self.subTest(policy=policy):
                self.assertEqual((await self.reached(toolbox, policy))["status"], "policy_exceeded")

    async def test_a_forged_ledger_gains_nothing(self) -> None:
        toolbox = await self.toolbox()
        entry: Any = {
            "name": "shell",
            "policy": {"network": "full", "hosts": ["*"]},
            "tier": "none",
        }
        args = {"command": "true"}
        events = await events_of(toolbox, self.session, self.call(), args, entry)
        self.assertEqual(events[-1]["metadata"]["yaa"]["result"]["status"], "policy_exceeded")

    async def test_a_session_narrows(self) -> None:
        for network, own, reaches in (
            ("full", None, True),
            ("full", "off", False),
            ("full", "full", True),
            ("proxy", None, True),
            ("proxy", "off", False),
            ("proxy", "full", True),
            ("off", "full", False),
            ("off", "proxy", False),
        ):
            with self.subTest(network=network, own=own):
                toolbox = await self.toolbox(network=network, hosts=[self.place])
                self.session["config"]["tool"] = {"shell": {"network": own} if own else {}}
                self.assertEqual(self.came(await self.reached(toolbox)), reaches)
                await toolbox.close()

    async def test_what_a_tier_cannot_keep_is_refused(self) -> None:
        toolbox = await self.toolbox(most="none", require="none")
        self.session["config"]["tool"] = {"shell": {"network": "off"}}
        found = await self.reached(toolbox)
        self.assertEqual(found["status"], "policy_exceeded")
        self.assertIn("tier none", found["error"]["message"])
        self.assertEqual(self.offer, {})

    async def test_a_tool_that_needs_a_network(self) -> None:
        for sandbox, reason in (
            ({}, "policy_exceeded: fetches needs network proxy (this server allows off)"),
            ({"network": "proxy"}, None),
            ({"network": "full"}, None),
            ({"hosts_on_approval": ["*"]}, None),
        ):
            with self.subTest(sandbox=sandbox):
                toolbox = await self.toolbox(**sandbox)
                tool = next(t for t in toolbox.info() if t["name"] == "fetches")
                self.assertEqual(tool.get("unavailable"), reason)
                names = {t["function"]["name"] for t in toolbox.declarations(self.session)}
                self.assertEqual("fetches" in names, reason is None)
                await toolbox.close()
        problems = "\n".join(toolbox.problems)
        self.assertIn("odd: required_resources: network 'everything'", problems)
        self.assertIn("slow: required_resources: wall_s 'long'", problems)
        self.assertIn("strong", {tool["name"] for tool in toolbox.info()})


class Shapes(unittest.TestCase):
    def test_the_words_of_an_approval(self) -> None:
        """What the schema lets through at all; the rest is refused before anything happens."""
        kinds = ANSWERS["tool_call"]["properties"]["policy"]
        self.assertEqual(kinds["properties"]["network"]["enum"], ["off", "proxy"])
        self.assertIs(kinds["additionalProperties"], False)

    def test_a_session_names_networks(self) -> None:
        for network, wrong in (("off", 0), ("proxy", 0), ("full", 0), ("none", 1), (None, 1)):
            document = {"messages": [], "config": {"tool": {"shell": {"network": network}}}}
            self.assertEqual(len(list(check(document))), wrong, network)


if __name__ == "__main__":
    unittest.main()
