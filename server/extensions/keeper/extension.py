"""Kept sessions. Nothing acts yet: schedules can be read."""

from __future__ import annotations

from ..declaration import Extension

EXTENSION = Extension()
