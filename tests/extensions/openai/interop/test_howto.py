"""The how-to's examples run as they stand, against a server, with only address and key put in."""

from __future__ import annotations

import contextlib
import io
import subprocess
import unittest
from typing import Any, ClassVar

from ....protocols.served import Served
from ....test_docs import DOCS, fenced
from ....tooling import patience, tools

Json = dict[str, Any]
PAGE = DOCS / "howto" / "openai-sdk.md"


def script(body: Json) -> list[tuple[Any, ...]]:
    said = [each["content"] for each in body["messages"] if each["role"] == "user"][-1]
    if "umbrella" in said:
        if body["messages"][-1]["role"] == "tool":
            return [("text", f"Yes: {body['messages'][-1]['content']}")]
        return [("call", "get_weather", '{"city": "Oslo"}')]
    if "trip" in said:
        return [("text", '{"title": "Oslo", "days": 2}')]
    return [("text", "I can help.")]


class HowTo(unittest.TestCase):
    served: ClassVar[Served]

    @classmethod
    def setUpClass(cls) -> None:
        cls.served = cls.enterClassContext(Served(script))

    def blocks(self, language: str) -> list[str]:
        found = [text for _, text in fenced(PAGE.read_text(), language)]
        self.assertTrue(all("YOUR-KEY" in text for text in found[:1]))
        there = self.served.url
        return [
            text.replace("http://127.0.0.1:12345/v1", there).replace("YOUR-KEY", self.served.key)
            for text in found
        ]

    @tools.needs(tools.module("openai"))
    def test_python(self) -> None:
        names: Json = {"__name__": "howto"}
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            for block in self.blocks("python"):
                exec(compile(block, str(PAGE), "exec"), names)
        names["client"].close()
        said = printed.getvalue()
        trip = "title='Oslo' days=2"
        for wanted in ("'default'", "I can help.", "Yes: It rains in Oslo.", trip, "True"):
            self.assertIn(wanted, said)
        self.assertEqual(said.count("I can help."), 3)

    @tools.needs(tools.package("openai"))
    def test_node(self) -> None:
        (block,) = self.blocks("js")
        done = subprocess.run(
            [str(tools.program_node().path), "--input-type=module"],
            input=block,
            cwd=tools.NODE_MODULES.parent,
            capture_output=True,
            text=True,
            timeout=patience.seconds(60),
            check=False,
        )
        self.assertEqual((done.stdout, done.stderr), ("Yes: It rains in Oslo.\n", ""))


if __name__ == "__main__":
    unittest.main()
