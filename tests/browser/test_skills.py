"""Skills in the page: offered, switched, read, used, changed since, and saved."""

from __future__ import annotations

import json
import sys
import tempfile
import unittest
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..bench import peers
from ..tooling.child import Yaa
from . import walks
from .folder_servers import OrderedModel

PDF = (
    "---\nname: pdf\ndescription: Reads PDF files\nallowed-tools: Bash\n---\n"
    "Run scripts/count.sh.\n"
)
ODD = "---\nname: odd\ndescription: Says more than it shows\n---\nBe\u202e nice.\u200b\n"
REFUNDS = (
    PDF.replace("pdf\n", "refunds\n").replace("Bash", "shell").replace("Run", "Pay it back. Run")
)
SCRIPT = str(Path(__file__).parents[1] / "tools" / "mcp_skills.py")


class SkillServer:
    """A server with two skills, an MCP server that brings a third, and a trusted folder."""

    def __init__(self, stack: ExitStack) -> None:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-skills-")))
        self.home, self.site = top / "home", top / "site"
        self.model = OrderedModel(stack)
        self.write("pdf", PDF)
        self.write("odd", ODD)
        self.site.mkdir()
        (self.site / "AGENTS.md").write_text("Use tabs.\n")
        top.chmod(0o755)
        config = peers.config(self.model.url)
        config["server"]["skills"] = {"folders": []}
        config["server"]["folders"] = {
            "site": {"path": str(self.site), "mode": "read", "trusted": True}
        }
        offered = top / "offered"
        offered.write_text(json.dumps({"files": {"skill://refunds/SKILL.md": REFUNDS}}))
        shop = {"command": sys.executable, "args": [SCRIPT, str(offered)], "skills": ["*"]}
        config["server"]["mcpServers"] = {"shop": shop}
        self.url = stack.enter_context(Yaa(config, home=self.home, at_once=True)).link

    @property
    def asks(self) -> Mapping[str, Callable[..., Any]]:
        return {"order": self.model.order, "write": self.write, "saved": self.saved}

    def write(self, name: str, text: str) -> None:
        file = self.home / "skills" / name / "SKILL.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def saved(self, name: str) -> str:
        return (self.home / "skills" / name / "SKILL.md").read_text()


class Skills(walks.OneEngine):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            server = SkillServer(stack)
            self.walk("skills", browser, {"url": server.url}, server.asks)


if __name__ == "__main__":
    unittest.main()
