"""What a run brings besides words, in two browsers: files, questions of MCP tools, compactions."""

from __future__ import annotations

import sys
import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path

from ..bench import peers
from ..tooling import tools
from ..tooling.child import Yaa
from . import walks

MCP = tools.ROOT / "tests" / "tools" / "mcp_server.py"


class ToolResults(walks.OneEngine):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-mcp-")))
            notes = folder / "notes"
            notes.touch()
            config = peers.config(peers.start(stack, "tests.bench.provider"))
            command = {"command": sys.executable, "args": [str(MCP), str(notes), "modern"]}
            config["server"]["mcpServers"] = {"s": command}
            config["session"] = {"config": {"context": {"ingest_tokens": 500}}}
            yaa = stack.enter_context(Yaa(config, at_once=True))
            asks = {"notes": notes.read_text}
            self.walk("tool-results", browser, {"url": yaa.link}, asks, expected=may_fail)


def may_fail(complaint: walks.Complaint) -> bool:
    return complaint["step"] == "a file that has gone says so" and walks.failed(complaint)


if __name__ == "__main__":
    unittest.main()
