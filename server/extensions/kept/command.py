"""Say what the home folder keeps, or remove what nothing needs: `kept` of sessions, `objects`."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping

from ...api.auth import owner_of
from ...app import App
from ...cli.console import read_session
from ...config import Config, ConfigError
from ...telemetry import log
from ...tools.retention import DAY_S, Workspaces
from ...tools.session_files import STORE
from ...workspace import collection

MB = 1 << 20


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


def perform_objects(config: Config, env: Mapping[str, str], options: Namespace) -> int:
    """Print, or clean, the recorded files of all keys. Safe while a server runs."""
    sessions = "\n".join(json.dumps(read_session(name)) for name in options.keep)
    kept = [*collection.trees_of_states(config.home), *collection.ids_in(sessions)]
    owners = ("", *map(owner_of, config.server["api_keys"]))
    names = {collection.folder_of(config.home, owner): owner or "the owner" for owner in owners}
    print(f"{config.home / STORE}\n")
    for folder in collection.folders(config.home):
        store = collection.collect_objects(folder, kept, clean=options.clean)
        who = names.get(folder, f"a key that is no more ({folder.name[:8]})")
        text = f"{store['removed']} removed" if options.clean else f"{store['useless']} not needed"
        freed = store["freed"] if options.clean else store["useless_bytes"]
        size = f"{store['objects']:>7} objects {store['bytes'] / MB:>10.1f} MB"
        print(f"  {who:<24}{size}   {text}, {freed / MB:.1f} MB")
    return 0
