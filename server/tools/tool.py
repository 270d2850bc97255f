"""Decorators for tool functions, and the record that the server keeps of each tool.

`@tool` only marks a function; types and docstring make its schema (schema/generate.py). Tools run
in a child process (sandbox/child.py), so this module must be cheap to import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

from ..sandbox.tool_context import Context as Context
from ..sandbox.tool_context import LimitReached as LimitReached
from ..sandbox.tool_context import ToolError as ToolError

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)

MARK = "__yaa_tool__"
KIT = "__yaa_toolkit__"
NETWORKS = (
    "off",
    "proxy",
    "full",
)  # a copy, so that a tool's process need not import sandbox/network_policy.py
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


@dataclass(frozen=True)
class BaseTool:
    """Record of one tool in the server; the child reaches its code by `where`.

    kind: `python` runs in the child, `inline` in the server, `object` is code of the embedding
    program (program_tools.py), `fetch` is fetched by the server and read in the child, `rest` is
    an HTTP request (http_api.py), `mcp` a call to an MCP server (mcp/servers.py), `agents` writes
    an agent definition, `detail` describes another tool, `history` reads the session, `plan` and
    `output` write to it, `question` is answered by a person, `client` runs in the page.
    wait: whether to wait for the result of a `client` tool.
    where: ("module", name, function), ("file", path, function) or ("import", target, name), the
    last for tools of the owner's `package` (sandbox/packages.py).
    parameters, returns: JSON Schemas, with `$ref` for types that are used twice or recursive.
    `returns` is None if nothing is returned and {} if the type is unknown.
    toolkit: (name of its class, description shared by the tools of the class).
    stateful: whether its calls of one session share a process (stateful.py).
    like: name of an equivalent tool; policy and grants of that tool apply to this one too.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    kind: str = "python"
    origin: str = "builtin"
    where: tuple[str, str, str] = ("", "", "")
    hints: dict[str, bool] = field(default_factory=dict)
    required_resources: dict[str, Any] = field(default_factory=dict)
    keep: int | None = None
    returns: dict[str, Any] | None = field(default_factory=dict)
    wait: bool = True
    toolkit: tuple[str, str] = ("", "")
    package: str = ""
    stateful: bool = False
    like: str = ""

    @property
    def read_only(self) -> bool:
        """Return whether the tool changes nothing."""
        return self.hints.get("read_only", False)

    @property
    def repeatable(self) -> bool:
        """Return whether the tool may run again after an interrupted run."""
        return self.read_only or self.hints.get("idempotent", False)


def resources_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `required_resources` of a tool: numbers, and `network`.

    Raises ToolError for values that are neither.
    """
    found = dict(options.get("required_resources") or {})
    for name, value in found.items():
        fits = type(value) in (int, float) and 0 <= value < 2**53
        if not (value in NETWORKS if name == "network" else fits):
            raise ToolError(f"required_resources: {name} {value!r} means nothing here")
    return found


def hints_of(options: Mapping[str, Any]) -> dict[str, bool]:
    """Return all four hints. A read-only tool is idempotent, and by default not destructive."""
    read_only = bool(options.get("read_only"))
    return {
        "read_only": read_only,
        "destructive": bool(options.get("destructive", not read_only)),
        "idempotent": read_only or bool(options.get("idempotent")),
        "parallel_safe": bool(options.get("parallel_safe")),
    }
