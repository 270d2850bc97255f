"""The owner's settings over HTTP."""

from ..declaration import ConfigKey, Extension

EXTENSION = Extension(
    config_keys={"server.remote_administration": ConfigKey(default=False)},
    parts="parts:SettingsParts",
)
