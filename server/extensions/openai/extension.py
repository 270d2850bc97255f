"""OpenAI's APIs, for its SDKs: the routes `/v1/*`."""

from __future__ import annotations

from ..declaration import ConfigKey, Extension

EXTENSION = Extension(
    config_keys={"server.limits.response_ttl_s": ConfigKey(default=86400)},
    parts="routes:OpenAIParts",
)
