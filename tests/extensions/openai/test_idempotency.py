"""Which requests are known again, and what a repetition begins with."""

from __future__ import annotations

import unittest
from typing import Any

from server.extensions.openai import routes
from server.session import events
from server.session.fold import fold

from ...fakes import MemoryClaims

Json = dict[str, Any]


def named(
    body: bytes = b"{}", *, who: str = "k", path: str = "/p", streams: bool = False, **h: str
) -> Any:
    headers = {"idempotency-key": h["key"]} if "key" in h else {}
    headers |= {"x-stainless-retry-count": h["count"]} if "count" in h else {}
    return routes.request_name(headers, who, path, body, streams=streams)


class Naming(unittest.TestCase):
    def test_which_may_come_again(self) -> None:
        for given, wanted in (
            ({}, None),
            ({"count": "0"}, (False, False)),
            ({"count": "1"}, (False, True)),
            ({"count": "10"}, (False, True)),
            ({"count": "00"}, (False, False)),
            ({"count": "9" * 5000}, (False, True)),
            ({"count": ""}, None),
            ({"count": "-1"}, None),
            ({"count": "\xb2"}, None),
            ({"count": "true"}, None),
            ({"count": "1", "streams": True}, None),
            ({"key": "k"}, (True, True)),
            ({"key": "\xe9", "count": "0", "streams": True}, (True, True)),
        ):
            with self.subTest(str(given)[:60]):
                found = named(**given)
                self.assertEqual(found and (found.keyed, found.repeated), wanted)

    def test_the_same_request_has_the_same_name_and_no_other_has(self) -> None:
        same = (named(count="0"), named(count="1"), named(count="2"))
        self.assertEqual(len({each.name for each in same}), 1)
        others = [
            named(count="0"),
            named(b"{} ", count="0"),
            named(who="l", count="0"),
            named(path="/q", count="0"),
            named(key="k"),
            named(key="l"),
            named(who="kk", key="k"),
            named(b"k{}", key="x"),
            named(b"{}", key="xk"),
        ]
        self.assertEqual(len({each.name for each in others}), len(others))


class GoingOn(unittest.TestCase):
    REQUEST: Json = {
        "agent": "a",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}],
        "tools": [{"name": "t"}],
        "config": {"yaa": {"unattended": True}},
        "ext": {"openai": {}},
    }

    def session(self) -> Any:
        """What a run of the request came to: thoughts, a call that has begun, and an answer."""
        found: Any = {**self.REQUEST, "id": "s", "calls": {}, "interrupts": [], "rev": 1}
        found["messages"] = [{**each} for each in self.REQUEST["messages"]]
        found["run"] = {"id": "run_1", "message": "u", "step": 2}
        for event in (
            *events.think_start("r", "m", "reasoning", 1),
            events.think_delta("r", "hm"),
            *events.think_end("r"),
            events.text_start("m", 1),
            events.text_delta("m", "I look."),
            events.tool_start("c", "f", "m"),
            events.tool_end("c"),
            events.text_end("m", {"model": "x"}, 2),
            events.tool_exec("c", [events.put("calls", "c", value={"state": "started"})], 3),
        ):
            fold(found, event)
        return found

    def test_what_is_kept_is_what_the_request_has_not(self) -> None:
        kept = routes.kept_part(self.session(), 2)
        self.assertEqual([each["role"] for each in kept["messages"]], ["assistant"])
        self.assertLessEqual({"id", "calls", "run", "interrupts"}, kept.keys())
        self.assertEqual(kept.keys() & {"config", "tools", "agent", "ext"}, set())

    def test_a_repetition_is_the_session_as_it_was(self) -> None:
        session = self.session()
        asked = {**self.REQUEST, "messages": [{**each} for each in self.REQUEST["messages"]]}
        found = routes.resume_document(asked, routes.kept_part(session, 2))
        self.assertEqual(found["messages"][1].pop("id"), "u")  # what was spent on it stays spent
        self.assertEqual(found, session)

    def test_nothing_kept_is_nothing_lost(self) -> None:
        asked = {**self.REQUEST, "messages": [{"role": "tool", "content": "r"}]}
        self.assertEqual(routes.resume_document(asked, {"messages": []}), asked)

    def test_what_was_said_is_told_again(self) -> None:
        session = self.session()
        session["messages"] += [
            {"id": "t", "role": "tool", "tool_call_id": "c", "name": "f", "content": "r"},
            {"id": "o", "role": "assistant", "content": "cut in the mid", "open": True},
            {"id": "e", "role": "error", "content": "oops"},
            {"id": "n", "role": "assistant", "content": "好"},
        ]
        told = [(e["type"], e.get("delta")) for e in routes.replay_events(session["messages"][2:])]
        self.assertEqual(
            told,
            [
                ("REASONING_MESSAGE_CONTENT", "hm"),
                ("REASONING_MESSAGE_END", None),
                ("TEXT_MESSAGE_CONTENT", "I look."),
                ("TEXT_MESSAGE_END", None),
                ("TEXT_MESSAGE_CONTENT", "好"),
                ("TEXT_MESSAGE_END", None),
            ],
        )


class FullDisk(MemoryClaims):
    full = True

    def store(self, *about: Any) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        super().store(*about)


class Keeping(unittest.TestCase):
    """No call that may not run twice begins before the session of its request is kept."""

    def attempt(self, claims: MemoryClaims, **named_by: str) -> Any:
        document = {"messages": [{"role": "user", "content": "hi"}]}
        return routes.RequestAttempt(claims, "k", document, named(**named_by))  # type: ignore[arg-type]

    def test_on_a_full_disk(self) -> None:
        session: Any = {"id": "s", "messages": [{"role": "user"}, {"role": "assistant"}]}
        for each in ({"count": "0"}, {"key": "k"}):
            claims = FullDisk()
            turn = self.attempt(claims, **each)
            for keep in (turn.keep, turn.keep):
                with self.assertRaises(OSError):
                    keep(session)
            claims.full = False
            turn.keep(session)
            claims.full = True
            turn.keep(session)  # the first call is kept, and with it the session's id
            with self.assertRaises(OSError):
                turn.keep_end(session)
        turn = self.attempt(FullDisk())
        turn.keep(session)  # nobody can tell a repetition
        turn.keep_end(session)


if __name__ == "__main__":
    unittest.main()
