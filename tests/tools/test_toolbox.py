"""The toolbox: what is offered, what the policy says, and calls from arguments to results."""

from __future__ import annotations

import copy
import json
import platform
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.agent.call_decisions import execute
from server.config import Config
from server.errors import Problem
from server.json_types import Event
from server.lib.json_schema.generate import NOTHING, example
from server.tools.result import MAX_NESTED
from server.tools.runner import ToolRunner
from server.tools.toolbox import MOST_OFFERS, Toolbox

from ..fakes import DEFAULTS, events_of

DEEP = '{"a":' * (MAX_NESTED + 1) + "1" + "}" * (MAX_NESTED + 1)

OWNED = """
from yaa import tool, Context
from dataclasses import dataclass

@dataclass
class Point:
    x: int
    y: int = 2

@tool(read_only=True, keep=3)
async def add(p: Point, ctx: Context) -> int:
    "Add the coordinates of a point."
    ctx.log("adding")
    return p.x + p.y

@dataclass
class Node:
    name: str
    kids: list["Node"]

@tool(read_only=True)
def tree(top: Node) -> Node:
    "Turn a tree."
    return top

@tool(read_only=True)
def seen(ctx: Context) -> dict:
    "What the session keeps for extensions."
    return dict(ctx.state)

@tool(required_resources={"wall_s": 9999})
def change(text: str) -> None:
    "Change something."
"""


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.home = Path(holder.name)
        self.session: Any = {
            "id": "s",
            "config": copy.deepcopy(DEFAULTS["session"]["config"]),
            "grants": [],
            "messages": [],
        }

    def toolbox(self, **ceilings: str) -> Toolbox:
        server = copy.deepcopy(DEFAULTS["server"])
        server["sandbox"]["require"] = "none"
        server["tools"] = {name: {"ceiling": ceiling} for name, ceiling in ceilings.items()}
        return Toolbox(Config(server, DEFAULTS["session"], self.home))

    def call(self, name: str, arguments: Any) -> Any:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        return {"id": "c1", "type": "function", "function": {"name": name, "arguments": text}}

    async def execute(self, toolbox: Toolbox, name: str, arguments: Any) -> list[Event]:
        """What the loop does with a call, once it may run."""
        call = self.call(name, arguments)
        verdict = toolbox.verdict(self.session, call)
        assert verdict.args is not None, verdict
        job = execute(call, verdict, {})
        return await events_of(toolbox, self.session, call, job.args, {}, repairs=job.repairs)


class Host(Case):
    async def test_what_tools_run_on_is_told_where_any_can(self) -> None:
        for require, told in (("none", f"{platform.system()} ("), ("A", "")):
            server = copy.deepcopy(DEFAULTS["server"])
            server["sandbox"]["require"] = require
            toolbox = Toolbox(Config(server, DEFAULTS["session"], self.home))
            self.addAsyncCleanup(toolbox.close)
            await toolbox.open("none")  # nothing is proven
            self.assertTrue(toolbox.host.startswith(told), toolbox.host)
            self.assertEqual(bool(toolbox.host), bool(told))


class Exceeded(Case):
    """Tools that need more than the server's limits allow (docs/reference/tools.md)."""

    def setUp(self) -> None:
        super().setUp()
        folder = self.home / "tools"
        folder.mkdir()
        (folder / "mine.py").write_text(
            "from yaa import tool\n"
            "@tool(read_only=True, required_resources={'memory_mb': 900_000, 'wall_s': 1})\n"
            "def huge() -> int:\n    'Much.'\n    return 1\n"
        )

    async def test_never_offered_never_run(self) -> None:
        toolbox = self.toolbox()
        await toolbox.load_owner_tools()
        self.assertNotIn(
            "huge", [t["function"]["name"] for t in toolbox.declarations(self.session)]
        )
        (about,) = (tool for tool in toolbox.info() if tool["name"] == "huge")
        self.assertIn("policy_exceeded: huge needs memory_mb 900000 (this", about["unavailable"])
        self.session["config"]["limits"]["tool"]["memory_mb"] = 10**9  # a session widens nothing
        verdict = toolbox.verdict(self.session, self.call("huge", {}))
        self.assertEqual((verdict.action, verdict.status), ("error", "policy_exceeded"))
        (event,) = await events_of(toolbox, self.session, self.call("huge", {}), {}, {})
        found = event["metadata"]["yaa"]["result"]
        self.assertEqual((found["status"], found.get("result")), ("policy_exceeded", None))


class Offered(Case):
    def names(self, toolbox: Toolbox) -> list[str]:
        return [tool["function"]["name"] for tool in toolbox.declarations(self.session)]

    def test_built_in_tools_in_a_fixed_order(self) -> None:
        builtin = [
            *("calculator", "datetime", "shell", "python", "read_file", "write_file"),
            *("edit_file", "list_files", "search_files", "ask_user", "finish"),
        ]
        self.assertEqual(self.names(self.toolbox()), builtin)
        self.assertEqual(self.names(self.toolbox()), builtin)
        for tool in self.toolbox().info():
            self.assertTrue(tool["description"])
            self.assertEqual(tool["parameters"]["type"], "object")
            self.assertEqual(
                set(tool["hints"]), {"read_only", "destructive", "idempotent", "parallel_safe"}
            )

    def test_what_a_session_says_of_tools_is_found_once(self) -> None:
        """The same objects for whoever says the same, and no others."""
        toolbox = self.toolbox()
        config, whole = self.session["config"], self.names(toolbox)
        before = toolbox.declarations(self.session)
        again = toolbox.declarations(copy.deepcopy(self.session))
        self.assertTrue(all(one is other for one, other in zip(before, again, strict=True)))
        deny = {"shell": {"deny": True}}
        for name, place, key, said in (
            ("the session", config, "tool", deny),
            ("its agent", config, "agent", {"name": "a", "tools": ["[!s]*", "finish"]}),
            ("a grant", self.session, "grants", [{"tool": "shell", "decision": "deny"}]),
            ("nobody to ask", config["yaa"], "unattended", True),
        ):
            with self.subTest(name):
                was = place.get(key)
                place[key] = said
                self.assertNotIn("shell", self.names(toolbox))
                place[key] = was if was is not None else {}
                self.assertEqual(self.names(toolbox), whole)
        config["context"]["retain_tool"] = True  # and what is of use just now
        self.assertEqual(set(self.names(toolbox)) - set(whole), {"context_retain"})
        config["context"]["retain_tool"] = False
        self.assertEqual(self.names(toolbox), whole)
        for number in range(2 * MOST_OFFERS):
            config["tool"] = {f"tool_{number}": {"deny": True}}
            self.assertEqual(self.names(toolbox), whole)
        self.assertLessEqual(len(toolbox._offers), MOST_OFFERS)

    def test_many_tools_in_brief(self) -> None:
        toolbox = self.toolbox()
        text = {"type": "string", "description": "What this field of the request is good for"}
        fields = {f"field_{number}": text for number in range(12)}
        self.session["tools"] = [
            {
                "name": f"tool_{number}",
                "description": "Do one thing well. " * 8,
                "parameters": {"type": "object", "properties": fields, "required": ["field_0"]},
            }
            for number in range(60)
        ]
        whole = json.dumps(toolbox.declarations(self.session))
        self.session["config"]["yaa"]["tool_detail"] = True
        in_brief = json.dumps(toolbox.declarations(self.session))
        self.assertLess(len(in_brief), len(whole) / 5)
        self.assertIn('"tool_detail"', in_brief)
        self.assertNotIn('"tool_detail"', whole)
        self.assertIn('"suggestions"', in_brief, "ask_user is whole: its schema is the question")

    async def test_detail(self) -> None:
        self.session["tools"] = [{"name": "page_title", "description": "The title."}]
        found = await self.execute(self.toolbox(), "tool_detail", {"name": "read_file"})
        about = found[-1]["metadata"]["yaa"]["result"]["result"]
        self.assertEqual(about["example"], {"path": "notes/today.txt"})
        self.assertIn("offset", about["parameters"]["properties"])
        found = await self.execute(self.toolbox(), "tool_detail", {"name": "page_title"})
        self.assertIn("The title.", found[-1]["content"])
        found = await self.execute(self.toolbox(), "tool_detail", {"name": "red_file"})
        self.assertIn("did you mean read_file", found[-1]["content"])

    def test_denied_tools_are_neither_offered_nor_run(self) -> None:
        toolbox = self.toolbox(shell="deny")
        self.session["config"]["tool"]["finish"] = {"deny": True}
        self.assertNotIn("shell", self.names(toolbox))
        self.assertNotIn("finish", self.names(toolbox))
        for arguments in ({"command": "ls"}, "{broken"):
            self.assertEqual(
                toolbox.verdict(self.session, self.call("shell", arguments)).action, "deny"
            )

    def test_page_tools_come_last_and_shadow_nothing_that_steers(self) -> None:
        self.session["tools"] = [
            {"name": "plan_set", "description": "mine"},
            {"name": "shell", "description": "mine"},
            {"name": "page_title", "parameters": {"type": "object"}},
        ]
        toolbox = self.toolbox()
        self.assertEqual(self.names(toolbox)[-1], "page_title")
        self.assertEqual(self.names(toolbox).count("shell"), 1)
        self.assertEqual(
            toolbox.verdict(self.session, self.call("page_title", {})).action, "client"
        )
        self.assertEqual(
            toolbox.verdict(self.session, self.call("shell", {"command": "x"})).action, "client"
        )
        self.assertNotEqual(
            toolbox.verdict(self.session, self.call("plan_set", {})).action, "client"
        )

    def test_policy_is_told(self) -> None:
        told = {tool["name"]: tool["policy"] for tool in self.toolbox(datetime="ask").info()}
        self.assertEqual(
            (told["calculator"], told["datetime"], told["shell"]), ("run", "ask", "ask")
        )


class Judged(Case):
    def test_arguments(self) -> None:
        cases: list[tuple[str, Any, str, str]] = [
            ("calculator", {"expression": "1"}, "run", ""),
            ("calculator", "", "error", "expression"),
            ("calculator", "[1]", "error", "JSON object"),
            ("calculator", '{"expression": "1"', "error", "not valid JSON"),
            ("calculator", '{"expression":"1","expression":"2"}', "error", "twice"),
            ("calculator", {"expresion": "1"}, "error", "expression"),
            ("shell", {"command": ["ls"]}, "error", "/command"),
            ("shell", {"command": "ls"}, "ask", ""),
            ("read_file", {"path": "a", "offset": "3"}, "run", ""),
            ("ask_user", {"question": "Q?"}, "question", ""),
            ("ask_user", '{"question":"Q?","response_schema":' + DEEP + "}", "error", "deeper"),
            ("page", '{"x":' + DEEP + "}", "error", "deeper"),
            ("calculater", {}, "error", "did you mean calculator"),
        ]
        toolbox = self.toolbox()
        self.session["tools"] = [{"name": "page", "parameters": {"type": "object"}}]
        for name, arguments, action, reason in cases:
            with self.subTest(name, arguments=arguments):
                verdict = toolbox.verdict(self.session, self.call(name, arguments))
                self.assertEqual(verdict.action, action)
                self.assertIn(reason, verdict.reason)
                self.assertLess(len(verdict.reason), 1100)

    def test_no_tool_runs_with_arguments_that_do_not_fit(self) -> None:
        toolbox = self.toolbox()
        for tool in toolbox.info():
            name, schema = tool["name"], tool["parameters"]
            good = example(schema)
            self.assertIsNot(good, NOTHING)
            wrong: list[Any] = ["[]", "3", '"x"', "{", '{"a":1', "{} {}", "{'a': 1}", "[{}]"]
            wrong += [{**good, "unknown_field": 1}, {**good, "": None}]
            wrong += [
                {k: v for k, v in good.items() if k != gone} for gone in schema.get("required", ())
            ]
            for field, about in schema["properties"].items():
                odd = [[1], [[]]] if "object" in json.dumps(about) else [{"a": {}}, [{"b": []}]]
                wrong += [{**good, field: value} for value in odd]
            self.assertGreaterEqual(len(wrong), 12)
            fits = toolbox.verdict(self.session, self.call(name, good))
            self.assertNotEqual(fits.action, "error", fits.reason)
            for arguments in wrong:
                with self.subTest(name, arguments=arguments):
                    verdict = toolbox.verdict(self.session, self.call(name, arguments))
                    self.assertEqual(verdict.action, "error")

    def test_arguments_that_do_not_fit_are_never_auto_approved(self) -> None:
        self.session["config"]["tool"]["shell"] = {"auto_approve": True}
        self.session["grants"] = [{"tool": "shell", "decision": "allow"}]
        for arguments in ("[]", '"ls"', "{", "null", '{"command":null}'):
            verdict = self.toolbox().verdict(self.session, self.call("shell", arguments))
            self.assertNotEqual(verdict.action, "run", arguments)

    def test_repaired_arguments_are_what_would_run(self) -> None:
        verdict = self.toolbox().verdict(
            self.session, self.call("read_file", {"path": "a", "limit": "5"})
        )
        assert verdict.args is not None
        self.assertEqual(verdict.args["limit"], 5)
        self.assertEqual(len(verdict.repairs), 1)

    def test_templates_are_filled_before_anything_looks(self) -> None:
        found = {"status": "ok", "result": {"date": "2026-02-28", "zone": "Asia/Tokyo"}}
        call = self.call("datetime", {"at": "{{datetime.date+1d}}", "zone": "{{datetime.zone}}"})
        first = {**self.call("datetime", {}), "id": "c0"}
        waits = self.toolbox().verdict(self.session, call)
        self.assertIn("datetime has given no result yet", waits.reason)
        self.assertEqual(waits.action, "error")
        self.session["messages"] = [{"role": "assistant", "tool_calls": [first, call]}]
        self.assertEqual(self.toolbox().verdict(self.session, call).action, "wait")
        answer = {"role": "tool", "tool_call_id": "c0", "name": "datetime", "result": found}
        self.session["messages"].append(answer)
        verdict = self.toolbox().verdict(self.session, call)
        self.assertEqual(verdict.args, {"at": "2026-03-01", "zone": "Asia/Tokyo"})
        plain = self.call("datetime", {"at": "2026-03-01", "zone": "Asia/Tokyo"})
        same = self.toolbox().verdict(self.session, plain)
        self.assertEqual(verdict.fingerprint, same.fingerprint)
        self.assertEqual(len(verdict.repairs), 2)

    def test_what_may_run_beside_others(self) -> None:
        cases: list[tuple[str, Any, bool]] = [
            ("calculator", {"expression": "1"}, True),
            ("read_file", {"path": "a"}, True),
            ("shell", {"command": "ls"}, False),
            ("write_file", {"path": "a", "content": ""}, False),
        ]
        for name, arguments, safe in cases:
            verdict = self.toolbox().verdict(self.session, self.call(name, arguments))
            self.assertEqual((name, verdict.parallel_safe), (name, safe))

    def test_unknown_tools_are_marked(self) -> None:
        verdict = self.toolbox().verdict(self.session, self.call("nope", {}))
        self.assertEqual(verdict.status, "not_found")


class Edited(Case):
    """Arguments that a person puts in the place of a call's: a typo comes back to them."""

    def admit(self, name: str, edited: Any, **payload: Any) -> None:
        given = {"approved": True, "edited_args": edited, **payload}
        answer = {"status": "resolved", "payload": given}
        other = {"id": "int-x", "reason": "limit", "answer": {"status": "cancelled"}}
        asked = {"id": "int-c1", "reason": "tool_call", "call_id": "c1", "answer": answer}
        message = {"role": "assistant", "tool_calls": [self.call(name, {})]}
        document: Any = {"messages": [{"role": "user"}, message], "interrupts": [other, asked]}
        self.toolbox().admit(document)

    def test_what_does_not_fit_is_refused_with_its_place(self) -> None:
        for name, edited, places in (
            ("write_file", {"path": {}, "content": "x", "mode": 5}, ["/path", "/mode"]),
            ("shell", {}, ["/command"]),
        ):
            with self.subTest(name, edited=edited), self.assertRaises(Problem) as caught:
                self.admit(name, edited)
            problem = caught.exception
            self.assertEqual((problem.status, problem.code), (422, "answer_invalid"))
            root = "/interrupts/1/answer/payload/edited_args"
            found = [error["pointer"].removeprefix(root) for error in problem.errors]
            self.assertEqual(sorted(found), sorted(places))
            self.assertIn(problem.errors[0]["pointer"], problem.detail)

    def test_what_fits_what_can_be_mended_and_what_is_not_known_yet(self) -> None:
        for name, edited, more in (
            ("shell", {"command": "ls"}, {}),
            ("calculator", {"expression": 5}, {}),
            ("shell", {"command": "{{read_file.path}}"}, {}),
            ("shell", {}, {"approved": False}),
            ("finish", {"whatever": 1}, {}),  # its schema is the session's
            ("no_such_tool", {"a": 1}, {}),
        ):
            with self.subTest(name, edited=edited):
                self.admit(name, edited, **more)


class Executed(Case):
    async def test_in_process_and_in_a_child(self) -> None:
        toolbox = self.toolbox()
        found = await self.execute(toolbox, "calculator", {"expression": "6*7"})
        self.assertEqual([e["type"] for e in found], ["TOOL_CALL_RESULT"])
        self.assertEqual(found[0]["content"], "42")
        found = await self.execute(toolbox, "shell", {"command": "echo a; sleep 0.2; echo b"})
        self.assertEqual(found[0]["type"], "ACTIVITY_SNAPSHOT")
        self.assertEqual(found[-1]["metadata"]["yaa"]["result"]["result"]["output"], "a\nb\n")
        self.assertEqual(found[-1]["metadata"]["yaa"]["state"], "done")

    async def test_the_model_reads_less_of_a_long_diff_than_the_page_shows(self) -> None:
        toolbox = self.toolbox()
        text = "".join(f"line {n} of a file\n" for n in range(500))
        await self.execute(toolbox, "write_file", {"path": "f", "content": text})
        edits = [{"old": f"line {n} of", "new": f"word {n} of"} for n in range(90)]
        for args, lines in (
            ({"path": "f", "edits": edits}, 180),
            ({"path": "f", "patch": "@@ -9 +9 @@\n-line 99 of a file\n+x\n"}, 2),
        ):
            told = (await self.execute(toolbox, "edit_file", args))[-1]
            diff = told["metadata"]["yaa"]["result"]["result"]["diff"]
            changes = [line for line in diff.splitlines() if line[0] in "+-" and line[:2] != "--"]
            self.assertEqual(len([line for line in changes if line[:2] != "++"]), lines)
            read = json.loads(told["content"].partition("\n[attached")[0])["diff"]
            self.assertEqual(read.splitlines()[0], "--- f")
            self.assertLess(len(read), 2_100)
            self.assertEqual("more lines of the diff" in read, lines > 100)

    async def test_output_is_told_while_the_tool_runs(self) -> None:
        """D12: each line leaves before the next is printed, which waits for a file that is only
        made once the line before it has arrived."""
        folder = ToolRunner(self.home).folder(self.session["id"])
        wait = "until [ -e {0} ]; do sleep 0.01; done; echo {0}"
        command = "; ".join(["echo a", wait.format("b"), wait.format("c")])
        toolbox, told = self.toolbox(), list[Event]()
        call = self.call("shell", {"command": command})
        args = toolbox.verdict(self.session, call).args or {}

        def emit(event: Event) -> None:
            told.append(event)
            said = json.dumps(event)
            for line, next_one in (("a\\n", "b"), ("b\\n", "c")):
                if event["type"].startswith("ACTIVITY") and line in said:
                    (folder / next_one).touch()

        await toolbox.execute(self.session, call, args, {}, emit)
        kinds = [event["type"] for event in told]
        self.assertEqual(kinds[0], "ACTIVITY_SNAPSHOT")
        self.assertEqual(kinds[1:], ["ACTIVITY_DELTA", "ACTIVITY_DELTA", "TOOL_CALL_RESULT"])
        self.assertIn("a\nb\nc\n", told[-1]["metadata"]["yaa"]["result"]["result"]["output"])

    async def test_python_keeps_nothing(self) -> None:
        toolbox = self.toolbox()
        code = "x = 1\nprint('ä', __name__)\nopen('kept', 'w').write('y')"
        found = await self.execute(toolbox, "python", {"code": code})
        ours = found[-1]["metadata"]["yaa"]["result"]["result"]
        self.assertEqual(ours, {"exit_code": 0, "output": "ä __main__\n"})
        found = await self.execute(toolbox, "python", {"code": "print(open('kept').read()); x"})
        ours = found[-1]["metadata"]["yaa"]["result"]["result"]
        self.assertEqual(ours["exit_code"], 1)
        self.assertTrue(ours["output"].startswith("y\n"))
        self.assertIn("NameError", ours["output"])
        long = f"text = {'x' * 300_000!r}\nprint(len(text), input())"
        found = await self.execute(toolbox, "python", {"code": long})
        self.assertIn("EOFError", found[-1]["content"])

    async def test_changes_of_the_arguments_are_in_the_result(self) -> None:
        found = await self.execute(self.toolbox(), "calculator", '{"expression": 5}')
        self.assertEqual(found[-1]["content"], "5")
        self.assertEqual(len(found[-1]["metadata"]["yaa"]["result"]["repairs"]), 1)

    async def test_who_changed_the_arguments_is_told(self) -> None:
        toolbox, call = self.toolbox(), self.call("calculator", {"expression": "1"})
        args = {"expression": "2"}
        for more, who in (({}, "The user"), ({"args_by": "hook"}, "A rule of this server")):
            entry = {"args": args, **more}
            (found,) = await events_of(toolbox, self.session, call, args, entry)
            self.assertIn(f"{who} changed the arguments to", found["content"])

    async def test_a_failure_is_a_result(self) -> None:
        found = await self.execute(self.toolbox(), "read_file", {"path": "nothing"})
        ours = found[-1]["metadata"]["yaa"]
        self.assertEqual((ours["state"], ours["is_error"]), ("failed", True))
        self.assertIn("No such file", found[-1]["content"])
        found = await self.execute(self.toolbox(), "calculator", {"expression": "1/0"})
        self.assertIn("divides by zero", found[-1]["content"])

    async def test_limits_come_from_the_session_under_the_servers(self) -> None:
        self.session["config"]["limits"]["tool"]["wall_s"] = 0.3
        found = await self.execute(self.toolbox(), "shell", {"command": "sleep 60"})
        details = found[-1]["metadata"]["yaa"]["result"]["error"]["details"]
        self.assertEqual((details["limit"], details["allowed"]), ("wall_s", 0.3))
        del self.session["config"]["limits"]["tool"]["wall_s"]
        call = self.call("shell", {"command": "sleep 60"})
        args = {"command": "sleep 60"}
        # what is left of the run counts, too
        found = await events_of(self.toolbox(), self.session, call, args, {}, seconds=0.2)
        details = found[-1]["metadata"]["yaa"]["result"]["error"]["details"]
        self.assertEqual((details["limit"], details["allowed"]), ("wall_s", 0.2))


class Failing(Case):
    def failing(self, name: str, arguments: Any, times: int) -> None:
        for number in range(times):
            call = {**self.call(name, arguments), "id": f"f{number}"}
            failed = {"role": "tool", "tool_call_id": call["id"], "name": name, "is_error": True}
            self.session["messages"] += [
                {"role": "assistant", "tool_calls": [call]},
                {**failed, "result": {"status": "error"}},
            ]

    async def test_a_tool_that_keeps_failing_is_withheld(self) -> None:
        toolbox = self.toolbox()
        self.failing("calculator", {"expression": "1/0"}, 2)
        found = await self.execute(toolbox, "calculator", {"expression": "1/0"})
        self.assertIn("failed 3 times now", found[-1]["content"])
        self.assertIn("withheld", found[-1]["metadata"]["yaa"]["result"]["hint"])
        self.failing("calculator", {"expression": "1/0"}, 3)
        names = [tool["function"]["name"] for tool in toolbox.declarations(self.session)]
        self.assertNotIn("calculator", names)
        verdict = toolbox.verdict(self.session, self.call("calculator", {"expression": "1"}))
        self.assertEqual((verdict.action, verdict.status), ("error", "not_found"))
        self.assertIn("withheld for the rest of this run", verdict.reason)
        self.session["messages"].append({"role": "user", "content": "again"})
        verdict = toolbox.verdict(self.session, self.call("calculator", {"expression": "1"}))
        self.assertEqual(verdict.action, "run")

    def test_the_end_is_never_withheld(self) -> None:
        self.failing("finish", {"why": 1}, 3)
        verdict = self.toolbox().verdict(self.session, self.call("finish", {}))
        self.assertEqual(verdict.action, "run")

    def test_bad_arguments_that_are_repeated_get_a_hint(self) -> None:
        self.failing("shell", {"cmd": "ls"}, 1)
        verdict = self.toolbox().verdict(self.session, self.call("shell", {"cmd": "ls"}))
        self.assertIn("failed 2 times now", verdict.reason)


class Owners(Case):
    async def test_tools_from_the_home_folder(self) -> None:
        (self.home / "tools").mkdir()
        (self.home / "tools" / "mine.py").write_text(OWNED)
        (self.home / "tools" / "broken.py").write_text("import nothing_here")
        (self.home / "tools" / "taken.py").write_text(
            "from yaa import tool\n@tool\ndef shell(): 'Mine.'\n"
        )
        toolbox = self.toolbox()
        with self.assertLogs("yaa.tools", "WARNING"):
            await toolbox.load_owner_tools()
        self.assertEqual(len(toolbox.problems), 2)
        self.assertIn("broken.py: ModuleNotFoundError: line 1: ", toolbox.problems[0])
        self.assertIn("shell already", toolbox.problems[1])
        self.assertIn("taken.py: shell:", toolbox.problems[1])
        about = {tool["name"]: tool for tool in toolbox.info()}
        self.assertEqual(about["add"]["origin"], "mine.py")
        self.assertEqual(about["add"]["description"], "Add the coordinates of a point.")
        self.assertEqual((about["add"]["policy"], about["change"]["policy"]), ("run", "ask"))
        self.assertNotIn("ctx", about["add"]["parameters"]["properties"])
        found = await self.execute(toolbox, "add", {"p": {"x": "5"}})
        ours = found[-1]["metadata"]["yaa"]["result"]
        self.assertEqual((ours["result"], ours["keep"], ours["logs"]), (7, 3, ["adding"]))

    async def test_a_tool_reads_what_the_session_keeps_for_extensions(self) -> None:
        (self.home / "tools").mkdir()
        (self.home / "tools" / "mine.py").write_text(OWNED)
        toolbox = self.toolbox()
        await toolbox.load_owner_tools()
        for kept in ({}, {"mine": {"é": [1, None]}}):
            self.session["ext"] = kept
            found = await self.execute(toolbox, "seen", {})
            self.assertEqual(found[-1]["metadata"]["yaa"]["result"]["result"], kept)

    async def test_only_what_is_marked_in_a_file_of_the_folder(self) -> None:
        marked = "from yaa import tool\n@tool\ndef {name}(): 'It.'\n"
        files = {
            "mine.py": marked.format(name="marked")
            + "def plain(): 'No tool.'\n@tool(name='a.b')\ndef dotted(): 'No name for models.'\n",
            "notes.txt": marked.format(name="text"),
            "below/deep.py": marked.format(name="deep"),
        }
        for name, text in files.items():
            file = self.home / "tools" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        toolbox = self.toolbox()
        before = toolbox.names()
        with self.assertLogs("yaa.tools", "WARNING"):
            await toolbox.load_owner_tools()
        self.assertEqual(toolbox.names() - before, {"marked"})
        (problem,) = toolbox.problems
        self.assertIn("mine.py: a.b: a tool's name has 1 to 64 letters", problem)
        for name in ("plain", "dotted", "a.b", "deep", "text"):
            verdict = toolbox.verdict(self.session, self.call(name, {}))
            self.assertEqual((verdict.action, verdict.status), ("error", "not_found"), name)

    async def test_a_ceiling_for_a_tool_that_is_not_there_is_told(self) -> None:
        """It would hold for nothing, and nobody would know."""
        names = ("shell", "shel", "mcp__web__*", "notify", "pick_file")  # a page has the last two
        toolbox = self.toolbox(**dict.fromkeys(names, "deny"))
        await toolbox.load_owner_tools()
        self.assertEqual(
            toolbox.problems,
            [
                "server.tools: there is no tool 'shel'; did you mean 'shell'?",
                "server.tools: there is no tool 'mcp__web__*'",
            ],
        )

    async def test_a_type_that_contains_itself(self) -> None:
        """Described where it is shown, and checked at every level all the same."""
        (self.home / "tools").mkdir()
        (self.home / "tools" / "mine.py").write_text(OWNED)
        toolbox = self.toolbox()
        await toolbox.load_owner_tools()
        (about,) = (tool for tool in toolbox.info() if tool["name"] == "tree")
        self.assertNotIn("$ref", json.dumps(about))
        top = about["parameters"]["properties"]["top"]
        inside = {
            "type": "object",
            "title": top["title"],
            "description": f"same shape as {top['title']}",
        }
        self.assertTrue(top["title"].endswith(".Node"))
        self.assertEqual(top["properties"]["kids"]["items"], inside)
        deep = {"name": "a", "kids": [{"name": "b", "kids": [{"name": [1], "kids": []}]}]}
        verdict = toolbox.verdict(self.session, self.call("tree", {"top": deep}))
        self.assertEqual(verdict.action, "error")
        self.assertIn("/top/kids/0/kids/0/name", verdict.reason)
        deep["kids"][0]["kids"][0]["name"] = "c"  # type: ignore[index]
        found = await self.execute(toolbox, "tree", {"top": deep})
        self.assertEqual(json.loads(found[-1]["content"]), deep)

    async def test_what_comes_back_is_told(self) -> None:
        (self.home / "tools").mkdir()
        (self.home / "tools" / "mine.py").write_text(OWNED)
        toolbox = self.toolbox()
        await toolbox.load_owner_tools()
        about = {tool["name"]: tool["result_schema"]["properties"] for tool in toolbox.info()}
        self.assertEqual(about["add"]["result"], {"title": "int", "type": "integer"})
        self.assertNotIn("result", about["change"])
        self.assertIn("status", about["change"])

        def described() -> str:
            offered = {
                t["function"]["name"]: t["function"] for t in toolbox.declarations(self.session)
            }
            return str(offered["add"]["description"])

        self.assertEqual(described(), "Add the coordinates of a point.")
        self.session["config"]["yaa"]["result_schema"] = True
        self.assertIn('Returns {"title":"int","type":"integer"}', described())


if __name__ == "__main__":
    unittest.main()
