"""A session over plain HTTP, answered by a real model: the claim of the README, whole.

The model is so small that its answers are worth nothing, but they are real: the grammar makes
every call valid, the words are its own, and it takes its time. Nothing here looks at what it says.
"""

from __future__ import annotations

import copy
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.lib.json_schema.validate import validate
from server.session.fold import Folder

from ..extensions import needs
from ..tooling import patience, tools
from ..tooling.api import Api
from ..tooling.child import Yaa
from .local_model import NEEDED, LocalModel

Json = Any

# Two rounds of what is wanted, because a model of this size imitates and does not reason.
SHOWN: list[Json] = [
    {"id": "u1", "role": "user", "content": "What is 12 * 3?"},
    {"id": "a1", "role": "assistant", "content": "", "tool_calls": ["12 * 3"]},
    {"id": "t1", "role": "tool", "tool_call_id": "a1", "name": "calculator", "content": "36"},
    {"id": "b1", "role": "assistant", "content": "12 * 3 is 36."},
    {"id": "u2", "role": "user", "content": "What is 100 - 58?"},
    {"id": "a2", "role": "assistant", "content": "", "tool_calls": ["100 - 58"]},
    {"id": "t2", "role": "tool", "tool_call_id": "a2", "name": "calculator", "content": "42"},
    {"id": "b2", "role": "assistant", "content": "100 - 58 is 42."},
]

QUESTIONS = (
    "What is 17 + 25?",
    "What is 17 + 25? Call the calculator.",
    "calculator: 17 + 25",
    "Compute 17 + 25 with the calculator.",
    "17 + 25 = ?",
    "What is 250 - 8?",
    "What is 6 * 7?",
    "Use a tool: 84 / 2",
)


def session(question: str, *, history: bool = True) -> Json:
    """A session that asks, with history shown or not."""
    messages = copy.deepcopy(SHOWN) if history else []
    for message in messages:
        for place, expression in enumerate(message.get("tool_calls", ())):
            arguments = json.dumps({"expression": expression})
            function = {"name": "calculator", "arguments": arguments}
            call = {"id": message["id"], "type": "function", "function": function}
            message["tool_calls"][place] = call
    messages.append({"id": "question", "role": "user", "content": question})
    return {
        "id": "ses-local-model",
        "messages": messages,
        "character": "You are a helpful agent.",
        "config": {
            "llm_api": {"temperature": 0, "max_tokens": 200},
            "prompt": {"system": "Use the calculator for every sum."},  # the same every day
        },
    }


@tools.needs(*NEEDED)
@needs("text_tools")
class LocalModelTest(unittest.TestCase):
    model: LocalModel

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = cls.enterClassContext(LocalModel())

    def setUp(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="yaa-home-"))
        self.home = Path(folder)

    def server(self) -> Yaa:
        provider = {
            "preset": "llamacpp",
            "api_url": self.model.url,
            "model_name": "smollm2",
            "tool_mode": "json_schema",
        }
        config = {"providers": {"local": provider}, "default_provider": "local", "discover": False}
        return self.enterContext(Yaa({"server": config}, home=self.home))

    def only(self, sent: Json, yaa: Yaa, *names: str) -> Any:
        """The session with these tools to be asked for, and no other: a small model sees few."""
        offered = Api(yaa.url, yaa.key).request("GET", "/info")[1]["tools"]
        rules = {tool["name"]: {"deny": True} for tool in offered}
        sent["config"]["tool"] = rules | {name: {"auto_approve": False} for name in names}
        return sent

    def test_the_whole_way(self) -> None:
        """Asked over HTTP, a valid call, stopped for approval, killed, finished elsewhere."""
        first = self.server()
        for question in QUESTIONS:  # until it calls: a word of the prompt can change its mind
            sent = self.only(session(question), first, "calculator")
            asked = Api(first.url, first.key).run(sent)
            if asked["interrupts"]:
                break
        self.assertEqual((asked["status"], asked["finish_reason"]), ("interrupted", "awaiting"))
        (interrupt,) = asked["interrupts"]
        self.assertEqual(interrupt["reason"], "tool_call")
        (call,) = asked["messages"][-1]["tool_calls"]
        self.assertEqual(call["function"]["name"], "calculator")
        arguments = json.loads(call["function"]["arguments"])
        info = Api(first.url, first.key).request("GET", "/info")[1]
        parameters = next(t["parameters"] for t in info["tools"] if t["name"] == "calculator")
        self.assertEqual(list(validate(arguments, parameters)), [])
        first.kill()

        second = self.server()
        interrupt["answer"] = {
            "status": "resolved",
            "payload": {"approved": True, "edited_args": {"expression": "17 + 25"}},
        }
        done = Api(second.url, second.key).run(asked)
        self.assertEqual(done["calls"][call["id"]]["state"], "done")
        (result,) = [m for m in done["messages"] if m.get("tool_call_id") == call["id"]]
        self.assertIn("42", result["content"])
        self.assertEqual(done["messages"][: len(asked["messages"])], asked["messages"])
        for _ in range(5):  # it may want to calculate some more before it says so
            if done["status"] != "interrupted":
                break
            payload = {"approved": False, "reason": "Answer now."}
            done["interrupts"][0]["answer"] = {"status": "resolved", "payload": payload}
            done = Api(second.url, second.key).run(done)
        self.assertEqual((done["status"], done["interrupts"]), ("completed", []))
        self.assertTrue(done["messages"][-1]["content"])

    def test_a_stream_folds_to_the_reply_and_counts(self) -> None:
        yaa = self.server()
        api = Api(yaa.url, yaa.key)
        sent = self.only(session("Write one sentence about rain.", history=False), yaa)
        folded = copy.deepcopy(sent)
        folder = Folder(folded)
        with api.stream(copy.deepcopy(sent)) as stream:
            events = list(stream.events())
        for event in events:
            folder.apply(event)
        folder.flush()
        self.assertEqual(events[-1]["type"], "RUN_FINISHED")
        self.assertGreater(sum(e["type"] == "TEXT_MESSAGE_CONTENT" for e in events), 1)
        usage = folded["messages"][-1]["meta"]["usage"]
        self.assertGreater(usage["completion_tokens"], 0)
        self.assertEqual(usage["total_tokens"], usage["prompt_tokens"] + usage["completion_tokens"])

        folded["messages"].append({"id": "more", "role": "user", "content": "And one about snow."})
        again = api.run(folded)
        cached = again["messages"][-1]["meta"]["usage"].get("cached_tokens", 0)
        self.assertGreater(cached, 0, "the second turn begins as the first one did")
        self.assertEqual(again["usage"]["calls"], 2)

    def test_hanging_up_stops_the_model(self) -> None:
        """Its only slot is free again at once, or the next request would wait for minutes."""
        yaa = self.server()
        api = Api(yaa.url, yaa.key)
        sent = self.only(session("Count from 1 to 5000 in words.", history=False), yaa)
        sent["config"]["llm_api"]["max_tokens"] = 6000
        with api.stream(sent) as stream:
            for event in stream.events():
                if event["type"] == "TEXT_MESSAGE_CONTENT":
                    break
        short = self.only(session("Say yes.", history=False), yaa) | {"id": "ses-another"}
        short["config"]["llm_api"]["max_tokens"] = 3
        done = api.run(short)
        self.assertLess(done["messages"][-1]["meta"]["first_ms"], patience.seconds(15) * 1000)

    def test_a_message_larger_than_the_window_stops_the_run_and_says_so(self) -> None:
        """What the person just wrote is not made smaller behind their back."""
        yaa = self.server()
        sent = session("word " * 12_000, history=False)
        done = Api(yaa.url, yaa.key).run(sent)
        self.assertEqual(done["status"], "interrupted")
        interrupt = done["interrupts"][0]
        self.assertEqual((interrupt["reason"], interrupt["limit"]), ("limit", "context_overflow"))
        self.assertEqual(interrupt["largest"][0]["id"], "question")


if __name__ == "__main__":
    unittest.main()
