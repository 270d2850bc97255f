"""The official AG-UI client drives `POST /agui/{agent}`: tools on both sides, approvals, cuts.

The model is scripted by what the user says; what a tool of the server did is counted in a file.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import tempfile
import time
import unittest
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from server.extensions.agui import request, routes
from server.lib.http import sse
from server.session import accept
from server.session.events import dumps
from server.session.fold import Folder
from server.tools.runner import ToolRunner

from ....bench.peers import config, start
from ....interop.test_agui import USER, first_run
from ....test_docs import fenced
from ....tooling import patience, tools, turns
from ....tooling.api import Api
from ....tooling.child import Yaa

NEEDED = (
    tools.module("ag_ui"),
    tools.module("ag_ui_validate"),
    tools.package("@ag-ui/client"),
)
if all(tool.path for tool in NEEDED):
    from ....interop import agui_peers as peers
    from .thread import Client, Thread, answers

Json = Any

# Asks first, and must never run twice; what it leaves is ignored, so no server brings it along.
MARK = """
from yaa import tool

@tool(destructive=False)
def mark(name: str) -> str:
    "Leave a mark."
    with open(".gitignore", "w") as file:
        file.write("*")
    with open(name, "a") as file:
        file.write("ran ")
    return "marked " + name
"""
PAGE: Json = {
    "name": "where",
    "description": "Where the user is",
    "parameters": {"type": "object", "properties": {"exact": {"type": "boolean"}}},
}
SHORT = "bench tokens=3 delay_us=0"
SLOW = "bench tokens=400 delay_us=20000"
ONE = f'{SHORT} tool=mark{{"name":"one"}}'
MIXED = f'{ONE} tool=where{{}} tool=calculator{{"expression":"6*7"}}'
YES = {"approved": True}


class World:
    """Two servers that know nothing of each other, one model, and the client."""

    def __init__(self, stack: ExitStack) -> None:
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.config = config(start(stack, "tests.bench.provider"))
        self.one = stack.enter_context(self.server("one"))
        self.other = stack.enter_context(self.server("other"))
        self.client = stack.enter_context(Client())

    def server(self, name: str) -> Yaa:
        home = self.folder / name
        (home / "tools").mkdir(parents=True)
        (home / "tools" / "mark.py").write_text(MARK)
        return Yaa(self.config, home=home)


@cache
def world() -> World:
    """Made by the first test that needs it, and gone with the module."""
    stack = ExitStack()
    unittest.addModuleCleanup(stack.close)
    return World(stack)


@tools.needs(*NEEDED)
class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = world().folder
        self.one, self.other = world().one, world().other

    def thread(self, *tools: Json, name: str = "", server: Yaa | None = None) -> Thread:
        thread = Thread(self, world().client, name or self.id().rpartition(".")[2])
        thread.tools = list(tools)
        thread.open(server or self.one)
        return thread

    def idle(self) -> None:
        """The server has noticed that the client is gone."""
        api, until = Api(self.one.url, self.one.key), time.monotonic() + patience.seconds(20)
        while "\nyaa_runs 0\n" not in api.request("GET", "/metrics")[1]:
            self.assertLess(time.monotonic(), until, "a run goes on for nobody")

    def marks(self, thread: Thread, name: str = "one") -> int:
        """How often `mark` ran for this name, on all servers together."""
        files = [ToolRunner(home).folder(thread.name) / name for home in self.folder.iterdir()]
        return sum(len(file.read_text().split()) for file in files if file.exists())


class Conversations(Case):
    def test_two_turns_of_one_session(self) -> None:
        thread = self.thread()
        thread.state = {"cart": ["ü"]}
        thread.open(self.one)
        for turn in (1, 2):
            thread.say(f"你好 {SHORT}")
            found = thread.run(context=[{"description": "Page", "value": "/cart"}])
            self.assertEqual(found["outcome"], "success")
            self.assertIn("@", thread.said())
            own = thread.state["yaa"]
            self.assertEqual(
                (own["status"], own["rev"], own["usage"]["calls"]), ("completed", turn, turn)
            )
            state = 'The application\'s state when this run began: {"cart":["ü"]}'
            self.assertEqual(own["environment"], ["Page: /cart", state])
        self.assertEqual(thread.state["cart"], ["ü"])
        self.assertEqual([m["role"] for m in thread.messages], ["user", "assistant"] * 2)

    def test_roles_and_parts_of_others(self) -> None:
        """A thread that began elsewhere: every role, and no state of ours."""
        thread = self.thread()
        call = {"id": "x1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        thread.messages = [
            {"id": "1", "role": "developer", "content": "Be kind."},
            {"id": "2", "role": "system", "content": "Be brief."},
            {"id": "3", "role": "user", "content": [{"type": "text", "text": "Hi"}], "name": "Z"},
            {"id": "4", "role": "reasoning", "content": "hm"},
            {"id": "5", "role": "assistant", "toolCalls": [call]},
            {"id": "6", "role": "tool", "toolCallId": "x1", "content": "", "error": "gone"},
            {"id": "7", "role": "activity", "activityType": "plan", "content": {"step": 1}},
            {"id": "8", "role": "assistant", "content": "It is gone.", "metadata": {"theirs": 1}},
        ]
        before = list(thread.messages)
        thread.open(self.one)
        thread.say(SHORT)
        self.assertEqual(thread.run()["outcome"], "success")
        self.assertEqual(thread.messages[: len(before)], before)
        self.assertEqual(thread.state["yaa"]["calls"]["x1"]["state"], "failed")

    def test_settings_of_a_run(self) -> None:
        thread = self.thread()
        thread.say(ONE)
        deny = {"yaa": {"config": {"tool": {"mark": {"deny": True}}}}, "theirs": {"x": 1}}
        self.assertEqual(thread.run(forwardedProps=deny)["outcome"], "success")
        self.assertIn("Denied", thread.results()["mark"])
        self.assertEqual(self.marks(thread), 0)

    def test_changes_of_the_state_of_every_kind(self) -> None:
        """A title, a plan, a grant, a smaller view, a limit: the client's patches all apply."""
        thread = self.thread(PAGE)
        plan = 'plan_set{"goal":"seen","tasks":["look"]}'
        small = {"budget": 4000, "keep_messages": 2, "keep_turns": 1, "large_chars": 1000}
        more: Json = {"yaa": {"auto_title": True, "mode": "plan_execute"}, "context": small}
        limits = {"limits": {"max_steps": 1, "on_limit": "stop"}}
        reasons = set()
        for order, settings, wanted in (
            (f"{SHORT} tool={plan}", more, "plan"),
            (ONE, {}, "grants"),
            (f"{ONE} tool=calculator{{}}", {}, "calls"),
            *((f"{SHORT} tool=where{{}}", {}, "title") for _ in range(3)),
            (f"{SHORT} tool=calculator{{}}", limits, "context"),
        ):
            thread.say(order)
            found = thread.run(forwardedProps={"yaa": {"config": settings}})
            for call in found.get("calls", ()):
                thread.say("word " * 4000, role="tool", toolCallId=call)
                found = thread.run()
            for _ in range(9):
                if found["outcome"] != "interrupt":
                    break
                payload = {**YES, "remember": "session"}
                reasons.add(reason := thread.pending[0]["reason"])
                go_on = {"continue": True} if reason == "yaa:limit" else payload
                found = thread.resume(payload=go_on)
            self.assertNotEqual(found["outcome"], "interrupt", thread.pending)
            self.assertTrue(thread.state["yaa"][wanted], wanted)
        self.assertEqual(reasons, {"tool_call", "yaa:limit"})
        self.assertEqual(self.marks(thread), 2)
        self.assertTrue(thread.state["yaa"]["context"]["ops"])

    def test_refusals_have_a_status_and_a_message(self) -> None:
        thread = self.thread()
        thread.say(SHORT)
        unknown = {**PAGE, "name": "plan_set"}
        answer = answers([{"id": "int-x"}], payload=YES)
        for opened, asked, status, said in (
            ({"agent": "nobody"}, {}, 404, "no agent 'nobody'"),
            ({"key": "wrong"}, {}, 401, "key"),
            ({}, {"tools": [unknown]}, 422, "plan_set is a tool that every run needs"),
            ({}, {"resume": answer}, 422, "/resume/0/interruptId"),
        ):
            with self.subTest(said):
                thread.open(self.one, **opened)
                found = thread.run(whole=False, **asked)
                self.assertIn(f"HTTP {status}", found["error"])
                self.assertEqual(found["payload"]["status"], status)
                self.assertIn(said, found["payload"]["message"])
        thread.open(self.one)
        self.assertEqual(thread.run()["outcome"], "success")

    def test_a_model_that_fails_and_is_asked_again(self) -> None:
        thread = self.thread()
        thread.say("nothing that the scripted model understands")
        provider = {"config": {"llm_api": {"retry": {"times": 0}}}}
        found = thread.run(forwardedProps={"yaa": provider})
        self.assertTrue(found["runError"]["message"])
        self.assertEqual(thread.state["yaa"]["status"], "failed")
        thread.say(SHORT)
        self.assertEqual(thread.run()["outcome"], "success")


@tools.needs(*NEEDED)
class Inputs(unittest.TestCase):
    def test_what_the_official_models_write(self) -> None:
        """Every role and source, with absent fields left out and with null, as older ones did."""
        source = {"type": "data", "value": "aGk=", "mimeType": "image/png"}
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        body = {
            "threadId": "t",
            "runId": "r",
            "state": {"mine": 1},
            "messages": [
                {"id": "1", "role": "developer", "content": "d"},
                {"id": "2", "role": "system", "content": "s"},
                {
                    "id": "3",
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "a"},
                        *({"type": k, "source": source} for k in ("image", "audio", "video")),
                        {"type": "document", "source": {"type": "file", "value": "f"}},
                    ],
                },
                {"id": "4", "role": "reasoning", "content": "hm", "encryptedValue": "x"},
                {"id": "5", "role": "assistant", "toolCalls": [call]},
                {"id": "6", "role": "tool", "toolCallId": "c", "content": "", "error": "no"},
                {"id": "7", "role": "activity", "activityType": "x", "content": {}},
            ],
            "tools": [{"name": "f", "description": "d", "parameters": {"type": "object"}}],
            "context": [{"description": "d", "value": "v"}],
            "forwardedProps": {"x": 1},
            "resume": [{"interruptId": "int-c", "status": "cancelled"}],
        }
        said = [request.read(each, "default") for each in (body, *peers.written(body))]
        for given in said:
            self.assertEqual(given, said[0])
            accept.accept(given.session)
        roles = [message["role"] for message in said[0].session["messages"]]
        self.assertEqual(roles, ["system", "system", "user", "assistant", "tool"])


class Approvals(Case):
    def ask(self) -> Thread:
        thread = self.thread()
        thread.say(ONE)
        found = thread.run()
        self.assertEqual(found["outcome"], "interrupt")
        (interrupt,) = found["interrupts"]
        self.assertEqual(interrupt["reason"], "tool_call")
        self.assertIn("editedArgs", interrupt["responseSchema"]["properties"])
        self.assertEqual(interrupt["metadata"]["yaa"]["args"], {"name": "one"})
        return thread

    def test_approved(self) -> None:
        thread = self.ask()
        found = thread.resume(payload=YES)
        self.assertEqual((found["outcome"], self.marks(thread)), ("success", 1))
        self.assertNotIn("TOOL_CALL_START", found["types"])
        self.assertEqual(thread.results(), {"mark": "marked one"})

    def test_approved_with_other_arguments(self) -> None:
        thread = self.ask()
        thread.resume(payload={**YES, "editedArgs": {"name": "two"}})
        self.assertEqual((self.marks(thread), self.marks(thread, "two")), (0, 1))
        self.assertIn("marked two", thread.results()["mark"])

    def test_denied(self) -> None:
        thread = self.ask()
        found = thread.resume(payload={"approved": False, "reason": "not today"})
        self.assertEqual((found["outcome"], self.marks(thread)), ("success", 0))
        self.assertIn("not today", thread.results()["mark"])

    def test_cancelled(self) -> None:
        thread = self.ask()
        self.assertEqual(thread.resume("cancelled")["outcome"], "success")
        self.assertEqual(self.marks(thread), 0)
        self.assertIn("cancelled", thread.results()["mark"])

    def test_an_answer_that_does_not_fit_changes_nothing(self) -> None:
        thread = self.ask()
        found = thread.resume(payload={"approved": "maybe"}, whole=False)
        self.assertIn("/resume/0/payload/approved", found["payload"]["message"])
        self.assertEqual(thread.resume(payload=YES)["outcome"], "success")
        self.assertEqual(self.marks(thread), 1)

    def test_a_new_message_overtakes_it(self) -> None:
        """Only a client that forgot what it was asked can do this: one after a reload."""
        thread = self.ask()
        thread.open(self.one)
        thread.say(SHORT)
        self.assertEqual(thread.run()["outcome"], "success")
        self.assertIn("superseded", thread.results()["mark"])
        self.assertEqual(self.marks(thread), 0)

    def test_a_question(self) -> None:
        thread = self.thread()
        thread.say(f'{SHORT} tool=ask_user{{"question":"Which one?"}}')
        (interrupt,) = thread.run()["interrupts"]
        self.assertEqual(
            (interrupt["reason"], interrupt["message"]),
            ("input_required",) * 0 + ("input_required", "Which one?"),
        )
        thread.resume(payload="the red one")
        self.assertEqual(thread.results(), {"ask_user": "the red one"})

    def test_a_reload_and_another_server(self) -> None:
        thread = self.ask()
        asked = thread.pending
        thread.open(self.other)
        self.assertEqual(thread.pending, [])  # it is only in the state, where an application looks
        (kept,) = thread.state["yaa"]["interrupts"]
        self.assertEqual(kept["id"], asked[0]["id"])
        thread.pending = asked
        self.assertEqual(thread.resume(payload=YES)["outcome"], "success")
        self.assertEqual(self.marks(thread), 1)

    def test_without_the_state_it_is_asked_again(self) -> None:
        thread = self.ask()
        asked = thread.pending
        thread.state = {}
        thread.open(self.one)
        found = thread.run(resume=answers(asked, payload=YES))
        self.assertEqual((found["outcome"], self.marks(thread)), ("interrupt", 0))


class HowTo(Case):
    def test_the_client_of_the_how_to_gets_its_answer(self) -> None:
        blocks = fenced((tools.ROOT / "docs" / "howto" / "ag-ui.md").read_text(), "js")
        code = "\n".join(block for _, block in blocks)
        for said, meant in (
            ("http://127.0.0.1:12345", self.one.url),
            ("'What is 6 * 7?'", json.dumps(MIXED)),
        ):
            code = code.replace(said, meant)
        done = subprocess.run(
            [str(tools.program_node().path), "--input-type=module", "--eval", code],
            cwd=tools.ROOT / "tests",
            env={**os.environ, "YAA_KEY": self.one.key},
            capture_output=True,
            text=True,
            timeout=patience.seconds(60),
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count("@"), 6)  # three words, each between two of them


class Frontend(Case):
    def test_there_and_back(self) -> None:
        for number, (content, error) in enumerate((("here", None), ("", "no GPS"), ("", None))):
            with self.subTest(content=content, error=error):
                thread = self.thread(PAGE, name=f"frontend-{number}")
                thread.say(f'{SHORT} tool=where{{"exact":true}}')
                found = thread.run()
                self.assertEqual(found["outcome"], "success")
                (call,) = found["calls"]
                more = {"error": error} if error else {}
                thread.say(content, role="tool", toolCallId=call, **more)
                found = thread.run()
                self.assertEqual((found["outcome"], found["calls"]), ("success", []))
                self.assertNotIn("TOOL_CALL_RESULT", found["types"])
                state = "failed" if error else "done"
                self.assertEqual(thread.state["yaa"]["calls"][call]["state"], state)
                self.assertIn("@", thread.said())

    def test_a_client_that_keeps_no_state(self) -> None:
        thread = self.thread(PAGE)
        thread.say(f"{SHORT} tool=where{{}}")
        (call,) = thread.run()["calls"]
        thread.state = {}
        thread.open(self.one)
        thread.say("here", role="tool", toolCallId=call)
        self.assertEqual(thread.run()["outcome"], "success")
        self.assertIn("@", thread.said())

    def test_everything_in_one_message(self) -> None:
        """Its own tools first, then what people are asked, and nothing twice."""
        thread = self.thread(PAGE)
        thread.say(MIXED)
        found = thread.run()
        self.assertEqual(found["outcome"], "success")
        self.assertEqual(thread.results(), {"calculator": "42"})
        (call,) = found["calls"]
        thread.say("here", role="tool", toolCallId=call)
        found = thread.run()
        self.assertEqual(found["outcome"], "interrupt")
        self.assertNotIn("TEXT_MESSAGE_START", found["types"])
        found = thread.resume(payload=YES)
        self.assertEqual((found["outcome"], self.marks(thread)), ("success", 1))
        wanted = {"calculator": "42", "where": "here", "mark": "marked one"}
        self.assertEqual(thread.results(), wanted)
        calls = [m["toolCallId"] for m in thread.messages if m["role"] == "tool"]
        self.assertEqual(len(calls), len(set(calls)))

    def test_a_tool_that_people_are_asked_about_first(self) -> None:
        """Approvals hold for tools of the application, too: it gets the call after the yes."""
        ask = {"yaa": {"config": {"tool": {"where": {"auto_approve": False}}}}}
        for approved in (True, False):
            with self.subTest(approved=approved):
                thread = self.thread(PAGE, name=f"asked-first-{approved}")
                thread.say(f"{SHORT} tool=where{{}}")
                (interrupt,) = thread.run(forwardedProps=ask)["interrupts"]
                self.assertEqual(interrupt["reason"], "tool_call")
                found = thread.resume(payload={"approved": approved, "reason": "because"})
                self.assertEqual(found["outcome"], "success")
                if approved:
                    self.assertEqual(found["calls"], [interrupt["toolCallId"]])
                    thread.say("here", role="tool", toolCallId=interrupt["toolCallId"])
                    thread.run()
                self.assertIn("here" if approved else "because", thread.results()["where"])
                self.assertIn("@", thread.said())

    def test_half_of_the_results(self) -> None:
        thread = self.thread(PAGE)
        thread.say(f"{SHORT} tool=where{{}} tool=where{{}}")
        one, two = thread.run()["calls"]
        thread.say("here", role="tool", toolCallId=one)
        self.assertEqual(thread.run()["calls"], [two])
        thread.say("there", role="tool", toolCallId=two)
        self.assertEqual(thread.run()["calls"], [])
        self.assertIn("@", thread.said())


class Cut(Case):
    def test_aborted_in_the_middle_of_an_answer(self) -> None:
        thread = self.thread()
        thread.say(SLOW)
        thread.run(abortAt="TEXT_MESSAGE_CONTENT", whole=False)
        self.idle()
        cut = thread.messages[-1]
        self.assertTrue(cut["metadata"]["yaa"]["open"])
        thread.say(SHORT)
        self.assertEqual(thread.run()["outcome"], "success")
        self.assertEqual(thread.messages[1], cut)
        self.assertTrue(thread.held()["messages"][1]["open"])

    def test_a_server_that_dies(self) -> None:
        """In the middle of an answer, and behind a result; another one goes on."""
        for number, (order, at) in enumerate(
            ((SLOW, "TEXT_MESSAGE_CONTENT"), (f"{ONE} tool=where{{}}", "TOOL_CALL_RESULT"))
        ):
            name = f"dying-{number}"
            with self.subTest(at), world().server(name) as dying:
                thread = self.thread(PAGE, name=name, server=dying)
                thread.say(order)
                asked: list[Json] = []
                if order is not SLOW:
                    (call,) = thread.run()["calls"]
                    thread.say("here", role="tool", toolCallId=call)
                    asked = thread.run()["interrupts"]
                thread.begin({"tellAt": at}, resume=answers(asked, payload=YES))
                self.assertEqual(thread.seen(), at)
                dying.kill()
                thread.end(whole=False)
                thread.open(self.other)
                thread.say(SHORT)
                self.assertEqual(thread.run()["outcome"], "success")
                self.assertIn("@", thread.said())
                self.assertEqual(self.marks(thread), int(order is not SLOW))

    def test_cut_in_the_middle_of_an_answer(self) -> None:
        """Thoughts, words, calls and their output: whatever arrived is what our own fold has."""
        thread = self.thread(name="ses_1")
        said = {"threadId": "ses_1", "runId": "r", "messages": [USER]}
        given = request.read(said, "default")
        session: Any = copy.deepcopy(given.session)
        frames, folder = list[str](), Folder(session)
        for event in first_run():
            folder.apply(event)
            told = routes.agui_events(event, session, given)
            frames.append("".join(sse.encode(dumps(each)).decode() for each in told))
        for cut in range(1, len(frames) + 1):
            with self.subTest(cut=cut):
                thread.messages, thread.state = [USER], {}
                thread.open(self.one)
                found = thread.run(stream="".join(frames[:cut]), whole=False)
                self.assertEqual(found["warnings"], [])
                folded = thread.folded(found)
                self.assertEqual(thread.held()["messages"], folded["messages"])
                self.assertEqual(thread.held().get("calls"), folded.get("calls"))

    def test_cut_after_every_event(self) -> None:
        """An approved call: one server has run it, the client has seen part of that, and goes on
        with another. It runs there if and only if the client had not heard of its start."""
        thread = self.thread()
        thread.say(ONE)
        thread.run()
        messages, state = thread.messages, thread.state
        answer = answers(thread.pending, payload=YES)
        whole = thread.resume(payload=YES)["text"]
        frames = [f"{frame}\n\n" for frame in whole.split("\n\n") if frame]
        exec_at = next(n for n, frame in enumerate(frames) if '"exec"' in frame)
        cuts = {exec_at, exec_at + 1, *turns.share(range(1, len(frames)), 3)}
        for cut in sorted(cuts):
            with self.subTest(cut=cut):
                thread.name, thread.messages, thread.state = f"cut-{cut}", messages, state
                thread.open(self.other)
                found = thread.run(resume=answer, stream="".join(frames[:cut]), whole=False)
                self.assertEqual(found["warnings"], [])
                held, folded = thread.held(), thread.folded(found)
                self.assertEqual(held["messages"], folded["messages"])
                if cut > 1:  # the state comes with the second event
                    self.assertEqual(held["calls"], folded["calls"])
                thread.open(self.other)
                found = thread.run(resume=answer)
                if found["outcome"] == "interrupt":
                    self.assertEqual(thread.pending[0]["reason"], "yaa:indeterminate")
                    found = thread.resume(payload={"action": "skip"})
                self.assertEqual(found["outcome"], "success")
                self.assertEqual(self.marks(thread), int(cut <= exec_at), frames[cut - 1])
        self.assertGreater(len(frames), 12)
        self.assertEqual(peers.model_errors(whole), [])


if __name__ == "__main__":
    unittest.main()
