"""AG-UI, for its clients: the route `POST /agui/{agent}`."""

from __future__ import annotations

from ..declaration import Extension

EXTENSION = Extension(parts="routes:AguiParts")
