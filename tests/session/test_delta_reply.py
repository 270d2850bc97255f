"""What the short reply of a run names as new."""

from __future__ import annotations

import unittest

from server.session.delta_reply import delta_reply


class Reply(unittest.TestCase):
    def test_what_is_new_need_not_be_last(self) -> None:
        """A call that a new message has overtaken gets its result where it belongs: before that."""
        said = [{"id": "u"}, {"id": "a", "tool_calls": []}, {"id": "u2"}]
        before = {"messages": said, "usage": {"total_tokens": 18, "calls": 1, "cost_unit": "USD"}}
        session = {
            "messages": [*said[:2], {"id": "r"}, said[2], {"id": "a2"}],
            "usage": {"total_tokens": 54, "calls": 3, "cost_micro": 5, "cost_unit": "USD"},
        }
        reply = delta_reply(session, before)
        self.assertEqual([message["id"] for message in reply["messages"]], ["r", "a2"])
        spent = {"total_tokens": 36, "calls": 2, "cost_micro": 5, "cost_unit": "USD"}
        self.assertEqual(reply["usage"], spent)

    def test_a_copy_of_a_message_of_the_base_is_not_new(self) -> None:
        said = [{"id": "u"}, {"id": "a"}]
        session = {"messages": [said[0], {"id": "a", "changed": 1}, {"id": "b"}]}
        for known, new in ((("u", "a"), ["b"]), ((), ["a", "b"])):
            reply = delta_reply(session, {"messages": said}, known=known)
            self.assertEqual([message["id"] for message in reply["messages"]], new)


if __name__ == "__main__":
    unittest.main()
