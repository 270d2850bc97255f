"""Vendors of models: their presets, what is found of them, and whose key a text is."""

from __future__ import annotations

from ..declaration import Extension

EXTENSION = Extension(vendors="known:KNOWN")
