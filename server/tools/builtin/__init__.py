"""The tools that are always there: plain functions, described by their types and docstrings.

`TOOLS` says which there are and with what hints. Each takes the context first and returns JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tool import MARK
from . import agents, aliases, calculator, clock, control, files, search, shell, web

PYTHON: tuple[Callable[..., Any], ...] = (
    calculator.calculator,
    clock.datetime,
    shell.shell,
    shell.python,
    files.read_file,
    files.write_file,
    files.edit_file,
    files.list_files,
    search.search_files,
)
NAMED: tuple[Callable[..., Any], ...] = (  # for agents that name them
    aliases.bash,
    aliases.city_datetime,
    aliases.mock_city_weather,
)
LIKE = {"bash": "shell"}  # whose policy it has
AGENTS: tuple[Callable[..., Any], ...] = (agents.agent_save,)  # written by the server itself
NETWORK: tuple[Callable[..., Any], ...] = (web.fetch_url,)  # made by the server itself ...
READS = (f"{__name__}.page", "readable")  # ... and what it got, read by this in the child
CONTROL: tuple[Callable[..., Any], ...] = (
    control.ask_user,
    control.finish,
    control.tool_detail,
    control.context_reload,
    control.context_retain,
    control.plan_set,
    control.plan_update,
)


def options(function: Callable[..., Any]) -> dict[str, Any]:
    found: dict[str, Any] = getattr(function, MARK)
    return found
