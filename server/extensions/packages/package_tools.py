"""Tools of the owner's packages, in the worker: import modules, describe tools, call one.

python_packages.py says what to import and from where; tools/child_calls.py calls `perform`.
Modules are found in the configured folders and in the environment of the running interpreter. Runs
in the child only, and imports the owner's code only after the child is fully restricted.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import pkgutil
import site
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ...tools.decorators import MARK, SETTINGS, Context, ToolError, check_setting
from ...tools.user_tools import (
    ToolDeclaration,
    call_function,
    declarations,
    describe_declaration,
    kit_declarations,
    kit_instance,
    offer_names,
)

MOST_FILES = 5_000  # files watched for changes
OURS = __name__.split(".")[0]


@functools.cache
def enter(paths: tuple[str, ...]) -> None:
    """Put `paths`, then the environment's own packages, on the module search path."""
    root = str(Path(__file__).resolve().parents[3])
    site.main()  # workers start without it, as most calls do not need it
    others = [path for path in sys.path if path not in (root, *paths)]
    sys.path[:] = [*paths, *others]
    offer_names()


def perform(request: dict[str, Any], context: Context) -> Any:
    """Return what a call brings: the result of a tool as JSON, or what `tools` or `targets` finds.

    Raises ToolError if the tool no longer exists, else what the tool raises.
    """
    _, target, name = request["where"]
    enter(tuple(request["paths"] or ()))
    if not name:
        return (tools if target == "tools" else targets)(**request["args"])
    # `name` may be that of its entry.
    single = ":" in target and not isinstance(_resolve_name(target), type)
    for each in _tools_of(target):
        if single or each.name == name:
            return call_function(each.function, request["args"], context)
    raise ToolError(f"{target} no longer has a tool {name}")


def targets(modules: list[str]) -> list[str]:
    """Return the modules and classes that these names stand for; see `_targets`."""
    return [each for name in modules for each in _targets(name)]


def tools(modules: list[str], functions: list[dict[str, Any]]) -> dict[str, Any]:
    """Return {tools, files}: descriptions of the tools, and the files to watch for changes.

    Each description is that of `user_tools.describe_declaration`, with `target`. Raises ToolError
    for a name without tools, else what a module raises.
    """
    found: list[dict[str, Any]] = []
    for name in modules:
        places = [*_targets(name)]
        those = [
            {**describe_declaration(each), "target": place}
            for place in places
            for each in _tools_of(place)
        ]
        if not those:
            raise ToolError(
                "it has no @tool and no @toolkit; name what shall be one under `functions`, such"
                f" as {_suggest_name(places[0])}"
            )
        found += those
    for entry in functions:
        each = _configured_function(entry)
        found.append({**describe_declaration(each), "target": entry["function"]})
    tops = {name.partition(":")[0].split(".")[0] for name in modules}
    tops |= {entry["function"].split(".")[0].partition(":")[0] for entry in functions}
    return {"tools": found, "files": sorted(_files(tops))[:MOST_FILES]}


def _targets(name: str) -> Iterator[str]:
    """Yield the module or class itself; for `package.*` the package and all modules below it."""
    if not name.endswith(".*"):
        yield name
        return
    package = _import(name.removesuffix(".*"))
    yield package.__name__
    for below in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{package.__name__}."):
        if not below.name.endswith(".__main__"):
            yield below.name


def _tools_of(target: str) -> Iterator[ToolDeclaration]:
    """Yield the tools of a module or a class, or the one function that `target` names."""
    name, colon, inside = target.partition(":")
    if not colon:
        yield from declarations(_import(name))
        return
    thing = _resolve_name(target)
    if isinstance(thing, type):
        yield from kit_declarations(thing)
    else:
        yield _declaration(inside, thing)


def _configured_function(entry: dict[str, Any]) -> ToolDeclaration:
    """Return a function named in the configuration; settings of its entry override its own."""
    settings = {key: value for key, value in entry.items() if key != "function"}
    for key, value in settings.items():
        if key not in SETTINGS:
            known = ", ".join(SETTINGS)
            raise ToolError(f"{entry['function']}: there is no setting {key}; there are {known}")
        check_setting(key, value)
    place = entry["function"]
    if ":" not in place:
        raise ToolError(f"{place}: write module:function, or module:Class.method")
    thing = _resolve_name(place)
    if isinstance(thing, type) or not callable(thing):
        raise ToolError(f"{place} is no function")
    found = _declaration(settings.get("name") or place.partition(":")[2], thing)
    return found._replace(options={**found.options, **settings})


def _declaration(inside: str, thing: Callable[..., Any]) -> ToolDeclaration:
    return ToolDeclaration(inside.replace(".", "_"), thing, getattr(thing, MARK, {}))


def _resolve_name(place: str) -> Any:
    """Return what `module:name.name` names; a method is bound to an instance of its class."""
    module, _, inside = place.partition(":")
    thing: Any = _import(module)
    for step in inside.split("."):
        raw = inspect.getattr_static(thing, step, None)
        if isinstance(thing, type) and isinstance(raw, types.FunctionType):
            thing = kit_instance(thing)
        try:
            thing = getattr(thing, step)
        except AttributeError:
            raise ToolError(f"{module} has no {inside}") from None
    return thing


def _import(name: str) -> types.ModuleType:
    if name.split(".")[0] == OURS:
        raise ToolError(f"{name}: a package named {OURS} is this server's own; rename yours")
    return importlib.import_module(name)


def _suggest_name(target: str) -> str:
    """Return the name of a function of the module or class, in the spelling for `functions`."""
    module, colon, _ = target.partition(":")
    thing = _resolve_name(target) if colon else _import(module)
    for name, each in vars(thing).items():
        own = getattr(each, "__module__", None) == module
        if own and inspect.isfunction(each) and not name.startswith("_"):
            return f"{target}.{name}" if colon else f"{target}:{name}"
    return f"{module}:function"


def _files(tops: set[str]) -> Iterator[str]:
    """Yield the files of imported packages, and their folders, where files may be added."""
    folders: set[str] = set()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.split(".")[0] in tops and isinstance(file, str) and os.path.isabs(file):  # noqa: PTH117
            yield file
            if hasattr(module, "__path__"):
                folders.add(os.path.dirname(file))  # noqa: PTH120
    yield from folders
