"""The official OpenAI SDK for Node.js drives /v1: helpers, tools that it runs by itself, errors."""

from __future__ import annotations

import json
import subprocess
import unittest
from pathlib import Path
from typing import Any, ClassVar

from ....protocols.served import Served
from ....tooling import tools
from .test_sdk import script

Json = dict[str, Any]
NEEDED = (tools.package("openai"),)
CLIENT = Path(__file__).with_name("client.mjs")
CLIENT_SECONDS = 120


@tools.needs(*NEEDED)
class Node(unittest.TestCase):
    found: ClassVar[Json]
    counted: ClassVar[int]

    @classmethod
    def setUpClass(cls) -> None:
        node = tools.program_node().path
        with Served(script) as served:
            done = subprocess.run(
                [str(node), str(CLIENT)],
                input=json.dumps({"url": served.url, "key": served.key}),
                capture_output=True,
                text=True,
                timeout=CLIENT_SECONDS,
                check=False,
            )
            cls.counted = served.counted()
        if done.returncode:
            raise AssertionError(done.stderr)
        cls.found = json.loads(done.stdout)

    def test_what_came_of_each(self) -> None:
        for name, wanted in (
            ("models", True),
            ("answer", {"text": "Hé 你", "tokens": 18}),
            ("stream", "Hé 你"),
            ("helper", {"text": "Hé 你", "together": "Hé 你"}),
            ("parse", {"city": "京", "degrees": 3}),
            ("runTools", [{"text": "counted 1", "asked": ["x"]}] * 2),
            ("responses", {"text": "Hé 你", "streamed": "Hé 你", "ends": True}),
            ("responsesTools", "counted 1"),
        ):
            with self.subTest(name):
                self.assertEqual(self.found[name], wanted)

    def test_errors_and_what_is_not_repeated(self) -> None:
        for name, kind, status, code in (
            ("key", "AuthenticationError", 401, "invalid_api_key"),
            ("model", "NotFoundError", 404, "model_not_found"),
            ("field", "BadRequestError", 400, "request_invalid"),
            ("began", "APIError", 424, "upstream_error"),
            ("refused", "BadRequestError", 400, "upstream_error"),
        ):
            with self.subTest(name):
                wanted = {"kind": kind, "status": status, "code": code, "sent": 1}
                self.assertEqual(self.found["errors"][name], wanted)
        middle = self.found["errors"]["middle"]
        self.assertEqual((middle["kind"], middle["sent"]), ("APIError", 1))

    def test_no_tool_ran_twice(self) -> None:
        """Two runs of tools, one by items, two that failed after it: once each."""
        self.assertEqual(self.counted, 5)


if __name__ == "__main__":
    unittest.main()
