"""Rows of kernel tests' tables, for what this extension adds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from server.extensions.agents.agent_save import AgentSaveTool
from server.extensions.agents.routes import SettingsAgents

LEAVES = {AgentSaveTool: False}  # its arguments stay on this machine
ONE = "/settings/agents/one"


async def _write(world: Any) -> None:
    await world.ask("PUT", ONE, {"agent": {"system_prompt": "Say yes."}})


def unwritable_routes(home: Path) -> Any:
    """Its routes, for a disk that is full or read-only."""
    return SettingsAgents(home / "agents").routes()


UNWRITABLE = [
    ("agent", "PUT", ONE, {"agent": {"system_prompt": "Say no."}}, _write),
    ("agent away", "DELETE", ONE, None, _write),
]
