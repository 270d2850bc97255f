"""How a model is offered tools and where its calls are: in members of the API, or as text.

The kernel has the mode native. Those that an extension declares (`tool_modes`) are added to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

from .. import extensions
from ..json_types import Json, Message, RunWarning
from . import Options
from .decoder import Rescue, Scanner
from .provider import Provider

Readers = tuple[Scanner | None, Rescue]  # of calls in a text: while it streams, and in all of it
NO_CALLS: Readers = (None, lambda text: ())


class ToolMode(NamedTuple):
    """One of these ways. The defaults are those of native: a text is only a text.

    is_native        tools and calls are members of the API
    messages         (session-shaped messages, tools, options) -> the messages of a request
    response_format  (tools, options) -> in the shape of Chat Completions; None for any text
    readers          (tools, API, (name) -> name that the model was offered) -> Readers
    remarks          (sections of the prompt) -> `run.warnings` about what it cannot use of them
    """

    is_native: bool = True
    messages: Callable[[list[Message], list[Json], Options], list[Message]] = lambda sent, *_: sent
    response_format: Callable[[list[Json], Options], Json | None] = lambda _, o: o.response_format
    readers: Callable[[list[Json], str, Callable[[str], str]], Readers] = lambda *_: NO_CALLS
    remarks: Callable[[Mapping[str, str]], list[RunWarning]] = lambda _: []


NATIVE = ToolMode()
MODES: Mapping[str, ToolMode] = MappingProxyType({"native": NATIVE})  # of the kernel


def wanted_mode(provider: Provider, options: Options) -> str:
    """Return native, json_schema or text.

    The session's setting comes first, then the provider's; `auto` depends on `is_function_call`.
    """
    for wanted in (options.tool_mode, provider.tool_mode):
        if wanted not in ("", "auto"):
            return wanted
    return "native" if provider.is_function_call else "text"


def why_missing(mode: str, modes: Collection[str]) -> str:
    """Return why a tool mode cannot be used, "" if it can."""
    if mode in ("", "auto", *modes):
        return ""
    if owner := extensions.owner_of("tool_modes", mode):
        return f"{mode!r} {extensions.left_out(owner)}"
    return f"{mode!r} is of an extension that is not here; there are auto, {', '.join(modes)}"
