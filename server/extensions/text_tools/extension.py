"""Tool calls as text: of models without function calling, and where a model server reads none."""

from __future__ import annotations

from ..declaration import Extension

EXTENSION = Extension(
    tool_modes={
        "native": "modes:NATIVE",
        "json_schema": "modes:JSON_SCHEMA",
        "text": "modes:TEXT",
    }
)
