"""What a record adds to a document: see tests/agent/test_run_records.py for the files."""

from __future__ import annotations

import copy
import unittest
from typing import Any

from server.session.accept import accept
from server.session.costs import model_call_changes
from server.session.fold import Folder
from server.session.run_record import (
    Record,
    catch_up_events,
    events_before,
    missing_messages,
)

from ..fakes import user


def call(call_id: str) -> Any:
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}


def result(call_id: str, content: str, status: str) -> Any:
    message = {"id": f"r-{call_id}", "role": "tool", "tool_call_id": call_id, "name": "f", "at": 3}
    failed = {} if status == "ok" else {"is_error": True}
    return message | {"content": content, "result": {"status": status}} | failed


def record() -> Record:
    """What ran for the first message: two rounds of calls, then an answer."""
    found = Record("base")
    found.messages = [
        {"id": "a1", "role": "assistant", "content": "", "tool_calls": [call("c1"), call("c2")]},
        result("c1", "ran", "ok"),
        result("c2", "denied", "denied"),
        {"id": "a2", "role": "assistant", "content": "", "tool_calls": [call("c3")]},
        result("c3", "done", "ok"),
        {"id": "a3", "role": "assistant", "content": "All done."},
    ]
    states = {"c1": "done", "c2": "denied", "c3": "done"}
    found.calls = {
        each: {"name": "f", "state": state, "attempt": 1} for each, state in states.items()
    }
    return found


class BeforeANewMessage(unittest.TestCase):
    def test_a_line_that_is_cut_leaves_what_can_be_gone_on_with(self) -> None:
        """After each event: answers count, the call log is true, and the rest can be added."""
        question = {"id": "i1", "reason": "tool_call", "call_id": "c1", "tool": "f", "args": {}}
        answer = {"status": "resolved", "payload": {"approved": False}}
        first: Any = copy.deepcopy(record().messages[0])
        document: Any = {
            "id": "s",
            "messages": [user("go"), first, user("and?", "u2")],
            "calls": {
                each: {"name": "f", "state": "asking", "attempt": 0} for each in ("c1", "c2")
            },
            "interrupts": [{**question, "message": "Allow f?", "answer": answer}],
            "run": {"id": "run_2"},
        }
        whole = self.added(document, 2, None)
        self.assertEqual(whole["messages"][1:-1], record().messages)
        self.assertEqual(whole["interrupts"], [])
        count = len(self.events(document, 2))
        for cut in range(count + 1):
            with self.subTest(cut=cut):
                cut_off = self.added(document, 2, cut)
                accept(cut_off)
                for message in cut_off["messages"]:
                    if message["role"] == "tool" and (
                        entry := cut_off["calls"].get(message["tool_call_id"])
                    ):
                        self.assertEqual(entry["state"], record().calls[entry_id(message)]["state"])
                later = self.added(cut_off, len(cut_off["messages"]) - 1, None)
                self.assertEqual(later["messages"], whole["messages"])

    def events(self, document: Any, end: int) -> list[Any]:
        history: Any = {**document, "messages": document["messages"][:end]}
        lacking = missing_messages(history, record())
        assert lacking is not None
        return events_before(document, end, lacking, record()) if lacking else []

    def added(self, document: Any, end: int, cut: int | None) -> Any:
        """The document with the first events that a record adds."""
        kept = copy.deepcopy(document)
        folder = Folder(kept)
        for event in self.events(document, end)[:cut]:
            folder.apply(event)
        folder.flush()
        return kept


def entry_id(message: Any) -> str:
    return str(message["tool_call_id"])


class CaughtUp(unittest.TestCase):
    def test_each_message_begins_and_ends(self) -> None:
        """Whoever reads the events and not the document waits for the end of what has begun."""
        session: Any = {"id": "s", "messages": [user("go")], "calls": {}, "run": {}}
        found = catch_up_events(session, record().messages, record())
        for kind in ("TEXT_MESSAGE", "TOOL_CALL"):
            begun, ended = (
                [
                    each.get("messageId") or each["toolCallId"]
                    for each in found
                    if each["type"] == f"{kind}_{end}"
                ]
                for end in ("START", "END")
            )
            self.assertEqual((len(begun), sorted(begun)), (3, sorted(ended)), kind)


class AfterACall(unittest.TestCase):
    def test_what_a_provider_refused_is_said_once_in_the_run(self) -> None:
        one = {"code": "tool_refused", "message": "x", "tool": "f"}
        session: Any = {"run": {"step": 0, "tokens": 0, "cost_micro": 0}}
        message: Any = {"id": "a1", "role": "assistant", "content": "", "meta": {}}
        for warnings, wanted in ((None, None), ([one], [one]), ([one], [one])):
            message["meta"] = {"warnings": warnings} if warnings else {}
            (change,) = model_call_changes(session, message, sums_up=False)
            session["run"] = change["value"]
            self.assertEqual(session["run"].get("warnings"), wanted)


if __name__ == "__main__":
    unittest.main()
