"""What is kept of sessions: digests of their beginnings, what a run leaves, what is forgotten."""

from __future__ import annotations

import copy
import sys
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

from server.lib.strict_json import dumps, loads
from server.session.kept_sessions import MEGABYTE, PER_MESSAGE, KeptSession, KeptSessions
from server.session.schema import NO_IDS

VECTORS = loads((Path(__file__).parent.parent / "vectors" / "base.json").read_bytes())


def message(number: int, *calls: str, **more: Any) -> Any:
    made = [{"id": call, "function": {"name": "f", "arguments": "{}"}} for call in calls]
    found = {"id": f"m{number}", "role": "assistant", "content": "x"} | more
    return {**found, "tool_calls": made} if calls else found


def kept(name: str = "s", owner: str = "", count: int = 3, size: int = 100) -> KeptSession:
    return KeptSession(owner, name, [message(n) for n in range(count)], {}, size)


class Digests(unittest.TestCase):
    def test_shared_vectors(self) -> None:
        for case in VECTORS:
            with self.subTest(case["name"]):
                found = KeptSession("", "s", case["messages"], case.get("calls", {}))
                count = len(case["messages"])
                self.assertEqual([found.digest(n + 1) for n in range(count)], case["digests"])
                again = KeptSession("", "s", case["messages"], case.get("calls", {}))
                self.assertEqual(again.digest(count), case["digests"][-1])

    def test_each_is_computed_once(self) -> None:
        found = kept(count=5)
        found.digest(3)
        found.messages[0] = {"id": "other", "role": "user"}  # nobody does: it would be seen
        self.assertEqual(found.digest(2), found.digests[1])
        self.assertEqual(len(found.digests), 3)
        self.assertEqual(found.digest(5), kept(count=5).digest(5))

    def test_of_no_messages_and_of_too_many(self) -> None:
        found = kept(count=2)
        self.assertEqual([found.digest(n) for n in (-1, 0, 3, 2**60)], [""] * 4)
        self.assertEqual(found.digests, [])

    def test_everything_counts(self) -> None:
        messages = [message(0, "c0"), message(1)]
        calls: Any = {"c0": {"state": "done"}}
        digest = KeptSession("", "s", messages, calls).digest(2)
        changes: list[tuple[str, Callable[[Any, Any], object]]] = [
            ("a text", lambda m, c: m[0].update(content="y")),
            ("a key", lambda m, c: m[1].update(at=1)),
            ("a key less", lambda m, c: m[1].pop("id")),
            ("the order", lambda m, c: m.reverse()),
            ("an entry", lambda m, c: c["c0"].update(state="failed")),
            ("no entry", lambda m, c: c.clear()),
        ]
        for name, change in changes:
            with self.subTest(name):
                other, entries = copy.deepcopy(messages), copy.deepcopy(calls)
                change(other, entries)
                self.assertNotEqual(KeptSession("", "s", other, entries).digest(2), digest)
        more = {**calls, "of no call": {"state": "done"}}
        self.assertEqual(KeptSession("", "s", messages, more).digest(2), digest)


class Parts(unittest.TestCase):
    def test_the_first_messages_with_their_entries(self) -> None:
        messages = [message(0, "c0"), message(1, "c1"), message(2)]
        calls: Any = {"c1": {"state": "done"}, "c0": {"state": "done"}, "other": {"state": "done"}}
        whole = KeptSession("ann", "s", messages, calls, 300)
        whole.digest(3)
        first = whole.first(1)
        self.assertEqual((first.owner, first.session_id), ("ann", "s"))
        self.assertEqual(first.size, 300 - len(dumps(messages[1:])))
        self.assertEqual((first.messages, list(first.calls)), (messages[:1], ["c0"]))
        self.assertEqual(first.digests, whole.digests[:1])
        self.assertIs(first.texts, whole.texts)
        self.assertIs(first.messages[0], messages[0])
        self.assertEqual(sorted(whole.first(3).calls), ["c0", "c1"])

    def test_the_ids_of_the_first_messages(self) -> None:
        answers: list[Any] = [
            {"id": f"r{number}", "role": "tool", "tool_call_id": call}
            for number, call in enumerate(("c0", "c1", "c0"))  # c0 has two results
        ]
        made = [message(0, "c0", "c1"), *answers[:2], message(1, "c2"), answers[2], message(2)]
        for count in range(1, len(made) + 1):
            with self.subTest(count):
                found = KeptSession("", "s", made, {}).first(count).known_ids
                self.assertEqual(found, NO_IDS.plus(made[:count]))

    def test_what_a_run_leaves(self) -> None:
        base = KeptSession("ann", "s", [message(0), message(1)], {}, 50)
        base.digest(2)
        messages = [*base.messages, message(2), message(3)]
        session: Any = {"messages": messages, "calls": {"c": {"state": "done"}}}
        for since, digests in ((3, 2), (2, 2), (1, 1), (0, 0)):
            with self.subTest(since):
                left = base.after(session, since, 3, 10_000)
                self.assertEqual((left.messages, left.calls), (messages, {}))
                self.assertEqual(left.digests, base.digests[:digests])
                self.assertEqual(left.digest(4), KeptSession("", "s", messages, {}).digest(4))
                self.assertGreater(150 * 4, left.size)
        alone = KeptSession("ann", "s", [], {}).after(session, 3, 3, 10_000)
        self.assertEqual((alone.messages, alone.size // 100), (messages, 100))

    def test_whatever_a_run_leaves_is_in_its_size(self) -> None:
        """Otherwise a client could fill the memory whatever the limit is."""
        long, count = "x" * 1_000_000, 1_000_000
        whole = KeptSession("", "s", [message(0), message(1, content=long)], {}, count + 200)
        entry = {"state": "done", "args": {"x": long}}
        cases: list[tuple[str, KeptSession, Any, int]] = [
            ("the first message", whole.first(1), {}, 0),
            ("a long message among short ones", whole.first(2), {}, 1),
            ("an entry of a new call", whole.first(1), {"c9": entry}, 1),
            ("an entry of no call", whole.first(1), {"other": entry}, 0),
        ]
        for name, base, calls, times in cases:
            with self.subTest(name):
                messages = [*base.messages, message(9, *(calls.keys() & {"c9"}))]
                left = base.after({"messages": messages, "calls": calls}, 9, 2, 0)
                self.assertEqual(left.size // count, times)
                self.assertEqual(len(dumps([left.messages, left.calls])) // count, times)
        many = [message(0, content=long), *(message(n) for n in range(1, 500))]
        left = KeptSession("", "s", many, {}, len(dumps(many))).first(1)
        self.assertGreaterEqual(left.size, count)

    def test_long_texts_of_no_message_are_dropped(self) -> None:
        base = KeptSession("", "s", [message(n, content=str(n)) for n in range(100)], {}, 5_000)
        session: Any = {"messages": base.messages, "calls": {}}
        self.assertEqual(base.texts.quoted["0"], '"0"')
        self.assertEqual(base.texts.messages["user"]["0"], '{"role":"user","content":"0"}')
        self.assertIs(base.after(session, 100, 100, 0).texts, base.texts)
        self.assertEqual(len(base.texts.quoted["a system prompt" * 1_000]), 15_002)
        left = base.after(session, 100, 100, 0).texts
        self.assertEqual((left.count, left.quoted), (2, {"0": '"0"'}))
        self.assertEqual(left.messages["user"], base.texts.messages["user"])

    def test_texts_of_messages_that_are_gone_are_dropped(self) -> None:
        base = KeptSession("", "s", [message(0)], {})
        said = [message(number, content=f"\u201c{number}\u201d\n") for number in range(5)]
        said += [message(5, content=None), message(6, content=[{"type": "text"}])]
        session: Any = {"messages": said, "calls": {}}
        for number in range(15):
            text = f"\u201c{number}\u201d\n"
            self.assertEqual(base.texts.quoted[text], f'"\u201c{number}\u201d\\n"')
            left = base.after(session, 1, 1, 10)
            self.assertLessEqual(left.texts.count, 2 * len(said))
        self.assertEqual(set(left.texts.quoted), {each["content"] for each in said[:5]})

    def test_without_messages_whose_calls_are_not_in_the_log(self) -> None:
        for made, count in (
            (message(1, "c1"), 1),
            (message(1, "c0"), 3),
            (message(1, "c1", open=True), 3),
        ):
            session: Any = {"messages": [message(0), made, message(2)], "calls": {"c0": {}}}
            left = KeptSession("", "s", [], {}).after(session, 0, 1, 10)
            self.assertEqual(len(left.messages), count)


class Room(unittest.TestCase):
    def test_the_one_that_was_not_used_for_longest_goes(self) -> None:
        weight = kept().weight
        sessions = KeptSessions((3 * weight + 1) / MEGABYTE)
        for name in ("a", "b", "c"):
            sessions.keep(kept(name))
        self.assertIsNotNone(sessions.find("", "a"))
        sessions.keep(kept("d"))
        there = [name for name in "abcd" if sessions.find("", name)]
        self.assertEqual(there, ["a", "c", "d"])
        for _ in range(5):  # in place of itself
            sessions.keep(kept("d"))
        self.assertEqual([name for name in "abcd" if sessions.find("", name)], there)

    def test_one_that_is_too_large_is_not_kept_and_takes_no_room(self) -> None:
        sessions = KeptSessions(4 * kept().weight / MEGABYTE)
        for name in ("a", "b"):
            sessions.keep(kept(name))
        sessions.keep(kept("a", size=MEGABYTE))
        self.assertIsNone(sessions.find("", "a"), "its earlier state is no longer true")
        self.assertIsNotNone(sessions.find("", "b"))
        for name in ("c", "d", "e"):
            sessions.keep(kept(name))
        self.assertEqual([name for name in "abcde" if sessions.find("", name)], list("bcde"))

    def test_zero_keeps_nothing(self) -> None:
        sessions = KeptSessions(0)
        sessions.keep(kept(size=0, count=1))
        self.assertIsNone(sessions.find("", "s"))

    def test_of_each_owner(self) -> None:
        sessions = KeptSessions(1)
        sessions.keep(kept(owner="ann"))
        self.assertIsNotNone(sessions.find("ann", "s"))
        for owner, session_id in (("bob", "s"), ("", "s"), ("ann", "t"), ("ann", ["s"])):
            self.assertIsNone(sessions.find(owner, session_id))

    def test_a_weight_is_what_python_needs_at_most(self) -> None:
        """Of messages as sessions have them; measured with every object that they hold."""
        messages: list[Any] = [
            {"id": f"msg_{n:024}", "role": "user", "content": f"{n} " * 40, "at": 10**12 + n}
            for n in range(1000)
        ]
        size = len(str(messages))
        held = sum(
            sys.getsizeof(each) + sum(map(sys.getsizeof, each.values())) for each in messages
        )
        weight = KeptSession("", "s", messages, {}, size).weight
        self.assertLess(held, weight)
        self.assertLess(weight, 4 * held)
        self.assertGreater(PER_MESSAGE, sys.getsizeof(messages[0]))

    def test_many_small_values_weigh_more_than_their_text(self) -> None:
        base = KeptSession("", "s", [message(0)], {})
        odd = message(1, meta={"n": [{} for _ in range(10_000)]})
        session: Any = {"messages": [message(0), odd], "calls": {}}
        left = base.after(session, 1, 1, 10)
        self.assertGreater(left.weight, 10_000 * sys.getsizeof({}))
        self.assertGreater(100, left.first(1).values)


if __name__ == "__main__":
    unittest.main()
