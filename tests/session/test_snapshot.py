"""A stored session as events: folded over nothing they are the session again."""

from __future__ import annotations

import copy
import random
import unittest
from pathlib import Path
from typing import Any

from server.lib.strict_json import canonical, loads
from server.session import snapshot
from server.session.fold import Folder
from server.session.schema import check

from ..context.sessions import Sessions
from .sequences import sequence

Json = Any

VECTORS = loads((Path(__file__).parent.parent / "vectors" / "fold.json").read_bytes())


def rebuilt(session: Any) -> Json:
    folder = Folder({})
    for event in snapshot.events(session):
        folder.apply(event)
    folder.flush()
    return folder.session


class Rebuilding(unittest.TestCase):
    def assert_rebuilt(self, session: Json) -> None:
        before = copy.deepcopy(session)
        found = rebuilt(session)
        self.assertEqual(canonical(found), canonical({"messages": [], **before}))
        self.assertEqual(canonical(session), canonical(before), "the session was changed")

    def test_generated_sessions(self) -> None:
        """What random runs fold to, wherever they were cut; and long conversations."""
        tried = 0
        for seed in range(600):
            session, found = sequence(random.Random(seed))
            folder = Folder(session)
            for event in found[: random.Random(seed).randrange(len(found) + 1)]:
                folder.apply(event)
            folder.flush()
            if not check(session):
                self.assert_rebuilt(session)
                tried += 1
        self.assertGreater(tried, 150)
        for seed in range(60):
            self.assert_rebuilt(Sessions(seed).grow(6))

    def test_every_vector(self) -> None:
        tried = 0
        for case in VECTORS:
            for session in (case["session"], case["expected"]):
                if not check(session):
                    with self.subTest(case["name"]):
                        self.assert_rebuilt(session)
                        tried += 1
        self.assertGreater(tried, 15)

    def test_odd_documents(self) -> None:
        call = {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{"}}
        for messages in (
            [],
            [{"role": "user"}],
            [{"role": "user", "content": None}, {"role": "user", "content": ""}],
            [{"role": "human", "content": [{"type": "text", "text": "x", "more": 1}]}],
            [{"role": "assistant", "tool_calls": [{**call, "index": 0}], "content": []}],
            [{"role": "tool", "tool_call_id": "nobody", "content": [{"type": "image"}]}],
            [{"id": "m", "role": "user", "content": "a", "yaa.snapshot": ["id"], "metadata": 1}],
            [{"id": "t", "role": "user"}, {"role": "ai", "reasoning": {"text": "x", "id": "t"}}],
            [{"role": "error", "content": [{"type": "text", "text": "x"}]}],
            [{"role": "assistant", "tool_calls": None, "reasoning": {"text": "", "id": 5}}],
        ):
            session = {"messages": messages, "environment": ["f"], "unknown": {"": [1.5, None]}}
            with self.subTest(messages):
                self.assertEqual(check(session), [])
                self.assert_rebuilt(session)
        self.assert_rebuilt({})
        self.assert_rebuilt({"run": {"id": 5, "started_at": "now"}, "finish_reason": "odd"})

    def test_a_document_of_another_program_is_told_as_messages(self) -> None:
        use = {"type": "tool_use", "id": "c", "name": "n", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "c", "content": "ok"}
        given: Any = [
            {"role": "assistant", "content": [{"type": "text", "text": "so"}, use]},
            {"role": "user", "content": [result]},
        ]
        found = rebuilt({"messages": given})["messages"]
        self.assertEqual([each["role"] for each in found], ["assistant", "tool"])
        self.assertEqual(found[1]["tool_call_id"], "c")

    def test_what_others_read(self) -> None:
        """Text, thoughts, calls and results stand where AG-UI has them, and only once."""
        function = {"name": "n", "arguments": "{}"}
        call = {"id": "c", "type": "function", "function": function, "extra": {"sig": 1}}
        session: Any = {
            "id": "s",
            "messages": [
                {"id": "u", "role": "user", "content": "hi"},
                {
                    "id": "m",
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [call],
                    "reasoning": {"id": "t", "text": "hm", "field": "reasoning"},
                },
                {"id": "r", "role": "tool", "tool_call_id": "c", "name": "n", "content": "long"},
                {"id": "e", "role": "error", "content": "oops"},
            ],
        }
        started, state, messages, finished = snapshot.events(session)
        self.assertEqual((started["threadId"], started["runId"]), ("s", "snapshot"))
        self.assertEqual(state["snapshot"], {"yaa": {"id": "s"}})
        self.assertEqual(finished["outcome"], {"type": "success"})
        told = [{k: v for k, v in m.items() if k != "metadata"} for m in messages["messages"]]
        theirs = {"id": "c", "type": "function", "function": function}
        theirs["encryptedValue"] = '{"yaa":{"extra":{"sig":1}}}'
        theirs["metadata"] = {"yaa": {"extra": {"sig": 1}}}
        self.assertEqual(
            told,
            [
                {"id": "u", "role": "user", "content": "hi"},
                {"id": "t", "role": "reasoning", "content": "hm"},
                {"id": "m", "role": "assistant", "content": "", "toolCalls": [theirs]},
                {"id": "r", "role": "tool", "toolCallId": "c", "content": "long"},
                {
                    "id": "e",
                    "role": "activity",
                    "activityType": "yaa.error",
                    "content": {"message": "oops"},
                },
            ],
        )
        metadata = [message["metadata"] for message in messages["messages"]]
        self.assertEqual(metadata[0], {"yaa.snapshot": ["id", "role", "content"]})
        self.assertEqual(metadata[1], {"yaa": {"message_id": "m", "field": "reasoning"}})
        self.assertEqual(metadata[3]["yaa"], {"name": "n"})

    def test_what_it_waits_for_is_told(self) -> None:
        waits: Any = {"id": "int-c", "reason": "tool_call", "call_id": "c", "message": "?"}
        finished = snapshot.events({"interrupts": [waits]})[-1]
        self.assertEqual(finished["outcome"]["type"], "interrupt")
        self.assertEqual(finished["outcome"]["interrupts"][0]["toolCallId"], "c")


if __name__ == "__main__":
    unittest.main()
