"""A server with a scripted provider, a tool that counts its calls in a file, and agents for it."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.extensions import present

from ..tooling.child import Yaa
from .scripted import Scripted

Json = dict[str, Any]

TOOLS = '''
import time

from yaa import tool

@tool
def count(note: str = "") -> str:
    """Count this call."""
    with open("count", "a") as file:
        file.write("x")
    return "counted"

@tool
def dawdle() -> str:
    """Count this call, and take long."""
    with open("count", "a") as file:
        file.write("x")
    time.sleep(600)
    return "counted"

@tool(read_only=True)
def look() -> str:
    """Look around."""
    return "seen"
'''
AGENTS: dict[str, Json] = {
    "counter": {"description": "d", "policy": {"count": "auto"}, "tools": ["count", "look"]},
    "slow": {"policy": {"dawdle": "auto"}, "tools": ["dawdle"]},
    "asker": {"tools": ["count", "look", "ask_user"]},
    "strict": {"tools": ["look"], "require_finish_tool": True},
}


class Served:
    """`with Served(script) as served`: `yaa` the server, `provider` the model's."""

    def __init__(
        self, script: Any, limits: Json | None = None, agents: dict[str, Json] | None = None
    ) -> None:
        if "agents" not in present():
            raise unittest.SkipTest("its agents are in files")
        self._folder = tempfile.TemporaryDirectory(prefix="yaa-fronts-")
        self.home = Path(self._folder.name) / "home"
        for name in ("tools", "agents"):
            (self.home / name).mkdir(parents=True)
        (self.home / "tools" / "counting.py").write_text(TOOLS)
        for name, agent in (agents or AGENTS).items():
            (self.home / "agents" / f"{name}.json").write_text(json.dumps(agent))
        self.provider = Scripted(script)
        config = self.provider.config()
        config["server"] |= {"sandbox": {"require": "none"}, "limits": limits or {}}
        self.config, self.yaa = config, Yaa(config, home=self.home)

    def __enter__(self) -> Served:
        self.provider.__enter__()
        try:
            self.yaa.__enter__()
        except BaseException:
            self.provider.__exit__()
            raise
        self.url, self.key = f"{self.yaa.url}/v1", self.yaa.key
        return self

    def __exit__(self, *_: Any) -> None:
        self.yaa.__exit__()
        self.provider.__exit__()
        self._folder.cleanup()

    def counted(self) -> int:
        """How often `count` has run, in whichever session."""
        files = (self.home / "workspaces").glob("*/count")
        return sum(len(file.read_text()) for file in files)
