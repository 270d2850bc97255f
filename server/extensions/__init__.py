"""Find the extensions: each folder here is one, and the server works without any of them.

`present` are the folders that can act: what they declare (declaration.py) is known to every check.
`select` are those that the key `server.extensions` names: only these do anything.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from .declaration import Command, Extension, ProcessPart

ALL = "*"  # in `server.extensions`: every one that is there
NOT_NAMED = 2  # exit code of a command of an extension that `server.extensions` leaves out


@cache
def folders() -> Mapping[str, Extension]:
    """Return what each folder declares, by name."""
    names = sorted(each.name for each in pkgutil.iter_modules(__path__) if each.ispkg)
    return MappingProxyType({name: load(name, "extension:EXTENSION") for name in names})


@cache
def present() -> Mapping[str, Extension]:
    """Return the extensions that can act, by name, in the order of `in_order`."""
    return in_order(folders())


def in_order(declared: Mapping[str, Extension]) -> Mapping[str, Extension]:
    """Return them each after those that it requires, without those that `incomplete` returns."""
    waiting = {**declared}
    ordered: dict[str, Extension] = {}
    while ready := [name for name, each in waiting.items() if ordered.keys() >= {*each.requires}]:
        ordered |= {name: waiting.pop(name) for name in ready}
    return MappingProxyType(ordered)


def incomplete(declared: Mapping[str, Extension] | None = None) -> dict[str, list[str]]:
    """Return the extensions that cannot act -> which of those that they require are not there.

    declared  None: what the folders declare
    """
    declared = folders() if declared is None else declared
    known = in_order(declared)
    return {
        name: [other for other in each.requires if other not in known]
        for name, each in declared.items()
        if name not in known
    }


def select(
    names: Collection[str], known: Mapping[str, Extension] | None = None
) -> dict[str, Extension]:
    """Return the extensions of these names and those that they require, in the order of `known`.

    known  None: those that are present
    Raises KeyError for a name that is not there.
    """
    known = present() if known is None else known
    wanted = [*known] if ALL in names else [*names]
    for name in wanted:
        wanted += (other for other in known[name].requires if other not in wanted)
    return {name: each for name, each in known.items() if name in wanted}


def all_of(what: str) -> dict[str, Any]:
    """Return what those which are there declare in their map `what`."""
    maps = [getattr(each, what) for each in present().values()]
    return {key: about for each in maps for key, about in each.items()}


def commands() -> dict[str, tuple[str, Command]]:
    """Return command -> (extension, Command), of those which are there."""
    pairs = ((name, command) for name, each in present().items() for command in each.commands)
    return {command.name: (name, command) for name, command in pairs}


def members(member: str) -> Iterator[Any]:
    """Yield what those which are there name as this member of theirs."""
    for name, each in present().items():
        if place := getattr(each, member):
            yield load(name, place)


def left_out(name: str) -> str:
    """Return why something of an extension that is not named cannot be used."""
    return f"needs the extension {name}, which server.extensions leaves out"


def perform(command: str, names: Collection[str], *arguments: Any) -> int:
    """Perform a command of an extension; return its exit code. `names`: `server.extensions`."""
    name, about = commands()[command]
    if name not in select(names):
        print(f"yaa: {command} {left_out(name)}", file=sys.stderr)
        return NOT_NAMED
    code: int = load(name, about.perform)(*arguments)
    return code


def model_apis(names: Collection[str]) -> dict[str, Any]:
    """Return the APIs of models that the extensions of these names have: name -> RemoteAPI."""
    pairs = ((name, each.model_apis) for name, each in select(names).items())
    return {api: load(name, about.api) for name, apis in pairs for api, about in apis.items()}


def tool_modes(names: Collection[str]) -> dict[str, Any]:
    """Return the modes of tools that the extensions of these names have: name -> ToolMode."""
    pairs = ((name, each.tool_modes) for name, each in select(names).items())
    return {mode: load(name, place) for name, modes in pairs for mode, place in modes.items()}


def owner_of(what: str, key: str) -> str:
    """Return which of those that are there has this key in its map `what`, "" for none."""
    return next((name for name, each in present().items() if key in getattr(each, what)), "")


def session_store(name: str, config: Any) -> Any:
    """Return what `--store` names: the sessions of an extension. Raises KeyError."""
    chosen = select(config.server["extensions"])
    owner = {place: each for each, about in chosen.items() for place in about.session_stores}[name]
    return load(owner, chosen[owner].session_stores[name])(config)


def load(name: str, place: str) -> Any:
    """Return what an extension names as "module:name", importing the module."""
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(f".{name}.{module}", __name__), attribute)


class ProcessParts(ProcessPart):
    """The parts of all extensions in one process; `by_name`: of one."""

    def __init__(self, by_name: Mapping[str, ProcessPart]) -> None:
        self.by_name = by_name

    def count_response(self, status: int) -> None:
        """Pass the status of a response on to all."""
        for each in self.by_name.values():
            each.count_response(status)

    def add_connections(self, by: int) -> None:
        """Pass on to all that connections were opened or closed."""
        for each in self.by_name.values():
            each.add_connections(by)


def load_each(what: str, known: Mapping[str, Extension] | None = None) -> dict[str, Any]:
    """Load and return what each of them names as `what` in its declaration, if it names something.

    known  None: those that are present
    """
    known = present() if known is None else known
    places = {name: getattr(each, what) for name, each in known.items()}
    return {name: load(name, place) for name, place in places.items() if place}


def share(names: Collection[str], processes: int = 1) -> Callable[[int], ProcessParts]:
    """Make what the processes of a server share; (number of one) -> the parts in that process."""
    makers = {name: make(processes) for name, make in load_each("process", select(names)).items()}
    return lambda number: ProcessParts({name: make(number) for name, make in makers.items()})
