"""The demo model: a script that answers where there is no other model, for a first look around."""

from __future__ import annotations

from ..declaration import Extension

EXTENSION = Extension(parts="parts:DemoParts")
