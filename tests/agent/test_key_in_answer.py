"""A key of the server is no answer to a question, whichever way the answer comes."""

from __future__ import annotations

import copy
import hashlib
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.agent.key_in_answer import key_refuser
from server.api.auth import home_key
from server.config import Config
from server.errors import Problem

from .. import fakes

KEYS = {
    "home": "",
    "plain": 'k"0123456789-abcdef',
    "of an entry": "of-an-entry-0123456789",
    "hashed": "known-by-its-hash-0123456789",
}


class Refusing(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)
        server = copy.deepcopy(fakes.DEFAULTS["server"])
        digest = hashlib.blake2b(KEYS["hashed"].encode()).hexdigest()
        server["api_keys"] = [
            *(KEYS["plain"], {"name": "ann", "key": KEYS["of an entry"]}),
            {"name": "bob", "key": f"blake2b:{digest.upper()}"},
        ]
        self.refuse = key_refuser(Config(server, fakes.DEFAULTS["session"], self.home))
        # made after the server has started, as by the first command that needs one
        self.keys = {**KEYS, "home": home_key(self.home)}

    def is_refused(self, session: Any) -> bool:
        try:
            self.refuse(session)
        except Problem as problem:
            self.assertEqual((problem.status, problem.code), (422, "answer_invalid"))
            for key in self.keys.values():
                self.assertNotIn(key, str(problem.detail))
            return True
        return False

    def test_each_key_in_each_answer(self) -> None:
        for name, key in self.keys.items():
            for payload, refused in (
                (key, True),
                ({"a": {"b": [1, None, f"it is {key}"]}}, True),
                ({key: 1}, True),
                (f'My key is "{key}".', True),
                (f"a line\n{key}\nanother", True),
                (key[:-1], False),
                ("no", False),
                (None, False),
            ):
                answer = {"status": "resolved", "payload": payload}
                question = {"message": "Key?", "answer": payload}
                for session, wanted in (
                    ({"interrupts": [{"reason": "input_required", "answer": answer}]}, refused),
                    ({"calls": {"c": {"state": "waiting", "input": question}}}, refused),
                    ({"interrupts": [{"reason": "tool_call", "answer": answer}]}, False),
                    ({"interrupts": [{"reason": "input_required"}]}, False),
                ):
                    with self.subTest(key=name, session=session):
                        self.assertEqual(self.is_refused(session), wanted)

    def test_a_server_without_a_key(self) -> None:
        config = Config(fakes.DEFAULTS["server"], fakes.DEFAULTS["session"], fakes.NOWHERE)
        answer = {"status": "resolved", "payload": ""}
        session: Any = {"interrupts": [{"reason": "input_required", "answer": answer}]}
        key_refuser(config)(session)

    def test_no_run_begins_with_one(self) -> None:
        """`accept` is the one way to a run, for the terminal and for every protocol."""

        def script(messages: list[Any]) -> list[tuple[Any, ...]]:
            return [("call", "ask", '{"question": "Your key?"}')]

        model = fakes.ScriptedModel(script)
        agent = fakes.agent(model, fakes.CountingToolbox({"ask": "question"}, {}), home=self.home)
        asked = [{"id": "c", "type": "function", "function": {"name": "ask", "arguments": "{}"}}]
        session: Any = {
            "messages": [
                fakes.user("hello"),
                {"role": "assistant", "content": None, "tool_calls": asked},
            ],
            "interrupts": [{"id": "i", "reason": "input_required", "call_id": "c"}],
        }
        for payload, refused in (("Ann", False), (self.keys["home"], True)):
            session["interrupts"][0]["answer"] = {"status": "resolved", "payload": payload}
            with self.subTest(refused=refused):
                if not refused:
                    agent.accept(copy.deepcopy(session))
                    continue
                with self.assertRaises(Problem) as caught:
                    agent.accept(copy.deepcopy(session))
                self.assertEqual(caught.exception.code, "answer_invalid")


if __name__ == "__main__":
    unittest.main()
