"""What a server sends unasked, and who takes it."""

from __future__ import annotations

import logging
import unittest
from typing import Any

from server.extensions.mcp.inbox import MAX_UPDATED, MAX_URI, Caller, Inbox, reply_to
from server.json_types import Json

ASK: Json = {"id": 7, "method": "elicitation/create", "params": {}}


def notice(method: str, params: Any) -> Json:
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}


class Taken(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.inbox = Inbox("s", clock=lambda: 5.0)
        self.sent: list[Json] = []
        self.heard: list[Any] = []

    def take(self, message: Json, request_id: int | None = None) -> Json | None:
        return self.inbox.take(message, self.sent.append, request_id)

    def test_replies(self) -> None:
        self.assertEqual(reply_to({"id": "a", "method": "ping"})["result"], {})
        odd: list[Any] = ["roots/list", "sampling/createMessage", "nothing", 5, None, ["ping"], {}]
        for method in odd:
            reply = self.take({"id": 1, "method": method})
            assert reply is not None
            self.assertEqual((reply["id"], reply["error"]["code"]), (1, -32601), method)

    def test_notifications_that_mean_nothing(self) -> None:
        odd: list[Any] = [None, [], "x", 5, {}, {"uri": 5}, {"uri": "x" * (MAX_URI + 1)}]
        self.inbox.callers[3] = Caller(self.heard.append)
        for params in odd:
            for method in ("progress", "resources/updated", "message", "unknown"):
                with self.subTest(method=method, params=params):
                    self.assertIsNone(self.take(notice(method, params)))
        methods: list[Any] = [5, None, ["a"], {}]
        for method in methods:
            self.assertIsNone(self.take({"method": method}))
        self.assertEqual((self.heard, self.inbox.updated, self.inbox.changed), ([], {}, set()))

    def test_changed_lists(self) -> None:
        for kind in ("tools", "resources", "prompts"):
            self.take(notice(f"{kind}/list_changed", None))
            self.assertIn(kind, self.inbox.changed)

    def test_progress_is_known_by_its_token(self) -> None:
        self.inbox.callers |= {3: Caller(self.heard.append), 4: Caller()}
        odd: list[Any] = [3, "3", 4, True, None, [3], 3.0]
        for token in odd:
            self.take(notice("progress", {"progressToken": token}))
        self.assertEqual(self.heard, [{"progressToken": 3}])

    def test_updates_are_bounded(self) -> None:
        for number in range(MAX_UPDATED + 5):
            self.take(notice("resources/updated", {"uri": f"a:{number}"}))
        self.assertEqual(len(self.inbox.updated), MAX_UPDATED)
        self.assertNotIn("a:0", self.inbox.updated)
        self.assertEqual(self.inbox.updated["a:9"], 5.0)

    def test_a_question_goes_to_one_call_alone(self) -> None:
        ask = {"jsonrpc": "2.0", "id": 7, "result": {"action": "cancel"}}
        asked: list[Any] = []

        def caller(name: str) -> Caller:
            return Caller(None, lambda message, send: asked.append(name))

        self.assertEqual(self.take(ASK), ask, "no call runs")
        self.inbox.callers |= {1: caller("one"), 2: Caller()}
        self.assertIsNone(self.take(ASK), "one call runs, and a list is read")
        self.inbox.callers[3] = caller("three")
        self.assertEqual(self.take(ASK), ask, "whose question it is cannot be known")
        self.assertIsNone(self.take(ASK, 3), "it came in the stream of a call")
        self.assertEqual(self.take(ASK, 2), ask, "it came in the stream of no call")
        self.assertEqual(asked, ["one", "three"])


if __name__ == "__main__":
    unittest.main()
