"""Permission modes: where they are effective, and which calls run unasked in them."""

from __future__ import annotations

import copy
import itertools
import json
import tempfile
import unittest
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from server.config import load
from server.lib.http.client import Client
from server.lib.sandbox.policy import TIERS
from server.lib.sandbox.probe import make_proof
from server.session.limits import ASK, BEYOND_RULES
from server.settings.real_folders import MODES
from server.tools.permission_mode import COPIES, REASONS
from server.tools.shell_commands import only_looks
from server.tools.toolbox import Toolbox
from server.workspace.host import Workspaces

Json = dict[str, Any]
BUILT_IN = {  # built-in tools that the rules ask about -> kind of work, "" for none
    "write_file": "edit",
    "edit_file": "edit",
    "shell": "program",
    "python": "program",
    "bash": "program",
    "fetch_url": "",
}
ARGS: Mapping[str, Json] = {
    "write_file": {"path": "a.txt", "content": "x"},
    "edit_file": {"path": "a.txt", "old": "x", "new": "y"},
    "shell": {"command": "make all"},
    "bash": {"command": "make all"},
    "python": {"code": "print(1)"},
    "fetch_url": {"url": "https://example.com/"},
}
TESTS, ONE_TEST = "python3 -m unittest -q 2>&1 | tail -n 20", "python3 -m unittest tests.test_a"
# What a model did for "rename the option, with tests and a commit": 45 calls.
READS: list[tuple[str, Json]] = [
    *[("list_files", {"path": "."}), ("list_files", {"path": "src"})],
    *[("search_files", {"query": "timeout"}), ("search_files", {"query": "limit"})],
    *[("read_file", {"path": f"src/part{number}.py"}) for number in range(9)],
]
EDITS: list[tuple[str, Json]] = [
    *[("edit_file", {"path": f"src/part{n}.py", "old": "a", "new": "b"}) for n in range(5)],
    ("write_file", {"path": "tests/test_a.py", "content": "import unittest"}),
]
LOOKING = [
    *["git status", "git status --short", "git log --oneline -5", "git diff", "git diff --stat"],
    *["ls -la", "cd src && ls", "grep -rn timeout . | head -20", "cat setup.cfg; cat README.md"],
    *["find . -name '*.py' | wc -l", "git diff HEAD~1 -- src", "grep -c timeout src/part0.py"],
    *["head -50 src/part1.py", "git log -1 2>/dev/null", "git show --stat"],
]
CHANGING = [*[TESTS] * 6, *[ONE_TEST] * 2, "git add -A && git commit -qm 'rename the option'"]
TASK: list[tuple[str, Json]] = [
    *READS,
    *EDITS,
    *[("shell", {"command": command}) for command in (*LOOKING, *CHANGING)],
    ("shell", {"command": "git diff --cached"}),
    ("fetch_url", {"url": "https://docs.example/options"}),
]


def call_of(name: str, args: Json) -> Any:
    text = json.dumps(args)
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": text}}


class Modes(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))

    async def toolbox(self, *, tier: str = "A", network: str = "off", **server: Any) -> Toolbox:
        """Return a toolbox with a folder of each mode, whose sandbox is said to be proven."""
        folders = {}
        for mode in MODES:
            (self.home / mode).mkdir(exist_ok=True)
            folders[mode] = {"path": str(self.home / mode), "mode": mode}
        flags = {"server.discover": False, "server.sandbox.require": "none"}
        flags |= {"server.folders": folders}
        flags |= {f"server.{key}": value for key, value in server.items()}
        config = load(self.home / "home", None, {}, flags)
        found = Toolbox(config, Client(), files=Workspaces.of(config))
        found.runner.sandbox = make_proof(tier, network, {})
        return found

    def session(self, mode: str, place: str = "own", **more: Any) -> Any:
        workspace = {} if place == "own" else {"workspace": {"folder": place}}
        config: Json = {"yaa": {"ask": mode}, "agent": {"name": "a", "tools": ["*", "bash"]}}
        config |= more.pop("config", {})
        return {"grants": [], "messages": [], "calls": {}, "config": config, **workspace, **more}

    def verdict(self, toolbox: Toolbox, session: Any, name: str, args: Json | None = None) -> Any:
        return toolbox.verdict(session, call_of(name, ARGS[name] if args is None else args))

    async def test_where_each_mode_is_effective(self) -> None:
        """Every mode in every workspace, sandbox and network, for every kind of built-in tool."""
        places = ("own", *MODES, "unknown")
        for tier, network in itertools.product(TIERS, ("off", "proxy", "full")):
            toolbox = await self.toolbox(tier=tier, network=network)
            for mode, place in itertools.product(ASK, places):
                confined = tier in ("A", "B") and place in COPIES
                # Below tier B make_proof says that calls have the machine's network.
                off = toolbox.runner.sandbox["network"] == "off"
                runs = {"edit"} if mode == "edits_run" and confined else set()
                runs = {"edit", "program"} if mode == "copy_runs" and confined and off else runs
                session = self.session(mode, place)
                for name, work in BUILT_IN.items():
                    with self.subTest(mode, place=place, tier=tier, network=network, tool=name):
                        verdict = self.verdict(toolbox, session, name)
                        self.assertEqual(verdict.action, "run" if work in runs else "ask")

    async def test_it_says_why_it_is_not_effective(self) -> None:
        cases: list[tuple[str, str, Json, str]] = [
            ("edits_run", "own", {}, ""),
            ("copy_runs", "overlay", {}, ""),
            ("copy_runs", "own", {"tier": "B"}, ""),
            ("edits_run", "own", {"network": "full"}, ""),
            ("copy_runs", "own", {"network": "full"}, "network"),
            ("edits_run", "own", {"tier": "C"}, "tier"),
            ("edits_run", "write", {}, "final"),
            ("copy_runs", "write", {}, "final"),
            ("edits_run", "read", {}, "read_only"),
            ("copy_runs", "own", {"permission_modes": ["edits_run"]}, "forbidden"),
            ("edits_run", "own", {"permission_modes": []}, "forbidden"),
        ]
        for mode, place, about, code in cases:
            with self.subTest(mode, place=place, **about):
                toolbox = await self.toolbox(**about)
                told = toolbox.permissions.info()[place][mode]
                self.assertEqual(told.get("code", ""), code)
                defaults = {"config": {"yaa": {"ask": "by_rules"}}}
                remarks = toolbox.permissions.remarks(self.session(mode, place), defaults)
                self.assertEqual([each["reason"] for each in remarks], [code] if code else [])
                for text in (told.get("message", ""), *(each["message"] for each in remarks)):
                    self.assertNotIn("{", text)
                    self.assertNotIn(str(self.home), text)
                if code:
                    work = {"edits_run": "write_file", "copy_runs": "shell"}[mode]
                    session = self.session(mode, place)
                    verdict = self.verdict(toolbox, session, work)
                    self.assertEqual(verdict.action, "ask")
                    self.assertNotEqual(verdict.shown.get("permission"), mode)
        self.assertEqual({code for *_, code in cases} - {""}, set(REASONS))
        remarks = toolbox.permissions.remarks({}, {"config": {"yaa": {"ask": "copy_runs"}}})
        self.assertEqual(len(remarks), 1, "the default of the owner, where the session says none")

    async def test_what_the_owner_and_the_person_have_set_wins(self) -> None:
        deny = {"tool": "shell", "match": {"command": "make *"}, "decision": "deny"}
        agent: Json = {"name": "a", "tools": ["*"]}
        cases: list[tuple[str, Json, Json, str]] = [
            ("nothing", {}, {}, "run"),
            ("the server asks", {"tools": {"shell": {"ceiling": "ask"}}}, {}, "ask"),
            ("the server denies", {"tools": {"shell": {"ceiling": "deny"}}}, {}, "deny"),
            ("agent", {}, {"config": {"agent": {**agent, "policy": {"shell": "ask"}}}}, "ask"),
            ("agent", {}, {"config": {"agent": {**agent, "policy": {"shell": "deny"}}}}, "deny"),
            ("session", {}, {"config": {"tool": {"shell": {"deny": True}}}}, "deny"),
            ("session", {}, {"config": {"tool": {"shell": {"auto_approve": False}}}}, "ask"),
            ("a denial", {}, {"grants": [deny]}, "deny"),
        ]
        for name, server, session, action in cases:
            with self.subTest(name, **session):
                toolbox = await self.toolbox(**server)
                verdict = self.verdict(toolbox, self.session("copy_runs", **session), "shell")
                self.assertEqual(verdict.action, action)
                self.assertNotIn("permission", verdict.shown)

    async def test_the_card_says_which_mode_would_run_the_call(self) -> None:
        toolbox = await self.toolbox()
        for name, work in BUILT_IN.items():
            least = {"edit": "edits_run", "program": "copy_runs"}.get(work)
            for mode in ("by_rules", "every_call"):
                with self.subTest(name, mode=mode):
                    shown = self.verdict(toolbox, self.session(mode), name).shown
                    self.assertEqual(shown.get("permission"), least if mode == "by_rules" else None)
        looks = self.verdict(toolbox, self.session("by_rules"), "shell", {"command": "git diff"})
        self.assertEqual(looks.shown["permission"], "edits_run")

    async def test_what_programs_of_the_owner_obey_asks(self) -> None:
        """A copy is applied later: these places are never part of "all", so they are shown now."""
        toolbox = await self.toolbox()
        for path in (".git/hooks/pre-commit", ".envrc", "sub/.npmrc", ".vscode/tasks.json"):
            for mode in BEYOND_RULES:
                with self.subTest(path, mode=mode):
                    args = {"path": path, "content": "x"}
                    verdict = self.verdict(toolbox, self.session(mode), "write_file", args)
                    self.assertEqual(verdict.action, "ask")

    def test_commands_that_only_look(self) -> None:
        cases = {
            True: [*LOOKING, "git --no-pager diff", "echo 'a > b'", "cat a 2>&1 | wc -l"],
            False: [
                *CHANGING,
                *["", "cat a > b", "ls; rm x", "echo $HOME", "ls $(rm x)", "ls `rm x`", "ls 'x"],
                *["find . -delete", "find . -exec rm {} +", "sort -o a b", "X=1 ls", "sh -c ls"],
                *["git -c alias.x=!sh status", "git diff --output=a", "git diff --ext-diff"],
                *["sort -uo a b", "sort --outp=a b", "git log --outp=a", "file -C", "date -us 1"],
                *["git commit -m x", "git push", "curl https://example.com", "sudo ls", "./ls"],
            ],
        }
        for looks, commands in cases.items():
            for command in commands:
                with self.subTest(command):
                    self.assertEqual(only_looks(command), looks)

    async def test_a_command_that_only_looks_asks_where_programs_have_a_network(self) -> None:
        """Programs of a repository may be started by git itself."""
        for network, action in (("off", "run"), ("full", "ask")):
            toolbox = await self.toolbox(network=network)
            session = self.session("edits_run")
            verdict = self.verdict(toolbox, session, "shell", {"command": "git status"})
            self.assertEqual(verdict.action, action)

    async def test_how_often_a_task_of_45_calls_asks(self) -> None:
        self.assertEqual(len(TASK), 45)
        toolbox = await self.toolbox()
        cases: list[tuple[str, str, int, int]] = [  # asked with "once", and with this very rule
            ("by_rules", "overlay", 32, 27),
            ("edits_run", "overlay", 10, 4),
            ("copy_runs", "overlay", 1, 1),
            ("copy_runs", "own", 1, 1),
            ("edits_run", "write", 32, 27),
            ("copy_runs", "write", 32, 27),
        ]
        for mode, place, once, ruled in cases:
            for rules, most in ((False, once), (True, ruled)):
                with self.subTest(mode, place=place, rules=rules):
                    asked = self.asked(toolbox, self.session(mode, place), rules=rules)
                    self.assertLessEqual(len(asked), most, asked)
                    self.assertIn("fetch_url", [name for name, _ in asked], "it has a network")

    def asked(self, toolbox: Toolbox, session: Any, *, rules: bool) -> list[tuple[str, Json]]:
        """Return the calls of the task that ask. `rules`: each card is answered with a rule."""
        session, found = copy.deepcopy(session), []
        for name, args in TASK:
            verdict = self.verdict(toolbox, session, name, args)
            self.assertIn(verdict.action, ("run", "ask"), verdict.reason)
            if verdict.action == "ask":
                found.append((name, args))
                match = {key: args[key] for key in ("command", "path", "url") if key in args}
                if rules:
                    session["grants"].append({"tool": name, "match": match, "decision": "allow"})
        return found


if __name__ == "__main__":
    unittest.main()
