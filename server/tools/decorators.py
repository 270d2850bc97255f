"""Decorators for tool functions.

`@tool` only marks a function; types and docstring make its schema (schema/generate.py). Tools run
in a child process (sandbox/child.py), so this module must be cheap to import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from ..lib.sandbox.tool_context import Context as Context
from ..lib.sandbox.tool_context import LimitReached as LimitReached
from ..lib.sandbox.tool_context import ToolError as ToolError

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)

MARK = "__yaa_tool__"
KIT = "__yaa_toolkit__"
# Arguments that rules compare by what they mean (argument_forms.py): `Annotated[str, PATH]`.
PATH, ADDRESS, COMMAND = ({"format": name} for name in ("workspace-path", "url", "shell-command"))
HINTS = ("read_only", "destructive", "idempotent", "parallel_safe")
SETTINGS = dict[str, type](name=str, description=str, required_resources=Mapping, keep=int)
SETTINGS |= dict.fromkeys(HINTS, bool)
KIT_SETTINGS = dict[str, type](description=str, keep=int, stateful=bool)


@overload
def tool(function: F) -> F: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    destructive: bool = True,
    idempotent: bool = False,
    parallel_safe: bool = False,
    required_resources: Mapping[str, float | str] | None = None,
    keep: int | None = None,
) -> Callable[[F], F]: ...
def tool(function: Any = None, **options: Any) -> Any:
    """Mark a function, sync or async, as a tool.

    `read_only` tools run without approval and may run again after an interrupted run; `idempotent`
    tools may run again too. All others ask first and never run twice. `required_resources` raises
    limits for this tool, up to the server's: wall_s, cpu_s, memory_mb, disk_mb, file_mb, output_kb,
    processes, open_files; its `network` (off, proxy, full) is the least network the tool works
    with. Raises TypeError for unknown options and values of a wrong type.
    """
    for name, value in options.items():
        if name not in SETTINGS:
            raise TypeError(f"@tool does not know {name}; it knows {', '.join(SETTINGS)}")
        check_setting(name, value)

    def mark(function: F) -> F:
        """Set the options on the function. Raises TypeError if it cannot be a tool."""
        if isinstance(function, staticmethod | classmethod):
            raise TypeError(f"@{type(function).__name__} belongs above @tool, not below")
        if not callable(function):
            raise TypeError(f"@tool is for a function, not for {function!r:.60}")
        setattr(function, MARK, options)
        return function

    return mark if function is None else mark(function)


@overload
def toolkit(cls: C) -> C: ...
@overload
def toolkit(
    *, description: str | None = None, keep: int | None = None, stateful: bool = False
) -> Callable[[C], C]: ...
def toolkit(
    cls: Any = None,
    *,
    description: str | None = None,
    keep: int | None = None,
    stateful: bool = False,
) -> Any:
    """Mark a class whose @tool methods become tools named `<class>_<method>`.

    The class is instantiated without arguments for each call; with `stateful` once for each
    session, in a process that stays. `description`: what the tools have in common, for the model;
    default: the docstring of the class. `keep` applies to its tools that have none of their own.
    """
    check_setting("keep", keep)
    check_setting("description", description)
    check_setting("stateful", stateful)

    def mark(cls: C) -> C:
        """Set the options on the class."""
        setattr(cls, KIT, {"keep": keep, "description": description, "stateful": stateful})
        return cls

    return mark if cls is None else mark(cls)


def check_setting(name: str, value: Any) -> None:
    """Raise TypeError for a value of the wrong type: `read_only="no"` would count as true."""
    kind = (SETTINGS | KIT_SETTINGS)[name]
    fits = isinstance(value, kind) and isinstance(value, bool) == (kind is bool)
    if value is not None and not fits:
        raise TypeError(f"{name} is {value!r:.60}, wanted {kind.__name__}")
