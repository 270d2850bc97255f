"""What a tool is: a plain Python function with a few hints, and what the server knows of it.

`@tool` only marks a function; types and docstring make its schema (schema/generate.py). Tools run
in a child process (sandbox/child.py), so nothing here may cost the child much to import.
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
)  # sandbox/network_policy.py, which a tool's process need not import
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

    `read_only` tools run without being asked about and may run again after a cut, `idempotent`
    ones may run again; everything else asks first and never runs twice. `required_resources`
    raises limits for this tool, up to the server's: wall_s, cpu_s, memory_mb, disk_mb, file_mb,
    output_kb, processes, open_files; `network` (off, proxy, full) says which one it cannot do
    without.
    """
    for name, value in options.items():
        if name not in SETTINGS:
            raise TypeError(f"@tool does not know {name}; it knows {', '.join(SETTINGS)}")
        check_setting(name, value)

    def mark(function: F) -> F:
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
    """Mark a class whose @tool methods become tools named `<class>_<method>`. It is made once for
    each call, without arguments; with `stateful` once for each session, in a process that stays.
    `description`: what the tools have in common, for the model; without it the class's docstring.
    `keep` is for those of its tools that have none of their own."""
    check_setting("keep", keep)
    check_setting("description", description)
    check_setting("stateful", stateful)

    def mark(cls: C) -> C:
        setattr(cls, KIT, {"keep": keep, "description": description, "stateful": stateful})
        return cls

    return mark if cls is None else mark(cls)


def check_setting(name: str, value: Any) -> None:
    """Raises TypeError for what is not of its kind: `read_only="no"` would be taken for a yes."""
    kind = (SETTINGS | KIT_SETTINGS)[name]
    fits = isinstance(value, kind) and isinstance(value, bool) == (kind is bool)
    if value is not None and not fits:
        raise TypeError(f"{name} is {value!r:.60}, wanted {kind.__name__}")


@dataclass(frozen=True)
class BaseTool:
    """One tool as the server knows it; its code is reached by `where` in the child.

    kind: `python` runs in the child, `inline` in the server, `object` is code of the program that
    the server is part of (program_tools.py), `fetch` is fetched by the server and
    read in the child, `rest` is a request (http_api.py), `agents` writes a definition,
    `history` reads the session, `plan` and
    `output` write in it, `question` is answered by a person, `client` runs in the page.
    wait: whether a `client` tool's result is waited for; without, the page is only told.
    where: ("module", name, function), ("file", path, function) or ("import", target, name), the
    last of the owner's `package` (sandbox/packages.py).
    parameters, returns: JSON Schemas, with `$ref` where a type is used twice or contains itself.
    `returns` is None where nothing is returned and {} where nothing is known of it.
    toolkit: the name of the class that it belongs to, and what that says of all its tools.
    stateful: whether its calls of one session share a process (stateful.py).
    like: another tool that does the same; what is said of that one holds for this one too.
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
        return self.hints.get("read_only", False)

    @property
    def repeatable(self) -> bool:
        """Whether running it once more does no harm."""
        return self.read_only or self.hints.get("idempotent", False)


def resources_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool requires: numbers, and a network. Raises ToolError for what is neither."""
    found = dict(options.get("required_resources") or {})
    for name, value in found.items():
        fits = type(value) in (int, float) and 0 <= value < 2**53
        if not (value in NETWORKS if name == "network" else fits):
            raise ToolError(f"required_resources: {name} {value!r} means nothing here")
    return found


def hints_of(options: Mapping[str, Any]) -> dict[str, bool]:
    """The four hints, spelled out: what is read-only neither destroys nor minds repetition."""
    read_only = bool(options.get("read_only"))
    return {
        "read_only": read_only,
        "destructive": bool(options.get("destructive", not read_only)),
        "idempotent": read_only or bool(options.get("idempotent")),
        "parallel_safe": bool(options.get("parallel_safe")),
    }
