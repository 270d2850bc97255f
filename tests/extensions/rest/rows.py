"""Rows of kernel tests' tables, for what this extension adds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from server.extensions.rest.openapi import tools_in
from server.extensions.rest.operations import HttpTool
from server.tools.base import Tool

LEAVES = {HttpTool: True}  # its arguments leave this machine
UNASKED = {"HTTP APIs, `GET` and `HEAD`"}
EMPTY_DEFAULTS = {"server.rest": {"a": {"base_url": "http://127.0.0.1"}}}
KEY_VALUES = {"server.rest.entry.tools": [{"name": "ping", "path": "/ping"}]}


def unasked_config(home: Path) -> dict[str, Any]:
    """The settings with which there is a tool of each row."""
    methods = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
    tools = [{"name": each.lower(), "path": "/x", "method": each} for each in methods]
    return {"server.rest": {"api": {"base_url": "https://api.example", "tools": tools}}}


def unasked_row(tool: Tool) -> str:
    """The row of the page that a tool belongs to, "" for none of these."""
    if not isinstance(tool, HttpTool):
        return ""
    safe = tool.name.endswith(("_get", "_head"))
    return f"HTTP APIs, {'`GET` and `HEAD`' if safe else 'other methods'}"


def _document(count: int) -> Callable[[], object]:
    about = {"parameters": [{"name": "q", "in": "query", "schema": {}}]}
    paths = {f"/p{n}": {"get": {**about, "operationId": f"o{n}"}} for n in range(count)}
    return lambda: list(tools_in({"openapi": "3.0.0", "paths": paths}, []))


COSTS = [("an OpenAPI file", _document, 60)]
