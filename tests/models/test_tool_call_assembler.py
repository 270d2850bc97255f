"""Identity of fragments, as far as vectors/llm_stream.json does not show it already."""

from __future__ import annotations

import random
import unittest
from typing import Any

from server.models.failure import Failure
from server.models.tool_call_assembler import (
    MOST_CALLS,
    PartialCall,
    SurrogateJoiner,
    ToolCallAssembler,
    is_object,
)
from server.session.schema import check

from .fakes import check_brackets, fold, options


def calls() -> ToolCallAssembler:
    asked = options()
    return ToolCallAssembler("msg_1", asked.new_id, str)


class Pairs(unittest.TestCase):
    def test_in_every_cut(self) -> None:
        text = "a😀b\ud83d c\ude00d😀"
        units = text.encode("utf-16-le", "surrogatepass")
        halves = [
            units[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(units), 2)
        ]
        wanted = "a😀b\ufffd c\ufffdd😀"
        for place in range(len(halves)):
            joiner = SurrogateJoiner()
            pieces = ["".join(halves[:place]), "".join(halves[place:])]
            with self.subTest(place):
                joined = "".join(map(joiner.join, pieces)) + joiner.end()
                self.assertEqual(joined, wanted)
        joiner = SurrogateJoiner()
        self.assertEqual("".join(map(joiner.join, halves)) + joiner.end(), wanted)


class Objects(unittest.TestCase):
    def test_is_object(self) -> None:
        for text in ("{}", ' {"a": {"b": "}"}}\n'):
            self.assertTrue(is_object(text))
        for text in ("", "{", "[]", '{"a":1}}', "{}{}", "null", "{" * 9999 + "}" * 9999):
            self.assertFalse(is_object(text))


class News(unittest.TestCase):
    def test_what_was_told_is_not_joined_for_each_object_in_it(self) -> None:
        """A long call of many would cost quadratic time."""
        call = PartialCall(name="f", pieces=['{"a":[', '{"b":', "1},"], size=14)
        for piece in ('{"b":', "{", '{"b":2},'):
            self.assertEqual(call.new_part(piece), piece)
        self.assertEqual(len(call.pieces), 3)


class Ids(unittest.TestCase):
    def test_a_providers_id_is_never_the_sessions(self) -> None:
        """Some vendors count call_0 in each answer, and claims are kept under the id."""
        for theirs in ("call_0", "toolu_01", "", 7, None):
            made = calls()
            function = {"name": "look", "arguments": "{}"}
            with self.subTest(theirs):
                found = made.feed({"index": 0, "id": theirs, "function": function})
                self.assertEqual(found[0]["toolCallId"], "call_new1")


class Names(unittest.TestCase):
    def test_none_is_longer_than_a_session_may_have(self) -> None:
        made = calls()
        function = {"name": "look" * 500, "arguments": "{}"}
        found = made.feed({"index": 0, "id": "c", "function": function}) + made.finish(cut=False)
        opened: Any = {"messages": [{"id": "msg_1", "role": "assistant", "content": ""}]}
        session = fold(found, opened)
        self.assertEqual(check(session), [])
        message: Any = session["messages"][0]
        self.assertTrue(message["tool_calls"][0]["function"]["name"])


class Most(unittest.TestCase):
    def test_no_answer_has_more_calls_than_a_session_may(self) -> None:
        made = calls()
        for number in range(MOST_CALLS):
            made.begin(f"tool{number}")
        with self.assertRaises(Failure) as caught:
            made.begin("one_more")
        self.assertIn(f"more than {MOST_CALLS} calls", str(caught.exception))
        self.assertFalse(caught.exception.retryable)


class Chaos(unittest.TestCase):
    def test_anything_makes_a_well_formed_stream(self) -> None:
        """Whatever fragments come, every call is opened once, closed once and has its own id."""
        seed = random.Random(7)
        ids = [None, "", "c1", "c2", 3, True, "a b", "x" * 999, ["c1"]]
        names: list[Any] = [None, "", "f", "g", 5, {}]
        arguments = [None, "", "{", "}", '{"a":1}', {"a": 1}, [1], 7, "\ud83d", "\ude00", True]
        for _ in range(3000):
            made = calls()
            events: list[Any] = []
            for _ in range(seed.randrange(8)):
                fragment: Any = {"index": seed.choice([None, 0, 1, -1, "0", True, 10**9])}
                fragment["id"] = seed.choice(ids)
                fragment["function"] = {
                    "name": seed.choice(names),
                    "arguments": seed.choice(arguments),
                }
                events += made.feed(seed.choice([fragment, fragment, fragment["function"], None]))
            events += made.finish(cut=seed.random() < 0.5)
            self.assertEqual(check_brackets(events), [])
            session: Any = {"messages": [{"id": "msg_1", "role": "assistant", "content": ""}]}
            (message,) = fold(events, session)["messages"]
            found = [call["id"] for call in message.get("tool_calls") or ()]
            self.assertEqual(len(set(found)), len(found))
            self.assertEqual(len(found), len(made.all))
            str(message).encode()


if __name__ == "__main__":
    unittest.main()
