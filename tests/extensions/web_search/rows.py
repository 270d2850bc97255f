"""Rows of kernel tests' tables, for what this extension adds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from server.extensions.web_search.search_tool import WebSearchTool

LEAVES = {WebSearchTool: True}  # its arguments leave this machine
KEY_VALUES = {"server.search.url": "http://192.0.2.7:8888"}  # another value of a key


def unasked_config(home: Path) -> dict[str, Any]:
    """The settings with which the tool is there."""
    return {"server.search": {"provider": "brave", "api_key": "k" * 20}}
