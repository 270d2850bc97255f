"""The demo model: a script that answers where there is no other model, for a first look around."""

from __future__ import annotations

from ..declaration import ConfigKey, Extension

KEYS = {"server.demo.pause_s": ConfigKey(0.012)}
EXTENSION = Extension(config_keys=KEYS, parts="parts:DemoParts")
