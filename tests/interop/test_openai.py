"""The official OpenAI SDK as a client of `POST /session`: it understands what goes wrong, and
repeats nothing.

Not the OpenAI front, which tests/extensions/openai is about; the SDK is used as what it is for
thousands of scripts, an HTTP client with habits: it reads `error.message`, and it repeats POSTs
that look as if they failed.
"""

from __future__ import annotations

import unittest
from contextlib import ExitStack
from typing import Any

from ..bench import peers
from ..tooling import tools
from ..tooling.api import Api
from ..tooling.child import Yaa

Json = dict[str, Any]
NEEDED = (tools.module("openai"),)
if all(tool.path for tool in NEEDED):
    import openai


@tools.needs(*NEEDED)
class Errors(unittest.TestCase):
    yaa: Yaa

    @classmethod
    def setUpClass(cls) -> None:
        stack = cls.enterClassContext(ExitStack())
        config = peers.config(peers.start(stack, "tests.bench.provider"))
        cls.yaa = stack.enter_context(Yaa(config))

    def client(self, key: str = "") -> Any:
        """The SDK as it comes, two retries included; `sent` counts its requests."""
        self.sent = 0

        def count(_request: Any) -> None:
            self.sent += 1

        http = openai.DefaultHttpxClient(event_hooks={"request": [count]})
        key = key or self.yaa.key
        return self.enterContext(
            openai.OpenAI(base_url=self.yaa.url, api_key=key, http_client=http)
        )

    def test_says_what_was_wrong(self) -> None:
        fits: Json = {"messages": [{"role": "user", "content": "hi"}]}
        unfit: Json = {"messages": [{"role": "user", "content": 5}]}
        for name, key, path, body, kind, code in (
            ("no such key", "wrong", "/session", fits, openai.AuthenticationError, "unauthorized"),
            ("no such page", "", "/v9/x", fits, openai.NotFoundError, "not_found"),
            ("misfit", "", "/session", unfit, openai.UnprocessableEntityError, "session_invalid"),
        ):
            with self.subTest(name):
                with self.assertRaises(kind) as caught:
                    self.client(key).post(path, body=body, cast_to=object)
                self.assertEqual(caught.exception.code, code)
                self.assertTrue(caught.exception.body["message"])
                self.assertIn(caught.exception.body["message"], str(caught.exception))
                self.assertEqual(self.sent, 1)

    def test_does_not_repeat_a_session_that_runs(self) -> None:
        """By itself the SDK sends a POST three times when it is answered 409."""
        order = "bench tokens=100000 delay_us=10000"
        session = {"id": "busy", "messages": [{"id": "u", "role": "user", "content": order}]}
        with Api(self.yaa.url, self.yaa.key).stream(session) as stream:
            next(stream.events())
            with self.assertRaises(openai.ConflictError) as caught:
                self.client().post("/session", body=session, cast_to=object)
        self.assertEqual((caught.exception.code, self.sent), ("run_active", 1))

    def test_a_run_is_a_plain_post(self) -> None:
        order = "bench tokens=3 delay_us=0"
        session = {"messages": [{"role": "user", "content": order}], "ext": {"mine": [1, None]}}
        done = self.client().post("/session", body=session, cast_to=object)
        self.assertEqual((done["status"], done["ext"]), ("completed", {"mine": [1, None]}))


if __name__ == "__main__":
    unittest.main()
