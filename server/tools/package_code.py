"""Tools of the owner's own packages, in the worker: import them, describe them, call one.

In the walk: sandbox/packages.py says what to import and from where; sandbox/child.py comes here
with the call. The modules are found in the folders of the configuration and in the environment of
the interpreter that this process is. The rule of the file: it runs in the child only, and imports
nothing of the owner's before the child has taken on every restriction.
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

from .tool import MARK, SETTINGS, Context, ToolError, check_setting
from .user_tools import Declared, about, called, declared, methods, offer_names, one

MOST_FILES = 5_000  # that are looked at again, to see whether they have changed
OURS = __name__.split(".")[0]


@functools.cache
def enter(paths: tuple[str, ...]) -> None:
    """Let modules be found: those of `paths` first, then the environment's own."""
    root = str(Path(__file__).resolve().parents[2])
    site.main()  # left out of the start of a worker, which most calls are faster for
    others = [path for path in sys.path if path not in (root, *paths)]
    sys.path[:] = [*paths, *others]
    offer_names()


def call(target: str, name: str, args: dict[str, Any], context: Context) -> Any:
    """The result as JSON. Raises ToolError where there is no such tool any more, else what it
    raises."""
    single = ":" in target and not isinstance(_reached(target), type)  # and may have a new name
    for each in _tools_of(target):
        if single or each.name == name:
            return called(each.function, args, context)
    raise ToolError(f"{target} no longer has a tool {name}")


def targets(modules: list[str]) -> list[str]:
    """The modules and classes that these names stand for, which no one has imported yet."""
    return [each for name in modules for each in _targets(name)]


def tools(modules: list[str], functions: list[dict[str, Any]]) -> dict[str, Any]:
    """{tools: what calling.about says of each, with `target`, files: to look at again}. Raises
    ToolError for a name that leads to no tool, and what a module raises."""
    found: list[dict[str, Any]] = []
    for name in modules:
        places = [*_targets(name)]
        those = [{**about(each), "target": place} for place in places for each in _tools_of(place)]
        if not those:
            raise ToolError(
                "it has no @tool and no @toolkit; name what shall be one under `functions`, such"
                f" as {_suggested(places[0])}"
            )
        found += those
    for entry in functions:
        each = _named(entry)
        found.append({**about(each), "target": entry["function"]})
    tops = {name.partition(":")[0].split(".")[0] for name in modules}
    tops |= {entry["function"].split(".")[0].partition(":")[0] for entry in functions}
    return {"tools": found, "files": sorted(_files(tops))[:MOST_FILES]}


def _targets(name: str) -> Iterator[str]:
    """The module or class itself; of `package.*` the package and all modules below it."""
    if not name.endswith(".*"):
        yield name
        return
    package = _imported(name.removesuffix(".*"))
    yield package.__name__
    for below in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{package.__name__}."):
        if not below.name.endswith(".__main__"):
            yield below.name


def _tools_of(target: str) -> Iterator[Declared]:
    """The tools of a module, of a class, or one function by its place."""
    name, colon, inside = target.partition(":")
    if not colon:
        yield from declared(_imported(name))
        return
    thing = _reached(target)
    if isinstance(thing, type):
        yield from methods(thing)
    else:
        yield _declared(inside, thing)


def _named(entry: dict[str, Any]) -> Declared:
    """A function that its entry names, with the entry's settings over the function's own."""
    settings = {key: value for key, value in entry.items() if key != "function"}
    for key, value in settings.items():
        if key not in SETTINGS:
            known = ", ".join(SETTINGS)
            raise ToolError(f"{entry['function']}: there is no setting {key}; there are {known}")
        check_setting(key, value)
    place = entry["function"]
    if ":" not in place:
        raise ToolError(f"{place}: write module:function, or module:Class.method")
    thing = _reached(place)
    if isinstance(thing, type) or not callable(thing):
        raise ToolError(f"{place} is no function")
    found = _declared(place.partition(":")[2], thing)
    return found._replace(options={**found.options, **settings})


def _declared(inside: str, thing: Callable[..., Any]) -> Declared:
    return Declared(inside.replace(".", "_"), thing, getattr(thing, MARK, {}))


def _reached(place: str) -> Any:
    """What `module:name.name` names; a method bound to an instance of its class."""
    module, _, inside = place.partition(":")
    thing: Any = _imported(module)
    for step in inside.split("."):
        raw = inspect.getattr_static(thing, step, None)
        if isinstance(thing, type) and isinstance(raw, types.FunctionType):
            thing = one(thing)
        try:
            thing = getattr(thing, step)
        except AttributeError:
            raise ToolError(f"{module} has no {inside}") from None
    return thing


def _imported(name: str) -> types.ModuleType:
    if name.split(".")[0] == OURS:
        raise ToolError(f"{name}: a package named {OURS} is this server's own; rename yours")
    return importlib.import_module(name)


def _suggested(target: str) -> str:
    """A function of the module or class, as `functions` names it."""
    module, colon, _ = target.partition(":")
    thing = _reached(target) if colon else _imported(module)
    for name, each in vars(thing).items():
        own = getattr(each, "__module__", None) == module
        if own and inspect.isfunction(each) and not name.startswith("_"):
            return f"{target}.{name}" if colon else f"{target}:{name}"
    return f"{module}:function"


def _files(tops: set[str]) -> Iterator[str]:
    """The files of packages that were imported, with their folders: one may get a new file."""
    folders: set[str] = set()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.split(".")[0] in tops and isinstance(file, str) and os.path.isabs(file):  # noqa: PTH117
            yield file
            if hasattr(module, "__path__"):
                folders.add(os.path.dirname(file))  # noqa: PTH120
    yield from folders
