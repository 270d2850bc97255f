"""The built-in tools: plain functions, described by their types and docstrings.

The tuples below list them by where they run. Each takes the context first and returns JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tool import MARK
from . import aliases, calculator, clock, files, session, shell, web

PYTHON: tuple[Callable[..., Any], ...] = (
    calculator.calculator,
    clock.datetime,
    shell.shell,
    shell.python,
    files.read_file,
    files.write_file,
    files.edit_file,
    files.list_files,
    files.search_files,
)
NAMED: tuple[Callable[..., Any], ...] = (  # only for agents that name them
    aliases.bash,
    aliases.city_datetime,
    aliases.mock_city_weather,
)
LIKE = {"bash": "shell"}  # alias -> the tool whose policy it shares
AGENTS: tuple[Callable[..., Any], ...] = (session.agent_save,)  # performed by the server itself
NETWORK: tuple[Callable[..., Any], ...] = (web.fetch_url,)  # fetched by the server itself
READS = (f"{__name__}.html", "readable")  # reads the page in the child
CONTROL: tuple[Callable[..., Any], ...] = (
    session.ask_user,
    session.finish,
    session.tool_detail,
    session.context_reload,
    session.context_retain,
    session.plan_set,
    session.plan_update,
)


def options(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the options that `@tool` set on a function."""
    found: dict[str, Any] = getattr(function, MARK)
    return found
