"""A configuration that stands for that of a process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from server.config import Config, load
from server.json_types import Json


class Served:
    """A configuration whose file is the home folder's; `renewed` counts its uses."""

    def __init__(self, home: Path, env: dict[str, str]) -> None:
        self.home, self.env = home, env
        self.path = home / "config.json"
        self.config = load(home, None, env, {})
        self.renewed = 0

    def check(self, document: dict[str, Any]) -> Config:
        return load(self.home, None, self.env, {}, given=document)

    def facts(self) -> Json:
        return {"found": {}, "reload": {"state": "ready", "detail": [], "later": []}}

    async def renew(self) -> None:
        self.renewed += 1
        self.config = load(self.home, None, self.env, {})
