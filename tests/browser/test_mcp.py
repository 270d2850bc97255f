"""Resources, prompts and questions of MCP servers in the page, at a real server of each era."""

from __future__ import annotations

import sys
import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path

from ..bench import peers
from ..tooling.child import Yaa
from . import walks
from .folder_servers import OrderedModel

SCRIPT = str(Path(__file__).parents[1] / "tools" / "mcp_library.py")


class Mcp(walks.OneEngine):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-mcp-")))
            model = OrderedModel(stack)
            config = peers.config(model.url)
            config["server"]["mcpServers"] = {
                name: {"command": sys.executable, "args": [SCRIPT, str(folder / name), *manners]}
                for name, *manners in (("old", "legacy", "changing"), ("new", "modern"))
            }
            yaa = stack.enter_context(Yaa(config, at_once=True))
            asks = {"order": model.order}
            self.walk("mcp", browser, {"url": yaa.link}, asks, expected=may_fail)
            calls = (folder / "old").read_text().splitlines()
            self.assertEqual(len([line for line in calls if line.startswith("tools/call")]), 2)


def may_fail(complaint: walks.Complaint) -> bool:
    return complaint["step"].startswith("what a server does not give") and walks.failed(complaint)


if __name__ == "__main__":
    unittest.main()
