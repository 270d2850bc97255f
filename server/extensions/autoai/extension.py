"""The protocol of AutoAi's chat widget (`/auto-ai/*`)."""

from __future__ import annotations

from ..declaration import ConfigKey, Extension

EXTENSION = Extension(
    requires=("openai",),
    config_keys={"server.limits.page_wait_s": ConfigKey(default=30)},
    refused="settings:refuse",
    parts="routes:AutoAiParts",
)
