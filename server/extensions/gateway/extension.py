"""The protocol of an agent gateway (`/api/*`)."""

from __future__ import annotations

from ..declaration import Extension

EXTENSION = Extension(
    variables="settings:read",
    parts="routes:GatewayParts",
)
