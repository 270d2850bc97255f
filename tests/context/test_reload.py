"""What the model asks of its own history, by itself and as tools."""

from __future__ import annotations

import copy
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.config import Config
from server.context.view import PAGE, NoSuchMessage, reload, retain, view
from server.tools.toolbox import Toolbox

from ..fakes import DEFAULTS, events_of

CALL = {"id": "c", "type": "function", "function": {"name": "read", "arguments": '{"a": "needle"}'}}


def session() -> Any:
    return {
        "id": "s",
        "config": copy.deepcopy(DEFAULTS["session"]["config"]),
        "grants": [],
        "context": {"ops": [{"op": "stub", "ids": ["t"]}]},
        "messages": [
            {"id": "u", "role": "user", "content": "hi"},
            {"id": "a", "role": "assistant", "content": "", "tool_calls": [CALL]},
            {
                "id": "t",
                "role": "tool",
                "tool_call_id": "c",
                "name": "read",
                "content": "".join(f"line {n} é\n" for n in range(3_000)),
            },
        ],
    }


class Reloading(unittest.TestCase):
    def test_pages_join_to_the_whole(self) -> None:
        for limit in (1_000, PAGE, 10**9):
            text, offset = "", 0
            while True:
                page = reload(session(), "m2", offset, limit)
                self.assertLessEqual(len(page["text"]), PAGE)
                text += page["text"]
                if "next_offset" not in page:
                    break
                offset = page["next_offset"]
            self.assertEqual(text, session()["messages"][2]["content"])

    def test_lines(self) -> None:
        found = reload(session(), "m2", grep="LINE 29")
        self.assertEqual((found["lines"][0], found["matches"]), ("30: line 29 é", 111))
        self.assertEqual(len(found["lines"]), 40)

    def test_calls_are_there(self) -> None:
        self.assertIn('read({"a": "needle"})', reload(session(), " m1 ")["text"])

    def test_odd_asks(self) -> None:
        for handle in ("m3", "2", "", "m-1", "m99999999999", "u"):
            with self.subTest(handle=handle), self.assertRaises(NoSuchMessage):
                reload(session(), handle)
        self.assertEqual(reload(session(), "m0", offset=-5, limit=0)["text"], "h")
        self.assertEqual(reload(session(), "m0", offset=10**9)["text"], "")

    def test_retaining(self) -> None:
        self.assertEqual(
            retain(session(), ["m2", "m0"], "keep", 3),
            {"action": "keep", "ids": ["t", "u"], "turns": 3, "handles": ["m2", "m0"]},
        )


class AsTools(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        server = copy.deepcopy(DEFAULTS["server"])
        server["sandbox"]["require"] = "none"
        self.toolbox = Toolbox(Config(server, DEFAULTS["session"], Path(holder.name)))

    def offered(self, made: Any) -> set[str]:
        return {tool["function"]["name"] for tool in self.toolbox.declarations(made)}

    def test_offered_when_there_is_something_to_reload(self) -> None:
        made = session()
        self.assertIn("context_reload", self.offered(made))
        self.assertNotIn("context_retain", self.offered(made))
        made["context"] = {}
        made["config"]["context"]["retain_tool"] = True
        self.assertNotIn("context_reload", self.offered(made))
        self.assertIn("context_retain", self.offered(made))

    def test_results_bear_their_handles_when_the_model_decides(self) -> None:
        made = session()
        made["context"] = {}
        made["config"]["context"]["retain_tool"] = True
        self.assertTrue(view(made)[2]["content"].startswith("[m2] line 0"))

    async def test_called(self) -> None:
        for name, args, state, wanted in (
            ("context_reload", {"handle": "m2"}, "done", "[m2, read: characters 0 to 6000 of"),
            ("context_reload", {"handle": "m9"}, "failed", "handles are m0 to m2"),
            ("context_retain", {"handles": ["m2"], "action": "pin"}, "done", '"ids":["t"]'),
        ):
            with self.subTest(name=name, args=args):
                made = session()
                function = {"name": name, "arguments": json.dumps(args)}
                call: Any = {"id": "x", "type": "function", "function": function}
                verdict = self.toolbox.verdict(made, call)
                self.assertEqual(verdict.action, "run")
                (event,) = await events_of(self.toolbox, made, call, verdict.args or {}, {})
                self.assertEqual(event["metadata"]["yaa"]["state"], state)
                self.assertIn(wanted, event["content"])
                if name == "context_reload":
                    self.assertEqual(event["metadata"]["yaa"]["result"]["keep"], 1)
