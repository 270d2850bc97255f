"""The routes of the owner's settings, all below `/settings`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...api.router import Route
from ...api.sessions import Runs
from ...json_types import Json
from ..parts import Parts
from .folder_routes import SettingsFolders
from .key_routes import SettingsKeys
from .routes import Settings
from .run_routes import SettingsRuns
from .trial_routes import SettingsTrials


class SettingsParts(Parts):
    """The settings of one configuration."""

    def settings_routes(self, runs: Runs) -> Mapping[tuple[str, str], Route]:
        """Return the routes."""
        host, config = self.host, self.host.config
        assert host.live is not None
        settings = Settings(host.live)
        trials = SettingsTrials(
            config.server, self._entries, host.client, host.env, host.models.vendors
        )
        return {
            **settings.routes(),
            **SettingsKeys(settings).routes(),
            **SettingsFolders(config.server).routes(),
            **SettingsRuns(runs).routes(),
            **trials.routes(),
        }

    def info(self, owner: str) -> Mapping[str, Any]:
        """Return that the configuration can be changed over HTTP, where it can."""
        return {} if self.host.live is None else {"settings": True}

    def _entries(self) -> dict[str, Json]:
        """Return the entries of discovered and configured providers, with their keys."""
        return {**self.host.models.found.providers, **self.host.config.server["providers"]}
