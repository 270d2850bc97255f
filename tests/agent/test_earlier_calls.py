"""What a host's claims say of calls without a result, and what a person wanted of one that ran."""

from __future__ import annotations

import errno
import unittest
from typing import Any

from server.agent.call_decisions import FORGOTTEN, SUPERSEDED
from server.agent.earlier_calls import (
    DENIED,
    DENIED_BEFORE,
    RAN_BEFORE,
    BegunCalls,
    of_earlier,
    without_claim,
)
from server.agent.run_records import RecordWriter
from server.session.call_actions import Reply

from ..fakes import MemoryClaims, user

CALL: Any = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
SCOPE = ("ann", "s")
YES = {"answer": {"status": "resolved", "payload": {"approved": True}}}
OPEN: Any = {"call_id": "c1", "reason": "tool_call"}
ANSWERED: Any = OPEN | YES


def begun(attempt: int = 1, **more: Any) -> tuple[str, Any]:
    ran = {"state": "started", "attempt": attempt, "fingerprint": "mark"}
    return "/yaa/calls/c1", {"name": "f", **more, **ran}


class Full(MemoryClaims):
    def take(self, *key: Any) -> bool:
        raise OSError(errno.ENOSPC, "full")


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.claims = MemoryClaims()

    def begun(self, entry: Any, *interrupts: Any, answered: bool = False) -> BegunCalls:
        messages = [user("go"), {"id": "a1", "role": "assistant", "tool_calls": [CALL]}]
        if answered:
            messages.append({"id": "t1", "role": "tool", "tool_call_id": "c1", "content": ""})
        calls = {} if entry is None else {"c1": entry}
        other = {"call_id": "c0", "reason": "tool_call"}
        session: Any = {"id": "s", "messages": messages, "calls": calls | {"c0": {"state": "done"}}}
        session["interrupts"] = [other, *interrupts]
        return BegunCalls(session, self.claims, "ann", lambda: 7)  # type: ignore[arg-type]


class Looked(Case):
    def test_what_a_claim_makes_of_a_call(self) -> None:
        asking, again = {"state": "asking"}, {"state": "proposed", "attempt": 1}
        started = {"state": "started", "attempt": 1}
        denied = ("/yaa/interrupts/1/answer", DENIED_BEFORE)
        taken_back = ("/yaa/calls/c1", {"state": "proposed", "attempt": 0})
        # entry, claim, its attempt, interrupts, not begun → change
        cases: list[tuple[Any, str, int, list[Any], bool, Any]] = [
            (None, "", 1, [], False, None),
            (None, "mark", 1, [], False, begun()),
            (again, "mark", 2, [], False, begun(2)),
            (again, "mark", 1, [], False, None),
            ({"state": "waiting", "like": "x"}, "mark", 1, [], False, begun(like="x")),
            (asking, "mark", 1, [ANSWERED], False, begun()),
            (asking, DENIED, 1, [ANSWERED], False, denied),
            (asking, DENIED, 1, [OPEN], False, None),
            (asking, DENIED, 1, [], False, None),
            (started, "", 1, [], False, None),
            (started, "", 1, [], True, taken_back),
            (started, "mark", 1, [], True, None),
            (started, "", 1, [OPEN], True, None),
            ({"state": "done", "attempt": 1}, "mark", 2, [], True, None),
        ]
        for entry, claim, attempt, interrupts, not_begun, change in cases:
            with self.subTest(entry=entry, claim=claim, interrupts=interrupts, lost=not_begun):
                self.setUp()
                self.claims.expired = 5
                if claim:
                    self.claims.take(SCOPE, "c1", attempt, claim)
                ran_before = set[str]()
                calls = self.begun(entry, *interrupts)
                horizon_ms, changes = calls.look(["c1"] if not_begun else [], ran_before)
                found = [(each["path"], each["value"]) for each in changes]
                self.assertEqual(found, [change] if change else [])
                self.assertEqual(horizon_ms, 5)
                begins = bool(change) and change[1].get("state") == "started"
                self.assertEqual(ran_before, {"c1"} if begins else set())

    def test_a_call_with_a_result_is_none_to_look_for(self) -> None:
        self.claims.expired = 5
        self.claims.take(SCOPE, "c1", 1, "mark")
        self.assertEqual(self.begun(None, answered=True).look([], set()), (0, []))


class Denied(Case):
    def test_what_a_denial_leaves_and_whether_it_holds(self) -> None:
        page = {**ANSWERED, "reason": "client_tool"}
        # entry, interrupt, claimed before → it holds, claimed then
        cases: list[tuple[Any, list[Any], str, bool, str | None]] = [
            (None, [], "", True, None),
            (None, [OPEN], "", True, None),
            (None, [page], "", True, None),
            (None, [ANSWERED], "", True, DENIED),
            (None, [ANSWERED], DENIED, True, DENIED),
            (None, [ANSWERED], "mark", False, "mark"),
            ({"state": "asking", "attempt": 1}, [ANSWERED], "", True, None),
        ]
        for entry, interrupts, before, holds, after in cases:
            with self.subTest(entry=entry, interrupts=interrupts, before=before):
                self.setUp()
                if before:
                    self.claims.take(SCOPE, "c1", 1, before)
                self.assertIs(self.begun(entry, *interrupts).claim_denial("c1"), holds)
                self.assertEqual(self.claims.claimed_as(SCOPE, "c1", 1), after)
        self.assertEqual(self.claims.taken, {(SCOPE, "c1", 2): (DENIED, 7)})

    def test_it_holds_on_a_full_disk(self) -> None:
        self.claims = Full()
        self.assertTrue(self.begun(None, ANSWERED).claim_denial("c1"))

    def test_a_call_that_did_not_begin_has_no_claim(self) -> None:
        record = RecordWriter()
        self.claims.take(SCOPE, "c1", 1, "mark")
        self.begun(None).release((SCOPE, "c1", 1), record)
        self.assertEqual((self.claims.taken, record.not_begun), ({}, ["c1"]))


class Old(unittest.TestCase):
    def test_nobody_says_of_an_old_call_that_it_did_not_run(self) -> None:
        forgotten = {**ANSWERED, "message": f"f? {FORGOTTEN}"}
        # interrupt, moved on, old, status → the reply is another
        cases: list[tuple[Any, bool, bool, str, bool]] = [
            (ANSWERED, False, True, "denied", True),
            (ANSWERED, False, True, "skipped", True),
            (ANSWERED, False, True, "error", False),
            (ANSWERED, False, False, "denied", False),
            (forgotten, False, False, "denied", True),
            ({**ANSWERED, "reason": "question"}, False, True, "denied", False),
            (None, True, True, "skipped", True),
            (None, False, True, "denied", False),
            (OPEN, True, True, "denied", True),
        ]
        for interrupt, moved_on, is_old, status, other in cases:
            with self.subTest(interrupt=interrupt, moved_on=moved_on, old=is_old, status=status):
                reply = Reply(CALL, "No.", "denied", status=status)
                found = without_claim(reply, interrupt, moved_on, is_old=is_old)
                if not other:
                    self.assertIs(found, reply)
                    continue
                told = (found.content, found.state, found.status)
                self.assertEqual(told, (f"No. {FORGOTTEN}", "skipped", "indeterminate"))
        reply = Reply(CALL, SUPERSEDED, "skipped", status="skipped")
        found = without_claim(reply, OPEN, True, is_old=True)
        self.assertEqual(found.content, f"The user has moved on from this call. {FORGOTTEN}")


class Told(unittest.TestCase):
    def test_a_result_says_what_a_person_wanted_instead(self) -> None:
        def resolved(**payload: Any) -> Any:
            return {"answer": {"status": "resolved", "payload": payload}}

        end = "but it had begun before, and this is its result."
        cases: list[tuple[Any, str]] = [
            (None, ""),
            (OPEN, ""),
            (ANSWERED, ""),
            (resolved(approved=False), f"\n[The user denied this call, {end}]"),
            (
                resolved(approved=False, reason="late"),
                f"\n[The user denied this call, {end} Reason: late]",
            ),
            (
                resolved(approved=True, edited_args={"a": 1}),
                f'\n[The user wanted the arguments {{"a":1}}, {end}]',
            ),
            ({"answer": {"status": "cancelled"}}, f"\n[The user cancelled this call, {end}]"),
            ({"answer": {"status": "resolved", "payload": "odd"}}, ""),
        ]
        event: Any = {"content": "done", "metadata": {"yaa": {"result": {"status": "ok"}}}}
        for interrupt, note in cases:
            for ran_before in (False, True):
                with self.subTest(interrupt=interrupt, ran_before=ran_before):
                    found = of_earlier(event, interrupt, ran_before=ran_before)
                    self.assertEqual(found["content"], f"done{note}")
                    hint = {"hint": RAN_BEFORE} if ran_before else {}
                    self.assertEqual(found["metadata"]["yaa"]["result"], {"status": "ok"} | hint)


if __name__ == "__main__":
    unittest.main()
