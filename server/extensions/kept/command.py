"""Perform the command `kept`: say what is kept of sessions, or remove what has expired."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from ...app import App
from ...config import Config, ConfigError
from ...telemetry import log
from ...tools.retention import DAY_S, Workspaces


def perform(config: Config, env: Mapping[str, str], options: Namespace) -> int:
    """Print, or clean, the data of sessions in the home folder. Safe while a server runs."""
    log.setup("warning")
    app = App(config, env)
    if options.days is not None:
        if options.days < 1:
            raise ConfigError(f"--days is {options.days}, wanted 1 or more")
        wall_s = config.server["limits"]["tool"]["wall_s"]
        app.workspaces = Workspaces(config.home / "workspaces", options.days, wall_s)
    before = {each.name: each.number for each in app.storage_figures()}
    if options.clean:
        app.clean()
    print(f"{config.home}\n")
    for name, count, oldest_s, expired in app.storage_figures():
        removed = before[name] - count
        said = f"{removed} removed" if options.clean else f"{expired} expired"
        print(f"  {name:<12}{count:>7}   oldest {oldest_s / DAY_S:5.1f} days   {said}")
    return 0
