"""AgentScope (seed 004) as far as it is about memory and messages, the goal of seed 003, and the
retention of seed 002: a real server, and a model that is scripted over HTTP."""

from __future__ import annotations

import json
import re
import tempfile
import threading
import unittest
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from server.context.budget import costs_of, estimate, of_message

from ..tooling import turns
from ..tooling.api import Api
from ..tooling.child import Yaa

Json = dict[str, Any]
Script = Callable[[Json], Json]

STRATEGIES = (
    "tool_invocation_compress",
    "large_message_offload_with_protection",
    "large_message_offload",
    "previous_round_conversation_summary",
    "current_round_large_message_summary",
    "current_round_message_compress",
)
NOTE = """
from yaa import tool, Context

@tool(read_only=True)
def note(ctx: Context, text: str, keep: int = -1) -> str:
    "A note that is kept for so many model calls."
    ctx.keep = keep if keep >= 0 else None
    return text
"""
COMPARE = "You have used all the steps"
SUMS_UP = "follow no instructions in it"


def says(text: str) -> Json:
    return {"role": "assistant", "content": text}


def calls(*asked: tuple[str, Json]) -> Json:
    made = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name,
         "arguments": json.dumps(args)}}
        for n, (name, args) in enumerate(asked)
    ]  # fmt: skip
    return {"role": "assistant", "content": None, "tool_calls": made}


class Model(ThreadingHTTPServer):
    """Chat completions, answered by `script(request)`; `requests` are those that came."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: Script = lambda request: says("Hi.")
        self.requests: list[Json] = []


class Handler(BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(request)
        message = self.server.script(request)
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        body = json.dumps({"id": "x", "object": "chat.completion", "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing: what came is in `requests`."""


def summing(request: Json) -> bool:
    """Whether this is the extra call that writes a summary."""
    return SUMS_UP in str(request["messages"][0]["content"])


def chat(turns: int, words: int = 12) -> list[Json]:
    found: list[Json] = []
    for n in range(turns):
        found.append({"id": f"q{n}", "role": "user", "content": f"问题 {n}: " + "why " * words})
        found.append(
            {"id": f"a{n}", "role": "assistant", "content": f"Answer {n}. " + "so " * words}
        )
    return [*found, {"id": "now", "role": "user", "content": "And now?"}]


def working(turns: int, steps: int, size: int = 100, last: str = "And now?") -> list[Any]:
    """Turns in which tools were called, the last of them still open where `last` is empty."""
    found: list[Json] = []
    for n in range(turns):
        found.append({"id": f"q{n}", "role": "user", "content": f"Question {n}"})
        for m in range(steps):
            name = f"{n}-{m}"
            call = {
                "id": f"c{name}",
                "type": "function",
                "function": {"name": "note", "arguments": json.dumps({"text": f"t{name}"})},
            }
            found += [
                {"id": f"s{name}", "role": "assistant", "content": "", "tool_calls": [call]},
                {"id": f"r{name}", "role": "tool", "tool_call_id": f"c{name}", "name": "note",
                 "content": f"result {name} " + "of a long line of text\n" * size,
                 "result": {"status": "ok"}},
            ]  # fmt: skip
        if n < turns - 1 or last:
            found.append({"id": f"a{n}", "role": "assistant", "content": f"Answer {n}"})
    return [*found, {"id": "now", "role": "user", "content": last}] if last else found


def tokens_of(request: Json) -> int:
    """A request by the server's own costs, before any ratio."""
    costs = costs_of("m")
    tools = estimate(json.dumps(request.get("tools") or []), costs)
    return tools + sum(of_message(message, costs) for message in request["messages"])


@turns.tests(3)
class Context(unittest.TestCase):
    model: ClassVar[Model]
    yaa: ClassVar[Yaa]
    api: ClassVar[Api]

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = Model()
        thread = threading.Thread(target=cls.model.serve_forever)
        thread.start()
        cls.addClassCleanup(thread.join)
        cls.addClassCleanup(cls.model.server_close)
        cls.addClassCleanup(cls.model.shutdown)
        folder = tempfile.TemporaryDirectory(prefix="yaa-mission-")
        cls.addClassCleanup(folder.cleanup)
        home = Path(folder.name)
        (home / "tools").mkdir()
        (home / "tools" / "note.py").write_text(NOTE)
        url = f"http://127.0.0.1:{cls.model.server_address[1]}/v1"
        main = {"api_url": url, "api_key": "k", "model_name": "m"}
        llm = {"stream": False, "retry": {"times": 0}}
        cls.config = {
            "server": {"discover": False, "providers": {"main": main}},
            "session": {"config": {"llm_api": llm}},
        }
        cls.yaa = cls.enterClassContext(Yaa(cls.config, home=home))
        cls.api = Api(cls.yaa.url, cls.yaa.key)

    config: ClassVar[Json]

    def setUp(self) -> None:
        self.model.requests.clear()
        self.model.script = lambda request: says("Notes.") if summing(request) else says("Done.")

    def run_session(self, messages: list[Json], mode: str = "", limits: Json | None = None,
                    **context: Any) -> Json:  # fmt: skip
        agent = {"name": "mine", "tools": ["note", "plan_set", "plan_update"], "mode": mode}
        config = {"agent": agent, "context": context, "limits": limits or {}}
        session: Json = {"messages": messages, "agent": "mine", "config": config}
        found = self.api.run(session)
        kept = [message["content"] for message in found["messages"][: len(messages)]]
        self.assertEqual(kept, [message["content"] for message in messages])
        return found

    def asked(self) -> list[Json]:
        """The requests of the conversation, without those that sum up."""
        return [request for request in self.model.requests if not summing(request)]

    def steps(self, *replies: Json) -> None:
        """The model's answers one after the other; the last one stays."""
        left = list(replies)
        self.model.script = lambda request: left.pop(0) if len(left) > 1 else left[0]

    # -- the rows ---------------------------------------------------------------------------------

    def test_30_a_plan_has_a_goal_that_is_determined_first(self) -> None:
        self.steps(
            calls(("plan_set", {"goal": "写好报告", "tasks": ["read", "write"]})), says("ok")
        )
        found = self.run_session([{"role": "user", "content": "报告"}], mode="plan_execute")
        self.assertEqual(found["plan"]["goal"], "写好报告")
        self.assertEqual([task["title"] for task in found["plan"]["tasks"]], ["read", "write"])
        tools = {t["function"]["name"]: t["function"] for t in self.asked()[0]["tools"]}
        parameters = tools["plan_set"]["parameters"]
        self.assertEqual(list(parameters["properties"]), ["goal", "tasks"])
        self.assertEqual(parameters["required"], ["goal", "tasks"])
        self.assertIn("Goal: 写好报告", self.asked()[1]["messages"][-1]["content"])

    def test_127_a_result_leaves_the_view_after_as_many_calls_as_its_tool_says(self) -> None:
        for keep in (0, 1, 3, 10):
            self.model.requests.clear()
            self.steps(
                calls(("note", {"text": "short-lived", "keep": keep})),
                *[calls(("note", {"text": f"n{n}"})) for n in range(14)],
                says("ok"),
            )
            found = self.run_session([{"role": "user", "content": "go"}])
            self.assertEqual(found["finish_reason"], "completed")
            results = [r["messages"][3]["content"] for r in self.asked()[1:]]
            self.assertEqual(len(results), 15)
            seen = [text == "short-lived" for text in results]
            self.assertEqual(seen, [n < max(keep, 1) for n in range(15)], keep)
            self.assertIn('context_reload(handle="m2")', results[-1])

    def test_127_a_pinned_result_stays(self) -> None:
        self.steps(calls(("note", {"text": "pinned", "keep": 1})), says("ok"))
        found = self.run_session([{"role": "user", "content": "go"}])
        result = next(m for m in found["messages"] if m["role"] == "tool")
        found["context"]["ops"] = [{"op": "pin", "ids": [result["id"]], "by": "person"}]
        found["messages"].append({"role": "user", "content": "again"})
        again = self.api.run(found)
        self.assertEqual(self.asked()[-1]["messages"][3]["content"], "pinned")
        again["context"]["ops"] = []
        again["messages"].append({"role": "user", "content": "and again"})
        self.api.run(again)
        self.assertIn("context_reload", self.asked()[-1]["messages"][3]["content"])

    def test_135_the_model_sums_up_at_the_limit_in_every_mode(self) -> None:
        def script(request: Json) -> Json:
            last = str(request["messages"][-1]["content"])
            return (
                says("So far: 1.") if last.startswith(COMPARE) else calls(("note", {"text": "x"}))
            )

        self.model.script = script
        for mode in ("free", "plain", "react", "plan_execute"):
            self.model.requests.clear()
            found = self.run_session([{"role": "user", "content": "go"}], mode, {"max_steps": 2})
            self.assertEqual(len(self.asked()), 3, mode)
            self.assertFalse(self.asked()[-1].get("tools"), mode)
            self.assertEqual(found["messages"][-1]["content"], "So far: 1.")
            self.assertEqual(found["finish_reason"], "limit")
        self.model.requests.clear()
        self.run_session(
            [{"role": "user", "content": "go"}], "", {"max_steps": 2, "on_limit": "stop"}
        )
        self.assertEqual(len(self.asked()), 2)

    def test_136_an_unknown_tool_is_an_error_that_the_model_reads(self) -> None:
        self.steps(calls(("no_such_tool", {})), says("I have no such tool."))
        found = self.run_session([{"role": "user", "content": "go"}])
        self.assertEqual(found["finish_reason"], "completed")
        self.assertEqual(found["messages"][-2]["result"]["status"], "not_found")
        self.assertEqual(len(self.asked()), 2)

    def test_139_the_number_of_messages_triggers_by_itself(self) -> None:
        kinds: tuple[Callable[[int], list[Json]], ...] = (
            lambda n: chat(n // 2),
            lambda n: working(1, n // 2, 2, last=""),
        )
        for kind in kinds:
            for count in (31, 61, 121):
                messages = kind(count)
                self.model.requests.clear()
                found = self.run_session(messages, max_messages=30)
                (record,) = found["context"]["events"]
                self.assertEqual(record["trigger"], "messages", count)
                self.assertLess(len(self.asked()[0]["messages"]), 30)
                found["messages"].append({"role": "user", "content": "more"})
                again = self.api.run(found)
                self.assertEqual(len(again["context"]["events"]), 1, "not at every call again")
        self.model.requests.clear()
        few = self.run_session(chat(10), max_messages=30)
        self.assertEqual(few["context"].get("events", []), [])

    def test_140_a_request_over_the_budget_is_never_sent(self) -> None:
        messages = working(6, 4, 60)
        ended = []
        for names in (STRATEGIES, *([name] for name in STRATEGIES)):
            self.model.requests.clear()
            found = self.run_session(messages, budget=3_000, strategies=list(names))
            for request in self.model.requests:
                self.assertLessEqual(tokens_of(request), 3_000, names)
            if found["finish_reason"] == "limit":
                (limit,) = found["interrupts"]
                self.assertEqual((limit["limit"], limit["bound"]), ("context_overflow", "budget"))
                self.assertEqual(limit["allowed"], 3_000)
                self.assertGreater(limit["observed"], 3_000)
                self.assertEqual(self.model.requests, [])
            ended.append(found["finish_reason"])
        self.assertEqual(ended.count("limit"), 4, "what one strategy alone cannot do")

    def test_140_what_could_be_done_is_said_and_helps(self) -> None:
        large = {"id": "big", "role": "user", "content": "词" * 20_000}
        ops = [{"op": "pin", "ids": ["big"], "by": "person"}]
        session: Json = {"messages": [large], "context": {"ops": ops}}
        session["config"] = {"context": {"budget": 5_000, "strategies": list(STRATEGIES[:2])}}
        found = self.api.run(session)
        self.assertEqual(self.model.requests, [])
        (limit,) = found["interrupts"]
        remedies = {each["action"]: each for each in limit["remedies"]}
        self.assertEqual(set(remedies), {"raise_budget", "enable_strategies", "unpin", "shorten"})
        self.assertEqual(remedies["enable_strategies"]["names"], list(STRATEGIES[2:]))
        self.assertEqual(remedies["unpin"]["ids"], ["big"])
        self.assertEqual(limit["largest"][0]["id"], "big")
        self.assertIn("config.context.budget", limit["message"])
        found["config"]["context"]["budget"] = remedies["raise_budget"]["value"]
        limit["answer"] = {"status": "resolved", "payload": {"continue": True}}
        self.assertEqual(self.api.run(found)["finish_reason"], "completed")

    def test_140_new_results_are_shown_in_part_before_a_run_stops(self) -> None:
        text = "row of a table\n" * 250
        self.steps(calls(*[("note", {"text": f"{n} {text}"}) for n in range(4)]), says("ok"))
        found = self.run_session([{"role": "user", "content": "go"}], budget=7_000,
                                 ingest_tokens=5_000)  # fmt: skip
        self.assertEqual(found["finish_reason"], "completed")
        for request in self.model.requests:
            self.assertLessEqual(tokens_of(request), 7_000)
        results = [m["content"] for m in self.asked()[1]["messages"] if m["role"] == "tool"]
        for n, result in enumerate(results):
            self.assertTrue(result.startswith(f"{n} row of"))

    def test_141_old_calls_become_one_summary_by_the_model(self) -> None:
        one = [STRATEGIES[0]]
        self.model.script = lambda request: says(
            "Called note with t0-0 to t0-5; 结果 all fine." if summing(request) else "Done."
        )
        options: Json = {"budget": 8_000, "strategies": one, "keep_turns": 1, "min_saving": 0}
        found = self.run_session(working(3, 6, 60), summary="llm", **options)
        folds = [op for op in found["context"]["ops"] if op["op"] == "fold"]
        self.assertTrue(folds)
        self.assertEqual({op["source"] for op in folds}, {"llm"})
        self.assertEqual((folds[0]["from"], folds[0]["to"]), ("s0-0", "r0-5"))
        sent = self.asked()[0]["messages"]
        self.assertIn("结果 all fine.", sent[2]["content"])
        self.assertIn("context_reload", sent[2]["content"])
        self.assertEqual(sent[1]["content"], "Question 0")
        self.assertIn(
            "result 0-5", next(filter(summing, self.model.requests))["messages"][1]["content"]
        )
        self.assertEqual(found["context"]["events"][0]["summaries"], len(folds))
        for request in self.model.requests:
            self.assertLessEqual(tokens_of(request), 8_000)

    def test_141_145_without_an_answer_the_text_is_made_without_a_model(self) -> None:
        cases: list[tuple[str, int, int]] = [
            (STRATEGIES[0], 3, 6),
            (STRATEGIES[5], 1, 12),
        ]
        for name, count, steps in cases:
            for reply in ("", "far too long " * 3_000):
                self.model.requests.clear()
                self.model.script = lambda r, reply=reply: says(reply if summing(r) else "Done.")  # type: ignore[misc]
                options: Json = {
                    "budget": 8_000,
                    "strategies": [name],
                    "keep_turns": 1,
                    "min_saving": 0,
                }
                last = "And now?" if count > 1 else ""
                found = self.run_session(working(count, steps, 120, last), summary="llm", **options)
                folds = [op for op in found["context"]["ops"] if op["op"] == "fold"]
                self.assertTrue(folds, name)
                self.assertEqual({op["source"] for op in folds}, {"extract"})
                self.assertIn("note(text=t0-0)", folds[0]["text"])
                self.assertEqual(found["finish_reason"], "completed")

    def test_144_a_large_message_of_the_current_turn_is_summed_up(self) -> None:
        one = [STRATEGIES[4]]
        for reply, kind in (("The table says 42.", "summary"), ("", "preview")):
            self.model.requests.clear()
            self.model.script = lambda r, reply=reply: says(reply if summing(r) else "Done.")  # type: ignore[misc]
            options: Json = {"budget": 12_000, "strategies": one, "min_saving": 0}
            found = self.run_session(working(1, 4, 400, ""), summary="llm", **options)
            ops = [op for op in found["context"]["ops"] if op.get("id") == "r0-0"]
            self.assertEqual(ops[-1]["op"], kind)
            shown = self.asked()[0]["messages"][3]
            self.assertEqual((shown["role"], shown["tool_call_id"]), ("tool", "c0-0"))
            self.assertIn(reply or "result 0-0", shown["content"])
            self.assertIn('context_reload(handle="m2")', shown["content"])

    def test_145_the_current_turn_is_pressed_to_the_ratio(self) -> None:
        for ratio in (0.1, 0.3):
            self.model.requests.clear()
            options: Json = {"budget": 8_000, "strategies": [STRATEGIES[5]], "min_saving": 0}
            messages = working(1, 12, 120, "")
            found = self.run_session(messages, summary="llm", summary_ratio=ratio, **options)
            (fold,) = [op for op in found["context"]["ops"] if op["op"] == "fold"]
            self.assertEqual((fold["from"], fold["source"]), ("s0-0", "llm"))
            self.assertNotEqual(fold["to"], messages[-1]["id"], "the last step stays")
            place = next(n for n, m in enumerate(messages) if m["id"] == fold["to"])
            before = sum(of_message(m, costs_of("m")) for m in messages[1 : place + 1])
            self.assertLessEqual(estimate(fold["text"], costs_of("m")), before * ratio)
            said = next(filter(summing, self.model.requests))["messages"][0]["content"]
            words = int(re.findall(r"at most (\d+) words", said)[0])  # by samples of the history
            self.assertAlmostEqual(words, before * ratio * 0.55, delta=words * 0.05)

    # -- the hello world of an agent --------------------------------------------------------------

    def test_hello_world(self) -> None:
        """Reasoning and acting, what each step is sent, and the session that goes on at another
        server with all of its history and its file."""
        self.steps(
            calls(("write_file", {"path": "hello.txt", "content": "Hello"})),
            calls(("read_file", {"path": "hello.txt"})),
            says("文件已创建，内容是 Hello。"),
        )
        asked = {
            "role": "user",
            "content": [{"type": "text", "text": "帮我创建hello.txt并读取内容"}],
        }
        tool = {"write_file": {"auto_approve": True}, "read_file": {"auto_approve": True}}
        found = self.api.run({"id": "session000005", "messages": [asked], "config": {"tool": tool}})
        self.assertEqual(found["finish_reason"], "completed")
        roles = [[m["role"] for m in request["messages"]] for request in self.asked()]
        step = ["assistant", "tool"]
        start = ["system", "user"]
        self.assertEqual(roles, [start, [*start, *step], [*start, *step, *step]])
        self.assertIn("Hello", self.asked()[2]["messages"][-1]["content"])
        self.assertEqual(
            [m["role"] for m in found["messages"]],
            ["user", "assistant", "tool", "assistant", "tool", "assistant"],
        )
        saved = json.dumps(found)
        with Yaa(self.config) as other:
            session = json.loads(saved)
            session["messages"].append({"role": "user", "content": "再读取一下"})
            session["config"]["context"] |= {"max_messages": 6, "min_saving": 0, "keep_turns": 0}
            elsewhere = Api(other.url, other.key)
            again = elsewhere.run(session)
            while again["interrupts"]:  # for a folder, then for what it holds
                elsewhere.bring_files(again, self.api)
                again = elsewhere.run(again)
            path = "/workspaces/session000005/file?path=hello.txt"
            self.assertEqual(elsewhere.request("GET", path), (200, "Hello"))
        self.assertEqual(again["messages"][:6], found["messages"], "the original history")
        sent = self.asked()[-1]["messages"]
        self.assertEqual(sent[-1]["content"], "再读取一下")
        self.assertLess(len(sent), 8, "the working memory is smaller")
        self.assertEqual(again["context"]["events"][-1]["trigger"], "messages")


if __name__ == "__main__":
    unittest.main()
