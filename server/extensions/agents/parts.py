"""Connect agents in files with the server: what sessions can name, `agent_save`, the routes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ...api.auth import owners
from ...api.router import Route
from ...api.sessions import Runs
from ...config import Config
from ...tools.base import Tool
from ..parts import Parts
from .agent_save import AgentSaveTool, agent_save
from .folders import AgentFolders, owner_folder
from .registry import AgentRegistry
from .routes import SettingsAgents


def make_agents(config: Config) -> AgentRegistry:
    """Return the agents of a configuration."""
    server, session = config.server, config.session
    return AgentRegistry(
        owner_folder(server, config.home),
        session["agent"],
        _owners(config),
        session["config"]["limits"],
        is_configured=bool(server["agents_dir"]),
    )


def _owners(config: Config) -> Collection[str]:
    return owners(config.server["api_keys"], home_key=config.server["home_key"])


class AgentParts(Parts):
    """What edits the agents of one configuration."""

    def tools(self) -> Iterable[Tool]:
        """Return the tool that saves an agent."""
        config = self.host.config
        folder = owner_folder(config.server, config.home)
        return [AgentSaveTool.of(agent_save, agents=AgentFolders(folder, _owners(config)))]

    def settings_routes(self, runs: Runs) -> Mapping[tuple[str, str], Route]:
        """Return the routes of the owner's files."""
        folder = owner_folder(self.host.config.server, self.host.config.home)
        return SettingsAgents(folder).routes()
