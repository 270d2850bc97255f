"""What a run brings besides words, in two browsers: files, questions of MCP tools, compactions."""

from __future__ import annotations

import sys
import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path

from tests.bench import peers
from tests.tooling import tools
from tests.tooling.child import Yaa

from .walks import NEEDED, walk

MCP = tools.ROOT / "tests" / "tools" / "mcp_server.py"
# What browsers say themselves of an answer that is no: of a file that is not there.
REFUSED = ("Failed to load resource",)


class Results(unittest.TestCase):
    maxDiff = None

    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-mcp-")))
            notes = folder / "notes"
            notes.touch()
            config = peers.config(peers.start(stack, "tests.bench.provider"))
            command = {"command": sys.executable, "args": [str(MCP), str(notes), "modern"]}
            config["server"]["mcpServers"] = {"s": command}
            config["session"] = {"config": {"context": {"ingest_tokens": 500}}}
            yaa = stack.enter_context(Yaa(config))
            job = {"url": yaa.link, "label": f"{browser}-results"}
            walked = walk("results.mjs", browser, job, {"notes": notes.read_text})
        self.assertEqual(walked.error, "", walked.complaints)
        loud = [
            one
            for one in walked.complaints
            if one["step"] != "a file that has gone says so"
            or not any(words in one["text"] for words in REFUSED)
        ]
        self.assertEqual(loud, [], "the console is quiet")

    @tools.needs(*NEEDED, tools.package("axe-core"), tools.browser("chromium"))
    def test_chromium(self) -> None:
        self.check("chromium")

    @tools.needs(*NEEDED, tools.package("axe-core"), tools.browser("firefox"))
    def test_firefox(self) -> None:
        self.check("firefox")


if __name__ == "__main__":
    unittest.main()
