"""The fold: shared vectors, and the laws it keeps on whatever sequence it is given."""

from __future__ import annotations

import copy
import json
import random
import unittest
from pathlib import Path
from typing import Any

from server.lib.strict_json import canonical, loads
from server.session import events
from server.session.events import ALIASES, text_delta, text_end, text_start
from server.session.fold import DELTAS, FOLDS, GATHERED, Folder, digest, fold
from server.session.result_places import calls_of

from .sequences import sequence

VECTORS = loads((Path(__file__).parent.parent / "vectors" / "fold.json").read_bytes())


class Vectors(unittest.TestCase):
    def test_shared_vectors(self) -> None:
        for case in VECTORS:
            with self.subTest(case["name"]):
                session = copy.deepcopy(case["session"])
                folder = Folder(session)
                for event in case["events"]:
                    folder.apply(event)
                folder.flush()
                self.assertEqual(canonical(session), canonical(case["expected"]))
                self.assertEqual(folder.since, case["since"])
                self.assertEqual(digest(session, folder.since), case["digest"])

    def test_one_at_a_time_is_the_same(self) -> None:
        for case in VECTORS:
            with self.subTest(case["name"]):
                session = copy.deepcopy(case["session"])
                for event in case["events"]:
                    fold(session, event)
                self.assertEqual(canonical(session), canonical(case["expected"]))


class Laws(unittest.TestCase):
    def test_sessions_share_their_keys(self) -> None:
        """Of streams that are open at once; a long one is nobody else's."""
        for name, shared in (("a_key", True), ("x" * 65, False)):
            sessions: list[Any] = [{"messages": [], "ext": {}} for _ in range(2)]
            for session in sessions:
                delta = [{"op": "add", "path": f"/yaa/ext/{name}", "value": 1}]
                fold(session, {"type": "STATE_DELTA", "delta": delta})
            one, two = (next(iter(session["ext"])) for session in sessions)
            self.assertEqual((one, two), (name, name))
            self.assertIs(one is two, shared)

    def test_total_pure_and_the_same_however_it_is_applied(self) -> None:
        for seed in range(1500):
            session, found = sequence(random.Random(seed))
            before = json.dumps(found)
            once, again = copy.deepcopy(session), copy.deepcopy(session)
            folder = Folder(once)
            for event in found:
                folder.apply(event)
                fold(again, event)
            folder.flush()
            self.assertEqual(canonical(once), canonical(again), seed)
            self.assertEqual(json.dumps(found), before, f"events were changed (seed {seed})")

    def test_total_on_documents_of_no_shape(self) -> None:
        junk: list[Any] = [None, 0, "x", [], {}, [None], [5], {"id": "m0"}, [{"id": "c0"}]]
        for seed in range(300):
            random_ = random.Random(seed)
            _, found = sequence(random_)
            message = {"id": "m0", "role": "assistant"}
            for key in ("tool_calls", "reasoning", "content"):
                message[key] = random_.choice(junk)
            messages: list[Any] = [random_.choice(junk), message, {"role": "tool"}]
            session: Any = {"messages": messages, "calls": random_.choice(junk)}
            session["interrupts"] = random_.choice(junk)
            for event in [*found, *junk]:
                fold(session, event)

    def test_folding_twice_from_the_same_start_is_the_same(self) -> None:
        session, found = sequence(random.Random(7))
        folded = []
        for _ in range(2):
            folder = Folder(copy.deepcopy(session))
            for event in found:
                folder.apply(event)
            folder.flush()
            folded.append(canonical(folder.session))
        self.assertEqual(*folded)

    def test_any_number_of_deltas_is_written_down_whole(self) -> None:
        """They are joined in groups as they come, before the field is written."""
        for count in (0, 1, GATHERED - 1, GATHERED, GATHERED + 1, 3 * GATHERED, 3 * GATHERED + 2):
            with self.subTest(count=count):
                session: Any = {"messages": []}
                folder = Folder(session)
                folder.apply(text_start("a", 1))
                pieces = [f"{number} " for number in range(count)]
                for piece in pieces:
                    folder.apply(text_delta("a", piece))
                self.assertEqual(session["messages"][0]["content"], "")
                folder.flush()
                self.assertEqual(session["messages"][0]["content"], "".join(pieces))
                folder.apply(text_delta("a", "more"))
                folder.flush()
                self.assertEqual(session["messages"][0]["content"], "".join(pieces) + "more")

    def test_a_long_answer_costs_linear_time(self) -> None:
        """Counted, not timed: the text is written once, however many deltas it came in."""

        class Message(dict):  # type: ignore[type-arg]
            writes = 0

            def __setitem__(self, key: object, value: object) -> None:
                self.writes += key == "content"
                super().__setitem__(key, value)

        session: Any = {"messages": []}
        folder = Folder(session)
        folder.apply(text_start("m", 1))
        message = Message(session["messages"][0])
        session["messages"][0] = message
        for _ in range(10_000):
            folder.apply(text_delta("m", "x"))
        folder.apply(text_end("m", {}, 2))
        self.assertEqual((len(message["content"]), message.writes), (10_000, 1))


EARLIER: Any = {
    "id": "s",
    "messages": [
        {"id": "u1", "role": "user", "content": "a"},
        {
            "id": "a1",
            "role": "assistant",
            "content": "b",
            "reasoning": {"id": "t1", "text": "c"},
            "tool_calls": [
                {"id": call, "type": "function", "function": {"name": "f", "arguments": "{}"}}
                for call in ("c1", "c2")
            ],
        },
        {"id": "r1", "role": "tool", "tool_call_id": "c1", "name": "f", "content": "d"},
        {"id": "u2", "role": "user", "content": "e"},
        {"id": "a2", "role": "assistant", "content": "f"},
        {"id": "u3", "role": "user", "content": "g"},
    ],
    "calls": {"c1": {"state": "done"}, "c2": {"state": "proposed"}, "c9": {"state": "proposed"}},
    "interrupts": [],
}
# Everything by which an event can touch an earlier message: its name, the event, and `since`.
TOUCHES: list[tuple[str, Any, int]] = [
    ("a new message", events.text_start("a3", 1), 6),
    ("another key", events.state_delta(events.put("usage", value={})), 6),
    ("the end of a run", {"type": "RUN_FINISHED", "result": {"rev": 1}}, 6),
    ("an error", events.run_error("no", "internal", message_id="e", rev=2), 6),
    ("a filled id", events.messages_filled([{"op": "add", "path": "/3/at", "value": 1}]), 3),
    ("ids where there are some", events.ids_filled("z"), 6),
    ("a field of no message", events.messages_filled([{"op": "add", "path": "/9/at"}]), 6),
    ("more text", text_delta("a2", "x"), 4),
    ("more thoughts", events.think_delta("t1", "x"), 1),
    ("thoughts that begin", events.think_start("t2", "a2", "", 1)[-1], 4),
    ("an end", text_end("a2", {"model": "m"}, 1), 4),
    ("another call", events.tool_start("c3", "f", "a2"), 4),
    ("a call that is there", events.tool_start("c1", "f", "a2"), 6),
    ("arguments", events.tool_args("c1", "x"), 1),
    ("the provider's data", events.tool_end("c1", {"sig": 1}), 1),
    ("an end without data", events.tool_end("c1", None), 6),
    ("a result, before others", events.tool_result("c2", "f", "x", 1, state="done"), 1),
    ("a result of no call", events.tool_result("c9", "f", "x", 1, state="done"), 6),
    ("a log entry", events.state_delta(events.put("calls", "c1", value={"state": "failed"})), 1),
    ("a part of one", events.state_delta(events.put("calls", "c1", "state", value="failed")), 1),
    ("an entry of no message", events.state_delta(events.put("calls", "c9", value={})), 6),
    ("all entries", events.state_delta(events.put("calls", value={})), 1),
    ("a log of other calls", events.state_delta(events.put("calls", value={"c9": {}})), 1),
    ("a snapshot of the state", events.state_snapshot({"calls": {}}), 0),
    ("a snapshot of the messages", events.messages_snapshot([]), 0),
]


class Touched(unittest.TestCase):
    """`since`: what is before it is as it was, in the session and wherever else it is held."""

    def test_every_way_to_touch_an_earlier_message(self) -> None:
        for name, event, since in TOUCHES:
            with self.subTest(name):
                before = copy.deepcopy(EARLIER)
                folder = Folder(copy.deepcopy(EARLIER))
                folder.apply(event)
                folder.flush()
                self.assertEqual(folder.since, since)
                self.assertEqual(self.first(folder.session, since), self.first(before, since))
                if since < len(EARLIER["messages"]):
                    self.assertNotEqual(self.first(folder.session, 6), self.first(before, 6))

    def test_a_message_gets_its_id_and_stays_the_same_object(self) -> None:
        """An answer with new messages only knows them by that; what others hold is copied."""
        bare: Any = [{"role": "user", "content": "x"} for _ in range(2)]
        session: Any = {"messages": bare[:]}
        folder = Folder(session, shared=1)
        folder.apply(events.ids_filled("z"))
        self.assertEqual([each["id"] for each in session["messages"]], ["z_0", "z_1"])
        self.assertEqual(
            [a is b for a, b in zip(session["messages"], bare, strict=True)], [False, True]
        )
        self.assertNotIn("id", bare[0])

    def test_an_empty_call_log_touches_nothing(self) -> None:
        """Where there was none: every message of a bare document would be digested for it."""
        for value, since in (({}, 6), ({"c1": {"state": "done"}}, 1)):
            session: Any = {"messages": copy.deepcopy(EARLIER["messages"])}
            folder = Folder(session)
            folder.apply(events.state_delta(events.put("calls", value=value)))
            self.assertEqual((folder.since, session["calls"]), (since, value))

    def test_what_others_hold_never_changes(self) -> None:
        touched = 0
        for seed in range(1500):
            random_ = random.Random(seed)
            held, found = sequence(random_)
            for event in found:
                fold(held, event)
            _, found = sequence(random_)
            messages, calls = held.get("messages"), held.get("calls")
            if not isinstance(messages, list) or not isinstance(calls, dict):
                continue
            before, plain = copy.deepcopy(held), Folder(copy.deepcopy(held))
            shares: Any = {**copy.deepcopy(held), "messages": messages[:], "calls": calls.copy()}
            ids = {each.get("id") for each in messages if isinstance(each, dict)}
            known = {each for each in ids if isinstance(each, str)}
            folder = Folder(shares, shared=len(messages), known=known)
            for event in found:
                plain.apply(event)
                folder.apply(event)
            plain.flush()
            folder.flush()
            since = folder.since
            with self.subTest(seed=seed):
                self.assertEqual(canonical(shares), canonical(plain.session))
                self.assertEqual(plain.since, since)
                self.assertEqual(canonical(held), canonical(before))
                for each in (shares, before):  # all else in a message without one is as it was
                    fold(each, events.ids_filled("z"))
                self.assertEqual(self.first(shares, since), self.first(before, since))
            touched += 0 < since < len(messages)
        self.assertGreater(touched, 30)

    @staticmethod
    def first(session: Any, count: int) -> Any:
        """The first messages with the log entries of their calls."""
        messages = session["messages"][:count]
        ids = [str(call.get("id")) for message in messages for call in calls_of(message)]
        ledger = session["calls"] if isinstance(session.get("calls"), dict) else {}
        return messages, {each: ledger.get(each) for each in ids}


class Tables(unittest.TestCase):
    def test_every_folded_type_has_a_name_on_the_wire(self) -> None:
        self.assertEqual((FOLDS.keys() | DELTAS.keys()) - ALIASES.keys(), set())


if __name__ == "__main__":
    unittest.main()
