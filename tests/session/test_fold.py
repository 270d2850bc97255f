"""The fold: shared vectors, and the laws it keeps on whatever sequence it is given."""

from __future__ import annotations

import copy
import json
import random
import unittest
from pathlib import Path
from typing import Any

from server.session.events import ALIASES, text_delta, text_end, text_start
from server.session.fold import DELTAS, FOLDS, GATHERED, Folder, digest, fold
from server.strict_json import canonical, loads

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
                self.assertEqual(digest(session), case["digest"])

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


class Tables(unittest.TestCase):
    def test_every_folded_type_has_a_name_on_the_wire(self) -> None:
        self.assertEqual((FOLDS.keys() | DELTAS.keys()) - ALIASES.keys(), set())


if __name__ == "__main__":
    unittest.main()
