"""Prompts of MCP servers in `chat`, with real processes."""

from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path

from ...cli import test_overlay

SCRIPT = str(Path(__file__).parents[2] / "tools" / "mcp_library.py")
ORDER = "bench tokens=3 delay_us=0"  # what the scripted model understands


class Prompts(test_overlay.Case):
    def setUp(self) -> None:
        super().setUp()
        file = self.home / "config.json"
        config = json.loads(file.read_text())
        config["server"]["mcpServers"] = {
            name: {"command": sys.executable, "args": [SCRIPT, str(self.base / name), *how]}
            for name, how in (("old", ["legacy"]), ("bad", ["legacy", "refusing"]))
        }
        file.write_text(json.dumps(config))

    def test_prompts(self) -> None:
        lines = (
            *("/prompts", f"/old:review {ORDER}", "y", "/old:review", "my code", "n"),
            *("/old:nothing", "/nothing", "/save saved.json", "/exit"),
        )
        found = self.yaa("chat", said="\n".join(lines), cwd=".")
        self.assertEqual(found.returncode, 0, found.stderr)
        for text in (
            "/old:review what tone  Review it\n",
            "/old:plain\n",
            "bad: go away\n",
            f"  Review {ORDER}, kindly.\n",
            "  Review my code, kindly.\n",
            "/old:nothing is not known; /prompts lists what is",
            "/nothing is not known; /help lists what is",
        ):
            self.assertIn(text, found.stdout)
        session = json.loads((self.base / "saved.json").read_text())
        said = [each["content"] for each in session["messages"] if each["role"] == "user"]
        self.assertEqual(len(said), 1, "what nobody agreed to is not sent")
        self.assertTrue(said[0].startswith(f"Review {ORDER}, kindly."))

    def test_a_chat_without_servers(self) -> None:
        file = self.home / "config.json"
        config = json.loads(file.read_text())
        config["server"]["mcpServers"] = {}
        file.write_text(json.dumps(config))
        found = self.yaa("chat", said="/prompts\n/a:b\n/exit")
        self.assertIn("no tool server has prompts", found.stdout)
        self.assertIn("/a:b is not known", found.stdout)


if __name__ == "__main__":
    unittest.main()
