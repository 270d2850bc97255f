"""The tools that a caller of /v1 offers, and its `tool_choice`.

Used by `chat` and `responses`, which have different places for a tool's fields. A caller's tool
with the name of one of the server's own is renamed for the model, and back for the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field

from ...session import client_tools
from ...session.fold import parse_pointer
from .fields import Json, Place, items, misfit, needed, shown, take

TAKEN = "caller_"  # prefix of a caller's tool if the server has one of the same name
CHOICES = "only auto, none, required, and objects of the type function or allowed_tools are"
Spelling = Callable[[Place, Json], tuple[Place, Json]]  # tool -> (place of its {name, …}, that)


@dataclass(frozen=True)
class Tools:
    """The caller's tools in the form of a session's `tools`.

    `inner`: the caller's name of a tool -> ours; `outer`: our name -> the caller's. `choice`: auto,
    none, required or one name of ours.
    """

    declared: tuple[Json, ...] = ()
    inner: Mapping[str, str] = field(default_factory=dict)
    outer: Mapping[str, str] = field(default_factory=dict)
    choice: str = "auto"

    def chosen(self, choice: str, allowed: Iterable[str] | None = None) -> Tools:
        """Return the tools that `tool_choice` allows. Raises Problem."""
        declared = self.declared if choice != "none" else ()
        if allowed is not None:
            names = {self.inner[name] for name in allowed}
            declared = tuple(tool for tool in declared if tool["name"] in names)
        if choice == "required" and not declared:
            raise misfit(("tool_choice",), "required without tools")
        return Tools(declared, self.inner, self.outer, self.inner.get(choice, choice))


def tools(listed: Iterable[tuple[Place, Json]], spelling: Spelling, taken: Container[str]) -> Tools:
    """Return the tools that are `listed` with their places. Raises Problem.

    `taken`: names of the server's own tools.
    """
    declared: list[Json] = []
    outer: dict[str, str] = {}
    places = []
    for place, function in (_function(*each, spelling) for each in listed):
        name = needed(function, str, *place, "name")
        inside = name if name not in taken else f"{TAKEN}{name}"[:64]
        tool = {
            "name": inside,
            "description": take(function, str, *place, "description") or "",
            "parameters": take(function, dict, *place, "parameters") or {},
        }
        if inside in outer:
            raise misfit((*place, "name"), f"there is a tool named {name} already")
        declared.append(tool)
        places.append(place)
        outer[inside] = name
    for error in client_tools.misfits(declared):
        at = (parse_pointer(error["pointer"]) or [])[1:]  # behind "tools"
        raise misfit((*places[int(at[0])], *at[1:]) if at else ("tools",), error["detail"])
    return Tools(tuple(declared), {name: inside for inside, name in outer.items()}, outer)


def known(name: str, offered: Tools, *place: str | int) -> str:
    """Return `name` if it is one of the request's tools. Raises Problem."""
    if name not in offered.inner:
        raise misfit(place, f"{shown(name)} is none of the request's tools")
    return name


def _function(place: Place, tool: Json, spelling: Spelling) -> tuple[Place, Json]:
    if tool.get("type", "function") != "function":
        said = f"{shown(tool['type'])} is not supported here; only function is"
        raise misfit((*place, "type"), said)
    return spelling(place, tool)


def chosen(body: Json, offered: Tools, spelling: Spelling, *inner: str) -> Tools:
    """Return the tools that a body's `tool_choice` allows. Raises Problem.

    `inner`: the member that lists the allowed tools, if they are in one.
    """
    choice = body.get("tool_choice")
    place: Place = ("tool_choice",)
    if choice is None or choice in ("auto", "none", "required"):
        return offered.chosen(choice or "auto")
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind == "function":
        place, named = spelling(place, choice)
        name = needed(named, str, *place, "name")
        return offered.chosen(known(name, offered, *place, "name"))
    if kind == "allowed_tools":
        place = (*place, *inner)
        allowed = needed(choice, dict, *place) if inner else choice
        mode = take(allowed, str, *place, "mode") or "auto"
        if mode not in ("auto", "required"):
            raise misfit((*place, "mode"), f"expected auto or required, got {shown(mode)}")
        names = []
        for where, tool in items(needed(allowed, list, *place, "tools"), *place, "tools"):
            _, function = _function(where, tool, spelling)
            names.append(known(str(function.get("name")), offered, *where))
        return offered.chosen(mode, names)
    raise misfit(place, f"{shown(kind or choice)} is not supported here; {CHOICES}")
