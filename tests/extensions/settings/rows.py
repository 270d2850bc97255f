"""Rows of kernel tests' tables, for what this extension adds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from server.api.auth import Keys
from server.api.router import Route, Router
from server.extensions.settings.hidden_secrets import hide
from server.extensions.settings.key_routes import SettingsKeys
from server.extensions.settings.routes import HIDDEN, Settings

from ...api.fakes import Call, nothing
from .served import Served

# Nothing in their bodies is looked through.
SMALL = {"/settings/keys", "/settings/try/provider"}


async def settings_shown(home: Path) -> tuple[Any, Any, tuple[str, ...]]:
    """What an owner is shown: the half in force, the file, and the keys that the first lacks."""
    keys = Keys([{"key": "k" * 20, "owner": True}])
    call = Call("GET", "/settings", {"Authorization": f"Bearer {'k' * 20}"})
    await Router(Settings(Served(home, {})).routes(), nothing, keys)(call.exchange)
    file = hide(json.loads((home / "config.json").read_text()))
    return call.json["effective"], file, HIDDEN


# -- a disk that refuses (tests/chaos/unwritable.py) ----------------------------------------------


def unwritable_routes(home: Path) -> Mapping[tuple[str, str], Route]:
    """The routes of its stories."""
    settings = Settings(Served(home, {}))
    return {**settings.routes(), **SettingsKeys(settings).routes()}


async def _keyed(world: Any) -> None:
    await world.ask("POST", "/settings/keys", {"name": "zoe"})


_CHANGE = {"changes": [{"path": ["server", "keep_days"], "value": 9}]}
UNWRITABLE = [
    ("settings", "PATCH", "/settings", _CHANGE),
    ("key", "POST", "/settings/keys", {"name": "bob"}),
    ("key away", "DELETE", "/settings/keys/zoe", None, _keyed),
]
