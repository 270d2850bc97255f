"""The command `doctor`, for who installs yaa: what works here, what is missing, how to get it."""

from __future__ import annotations

from ..declaration import Command, Extension

EXTENSION = Extension(
    commands=(Command("doctor", "say what works and what is missing", "command:perform"),)
)
