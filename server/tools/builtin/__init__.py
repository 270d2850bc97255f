"""The built-in tools: plain functions, described by their types and docstrings.

Each takes the context first and returns JSON. They run in a child, except those in INLINE.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import aliases, calculator, clock, edits, files, shell

PYTHON: tuple[Callable[..., Any], ...] = (
    calculator.calculator,
    clock.datetime,
    shell.shell,
    shell.python,
    files.read_file,
    files.write_file,
    edits.edit_file,
    files.list_files,
    files.search_files,
)
NAMED: tuple[Callable[..., Any], ...] = (  # only for agents that name them
    aliases.bash,
    aliases.city_datetime,
    aliases.mock_city_weather,
)
BRIEF = {edits.edit_file: edits.brief}  # tool -> what the model reads of its result
# tool -> what a permission mode needs for its calls to run unasked (tools/permission_mode.py)
WORK = {
    files.write_file: "edit",
    edits.edit_file: "edit",
    shell.shell: "program",
    shell.python: "program",
    aliases.bash: "program",
}
LIKE = {"bash": "shell"}  # alias -> the tool whose policy it shares
INLINE = frozenset(  # bounded and harmless: they run in the server
    (calculator.calculator, clock.datetime, aliases.city_datetime, aliases.mock_city_weather)
)
