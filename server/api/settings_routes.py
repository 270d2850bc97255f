"""The routes of the owner's settings, all below `/settings`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..config import Config
from ..json_types import Json
from ..lib.http.client import Client
from ..models.vendors import DiscoveredProviders
from .router import Route
from .settings import Live, Settings
from .settings_agents import SettingsAgents
from .settings_folders import SettingsFolders
from .settings_keys import SettingsKeys
from .settings_runs import SettingsRuns
from .settings_trials import SettingsTrials


def settings_routes(
    live: Live,
    config: Config,
    client: Client,
    env: Mapping[str, str],
    found: Callable[[], DiscoveredProviders],
    runs: SettingsRuns,
) -> dict[tuple[str, str], Route]:
    """Return (method, path) -> route. `found` returns the discovered providers.

    `runs`: the handlers of runs.
    """

    def entries() -> dict[str, Json]:
        """Return the entries of discovered and configured providers, with their keys."""
        return {**found().providers, **config.server["providers"]}

    settings = Settings(live)
    return {
        **settings.routes(),
        **SettingsKeys(settings).routes(),
        **SettingsAgents(config.agents_folder).routes(),
        **SettingsFolders(config.server).routes(),
        **runs.routes(),
        **SettingsTrials(config.server, entries, client, env, config.home).routes(),
    }
