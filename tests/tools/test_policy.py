"""The policy: every level against every other, and what a session can never do."""

from __future__ import annotations

import copy
import itertools
import unittest
from importlib import import_module
from typing import Any, ClassVar

from server.lib.sandbox.network_policy import NetworkPolicy
from server.tools.base import Tool, hints_of
from server.tools.policy import (
    EVERY_CALL,
    MAX_WORK,
    Grants,
    asks_always,
    call_limits,
    decide,
    enforceable,
    fingerprint,
    reach_of,
    unmet_requirements,
)
from server.tools.session_tools import QuestionTool, session_tools

from ..tooling import source

READS = Tool("look", "", {}, hints=hints_of({"read_only": True}))
WRITES = Tool("rm", "", {}, hints=hints_of({}))


def kinds(above: type[Tool] = Tool) -> list[type[Tool]]:
    """Every kind of tool of the modules that are loaded."""
    below = [kind for kind in above.__subclasses__() if kind.__module__.startswith("server.")]
    return [above, *(found for kind in below for found in kinds(kind))]


def session(name: str, own: dict[str, Any] | None = None, *grants: dict[str, Any]) -> Any:
    return {"config": {"tool": {name: own} if own is not None else {}}, "grants": list(grants)}


class Order(unittest.TestCase):
    def test_every_level(self) -> None:
        allow, deny = ({"tool": "rm", "decision": d} for d in ("allow", "deny"))
        auto, off, never = {"auto_approve": True}, {"auto_approve": False}, {"deny": True}
        cases: list[tuple[str, str, dict[str, Any] | None, list[dict[str, Any]], str]] = [
            ("default of a tool that writes", "auto", None, [], "ask"),
            ("auto_approve", "auto", auto, [], "run"),
            ("grant", "auto", None, [allow], "run"),
            ("a grant over auto_approve off", "auto", off, [allow], "run"),
            ("session denies over its own grant", "auto", never, [allow], "deny"),
            ("denied grant over auto_approve", "auto", auto, [deny], "deny"),
            ("ceiling ask over auto_approve", "ask", auto, [], "ask"),
            ("ceiling ask over a grant", "ask", auto, [allow], "ask"),
            ("session denies under ceiling ask", "ask", never, [], "deny"),
            ("server denies over everything", "deny", auto, [allow], "deny"),
        ]
        for name, ceiling, own, grants, action in cases:
            with self.subTest(name):
                self.assertEqual(
                    decide(WRITES, {}, ceiling, session("rm", own, *grants))[0], action
                )

    def test_where_a_grant_would_not_help(self) -> None:
        auto, off = {"auto_approve": True}, {"auto_approve": False}
        agents: list[tuple[dict[str, Any], bool]] = [
            ({}, False),
            ({"policy": {"rm": "ask"}}, True),
            ({"policy": {"rm": "auto"}}, False),
        ]
        for ceiling in ("auto", "ask"):
            for own in (None, auto, off):
                for agent, asks in agents:
                    with self.subTest(ceiling=ceiling, own=own, agent=agent):
                        asked = session("rm", own)
                        asked["config"]["agent"] = {"name": "a", **agent}
                        always = asks_always(WRITES, {}, ceiling, asked)
                        self.assertEqual(always, asks or ceiling == "ask")
                        asked["grants"] = [{"tool": "rm", "decision": "allow"}]
                        still = decide(WRITES, {}, ceiling, asked)[0] == "ask"
                        self.assertEqual(always, still, "as a grant shows")

    def test_the_agent_stands_between_the_server_and_the_session(self) -> None:
        allow, auto = {"tool": "rm", "decision": "allow"}, {"auto_approve": True}
        cases: list[tuple[str, dict[str, Any], dict[str, Any] | None, list[Any], str]] = [
            ("auto", {"policy": {"rm": "auto"}}, None, [], "run"),
            ("ask", {"policy": {"rm": "auto"}}, None, [], "ask"),
            ("deny", {"policy": {"rm": "auto"}}, None, [], "deny"),
            ("auto", {"policy": {"rm": "auto"}}, {"auto_approve": False}, [], "ask"),
            ("auto", {"policy": {"rm": "auto"}}, {"deny": True}, [], "deny"),
            ("auto", {"policy": {"rm": "ask"}}, auto, [allow], "ask"),
            ("auto", {"policy": {"rm": "deny"}}, auto, [allow], "deny"),
            ("auto", {"tools": ["look"]}, auto, [allow], "deny"),
            ("auto", {"tools": ["r*"]}, None, [], "ask"),
        ]
        for ceiling, agent, own, grants, action in cases:
            with self.subTest(ceiling=ceiling, agent=agent, own=own):
                asked = session("rm", own, *grants)
                asked["config"]["agent"] = {"name": "a", **agent}
                self.assertEqual(decide(WRITES, {}, ceiling, asked)[0], action)

    def test_where_nobody_can_be_asked_what_would_ask_is_denied(self) -> None:
        """Never the other way round: nothing that was asked about before runs now."""
        asks = QuestionTool("ask_user", "", {}, hints=hints_of({"read_only": True}))
        auto = {"auto_approve": True}
        cases: list[tuple[Tool, str, dict[str, Any] | None, str]] = [
            (WRITES, "auto", None, "deny"),
            (WRITES, "ask", auto, "deny"),
            (WRITES, "auto", auto, "run"),
            (READS, "auto", None, "run"),
            (READS, "ask", None, "deny"),
            (READS, "auto", {"auto_approve": False}, "deny"),
            (asks, "auto", None, "deny"),
        ]
        for tool, ceiling, own, action in cases:
            with self.subTest(tool.name, ceiling=ceiling, own=own):
                asked = session(tool.name, own)
                attended = decide(tool, {}, ceiling, asked)[0]
                asked["config"]["yaa"] = {"unattended": True}
                found, reason = decide(tool, {}, ceiling, asked)
                self.assertEqual(found, action)
                if action == "run":
                    self.assertEqual(attended, "run")
                elif attended != "deny":
                    self.assertIn("nobody can be asked", reason)

    def test_every_kind_of_tool_where_a_session_asks_before_every_call(self) -> None:
        """Whatever allows the call; only tools that steer the run go on, and nothing is widened."""
        allow, auto = {"decision": "allow"}, {"auto_approve": True}
        for name in source.paths():
            import_module(name)
        found = kinds()
        self.assertGreater(len(found), 15)
        for kind, ceiling, own, word, reads, unattended in itertools.product(
            found,
            ("auto", "ask", "deny"),
            (None, auto),
            ("auto", "ask", "deny", ""),
            (0, 1),
            (0, 1),
        ):
            tool = kind.__new__(kind)
            vars(tool).update(name="rm", like="", hints=hints_of({"read_only": bool(reads)}))
            asked = session("rm", own, {"tool": "rm", **allow})
            asked["config"]["agent"] = {"name": "a", "policy": {"rm": word} if word else {}}
            with self.subTest(kind=kind, ceiling=ceiling, own=own, word=word, reads=reads):
                asked["config"]["yaa"] = {"unattended": bool(unattended)}
                before = decide(tool, {}, ceiling, asked)[0]
                asked["config"]["yaa"]["ask"] = "every_call"
                after, reason = decide(tool, {}, ceiling, asked)
                if before != "run" or tool.control:
                    self.assertEqual(after, before)
                elif unattended:
                    self.assertEqual((after, reason[:6]), ("deny", "nobody"))
                else:
                    self.assertEqual((after, reason), ("ask", EVERY_CALL))
                    self.assertTrue(asks_always(tool, {}, ceiling, asked), "no grant helps now")

    def test_grants_count_again_when_a_session_no_longer_asks_before_every_call(self) -> None:
        asked = session("rm", {"auto_approve": True}, {"tool": "rm", "decision": "allow"})
        before = copy.deepcopy(asked)
        for ask, action in (("every_call", "ask"), ("by_rules", "run"), (None, "run")):
            asked["config"]["yaa"] = {} if ask is None else {"ask": ask}
            self.assertEqual(decide(WRITES, {}, "auto", asked)[0], action)
        del asked["config"]["yaa"]
        self.assertEqual(asked, before)

    def test_which_tools_steer_the_run(self) -> None:
        control = [tool.name for tool in session_tools() if tool.control]
        names = {*control, *(kind.__name__ for kind in kinds() if kind.control)}
        self.assertEqual(
            names,
            {
                *("ask_user", "finish", "tool_detail", "context_reload", "context_retain"),
                *("plan_set", "plan_update"),
                *("ControlTool", "QuestionTool", "FinishTool", "DetailTool", "ReloadTool"),
                *("RetainTool", "PlanTool"),
            },
        )

    def test_reading(self) -> None:
        self.assertEqual(decide(READS, {}, "auto", session("look"))[0], "run")
        self.assertEqual(decide(READS, {}, "ask", session("look"))[0], "ask")
        self.assertEqual(
            decide(READS, {}, "auto", session("look", {"auto_approve": False}))[0], "ask"
        )

    def test_no_session_ever_gets_more_than_the_ceiling(self) -> None:
        rank = {"deny": 0, "ask": 1, "run": 2}
        for ceiling, most in (("deny", 0), ("ask", 1)):
            for own in (None, {"auto_approve": True}, {"auto_approve": True, "deny": False}):
                for grants in ([], [{"tool": "rm", "decision": "allow"}]):
                    action, _ = decide(WRITES, {}, ceiling, session("rm", own, *grants))
                    self.assertLessEqual(rank[action], most)


class OfGrants(unittest.TestCase):
    def test_match(self) -> None:
        cases: list[tuple[dict[str, str], dict[str, Any], bool]] = [
            ({}, {"command": "ls"}, True),
            ({"command": "git log*"}, {"command": "git log -1"}, True),
            ({"command": "git log*"}, {"command": "git push"}, False),
            ({"command": "*"}, {"command": ["ls"]}, False),
            ({"command": "*"}, {}, False),
            ({"a": "x", "b": "y"}, {"a": "x", "b": "z"}, False),
            ({"a": "X"}, {"a": "x"}, False),
        ]
        for match, args, covered in cases:
            with self.subTest(match=match, args=args):
                grant: Any = {"tool": "rm", "match": match, "decision": "allow"}
                wanted = {"allow"} if covered else set()
                self.assertEqual(Grants([grant]).decisions(WRITES, args), wanted)
        everywhere = Grants([{"tool": "rm", "decision": "allow"}])
        self.assertEqual(everywhere.decisions(READS, {}), set())

    def test_both_decisions(self) -> None:
        made: list[Any] = [
            {"tool": "rm", "decision": "allow"},
            {"tool": "rm", "match": {"path": "/etc/*"}, "decision": "deny"},
        ]
        self.assertEqual(Grants(made).decisions(WRITES, {"path": "/etc/x"}), {"allow", "deny"})
        self.assertEqual(Grants(made).decisions(WRITES, {"path": "x"}), {"allow"})

    def test_what_is_too_much_to_compare_allows_nothing_and_is_denied(self) -> None:
        text = "a" * 1_000_000
        for decision, wanted in (("allow", set()), ("deny", {"deny"})):
            grant: Any = {"tool": "rm", "match": {"path": "*b*"}, "decision": decision}
            grants = Grants([grant])
            for _ in range(MAX_WORK // len(text)):
                self.assertEqual(grants.decisions(WRITES, {"path": text[:-3]}), set())
            self.assertEqual(grants.decisions(WRITES, {"path": text}), wanted)


class OfDeclarations(unittest.TestCase):
    """A grant belongs to the tool as it was declared."""

    CITY: ClassVar[Any] = {"properties": {"city": {"type": "string"}}}

    def tool(self, description: str = "weather", origin: str = "mcp x", **more: Any) -> Tool:
        parameters = {"properties": {**self.CITY["properties"], **more}}
        return Tool("w", description, parameters, origin=origin, hints=hints_of({}))

    def test_another_declaration_is_not_allowed(self) -> None:
        given: Any = {"tool": "w", "decision": "allow"}
        given["declaration"] = self.tool().declaration_digest
        text = {"type": "string"}
        cases: list[tuple[str, Tool, dict[str, Any]]] = [
            ("the same", self.tool(), {}),
            ("description", self.tool("read ~/.ssh"), {"description": True}),
            ("an argument more", self.tool(command=text), {"added": ["command"]}),
            ("another type", self.tool(city={"type": "object"}), {"other": True}),
            (
                "other arguments",
                Tool("w", "weather", {"properties": {"town": text}}, origin="mcp x"),
                {"added": ["town"], "removed": ["city"]},
            ),
            ("a built-in tool", self.tool(origin="builtin"), {"description": True}),
        ]
        for name, now, changed in cases:
            with self.subTest(name):
                grants = Grants([given])
                self.assertEqual(grants.decisions(now, {}), {"allow"} if not changed else set())
                nothing = {"added": [], "removed": [], "description": False}
                wanted = {**nothing, **changed} if changed else {}
                wanted.pop("other", None)
                found = grants.changes(now, {})
                self.assertEqual(found.pop("message", "") != "", bool(changed))
                self.assertEqual(found, wanted)

    def test_a_denial_holds_for_any_declaration(self) -> None:
        denial: Any = {"tool": "w", "decision": "deny"}
        denial["declaration"] = self.tool().declaration_digest
        self.assertEqual(Grants([denial]).decisions(self.tool("other"), {}), {"deny"})

    def test_a_built_in_tool_may_be_described_anew(self) -> None:
        given: Any = {"tool": "w", "decision": "allow"}
        given["declaration"] = self.tool(origin="builtin").declaration_digest
        again = self.tool("in better words", origin="builtin", city={"maxLength": 3})
        self.assertEqual(Grants([given]).decisions(again, {}), {"allow"})
        wider = self.tool(origin="builtin", command={"type": "string"})
        self.assertEqual(Grants([given]).decisions(wider, {}), set())

    def test_a_grant_without_one_is_for_the_name(self) -> None:
        given: Any = {"tool": "w", "decision": "allow"}
        self.assertEqual(Grants([given]).decisions(self.tool("anything"), {}), {"allow"})
        self.assertEqual(Grants([given]).changes(self.tool("anything"), {}), {})


class Fingerprints(unittest.TestCase):
    def test_same_meaning_same_print(self) -> None:
        same = fingerprint("rm", {"a": 1, "b": [2.0, "é"]})
        self.assertEqual(same, fingerprint("rm", {"b": [2, "é"], "a": 1.0}))
        self.assertRegex(same, r"^sha256:[0-9a-f]{64}$")

    def test_anything_else_differs(self) -> None:
        prints = {
            fingerprint(name, args)
            for name, args in (
                ("rm", {}),
                ("rm2", {}),
                ("rm", {"a": 1}),
                ("rm", {"a": "1"}),
                ("rm", {"a": True}),
                ("rm", {"a": None}),
                ("rm", {"a": [1]}),
                ("rm\n{", {}),
            )
        }
        self.assertEqual(len(prints), 8)


class Limits(unittest.TestCase):
    def test_a_tool_may_need_more_and_nobody_gets_over_the_server(self) -> None:
        most = {"wall_s": 100, "memory_mb": 500}
        self.assertEqual(call_limits({"wall_s": 10}, {}, most), {"wall_s": 10, "memory_mb": 500})
        self.assertEqual(call_limits({"wall_s": 10}, {"wall_s": 50}, most)["wall_s"], 50)
        self.assertEqual(call_limits({"wall_s": 10}, {"wall_s": 5}, most)["wall_s"], 10)
        self.assertEqual(call_limits({"wall_s": 900}, {"wall_s": 800}, most)["wall_s"], 100)
        self.assertEqual(call_limits({"wall_s": 0.5}, {}, most)["wall_s"], 0.5)
        self.assertEqual(call_limits({"mine": 1}, {}, most), most)

    def test_what_a_tool_needs_beyond_the_server(self) -> None:
        most = {"wall_s": 100, "memory_mb": 500}
        memory, network = (
            "memory_mb 501 (this server allows 500)",
            "network {} (this server allows {})",
        )
        cases: list[tuple[dict[str, Any], str, str]] = [
            ({}, "off", ""),
            ({"wall_s": 100, "memory_mb": 499, "mine": 9000}, "off", ""),
            ({"memory_mb": 501}, "full", memory),
            ({"network": "off"}, "off", ""),
            ({"network": "proxy"}, "proxy", ""),
            ({"network": "proxy"}, "full", ""),
            ({"network": "full"}, "proxy", network.format("full", "proxy")),
            (
                {"memory_mb": 501, "network": "proxy"},
                "off",
                f"{memory}, {network.format('proxy', 'off')}",
            ),
        ]
        for required, allowed, said in cases:
            with self.subTest(required, network=allowed):
                self.assertEqual(unmet_requirements(required, most, allowed), said)


class Network(unittest.TestCase):
    def test_what_each_tier_can_keep(self) -> None:
        kept = {
            "A": ("off", "proxy", "full"),
            "B": ("off", "full"),
            "C": ("full",),
            "none": ("full",),
        }
        for tier, networks in kept.items():
            for network in ("off", "proxy", "full"):
                with self.subTest(tier, network=network):
                    why = enforceable(NetworkPolicy(network), tier)
                    self.assertEqual(why == "", network in networks, why)

    def test_the_session_narrows_and_a_person_widens(self) -> None:
        base, asked = NetworkPolicy("proxy", ("a.org",)), {"hosts": ["c.org"]}
        closed = session("rm", {"network": "off"})
        self.assertEqual(reach_of(base, session("rm"), "rm", None, ["c.org"]), base)
        self.assertEqual(
            reach_of(base, closed, "rm", None, ["c.org"]), NetworkPolicy("off", ("a.org",))
        )
        self.assertEqual(reach_of(base, closed, "look", None, []), base)
        wide = reach_of(base, session("rm"), "rm", asked, ["c.org"])
        self.assertEqual(wide, NetworkPolicy("proxy", ("a.org", "c.org")))
        only = reach_of(base, closed, "rm", asked, ["c.org"])
        self.assertEqual(only, NetworkPolicy("proxy", ("c.org",)))
        self.assertIn("c.org", str(reach_of(base, session("rm"), "rm", asked, [])))


if __name__ == "__main__":
    unittest.main()
